/* daemon-priv.h
 *
 * The broker's part of managed daemons (MD-1 to MD-7), in parts:
 *
 *   daemon-state.c     which step may come when, as a table
 *   daemon.c           a request: the step, what must be true for it, durable, and only then the answer
 *   daemon-process.c   what the kernel shows of a process of the leaf
 *   daemon-place.c     the folder of socket and lock, through one descriptor
 *   daemon-lock.c      the text of a lock
 *   daemon-judge.c     when the first process has ended: who may be there, and what is left behind
 *
 * Calling sequence
 *   daemons_init(&daemons, &request)      before the release; fills the ending's list
 *   daemons_answer(&daemons, ...)         a request, of a member of the leaf (context.c)
 *   daemons_judge(&daemons, &tree)        the first process ended by itself and something is left
 *   daemons_note_ends(), daemons_clear()  when nothing is left any more
 *   daemons_done(&daemons)
 *
 * What is believed   nothing that a process of the payload says or can write, but the lock, which is compared with
 *              what the kernel said before. The reservation is shown, so that no other member is taken for the
 *              daemon by mistake; it is no secret among processes of one user.
 * Budgets      DAEMON_COUNT daemons; DAEMON_TRIES refused requests each, then the daemon can go on no more; who is
 *              bound too early may ask again DAEMON_WAITS times;
 *              DAEMON_PROCESSES processes of the leaf are looked at for a pid; a lock has at most
 *              DAEMON_LOCK_BYTES. Connections and their rate are the context broker's.
 * Memory       nothing is allocated.
 * Errors       a refusal changes nothing. What cannot be found out is refused.
 * Limitations  between the last look at an object and its removal its name can become another's.
 *              The daemon's start is compared in clock ticks: a process that began in the very tick of the
 *              reservation, and before it, passes as younger.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "bfs.h"
#include "clock.h"
#include "daemon.h"
#include "fd.h"
#include "proc.h"
#include "sandbox.h"
#include "span.h"
#include "tree-priv.h"
#include "watchdog.h"

enum {
    DAEMON_TRIES = 32,
    DAEMON_WAITS = 1024,
    DAEMON_PROCESSES = 4096,
    DAEMON_LOCK_BYTES = 4096,
    DAEMON_DEPTH = 64, /* of ancestors, and of folders */
};

/* --- daemon-state.c ----------------------------------------------------------------------------- */

struct daemon_step {
    enum daemon_state next;
    enum daemon_refusal refusal;
};
struct daemon_step daemon_next(enum daemon_state state, enum daemon_event event);
const char *daemon_event_name(enum daemon_event event);
const char *daemon_refusal_text(enum daemon_refusal refusal);

/* --- daemon-lock.c ------------------------------------------------------------------------------ */

/* A lock is one flat JSON object with a member "pid", a number, and a member "safe_runner_reservation", the
 * reservation in lowercase hex; other members are strings, numbers, true, false or null. */
bool daemon_lock_parse(struct span text, int64_t *ret_pid,
                       uint8_t ret_reservation[DAEMON_RESERVATION_BYTES]);

/* --- daemon-place.c ----------------------------------------------------------------------------- */

struct daemon_place {
    struct fd folder;
    struct daemon_object identity; /* of the folder */
    bool is_private;               /* in the private file system, which ends with the run */
};
/* Opens it anew each time, so that a folder that was replaced is seen. -errno. */
int daemon_place_open(const struct sandbox *sandbox, const char *path,
                      struct daemon_place *ret_place) must_check;
void daemon_place_done(struct daemon_place *place);
#define with_daemon_place cleanup(daemon_place_done) struct daemon_place
/* -ENOENT: it is absent. */
int daemon_object_look(const struct daemon_place *place, const char *name,
                       struct daemon_object *ret_object) must_check;
bool daemon_object_same(const struct daemon_object *a, const struct daemon_object *b);
/* A small file of that owner, read through the descriptor whose identity is answered; the bytes, or -errno
 * (-EINVAL: it is none). */
