#include "context-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "file.h"
#include "path.h"
#include "process.h"
#include "socket.h"

enum { CGROUP_TEXT_SIZE = 2 * CONTEXT_LEAF_SIZE }; /* the lines of a hybrid layout come first */

static enum context_status status_of(int result)
{
    return result == -ESRCH || result == -ENOENT || result == -EINVAL ? CONTEXT_GONE
                                                                      : CONTEXT_FAILED;
}

static int read_start(int proc_dir, pid_t pid, uint64_t *ret_ticks)
{
    char path[32];
    struct proc_stat stat;
    (void)snprintf(path, sizeof path, "%d/stat", pid);
    with_fd file = fd_adopt(os_openat(proc_dir, path, O_RDONLY | O_NOCTTY, 0));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    if (result == 0) {
        *ret_ticks = stat.start_ticks;
    }
    return result;
}

enum context_status context_peer_identify(int proc_dir, struct context_peer *peer)
{
    struct os_peer seen;
    int result = os_socket_peer(fd_num(&peer->socket), &seen);
    if (result < 0) {
        return CONTEXT_FAILED;
    }
    if (seen.pid <= 0) {
        return CONTEXT_NOT_A_MEMBER; /* outside of this PID namespace, so outside of any leaf */
    }
    peer->pidfd = fd_adopt(os_socket_peer_pidfd(fd_num(&peer->socket)));
    if (fd_error(&peer->pidfd) == -ENOPROTOOPT || fd_error(&peer->pidfd) == -EOPNOTSUPP) {
        /* Whoever has the number now. That it is who connected, its request will show. */
        peer->pidfd = fd_adopt(os_pidfd_open(seen.pid));
    }
    if (!fd_is_open(&peer->pidfd)) {
        return status_of(fd_error(&peer->pidfd));
    }
    peer->who.pid = seen.pid;
    result = read_start(proc_dir, seen.pid, &peer->who.start_ticks);
    return result < 0 ? status_of(result) : CONTEXT_OK;
}

/* As long as it lives its number is its own: what was read by the number before was about it. */
static bool is_alive(const struct context_peer *peer)
{
    int ended;
    do { /* the signal that bounds closes is no sign of a death */
        ended = os_poll(fd_num(&peer->pidfd), POLLIN, 0);
    } while (ended == -EINTR);
    return ended == 0;
}

enum context_status context_peer_check(int proc_dir, const struct context_peer *peer,
                                       const char *leaf)
{
    char name[32];
    char text[CGROUP_TEXT_SIZE];
    char path[CONTEXT_LEAF_SIZE];
    uint64_t ticks = 0;
    (void)snprintf(name, sizeof name, "%d/cgroup", peer->who.pid);
    ssize_t length = os_read_small(proc_dir, name, text, sizeof text);
    int result = length < 0 ? (int)length : read_start(proc_dir, peer->who.pid, &ticks);
    if (result < 0) {
        return status_of(result);
    }
    if (ticks != peer->who.start_ticks || !is_alive(peer)) {
        return CONTEXT_GONE;
    }
    bool member = context_parse_cgroup(text, (size_t)length, path) && context_is_leaf(path) &&
                  path_is_beneath(path, leaf);
    return member ? CONTEXT_OK : CONTEXT_NOT_A_MEMBER;
}

/* 0: it is no operation. */
static size_t size_of(uint16_t operation)
{
    return operation == CONTEXT_READ ? sizeof(struct context_request)
           : operation < CONTEXT_DAEMON || operation >= CONTEXT_DAEMON + DAEMON_EVENT_COUNT
               ? 0
               : sizeof(struct daemon_request);
}

enum context_status context_peer_hear(const struct context_peer *peer,
                                      union context_frame *ret_frame, bool *ret_heard)
{
    struct os_sender sender;
    const struct context_request *head = &ret_frame->head;
    *ret_frame = (union context_frame){0};
    ssize_t got = os_recv_sender(fd_num(&peer->socket), ret_frame, sizeof *ret_frame, &sender);
    *ret_heard = got != -EAGAIN;
    if (got == 0 || got == -ECONNRESET) {
        return CONTEXT_GONE;
    }
    if (got < 0) {
        return CONTEXT_FAILED;
    }
    if (!sender.known || sender.peer.pid != peer->who.pid) {
        return CONTEXT_NOT_THE_PEER;
    }
    bool good = got == (ssize_t)size_of(head->operation) && !sender.cut &&
                head->magic == CONTEXT_MAGIC && head->version == CONTEXT_VERSION &&
                memcmp(head->nonce, peer->nonce, sizeof head->nonce) == 0;
    return good ? CONTEXT_OK : CONTEXT_MALFORMED;
}
