#include "parts.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000 };

int64_t berm_exchange_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Of one wait; whoever waits looks again. */
static int left_ms(int64_t until_ns)
{
    int64_t left = (until_ns - berm_exchange_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* A queue that is full is waited for by the kernel, as long as SO_SNDTIMEO says. */
static int connect_until(int fd, const struct sockaddr_un *name, socklen_t size, int64_t until_ns)
{
    for (;;) {
        int left = left_ms(until_ns);
        struct timeval patience = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
        if (left == 0) {
            return -ETIMEDOUT;
        }
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0) {
            return -errno;
        }
        if (connect(fd, (const struct sockaddr *)name, size) == 0) {
            return 0;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return -errno;
        }
    }
}

int berm_exchange_connect(const char *address, int64_t until_ns)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t length = strlen(address);
    if (length >= sizeof name.sun_path) {
        return -ENAMETOOLONG;
    }
    bool is_abstract = address[0] == '@';
    memcpy(name.sun_path, address, length);
    name.sun_path[0] = is_abstract ? '\0' : address[0];
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + !is_abstract);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int result = fd < 0 ? -errno : connect_until(fd, &name, size, until_ns);
    if (result < 0 && fd >= 0) {
        close(fd);
    }
    return result < 0 ? result : fd;
}

int berm_exchange_find(const struct view *view, const struct own *own, int64_t until_ns,
                       bool *ret_in_sandbox)
{
    char address[CONTEXT_ADDRESS_SIZE];
    int fd = berm_exchange_connect(view->socket, until_ns);
    *ret_in_sandbox = fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES;
    if (*ret_in_sandbox || !context_address(own->cgroup, address)) {
        return fd;
    }
    return berm_exchange_connect(address, until_ns);
}

/* One packet, of exactly this size: a longer one is seen by its length. */
static ssize_t hear(int fd, void *frame, size_t size, int64_t until_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = poll(&ready, 1, left_ms(until_ns));
        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        if (left_ms(until_ns) == 0) {
            return -ETIMEDOUT;
        }
        ssize_t got = count <= 0 ? 0 : recv(fd, frame, size, MSG_DONTWAIT | MSG_TRUNC);
        if (count > 0 && got >= 0) {
            return got == 0 ? -ECONNRESET : got;
        }
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return -errno;
        }
    }
}

static bool ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

bool berm_exchange_check_hello(const struct context_hello *hello, ssize_t got)
{
    return got == (ssize_t)sizeof *hello && hello->magic == CONTEXT_MAGIC &&
           hello->version == CONTEXT_VERSION && hello->status < CONTEXT_STATUS_COUNT;
}

bool berm_exchange_check_answer(const struct context_answer *answer, ssize_t got,
                                const uint8_t nonce[CONTEXT_NONCE_BYTES])
{
    bool good = got == (ssize_t)sizeof *answer && answer->magic == CONTEXT_MAGIC &&
                answer->version == CONTEXT_VERSION && answer->status < CONTEXT_STATUS_COUNT &&
                memcmp(answer->nonce, nonce, CONTEXT_NONCE_BYTES) == 0 &&
                answer->tier < CONTEXT_TIER_COUNT && answer->containment <= 2 &&
                answer->guarantee_count <= CONTEXT_GUARANTEES_MAX &&
                ends(answer->run, sizeof answer->run) && ends(answer->unit, sizeof answer->unit) &&
                ends(answer->adapter, sizeof answer->adapter) &&
                ends(answer->leaf, sizeof answer->leaf);
    for (uint32_t i = 0; good && i < answer->guarantee_count; i++) {
        good = answer->guarantees[i].level <= BERM_CONTEXT_ENFORCED &&
               ends(answer->guarantees[i].name, sizeof answer->guarantees[i].name);
    }
    return good;
}

bool berm_exchange_check_daemon(const struct daemon_answer *answer, ssize_t got,
                                const uint8_t nonce[CONTEXT_NONCE_BYTES])
{
    return got == (ssize_t)sizeof *answer && answer->magic == CONTEXT_MAGIC &&
           answer->version == CONTEXT_VERSION && answer->status < CONTEXT_STATUS_COUNT &&
           memcmp(answer->nonce, nonce, CONTEXT_NONCE_BYTES) == 0 &&
           answer->refusal < DAEMON_REFUSAL_COUNT && answer->state < DAEMON_STATE_COUNT &&
           answer->pid >= 0 && answer->namespace_pid >= 0 &&
           ends(answer->socket, sizeof answer->socket) && ends(answer->lock, sizeof answer->lock) &&
           ends(answer->text, sizeof answer->text);
}

/* 1: the broker would not hear a request, and *ret_hello says why. */
static int greet(int fd, int64_t until_ns, struct context_hello *ret_hello)
{
    ssize_t got = hear(fd, ret_hello, sizeof *ret_hello, until_ns);
    return got < 0                                      ? (int)got
           : !berm_exchange_check_hello(ret_hello, got) ? -EPROTO
                                                        : ret_hello->status != CONTEXT_OK;
}

static int say(int fd, const void *frame, size_t size)
{
    return send(fd, frame, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size ? 0
           : errno == EAGAIN                                                   ? -ETIMEDOUT
                                                                               : -errno;
}

int berm_exchange_ask(int fd, int64_t until_ns, struct context_answer *ret_answer)
{
    struct context_hello hello;
    int result = greet(fd, until_ns, &hello);
    if (result != 0) {
        *ret_answer = (struct context_answer){.status = result > 0 ? hello.status : 0};
        return result < 0 ? result : 0;
    }
    struct context_request request = {
        .magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION, .operation = CONTEXT_READ};
    memcpy(request.nonce, hello.nonce, sizeof request.nonce);
    result = say(fd, &request, sizeof request);
    ssize_t got = result < 0 ? result : hear(fd, ret_answer, sizeof *ret_answer, until_ns);
    if (got < 0) {
        return (int)got;
    }
    return berm_exchange_check_answer(ret_answer, got, hello.nonce) ? 0 : -EPROTO;
}

/* A broker that does not know who asks answers as to any other request. */
int berm_exchange_ask_daemon(int fd, int64_t until_ns, struct daemon_request *request,
                             struct daemon_answer *ret_answer)
{
    union {
        struct daemon_answer daemon;
        struct context_answer refusal;
    } frame;
    struct context_hello hello;
    int result = greet(fd, until_ns, &hello);
    if (result != 0) {
        *ret_answer = (struct daemon_answer){.status = result > 0 ? hello.status : 0};
        return result < 0 ? result : 0;
    }
    request->head.magic = CONTEXT_MAGIC;
    request->head.version = CONTEXT_VERSION;
    memcpy(request->head.nonce, hello.nonce, sizeof hello.nonce);
    result = say(fd, request, sizeof *request);
    ssize_t got = result < 0 ? result : hear(fd, &frame, sizeof frame, until_ns);
    if (got < 0) {
        return (int)got;
    }
    if (berm_exchange_check_daemon(&frame.daemon, got, hello.nonce)) {
        *ret_answer = frame.daemon;
        return 0;
    }
    if (berm_exchange_check_answer(&frame.refusal, got, hello.nonce) &&
        frame.refusal.status != CONTEXT_OK) {
        *ret_answer = (struct daemon_answer){.status = frame.refusal.status};
        return 0;
    }
    return -EPROTO;
}
