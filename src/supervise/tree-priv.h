/* tree-priv.h
 *
 * Who belongs to the payload: one pass over /proc finds the processes whose chain of parents leads
 * to the leader, and those that lost their parent and became berm's children (subreaper).
 *
 * Calling sequence
 *   tree_init(&tree, ...)       allocates everything that is ever needed
 *   tree_lead(&tree, leader)    the first process is a member
 *   tree_survey(&tree)          before the release: whoever is there and no member is none of the
 *                               payload's, without a look at it
 *   tree_look(&tree, now)       a pass: new members found, gone members marked
 *   tree_read(&tree, now)       the figures of every member, by one read each
 *   tree_signal_all(&tree, sig) to every living member, each by its own verified pidfd
 *
 * A process that was seen is remembered by (pid, inode of its /proc entry), so that a pass costs one
 * listing and one read for each process that is new. A member's /proc/PID/stat stays open: the
 * descriptor names that very process, a reused pid answers ESRCH through it (T19).
 *
 * Strangers    normally every child of berm is the payload's. When berm itself is pid 1 of a
 *              container, or was executed by a process that had children, others may be: such a
 *              child is claimed by evidence (session of the leader, the oom_score_adj that only the
 *              gate was given), known as foreign (it was there before, or is older than the leader),
 *              or *unclaimed*: left alone, and while one lives emptiness is not proved.
 * Limitations  a process that /proc does not show (hidepid with a set-uid program) is not found; the
 *              proof of emptiness does not depend on it. Of more than MEMBER_COUNT processes at once
 *              the rest is counted and waits for a free place before it is signalled.
 * Source       proc(5), getdents64(2); entries of /proc come in ascending order of pid.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "fd.h"
#include "proc.h"
#include "supervise.h"

enum {
    MEMBER_COUNT = 4096,
    KNOWN_COUNT = 65536,
    ARRIVAL_COUNT = KNOWN_COUNT,
    BYSTANDER_COUNT = 64,
    KEPT_FILES = 400, /* stat files that are kept open at most */
    ENTRIES_BYTES = 32768,
};

struct member {
    pid_t pid; /* 0: a free place */
    uint64_t start_ticks;
    struct fd stat_file; /* none: KEPT_FILES were open already, or it is a zombie */
    bool seen;           /* by the last pass */
    bool fresh;          /* its figures were read by the last pass */
    bool infrastructure; /* bubblewrap or the launcher: not counted, and not told to stop */
    int signal_error;    /* errno of the last signal to it, 0: went well */
    int record;          /* index into the ending's descendants, -1: not kept */
    struct proc_stat stat;
};

/* One process as of a pass; slot >= 0 is a member, the others say why it is none. */
enum {
    SLOT_FOREIGN = -1,
    SLOT_UNCLAIMED = -2,
    SLOT_ARRIVAL = -3,   /* not judged yet */
    SLOT_UNTRACKED = -4, /* the payload's, but there was no place; read again in the next pass */
    SLOT_UNKNOWN = -5,   /* its parent was not seen; read again in the next pass */
};
struct known {
    pid_t pid;
    int slot;
    uint64_t inode;
};

/* Somebody new, until the pass has judged it. */
struct arrival {
    struct proc_stat stat;
    struct fd stat_file; /* kept for a member-to-be while there is room */
    size_t place;        /* in next */
};

struct tree_room {
    struct member members[MEMBER_COUNT];
    struct known lists[2][KNOWN_COUNT];
    struct arrival arrivals[ARRIVAL_COUNT];
    char entries[ENTRIES_BYTES];
};

struct tree_sums {
    int64_t rss_bytes;
    int64_t tasks;
    int64_t processes;
};

enum tree_claim { CLAIM_PAYLOAD, CLAIM_FOREIGN, CLAIM_NONE };

