#include "adopt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "detach-priv.h"
#include "event.h"
#include "file.h"
#include "memory.h"
#include "process.h"
#include "watch-send-priv.h"

enum {
    WAIT_MS = 60000, /* for all of it: two waits of ten seconds are the most of it */
    END_MS = 1000,   /* from its last word to its end */
};

static int send_reports(int channel, struct watch_packet *packet, struct span reports)
{
    with_fd sealed = {0};
    int result = watch_seal(&reports, 1, &sealed);
    return result < 0 ? result : watch_send_reports(channel, packet, fd_num(&sealed));
}

static int send_start(int channel, struct watch_packet *packet, const struct adoption *adoption)
{
    int fds[WATCH_FDS];
    watch_fill_fds(fds, adoption->folder_fd);
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
    packet->head =
        (struct watch_request){.order = WATCH_START, .adopt = true, .value = adoption->scope_ms};
    packet->body.manifest = *adoption->manifest;
    return watch_send(channel, packet, sizeof packet->body.manifest, fds);
}

static int send_daemons(int channel, struct watch_packet *packet, const struct adoption *adoption)
{
    int fds[WATCH_FDS];
    int result = 0;
    for (size_t i = 0; i < WATCH_DAEMONS && result >= 0; i++) {
        const struct watch_daemon *daemon = &adoption->manifest->daemons[i];
        if (daemon->place.path[0] != '\0' && daemon->on_host) {
            watch_fill_fds(fds, adoption->daemon_fds[i]);
            packet->head = (struct watch_request){.order = WATCH_DAEMON, .value = (int64_t)i};
            packet->body.daemon = *daemon;
            result = watch_send(channel, packet, sizeof packet->body.daemon, fds);
        }
    }
    return result;
}

static int send_leaf(int channel, struct watch_packet *packet, const struct adoption *adoption)
{
    int fds[WATCH_FDS];
    if (adoption->scope_fd < 0) {
        return 0;
    }
    watch_fill_fds(fds, adoption->scope_fd);
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
    return watch_send(channel, packet, sizeof packet->body.leaf, fds);
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
            int ready = os_poll(channel, POLLIN, (int)left_ms + 1);
            if (ready < 0 && ready != -EINTR) {
                return err_sys(err, ready, "cannot wait for the watchdog that took it over");
            }
        } else if (got == -EAGAIN) {
            return err_set(err, ERR_TIMEOUT,
                           "the watchdog that took it over was not done within %d s; try again",
                           WAIT_MS / 1000);
        } else if (got != (ssize_t)sizeof word) {
            return err_set(err, ERR_UNAVAILABLE, "the watchdog that took it over died; try again");
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
    result = result < 0 ? result : send_daemons(fd_num(&channel), packet, adoption);
    result = result < 0 ? result : send_leaf(fd_num(&channel), packet, adoption);
    packet->head = (struct watch_request){.order = WATCH_FINISH};
    result = result < 0 ? result : watch_send(fd_num(&channel), packet, 0, NULL);
    memory_free(packet);
    if (result < 0 && result != -EPIPE) { /* it may have said why it ended */
        (void)!os_pidfd_signal(fd_num(&pidfd), SIGKILL);
        return err_sys(err, result, "cannot hand a run over to a watchdog");
    }
    result = hear(fd_num(&channel), clock, ret_left, err);
    (void)!os_poll(fd_num(&pidfd), POLLIN, END_MS); /* it is told nothing more, and leaves */
    return result;
}
