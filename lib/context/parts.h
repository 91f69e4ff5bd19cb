/* parts.h
 *
 * The parts of the library.
 *
 *   own.c        what the kernel says of this process: its cgroup, and the limits of that
 *   peer.c       what the kernel says of who answers
 *   exchange.c   the frames (src/supervise/context-message.h)
 *   context.c    the verdict
 *   daemon.c     the steps of a managed daemon
 *
 * Nothing that is heard is believed before it was checked: strings end, numbers are in range.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "berm-context.h"
#include "berm-daemon.h"
#include "context-message.h"
#include "daemon-message.h"

/* Where the kernel shows itself. Tests have places of their own; `magic` is what statfs must say of them. */
struct view {
    const char *proc;
    const char *cgroups[2]; /* the tree of the one hierarchy, or NULL */
    const char *socket;     /* of a sandbox */
    long proc_magic;
    uint64_t proc_inode; /* of its root */
    long cgroup_magic;
};
extern const struct view berm_view_of_the_kernel;

struct own {
    pid_t pid;
    int proc; /* held open */
    char cgroup[CONTEXT_LEAF_SIZE];
    uint64_t memory_max_bytes;
    uint64_t memory_high_bytes;
    uint64_t swap_max_bytes;
    bool swap_has_no_limit_file; /* then no answer about it can differ from the kernel's */
    uint64_t pids_max;
};

/* 0, or -errno. */
int berm_own_open(const struct view *view, struct own *own);
void berm_own_close(struct own *own);
/* -ESRCH: the folder of that name does not hold this process. */
int berm_own_limits(const struct view *view, struct own *own);
/* The cgroup of a process; -EPERM: what is there is not the kernel's own file. */
int berm_own_cgroup_of(const struct own *own, pid_t pid, char path[CONTEXT_LEAF_SIZE]);
/* The parent of a process. */
pid_t berm_own_parent_of(const struct own *own, pid_t pid);

/* How the other end of the socket cannot be a broker; BERM_CONTEXT_WHY_NONE: it can. */
enum berm_context_why berm_peer_judge(const struct view *view, const struct own *own, int fd,
                                      bool in_sandbox);

/* A connected socket, or -errno. until_ns: on CLOCK_MONOTONIC. */
int berm_exchange_connect(const char *address, int64_t until_ns);
/* The place of a sandbox first: there no other can be reached. A connected socket, or -errno. */
int berm_exchange_find(const struct view *view, const struct own *own, int64_t until_ns,
                       bool *ret_in_sandbox);
/* 0, or -errno: -EPROTO what came is no frame, -ETIMEDOUT, -ECONNRESET. A refusal is an answer. */
int berm_exchange_ask(int fd, int64_t until_ns, struct context_answer *ret_answer);
/* Likewise; head and nonce of the request are filled in here. */
int berm_exchange_ask_daemon(int fd, int64_t until_ns, struct daemon_request *request,
                             struct daemon_answer *ret_answer);
int64_t berm_exchange_now_ns(void);
/* The frame of `got` bytes is what it should be. */
bool berm_exchange_check_hello(const struct context_hello *hello, ssize_t got);
bool berm_exchange_check_answer(const struct context_answer *answer, ssize_t got,
                                const uint8_t nonce[CONTEXT_NONCE_BYTES]);

bool berm_exchange_check_daemon(const struct daemon_answer *answer, ssize_t got,
                                const uint8_t nonce[CONTEXT_NONCE_BYTES]);

int berm_daemon_step_in(const struct view *view, enum berm_daemon_step step, const char *name,
                        const char *reservation, int64_t pid, struct berm_daemon *ret_daemon,
                        int timeout_ms);
int berm_context_read_in(const struct view *view, struct berm_context *context, int timeout_ms);
