/* scope.h
 *
 * The scope of a run: the control group that holds it, with every limit set and read back. A scope is
 * NAME.scope with two leaves: `anchor/`, where the anchor keeps it alive, and `payload/`, which the
 * payload is moved into and which has the limits.
 *
 * Calling sequence
 *   scope_probe(&question, &offer)           what this host and this caller can have; starts nothing
 *   scope_name(run_id, name, err)            unpredictable: write it down before it exists
 *   ... create the anchor (anchor-message.h) and the watchdog; scope_expect(&offer) meanwhile ...
 *   scope_begin(&request, &scope, err)       asks for it; comes back before systemd answers, or the kernel does
 *   scope_finish(scope, err)                 waits for that, makes the leaves, sets and reads back
 *   ... hand scope_leaf_fd() and the anchor's channel to the watchdog, write the manifest ...
 *   scope_admit(scope, gate, err)            a blocked child: one write, and /proc/PID/cgroup says the leaf
 *   ... scope_event_fds() in epoll with EPOLLPRI; scope_events_read() when one fires ...
 *   scope_verify(scope, err)                 before the release: what systemd says of the scope, and the watchdog's
 *                                            stands; systemd works at that while others are set up
 *   scope_kill(scope)                        repeat each 10 ms while scope_leaf_empty() is NULL
 *   scope_counters_read(scope, &counters)    after the last process, before the leaf goes
 *   scope_remove(scope, deadline, &removed)  the leaf, the anchor, the scope and the unit are gone
 *   scope_free(scope)
 *
 * Once scope_begin() has succeeded there is something to take away: whatever fails later, end the gate and
 * call scope_remove(). When it fails, close the anchor's channel, and the anchor leaves by itself. Until its
 * own /proc/self/cgroup names the scope, systemd refused it (scope_watchdog_is_refused() of the watchdog), or SCOPE_SETTLE_MS after
 * deadline_ns have passed, no process of the request may exit: systemd knows it by its number only, and would
 * adopt another one. The anchor and the watchdog see to that themselves.
 *
 * Adapters
 *   linux-systemd-cgroup-v2     StartTransientUnit of the user's manager, or as root of the system's.
 *                               Only the anchor stands in the unit from the start: of several, one that ended
 *                               too early would make systemd drop the unit and leave its folder behind. A gate outside of the
 *                               manager's tree (a login session) is moved by systemd.
 *   linux-delegated-cgroup-v2   a folder in a cgroup that the caller names, or that it owns: the nearest
 *                               above its own that it may write and that hands on memory and pids.
 *
 * Limits       written and read back, each: memory.max, memory.high, memory.swap.max = 0 and
 *              memory.zswap.max = 0 where the kernel has them, memory.oom.group = 1, pids.max,
 *              cgroup.max.descendants = 0; for the scope: limits above the leaf's, so that the leaf's
 *              are hit first, no swap, OOMPolicy=continue. One difference refuses the scope and names the
 *              file, what was wanted and what the kernel has. Bytes are rounded down to a page first.
 * Memory       scope_probe() to scope_verify() and scope_remove() may allocate (libsystemd does); what is
 *              called while a payload lives does not.
 * Ownership    descriptors that are handed in are borrowed until scope_free(); those that come out are
 *              lent by the scope. Processes are reaped by their creator.
 * Patience     whoever waits for systemd hears that somebody asks to stop (struct scope_patience). Asked once,
 *              systemd has SCOPE_SETTLE_MS more, since it was told processes by their numbers; asked again, it is
 *              left to itself. Until scope_verify() that ends in ERR_CANCELLED, whether the scope was made or not.
 * Errors       ERR_UNAVAILABLE with what was seen and what helps, ERR_TIMEOUT, ERR_CONFLICT: the name is
 *              taken; ERR_CANCELLED; ERR_SYS.
 * Limitations  without a sandbox a payload of the same user can write the limit files, or ask the user's
 *              manager for another unit: "limited", not "enforced". A kernel that swaps and does not account for
 *              it (swapaccount=0) cannot limit swap: scope_limits() says so. Linux 5.14 (cgroup.kill); memory.peak
 *              and pids.peak are newer (5.19, 6.1), and unknown without. When it hands on controllers in a
 *              delegated cgroup, that stays.
 * Source       the kernel's admin-guide/cgroup-v2.rst; org.freedesktop.systemd1(5); systemd's
 *              CGROUP_DELEGATION.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroupfs.h"
#include "err.h"
#include "proc.h"

enum scope_adapter { SCOPE_NONE, SCOPE_SYSTEMD_USER, SCOPE_SYSTEMD_SYSTEM, SCOPE_DELEGATED };
/* "linux-systemd-cgroup-v2", "linux-delegated-cgroup-v2"; NULL of SCOPE_NONE. */
const char *scope_adapter_id(enum scope_adapter adapter);

