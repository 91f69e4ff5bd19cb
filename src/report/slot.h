/* slot.h
 *
 * A slot is the place of one report, owned by one run (RS-1…RS-4).
 *
 * Calling sequence
 *   slot_take(path, run_id, provisional bytes, reserve_bytes, err)
 *       the parent directory (made 0700 where it is missing) is opened once and bound by its
 *       identity; the blocks of the final record are set aside; the provisional record goes through
 *       an unpredictable exclusive temporary file, is synced and replaces what was there (never
 *       followed, never truncated in place)
 *   slot_publish(slot, final bytes, err)
 *       only while the parent is what it was and the slot still holds this run's file: written into
 *       the blocks that were set aside, synced, renamed over the slot, directory synced
 *   slot_fallback(run_id, bytes, path, path_size, err)
 *       a complete report in the system's temporary folder when a slot cannot be written (RP-4)
 *
 * What was there before: a link is replaced, its target untouched; a berm report is replaced (its
 * run's own record is in the state folder); any other regular file that is not empty is kept beside
 * it under NAME.before-RUNID and slot_kept() says so, so that a mistyped name loses nothing.
 * Directories, FIFOs, devices and places below /dev, /proc and /sys are refused.
 *
 * Two runs with one slot: the later taker owns it, the earlier one gets ERR_CONFLICT when it
 * publishes. Check and rename happen under a lock of the parent that other runs of berm respect; the
 * wait for it is bounded, and safety does not rest on it.
 *
 * Ownership    slot_take() makes a slot, slot_free() ends it and removes what was not published.
 * Errors       ERR_REFUSED: the parent may be written by somebody else (path, mode and owner are
 *              named), or what is there is not replaced; ERR_USAGE: the path names a directory;
 *              ERR_CONFLICT: the slot belongs to another run by now, or was removed; ERR_CHANGED: the
 *              parent is another, or open to others by now; ERR_SYS.
 * Limitations  a process of the same user can always replace the file after the run, and between the
 *              check and the rename. A full disk at the start leaves the earlier run's report in the
 *              slot (nothing is run then).
 */
#pragma once

#include "bfs.h"
#include "err.h"
#include "span.h"

struct slot;

/* NULL on failure; nothing was taken then. */
struct slot *slot_take(const char *path, const char *run_id, struct span provisional,
                       size_t reserve_bytes, struct err *err) must_check;
/* More blocks than were asked for at first, when it is known that the record can be longer. */
int slot_reserve(struct slot *slot, size_t bytes, struct err *err) must_check;
/* A second publication is possible, without blocks of its own. */
int slot_publish(struct slot *slot, struct span final, struct err *err) must_check;
const char *slot_path(const struct slot *slot); /* absolute, physical parent */
/* Where the watchdog is to write when berm dies: whose record is there is told by the run's id in it, not by
 * a file's inode (RS-5). Lent by the slot. */
const struct bfs_dir *slot_parent(const struct slot *slot);
const char *slot_name(const struct slot *slot);
const char *slot_kept(const struct slot *slot); /* name of the file that was kept, or NULL */
void slot_free(struct slot *slot); /* an unpublished slot keeps its provisional record */
int slot_fallback(const char *run_id, struct span bytes, char *ret_path, size_t path_size,
                  struct err *err) must_check;

static inline void slot_freep(struct slot **slot)
{
    slot_free(*slot);
    *slot = NULL;
}
#define with_slot cleanup(slot_freep) struct slot *
