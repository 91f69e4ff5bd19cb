#include "adopt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "detach-priv.h"
#include "event.h"
#include "file.h"
#include "memory.h"
#include "process.h"

enum {
    WAIT_MS = 60000, /* for all of it: two waits of ten seconds are the most of it */
    END_MS = 1000,   /* from its last word to its end */
};

static int seal(struct span bytes, struct fd *ret_fd)
{
    *ret_fd = fd_adopt(os_memfd("berm-reports"));
    int result = fd_error(ret_fd);
    result = result < 0 ? result : os_write_all(fd_num(ret_fd), bytes.p, bytes.n);
    return result < 0 ? result : os_memfd_seal(fd_num(ret_fd));
}

static int give(int channel, const struct watch_packet *packet, size_t body_bytes, const int *fds)
{
    size_t bytes = sizeof packet->head + body_bytes;
    ssize_t sent =
        fds ? os_send_fds(channel, packet, bytes, fds, WATCH_FDS) : os_send(channel, packet, bytes);
    return sent < 0 ? (int)sent : 0;
}

static void fill(int fds[WATCH_FDS], int first)
{
    for (size_t i = 0; i < WATCH_FDS; i++) {
        fds[i] = first;
    }
}

static int send_reports(int channel, struct watch_packet *packet, struct span reports)
{
    int fds[WATCH_FDS];
    with_fd sealed = {0};
    int result = seal(reports, &sealed);
    if (result < 0) {
        return result;
    }
    fill(fds, fd_num(&sealed));
    packet->head = (struct watch_request){.order = WATCH_REPORTS, .value = (int64_t)reports.n};
    return give(channel, packet, 0, fds);
}

static int send_start(int channel, struct watch_packet *packet, const struct adoption *adoption)
{
    int fds[WATCH_FDS];
    fill(fds, adoption->folder_fd);
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        if (adoption->manifest->slots[i].path[0] != '\0') {
            fds[WATCH_FD_SLOT + i] = adoption->slot_fds[i];
        }
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        if (adoption->manifest->directories[i].path[0] != '\0') {
            fds[WATCH_FD_PARENT + i] = adoption->parent_fds[i];
        }
    }
    packet->head = (struct watch_request){.order = WATCH_START, .adopt = true};
    packet->body.manifest = *adoption->manifest;
    return give(channel, packet, sizeof packet->body.manifest, fds);
}

static int send_leaf(int channel, struct watch_packet *packet, const struct adoption *adoption)
{
    int fds[WATCH_FDS];
    if (adoption->scope_fd < 0) {
        return 0;
    }
    fill(fds, adoption->scope_fd);
    packet->head = (struct watch_request){.order = WATCH_ARM};
    packet->body.leaf = adoption->manifest->leaf;
    packet->body.leaf.flags = 0;
    if (adoption->leaf_fd >= 0) {
        fds[WATCH_FD_LEAF] = adoption->leaf_fd;
    } else {
        packet->body.leaf.flags |= WATCH_LEAF_IS_GONE;
    }
    if (adoption->scope_parent_fd >= 0) {
        packet->body.leaf.flags |= WATCH_LEAF_SCOPE_IS_OURS;
        fds[WATCH_FD_SCOPE_PARENT] = adoption->scope_parent_fd;
    }
    if (adoption->gate_pidfd >= 0) {
        packet->body.leaf.flags |= WATCH_LEAF_HAS_GATE;
        fds[WATCH_FD_GATE] = adoption->gate_pidfd;
    }
    return give(channel, packet, sizeof packet->body.leaf, fds);
}

/* Words come until the last one. */
static int hear(int channel, const struct os_clock *clock, uint32_t *ret_left, struct err *err)
{
    int64_t until_ns = clock->monotonic_ns() + WAIT_MS * NS_PER_MS;
    for (;;) {
        struct watch_word word;
        int64_t left_ms = (until_ns - clock->monotonic_ns()) / NS_PER_MS;
        ssize_t got = os_recv(channel, &word, sizeof word);
        if (got == -EAGAIN && left_ms > 0) {
            if (os_poll(channel, POLLIN, (int)left_ms + 1) < 0) {
                return err_set(err, ERR_UNAVAILABLE, "cannot wait for the watchdog");
            }
        } else if (got != (ssize_t)sizeof word) {
            return err_set(err, got == -EAGAIN ? ERR_TIMEOUT : ERR_UNAVAILABLE,
                           "the watchdog that took it over gave no answer");
        } else if (word.said == WATCH_FAILED) {
            word.text[sizeof word.text - 1] = '\0';
            return err_sys(err, word.sys, "the watchdog that took it over cannot %s", word.text);
        } else if (word.said == WATCH_FINISHED) {
            *ret_left = word.left;
            return 0;
        }
    }
}

int adopt_finish(const struct adoption *adoption, const struct os_clock *clock, uint32_t *ret_left,
                 struct err *err)
{
    const struct detach_request request = {.duty = "watchdog"};
    struct detached detached = {0};
    if (detach_helper(&request, &detached, err) < 0) {
        return -1;
    }
    with_fd channel = fd_take(&detached.channel);
    with_fd pidfd = fd_take(&detached.pidfd);
    struct watch_packet *packet = memory_new(sizeof *packet);
    int result = send_reports(fd_num(&channel), packet, adoption->reports);
    result = result < 0 ? result : send_start(fd_num(&channel), packet, adoption);
    result = result < 0 ? result : send_leaf(fd_num(&channel), packet, adoption);
    packet->head = (struct watch_request){.order = WATCH_FINISH};
    result = result < 0 ? result : give(fd_num(&channel), packet, 0, NULL);
    memory_free(packet);
    if (result < 0 && result != -EPIPE) { /* it may have said why it ended */
        (void)!os_pidfd_signal(fd_num(&pidfd), SIGKILL);
        return err_sys(err, result, "cannot hand a run over to a watchdog");
    }
    result = hear(fd_num(&channel), clock, ret_left, err);
    (void)!os_poll(fd_num(&pidfd), POLLIN, END_MS); /* it is told nothing more, and leaves */
    return result;
}
