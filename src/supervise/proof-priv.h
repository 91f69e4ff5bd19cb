/* proof-priv.h
 *
 * The only place that reaps, and so the only one that can say that nothing is left.
 *
 * berm is a child subreaper: whoever loses its parent becomes berm's child or the child of a living
 * process that already descends from it. So every living process of the tree has a living ancestor
 * that is berm's child, and "waitid finds no child" (ECHILD) means that the tree is empty.
 *
 * When berm may have children that are not the payload's (tree-priv.h, Strangers) ECHILD may never
 * come. Then this is looked for: nothing to reap, a pass over /proc in which every child of berm is
 * known to be foreign, nothing to reap again. A process of the payload that moved through that pass
 * unseen (by forking behind it and exiting) would have left a zombie to reap.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#include "err.h"
#include "launch-priv.h"
#include "supervise.h"
#include "tree-priv.h"

struct reaper {
    struct tree *tree;
    struct supervise_ending *ending;
    bool leader_gone;
    /* What the kernel said of it when it was reaped: executed something, or never did. */
    enum { EXECUTED_UNKNOWN, EXECUTED_YES, EXECUTED_NO } leader_executed;
    int exit_code; /* of the leader */
    int exit_signal;
    const struct launch *launch; /* with a sandbox the leader is bubblewrap; NULL: none */
    bool more;                   /* there may be more to reap at once */
    bool only_unclaimed; /* what is left may be the payload's or not, and nothing else is left */
};

/* Reap what has ended, at most a bounded number at once, and conclude nothing from it. */
void proof_reap_some(struct reaper *reaper, int64_t now_ms);
/* The same; returns the proof, or NULL: something is left. *ret_result is 0 or -errno. */
const struct proof_tree_empty *proof_reap(struct reaper *reaper, int64_t now_ms, int *ret_result);