/* --- what can be had ---------------------------------------------------------------------------- */

struct scope_question {
    const char *parent;      /* a folder beneath /sys/fs/cgroup that the caller names; NULL: none */
    const char *runtime_dir; /* the caller's XDG_RUNTIME_DIR; NULL or "": /run/user/UID is tried */
    bool ask;                /* load libsystemd and ask the manager; else its socket is enough */
};

/* Why an adapter is not to be had: X(enumerator, code). */
#define SCOPE_OBSTACLES(X)                                                                         \
    X(SCOPE_OBSTACLE_LAYOUT, "layout")         /* no cgroup v2, or memory and pids are v1's */     \
    X(SCOPE_OBSTACLE_NO_MANAGER, "no_manager") /* no socket of a manager */                        \
    X(SCOPE_OBSTACLE_NO_ANSWER, "no_answer")   /* it is there, and does not answer */              \
    X(SCOPE_OBSTACLE_NO_LIBRARY, "no_library") /* libsystemd cannot be loaded */                   \
    X(SCOPE_OBSTACLE_CONTROLLER, "controller") /* memory or pids is not handed down to there */    \
    X(SCOPE_OBSTACLE_PROCESSES, "processes")   /* no internal processes: EBUSY */                  \
    X(SCOPE_OBSTACLE_NOT_WRITABLE, "not_writable")                                                 \
    X(SCOPE_OBSTACLE_NO_CGROUP,                                                                    \
      "no_cgroup") /* the named folder is none, or the own is not seen */                          \
    X(SCOPE_OBSTACLE_OLD_KERNEL, "old_kernel")

enum scope_obstacle_code {
#define X(enumerator, code) enumerator,
    SCOPE_OBSTACLES(X)
#undef X
        SCOPE_OBSTACLE_COUNT
};
const char *scope_obstacle_name(enum scope_obstacle_code code);

struct scope_obstacle {
    enum scope_obstacle_code code;
    enum scope_adapter adapter; /* that it keeps from being had; SCOPE_NONE: any */
    char saw[400];              /* names the file */
    char remedy[400];
};

enum { SCOPE_OBSTACLES_MAX = 4 };

struct scope_offer {
    enum scope_adapter adapter;   /* SCOPE_NONE: the obstacles say why */
    char place[CGROUP_PATH_SIZE]; /* the manager's socket, or the folder of the parent cgroup */
    struct scope_obstacle obstacles[SCOPE_OBSTACLES_MAX]; /* of what was tried before, too */
    int obstacle_count;
};

/* With a parent only that; else systemd, else a cgroup that the caller owns. */
void scope_probe(const struct scope_question *question, struct scope_offer *ret_offer);

/* Which manager it would be made by, as far as that can be told without making it: for who records on what a
 * promise rested. All empty where no manager is part of it. */
struct scope_manager {
    char version[64];
    char identity[64];   /* of the process that listens at its socket: uid, pid, start ticks */
    const char *library; /* the file of libsystemd; NULL: not known. The loader's */
};
int scope_manager_read(const struct scope_offer *offer, struct scope_manager *ret_manager,
                       struct err *err) must_check;

/* Ends a unit of a run whose processes are dead. systemd keeps one for nobody: whoever was dead already when it
 * was moved there is in no cgroup, and no end is told. 0: there is none (any more): so it is where the
 * offer found no manager. Where it found one that it could not ask, nobody knows: ERR_UNAVAILABLE. ERR_CORRUPT: it
 * is no name of ours. */
int scope_forget_unit(const struct scope_offer *offer, const char *unit, int64_t deadline_ns,
                      struct err *err) must_check;

/* --- making it ---------------------------------------------------------------------------------- */

enum { SCOPE_NAME_SIZE = 128 };
/* "berm-RUN-RANDOM.scope", 64 random bits; ERR_USAGE: the run's id is not of [A-Za-z0-9_-], 1 to 80. */
int scope_name(const char *run_id, char name[SCOPE_NAME_SIZE], struct err *err) must_check;
/* And what the watchdog's own is called then. */
void scope_watchdog_name(const char *name, char watchdog_name[SCOPE_NAME_SIZE]);

enum { SCOPE_SETTLE_MS = 5000 };

