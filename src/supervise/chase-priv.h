/* chase-priv.h
 *
 * SIGKILL for processes that do not live long enough to be listed.
 *
 * A chain of processes, each of which forks the next and exits, is always somewhere else by the time
 * that a pass over /proc has come to its end; and what it leaves behind are zombies, each of which
 * costs the pass a read. But whoever loses its parent becomes berm's child. So the chase looks at
 * nothing else: it reaps, reads the list of berm's own children (one read), sends SIGKILL to each, and
 * begins again, as long as there is somebody new. A process that is told to die cannot fork any more
 * (fork(2) fails while a fatal signal is pending), so a chain ends as soon as one of it was reached.
 *
 * A child of ours can be signalled by its number without a further look: nobody but berm reaps it, so
 * the number cannot name another process in between.
 *
 * Limitations  needs /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN); without it only the passes
 *              over /proc remain. Children that are not berm's own are reached when their parents have
 *              died, or by those passes.
 */
#pragma once

#include "proof-priv.h"

/* The number of signals that were sent. */
int chase_children(struct reaper *reaper, int64_t now_ms);
