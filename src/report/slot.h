/* slot.h
 *
 * A slot is the place of one report, owned by one run (RS-1…RS-4).
 *
 * Calling sequence
 *   slot_take(&slot, parent, name, run_id, provisional bytes, reserve_bytes, err)
 *       the parent directory is opened once and bound (device, inode, owner); the provisional record
 *       goes through an unpredictable exclusive temporary file, is synced and replaces what was there
 *       (never followed, never truncated in place); the blocks of the final record are reserved
 *   slot_publish(&slot, final bytes, err)
 *       only while the slot still holds this run's file: written into the reserved temporary, synced,
 *       renamed over the slot, directory synced
 *   slot_fallback(run_id, bytes, path, err)
 *       a complete report in the system's temporary folder when a slot cannot be written (RP-4)
 *
 * What was there before: a link is replaced, its target untouched; a berm report is replaced (its
 * run's own record is in the state folder); any other regular file is kept beside it under
 * NAME.before-RUNID and slot_kept() says so, so that a mistyped name loses nothing.
 *
 * Errors       ERR_REFUSED: the parent may be written by somebody else (path, mode and owner are
 *              named); ERR_CONFLICT: the slot belongs to another run by now; ERR_SYS.
 * Limitations  a process of the same user can always replace the file after the run.
 */
#pragma once

#include "bfs.h"
#include "err.h"
#include "span.h"

struct slot;

struct slot *slot_take(const char *path, const char *run_id, struct span provisional,
                       size_t reserve_bytes, struct err *err) must_check;
int slot_publish(struct slot *slot, struct span final, struct err *err) must_check;
const char *slot_path(const struct slot *slot); /* absolute, physical parent */
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