/* Who may ask to stop while something is waited for. All zero but the descriptors: nobody. */
struct scope_patience {
    int fds[2];                  /* readable: the answer of asked() may have changed; -1: none */
    int (*asked)(void *context); /* how often it was asked so far; NULL: nobody can */
    void *context;
};

struct scope_request {
    const struct scope_offer *offer;
    const char *name;            /* of scope_name() */
    struct proc_identity anchor; /* nobody's child, like the watchdog: detached (detach-priv.h) */
    int anchor_pidfd;
    int anchor_channel; /* the near end */
    /* Gets a scope of its own, NAME-watchdog.scope, where there is a manager; it stays where it is in a
     * delegated cgroup. pid 0: there is none. */
    struct proc_identity watchdog;
    int64_t memory_max_bytes;  /* 0: no limit */
    int64_t memory_high_bytes; /* 0: none */
    int64_t pids_max;          /* 0: none */
    bool with_io;              /* a wish: io.stat, where the controller is to be had; takes time */
    int64_t
        runtime_max_ns; /* systemd ends the scope then, whoever died (scope_has_no_end()); 0: never */
    int64_t deadline_ns; /* monotonic; for scope_verify() to be done */
    struct scope_patience patience;
    /* Right before systemd is told the watchdog's number: until when it may look for it (monotonic). -errno: it is
     * not told. NULL: nobody has to know. */
    int (*tell_watchdog)(void *context, int64_t until_ns);
    void *tell_context;
};

struct scope;

/* One of that offer is going to be asked for: what that needs is loaded, which takes as long as a process takes to
 * start. What cannot be had is told by scope_begin(). */
void scope_expect(const struct scope_offer *offer);
int scope_begin(const struct scope_request *request, struct scope **ret_scope,
                struct err *err) must_check;
int scope_finish(struct scope *scope, struct err *err) must_check;
int scope_verify(struct scope *scope, struct err *err) must_check;
void scope_free(struct scope *scope);
static inline void scope_freep(struct scope **scope)
{
    scope_free(*scope);
    *scope = NULL;
}
#define with_scope cleanup(scope_freep) struct scope *

/* As the kernel has them, read back. */
struct scope_limits {
    int64_t memory_max_bytes; /* CGROUP_NO_LIMIT: none */
    int64_t memory_high_bytes;
    int64_t pids_max;
    int64_t
        swap_max_bytes; /* 0; CGROUP_NO_LIMIT: the host swaps, and its kernel cannot limit that */
};
void scope_limits(const struct scope *scope, struct scope_limits *ret_limits);
/* systemd refused the watchdog's unit: it does not look for its number any more. */
bool scope_watchdog_is_refused(const struct scope *scope);
/* It was to end at runtime_max_ns, and this systemd (before 244) ends no scope. */
bool scope_has_no_end(const struct scope *scope);
enum scope_adapter scope_adapter(const struct scope *scope);
const char *
scope_unit(const struct scope *scope); /* NAME.scope; the folder's name where there is no unit */
const char *scope_path(const struct scope *scope); /* of the scope's folder, "/sys/fs/cgroup/..." */
int scope_fd(const struct scope *scope);           /* the scope's folder */
int scope_leaf_fd(const struct scope *scope);      /* and the payload's */
/* The cgroup that the scope's folder was made in, and is to be removed from; -1: systemd does that. */
int scope_parent_fd(const struct scope *scope);

int scope_admit(struct scope *scope, struct proc_identity who, struct err *err) must_check;

/* --- while it runs ------------------------------------------------------------------------------ */

enum { SCOPE_EVENT_FDS = 3 };
/* memory.events.local, pids.events and cgroup.events of the leaf: EPOLLPRI. They can fire without a
 * change, and not more often than each 10 ms. */
void scope_event_fds(const struct scope *scope, int fds[SCOPE_EVENT_FDS]);

struct scope_events { /* counts; -1: not known */
    /* The leaf itself was out of memory, by its own limit and nobody else's: once and more often, since each of its
     * processes that finds nothing to reclaim is counted. */
    int64_t oom;
    int64_t
        oom_kill; /* something was killed for want of memory, here or above; no number of processes */
    int64_t memory_max;
    int64_t memory_high;
    int64_t pids_max; /* forks that were refused */
    int populated;    /* 0, 1; 0 also when the leaf is gone */
    int gone; /* 1: the leaf is; its files stay ready for ever, and are to be watched no more */
};
/* 1: something differs from the last time, 0: nothing does; -errno. */
int scope_events_read(struct scope *scope, struct scope_events *ret_events) must_check;