ssize_t daemon_lock_read(const struct daemon_place *place, const char *name, uid_t owner,
                         char text[DAEMON_LOCK_BYTES], struct daemon_object *ret_object) must_check;
/* The folder is that one, or lies beneath it. In the private file system only. */
bool daemon_place_is_beneath(const struct sandbox *sandbox, const char *path, uint64_t device,
                             uint64_t inode);

/* --- daemon-process.c --------------------------------------------------------------------------- */

struct daemon_process {
    struct fd dir; /* /proc/PID, O_PATH: of this very process for ever */
    struct proc_identity who;
    pid_t parent;
    pid_t namespace_pid;
    uid_t user;
    bool forked_only; /* it has executed nothing yet */
};
/* By its number in the PID namespace of the payload; members are those in the folder of the leaf.
 * -ESRCH: nobody has it. */
int daemon_process_find(int proc_dir, int leaf_fd, pid_t namespace_pid,
                        struct daemon_process *ret_process) must_check;
/* -ESRCH: it is gone, or a zombie. */
int daemon_process_read(int proc_dir, pid_t pid, struct daemon_process *ret_process) must_check;
bool daemon_process_lives(const struct daemon_process *process);
bool daemon_process_is_member(const struct daemon_process *process, const char *leaf);
bool daemon_process_executes(const struct daemon_process *process,
                             const struct file_identity *wanted);
int daemon_process_command(const struct daemon_process *process,
                           struct supervise_daemon *ret_daemon) must_check;
int daemon_process_cwd(const struct daemon_process *process, char path[DAEMON_PATH_SIZE],
                       struct stat *ret_stat) must_check;
/* It is that process, or a descendant of it. */
bool daemon_process_descends(int proc_dir, struct proc_identity who, struct proc_identity ancestor);
void daemon_process_done(struct daemon_process *process);
#define with_daemon_process cleanup(daemon_process_done) struct daemon_process

/* --- daemon.c ----------------------------------------------------------------------------------- */

struct managed {
    const struct daemon_wish *wish;
    struct supervise_daemon *told; /* in the ending: its state and all that is on record */
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
    uint64_t reserved_ticks;
    struct daemon_object folder; /* as reserved */
    struct daemon_process process;
    int waits;     /* for it to execute something */
    bool accepted; /* when the first process had ended */
};

struct daemons {
    struct managed list[DAEMON_COUNT];
    size_t count;
    const struct sandbox *sandbox;
    const struct os_clock *clock;
    struct watchdog *watchdog; /* NULL: none */
    int leaf_fd;
    const char *leaf;
    struct watch_daemon record; /* what the watchdog is told; too large for a stack */
};

struct daemons_request {
    const struct daemon_wish *wishes;
    size_t count;
    const struct sandbox *sandbox;
    const struct os_clock *clock;
    struct watchdog *watchdog;
    int leaf_fd;                   /* the folder of the leaf; borrowed */
    const char *leaf;              /* as /proc/PID/cgroup names it */
    struct supervise_daemon *told; /* DAEMON_COUNT of them */
};
void daemons_init(struct daemons *daemons, const struct daemons_request *request);
/* asker: the process that connected, by the kernel's word, and a member of the leaf. */
void daemons_answer(struct daemons *daemons, int proc_dir, struct proc_identity asker,
                    const struct daemon_request *request, struct daemon_answer *ret_answer);
void daemons_done(struct daemons *daemons);

/* --- daemon-judge.c ----------------------------------------------------------------------------- */

/* The tree was just read: only sealed daemons and their descendants are there. Else what speaks against it
 * stands in *ret_why, and, of a daemon, in the ending. */
bool daemons_judge(struct daemons *daemons, struct tree *tree, const char **ret_why);
/* The first process had ended by itself, and now nothing is left of the tree, or whoever was accepted has had
 * its grace. */
void daemons_note_ends(struct daemons *daemons, bool ended);
/* Objects that outlived their daemon, on a file system of the host. */
void daemons_clear(struct daemons *daemons);
