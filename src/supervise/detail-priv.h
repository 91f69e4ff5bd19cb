/* detail-priv.h
 *
 * The dearer figures of a few members in turn: descriptors, storage I/O, proportional memory (PSS).
 *
 * A look gets a budget of time; when it is spent the next look goes on where this one ended. PSS makes
 * the kernel walk the whole address space under its lock, so it is read only of processes small
 * enough; a bigger one is marked MISSED_BUDGET. What is read by a number counts only if the process itself is there
 * afterwards: it may have ended meanwhile, and its number be another's.
 */
#pragma once

#include "clock.h"
#include "tree-priv.h"

void detail_read(struct tree *tree, const struct os_clock *clock, int64_t budget_ns, int *cursor);
/* The memory of a process whose first thread has exited: its own entry shows none. */
uint64_t detail_thread_rss(const struct tree *tree, const struct member *member);
/* MemAvailable of the host in bytes, or -errno. */
int64_t detail_host_available(const struct tree *tree);
