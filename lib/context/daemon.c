#include "parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { PAUSE_MS = 20 }; /* between two questions whether it is bound by now */

_Static_assert((int)BERM_DAEMON_SEAL == (int)DAEMON_SEAL, "the same steps");
_Static_assert(2 * DAEMON_RESERVATION_BYTES + 1 == BERM_DAEMON_RESERVATION_SIZE,
               "hex, and its NUL");
_Static_assert(sizeof((struct berm_daemon *)0)->socket == DAEMON_PATH_SIZE, "room for any path");

static int conclude(struct berm_daemon *daemon, enum berm_daemon_result result, int sys,
                    const char *text)
{
    daemon->result = result;
    daemon->error = sys < 0 ? -sys : sys;
    (void)snprintf(daemon->text, sizeof daemon->text, "%s", text);
    return result == BERM_DAEMON_DONE ? 0 : -1;
}

static void to_hex(const uint8_t bytes[DAEMON_RESERVATION_BYTES],
                   char text[BERM_DAEMON_RESERVATION_SIZE])
{
    for (size_t i = 0; i < DAEMON_RESERVATION_BYTES; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool from_hex(const char *text, uint8_t bytes[DAEMON_RESERVATION_BYTES])
{
    if (!text || strlen(text) != 2 * (size_t)DAEMON_RESERVATION_BYTES) {
        return false;
    }
    for (size_t i = 0; i < DAEMON_RESERVATION_BYTES; i++) {
        int high = digit_of(text[2 * i]);
        int low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static int take_answer(struct berm_daemon *daemon, const struct daemon_answer *answer)
{
    if (answer->status == CONTEXT_NOT_A_MEMBER) {
        return conclude(daemon, BERM_DAEMON_OUTSIDE, 0,
                        "a run of berm answered: this process is none of its own");
    }
    if (answer->status != CONTEXT_OK) {
        return conclude(daemon, BERM_DAEMON_NOT_PROVED, 0,
                        "the run could not identify this process, or does not know daemons");
    }
    daemon->refusal = (int)answer->refusal;
    daemon->state = (int)answer->state;
    if (answer->refusal != DAEMON_REFUSED_NONE) {
        return conclude(daemon,
                        answer->refusal == DAEMON_REFUSED_NOT_DECLARED ? BERM_DAEMON_OUTSIDE
                                                                       : BERM_DAEMON_REFUSED,
                        0, answer->text);
    }
    to_hex(answer->reservation, daemon->reservation);
    daemon->pid = answer->pid;
    daemon->namespace_pid = answer->namespace_pid;
    daemon->start_ticks = answer->start_ticks;
    memcpy(daemon->socket, answer->socket, sizeof daemon->socket);
    memcpy(daemon->lock, answer->lock, sizeof daemon->lock);
    return conclude(daemon, BERM_DAEMON_DONE, 0, "");
}

/* One connection, one request. */
static int ask(const struct view *view, const struct own *own, struct daemon_request *request,
               struct berm_daemon *daemon, int64_t until_ns)
{
    bool in_sandbox = false;
    struct daemon_answer answer;
    int fd = berm_exchange_find(view, own, until_ns, &in_sandbox);
    if (fd < 0) {
        return fd == -ETIMEDOUT ? conclude(daemon, BERM_DAEMON_NOT_PROVED, fd, "no answer in time")
                                : conclude(daemon, BERM_DAEMON_OUTSIDE, fd,
                                           "no run of berm: nobody answers for this cgroup");
    }
    if (berm_peer_judge(view, own, fd, in_sandbox) != BERM_CONTEXT_WHY_NONE) {
        close(fd);
        return conclude(daemon, BERM_DAEMON_NOT_PROVED, 0, "who answers cannot be berm");
    }
    int result = berm_exchange_ask_daemon(fd, until_ns, request, &answer);
    close(fd);
    return result < 0 ? conclude(daemon, BERM_DAEMON_NOT_PROVED, result,
                                 result == -ETIMEDOUT ? "no answer in time"
                                                      : "what came is no answer of berm's")
                      : take_answer(daemon, &answer);
}

static bool may_wait(const struct berm_daemon *daemon, int64_t until_ns)
{
    return daemon->result == BERM_DAEMON_REFUSED && daemon->refusal == DAEMON_REFUSED_NOT_YET &&
           berm_exchange_now_ns() < until_ns;
}

/* No longer than there is time. */
static void pause_until(int64_t until_ns)
{
    int64_t left_ms = (until_ns - berm_exchange_now_ns()) / 1000000;
    (void)poll(NULL, 0, left_ms < 0 ? 0 : left_ms < PAUSE_MS ? (int)left_ms : PAUSE_MS);
}

int berm_daemon_step_in(const struct view *view, enum berm_daemon_step step, const char *name,
                        const char *reservation, int64_t pid, struct berm_daemon *ret_daemon,
                        int timeout_ms)
{
    struct own own;
    struct daemon_request request = {.head.operation = (uint16_t)(CONTEXT_DAEMON + step),
                                     .pid = pid};
    int64_t until_ns =
        berm_exchange_now_ns() + (timeout_ms > 0 ? (int64_t)timeout_ms * 1000000 : 0);
    *ret_daemon = (struct berm_daemon){.state = -1};
    if (strlen(name) >= sizeof request.name ||
        (step != BERM_DAEMON_RESERVE && !from_hex(reservation, request.reservation))) {
        return conclude(ret_daemon, BERM_DAEMON_REFUSED, EINVAL,
                        "a name has at most 31 characters, and a reservation 64 hex digits");
    }
    memcpy(request.name, name, strlen(name));
    int result = berm_own_open(view, &own);
    if (result < 0) {
        berm_own_close(&own);
        return conclude(ret_daemon, BERM_DAEMON_NOT_PROVED, result,
                        "the kernel cannot be asked about this process's cgroup");
    }
    result = ask(view, &own, &request, ret_daemon, until_ns);
    while (may_wait(ret_daemon, until_ns)) {
        struct berm_daemon next = {.state = -1};
        pause_until(until_ns);
        int asked = ask(view, &own, &request, &next, until_ns);
        if (next.error == ETIMEDOUT) {
            break; /* the last answer says more than that there was none any more */
        }
        *ret_daemon = next;
        result = asked;
    }
    berm_own_close(&own);
    return result;
}

static int step(enum berm_daemon_step wanted, const char *name, const char *reservation,
                int64_t pid, struct berm_daemon *ret_daemon, size_t size, int timeout_ms)
{
    int errno_of_the_caller = errno;
    struct berm_daemon daemon;
    int result = berm_daemon_step_in(&berm_view_of_the_kernel, wanted, name, reservation, pid,
                                     &daemon, timeout_ms);
    memset(ret_daemon, 0, size);
    memcpy(ret_daemon, &daemon, size < sizeof daemon ? size : sizeof daemon);
    errno = errno_of_the_caller;
    return result;
}

EXPORTED int berm_daemon_reserve(const char *name, struct berm_daemon *ret_daemon, size_t size,
                                 int timeout_ms)
{
    return step(BERM_DAEMON_RESERVE, name, NULL, 0, ret_daemon, size, timeout_ms);
}

EXPORTED int berm_daemon_bind(const char *name, const char *reservation, int64_t pid,
                              struct berm_daemon *ret_daemon, size_t size, int timeout_ms)
{
    return step(BERM_DAEMON_BIND, name, reservation, pid, ret_daemon, size, timeout_ms);
}

EXPORTED int berm_daemon_start(const char *name, const char *reservation,
                               struct berm_daemon *ret_daemon, size_t size, int timeout_ms)
{
    return step(BERM_DAEMON_START, name, reservation, 0, ret_daemon, size, timeout_ms);
}

EXPORTED int berm_daemon_lock_ready(const char *name, const char *reservation,
                                    struct berm_daemon *ret_daemon, size_t size, int timeout_ms)
{
    return step(BERM_DAEMON_LOCK_READY, name, reservation, 0, ret_daemon, size, timeout_ms);
}

EXPORTED int berm_daemon_seal(const char *name, const char *reservation,
                              struct berm_daemon *ret_daemon, size_t size, int timeout_ms)
{
    return step(BERM_DAEMON_SEAL, name, reservation, 0, ret_daemon, size, timeout_ms);
}