struct tree {
    struct supervise_ending *ending; /* descendants are recorded there */
    struct fd proc_dir;
    struct fd memory_file;   /* meminfo of the host; may be missing */
    struct fd children_file; /* of this process; none: the kernel was built without it */
    pid_t controller;
    struct proc_identity leader;
    bool strangers; /* berm may have children that are not the payload's */
    int oom_mark;   /* oom_score_adj that only the gate was given; OOM_MARK_NONE: none */
    int64_t page_bytes;
    int64_t ms_per_tick;

    struct tree_room *room; /* what the pointers below lead to */
    struct member *members;
    int member_limit; /* places below it were used */
    int files_left;   /* stat files that may still be kept open */
    struct known *known;
    size_t known_count;
    struct proc_identity bystanders[BYSTANDER_COUNT]; /* berm's children from before */
    int bystander_count;

    /* of the pass that runs */
    struct known *next;
    size_t next_count;
    struct arrival *arrivals;
    size_t arrival_count;
    bool surveying;
    bool setting_up; /* whoever is found now belongs to the sandbox and not to the payload */

    /* what the last pass saw */
    int found;              /* new members */
    int unclaimed;          /* alive */
    bool overlooked;        /* somebody is there of whom nothing could be read or kept */
    struct tree_sums extra; /* of payload processes that found no place */
};

enum { OOM_MARK_NONE = -2000 };

static inline void peak_raise(int64_t *peak, int64_t value)
{
    if (value > *peak) {
        *peak = value;
    }
}

/* files: how many descriptors this process may have open. */
int tree_init(struct tree *tree, struct supervise_ending *ending, uint64_t files,
              struct err *err) must_check;
/* The first process, before anything else is looked at. */
int tree_lead(struct tree *tree, struct proc_identity leader, int64_t now_ms) must_check;
/* Who is there now is no descendant: before the first process has children, or while all of them will be
 * told by tree_adopt_only_child(). Without it each of them would have to be read. */
int tree_survey(struct tree *tree, int64_t now_ms) must_check;
/* The one child of a process that is not a member yet, by the kernel's list of its children: a pass over
 * /proc costs more with every process of the host. NULL: none, several, or the kernel has no such list;
 * tree_look() and tree_only_child() know what there is. */
struct member *tree_adopt_only_child(struct tree *tree, pid_t parent, int64_t now_ms);
int tree_look(struct tree *tree, int64_t now_ms) must_check; /* -errno: /proc cannot be listed */
void tree_read(struct tree *tree, int64_t now_ms, struct tree_sums *ret_sums);
/* Forget who is foreign: the next pass reads everybody again. */
void tree_forget(struct tree *tree);
void tree_done(struct tree *tree);

/* member.c */
/* A place for a process that was just read, or NULL when there is none. It takes the open stat file,
 * if there is one, and accounts for it. */
struct member *member_new(struct tree *tree, const struct proc_stat *stat, struct fd *stat_file,
                          int64_t now_ms);
/* Open and read a stat file; when no descriptor is left, observation gives its own back first. */
int tree_read_stat(struct tree *tree, pid_t pid, struct proc_stat *ret_stat,
                   struct fd *ret_file) must_check;
/* Take over what a stat file says. */
void member_update(struct tree *tree, struct member *member, const struct proc_stat *stat,
                   int64_t now_ms);
void member_gone(struct tree *tree, struct member *member);
bool member_alive(const struct member *member);
bool stat_alive(const struct proc_stat *stat);
/* 0, -ESRCH when it is gone, or what the kernel says. */
int member_signal(struct tree *tree, struct member *member, int signal) must_check;
struct member *tree_member(struct tree *tree, pid_t pid);
/* The only member whose parent is that one; NULL: none, or more than one. */
struct member *tree_only_child(struct tree *tree, pid_t parent);
/* What was found while the sandbox was set up is the payload's first process. */
void tree_promote(struct tree *tree, struct member *member, int64_t now_ms);
/* The number that was reached; the infrastructure of a sandbox hears SIGKILL only. */
int tree_signal_all(struct tree *tree, int signal);
int tree_count_alive(const struct tree *tree); /* of the payload */

/* Whose is this child of berm? */
enum tree_claim tree_claim(const struct tree *tree, const struct proc_stat *stat);