/* memory.current of the leaf, by one read; -1: unknown. */
int64_t scope_memory_bytes(const struct scope *scope);
/* What of it the kernel cannot take back: neither cached files nor such slab. Cached files that are locked,
 * and those of memory file systems, cannot be either. -errno. A kernel sums its statistics up lazily: it may be
 * some pages more for each processor. */
int scope_memory_kept(const struct scope *scope, int64_t *ret_bytes) must_check;
/* As scope_memory_bytes(), pids.peak and pids.current. The kernel keeps the peak without a lock: of two forks
 * at once it may keep the lesser one, and stay below a limit that was met. */
int64_t scope_pids_peak(const struct scope *scope);
int64_t scope_pids_current(const struct scope *scope);

/* A descriptor that fires (EPOLLPRI) when tasks of the leaf waited for memory for so long within two
 * seconds. At most one a scope. -EOPNOTSUPP, -ENOENT: the kernel has no pressure information. */
int scope_pressure_fd(struct scope *scope, int stall_ms) must_check;

/* SIGKILL to all of the leaf. -ENOENT or -ENODEV: it is gone. */
int scope_kill(const struct scope *scope) must_check;

struct proof_leaf_empty; /* the kernel said so: populated 0, or the leaf that was held is gone */
/* NULL: somebody is in it, or (*ret_result < 0) it could not be read. */
const struct proof_leaf_empty *scope_leaf_empty(struct scope *scope, int *ret_result) must_check;

/* X(field, file, key): what the kernel calls it; -1: not known. */
#define SCOPE_COUNTERS(X)                                                                          \
    X(memory_peak_bytes, "memory.peak", NULL)                                                      \
    X(memory_current_bytes, "memory.current", NULL)                                                \
    X(memory_swap_bytes, "memory.swap.current", NULL)                                              \
    X(memory_anon_bytes, "memory.stat", "anon")                                                    \
    X(memory_file_bytes, "memory.stat", "file")                                                    \
    X(memory_kernel_bytes, "memory.stat", "kernel")                                                \
    X(memory_slab_bytes, "memory.stat", "slab")                                                    \
    X(memory_shmem_bytes, "memory.stat", "shmem")                                                  \
    X(memory_sock_bytes, "memory.stat", "sock")                                                    \
    X(memory_dirty_bytes, "memory.stat", "file_dirty")                                             \
    X(memory_inactive_file_bytes, "memory.stat", "inactive_file")                                  \
    X(cpu_us, "cpu.stat", "usage_usec")                                                            \
    X(cpu_user_us, "cpu.stat", "user_usec")                                                        \
    X(cpu_system_us, "cpu.stat", "system_usec")                                                    \
    X(io_read_bytes, "io.stat", "rbytes=")                                                         \
    X(io_written_bytes, "io.stat", "wbytes=")                                                      \
    X(io_reads, "io.stat", "rios=")                                                                \
    X(io_writes, "io.stat", "wios=")                                                               \
    X(pids_peak, "pids.peak", NULL)                                                                \
    X(pids_current, "pids.current", NULL)                                                          \
    X(memory_some_us, "memory.pressure", "some total=")                                            \
    X(memory_full_us, "memory.pressure", "full total=")                                            \
    X(cpu_some_us, "cpu.pressure", "some total=")                                                  \
    X(io_some_us, "io.pressure", "some total=")                                                    \
    X(io_full_us, "io.pressure", "full total=")

struct scope_counters {
#define X(field, file, key) int64_t field;
    SCOPE_COUNTERS(X)
#undef X
};
/* Never fails: what cannot be read is unknown. All of it, when the leaf is gone. */
void scope_counters_read(const struct scope *scope, struct scope_counters *ret_counters);

/* --- the end ------------------------------------------------------------------------------------ */

/* Its folder was seen to be gone, and the unit's name to be unknown. Of a scope whose folder was never found
 * (scope_finish() failed before) only the unit was asked for: nothing of the payload was ever in it. */
struct proof_scope_gone;

struct scope_removed {
    const struct proof_scope_gone *gone; /* NULL: not proved; `left` says what was still there */
    bool leaf;                           /* gone */
    bool anchor;                         /* exited; its creator reaps it */
    bool folder;
    bool unit;
    char left[200];
};
/* The leaf, the anchor, then the scope, until deadline_ns (monotonic), or whoever asks to stop from now on has no
 * more patience. A leaf that is not empty stays,
 * and so does the anchor. May be called again. */
void scope_remove(struct scope *scope, int64_t deadline_ns, struct scope_removed *ret_removed);
