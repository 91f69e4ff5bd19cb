/* scope-priv.h
 *
 * A scope between its parts.
 *
 *   scope.c            the calling sequence; the anchor; the end
 *   scope-probe.c      what can be had
 *   scope-systemd.c    a transient unit of a manager  } behind one table of operations: they bring the
 *   scope-delegated.c  a folder of our own            } anchor into the scope's folder
 *   scope-leaf.c       the leaves and their limits: the same for both
 *   scope-read.c       events and counters
 *   scope-wait.c       how long anything is waited for (scope-wait-priv.h)
 *   scope-manager.c    who a manager is
 *   scope-bus.c        the connection to systemd, and scope-unit.c what it is asked (scope-sd-priv.h)
 */
#pragma once

#include "fd.h"
#include "scope-bus-priv.h"
#include "scope-wait-priv.h"
#include "scope.h"

#define SCOPE_TREE "/sys/fs/cgroup"

/* The anchor's own memory, and what the kernel charges to the scope and not to the leaf. */
enum { SCOPE_MEMORY_SLACK_BYTES = 64 << 20, SCOPE_PIDS_SLACK = 64 };

struct scope_operations {
    int (*begin)(struct scope *scope, struct err *err);
    /* Until the anchor is in the scope's folder, which is open then. */
    int (*join)(struct scope *scope, struct err *err);
    /* What the adapter itself set, read back; and who else was to be somewhere is there. */
    int (*verify)(struct scope *scope, struct err *err);
    /* Has a process brought into the leaf that the caller may not move; NULL: nobody else can. */
    int (*fetch)(struct scope *scope, struct proc_identity who, struct err *err);
    /* The folder is gone: is all the rest? -1: not known. */
    int (*forget)(struct scope *scope, int64_t deadline_ns, struct err *err);
};
extern const struct scope_operations scope_systemd_operations;
extern const struct scope_operations scope_delegated_operations;

struct scope {
    const struct scope_operations *operations;
    struct scope_offer offer;
    struct scope_request request; /* without its pointers */
    char name[SCOPE_NAME_SIZE];
    char watchdog_name[SCOPE_NAME_SIZE + sizeof "-watchdog"];
    char description[SCOPE_NAME_SIZE];

    struct patience patience;
    struct bus *bus;
    struct bus_unit unit;
    struct bus_unit watchdog_unit;

    struct fd parent;                   /* scope_delegated */
    char cgroup[CGROUP_PATH_SIZE];      /* the scope's, as /proc/PID/cgroup says it */
    char leaf_cgroup[CGROUP_PATH_SIZE]; /* and the leaf's */
    char path[CGROUP_PATH_SIZE + sizeof SCOPE_TREE];
    struct fd folder;
    struct fd anchor_folder;
    struct fd leaf;
    struct fd events[SCOPE_EVENT_FDS];
    struct fd pressure;

    bool holds; /* the anchor has the folders */
    bool leaf_gone;
    bool leaf_removed;
    bool told_to_leave;
    bool without_end;
    struct scope_limits limits;
    struct scope_events last;
};

/* What a limit file is to hold; others may not be there. */
struct scope_setting {
    const char *file;
    char wanted[32];
    bool optional; /* it may not be there; what that means is judged by scope_judge_swap() */
};

/* scope-leaf.c */
int scope_leaves_make(struct scope *scope, struct err *err) must_check;
/* Written, unless only_read, and read back; ERR_UNAVAILABLE names file, wanted and seen. */
int scope_set(int cgroup_fd, const char *where, const struct scope_setting *setting, bool only_read,
              struct err *err) must_check;
/* The leaf's limits, twice: set and read back one by one, and when all are set read back again. */
int scope_set_limits(struct scope *scope, struct err *err) must_check;
/* scope->limits.swap_max_bytes, once they are set. */
int scope_judge_swap(struct scope *scope, struct err *err) must_check;
/* The scope's own limits: above the leaf's, so that the leaf's are hit first, and a kill in the leaf leaves
 * the anchor alone. */
int scope_set_outer(struct scope *scope, bool only_read, struct err *err) must_check;
int64_t scope_round_down(int64_t bytes) must_check; /* to a page */

/* scope-read.c */
int scope_events_open(struct scope *scope) must_check;

/* scope.c */
/* The folder that the process stands in, by /proc: must be a cgroup of the scope's name. */
int scope_find_folder(struct scope *scope, struct proc_identity who, struct err *err) must_check;
/* The anchor goes into a cgroup itself: one asks, and hears later whether it did. It is nobody's child, so its number may
 * be another's once it has ended; the gate's stays its own until its creator has reaped it. ERR_UNAVAILABLE: the kernel
 * refused; `where` is named. */
int scope_anchor_join(struct scope *scope, int cgroup_fd, struct err *err) must_check;
int scope_anchor_joined(struct scope *scope, const char *where, struct err *err) must_check;
/* The process's cgroup, by its /proc. */
int scope_cgroup_of(struct proc_identity who, char path[CGROUP_PATH_SIZE]) must_check;
