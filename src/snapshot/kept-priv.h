/* kept-priv.h
 *
 * The kept copy of a source: checked, brought up to date, written down.
 *
 * Calling sequence
 *   kept_open(&folder, boot_id, &kept, err)      what is there and is as it was left, else an empty tree
 *   kept_update(&kept, &root, &wanted, &figures, err)   patched; on failure it is void and made anew next time
 *   kept_check(&kept, err)                       nobody has changed it since
 *   kept_check_links(&kept, err)                 no link in it leads out of it
 *
 * Ownership    kept_open() borrows the folder for as long as kept lives; kept_update() takes `wanted`.
 * Errors       ERR_CHANGED: a file of the source changed while it was read, or the copy did after it was made.
 * Limitations  as of snapshot.h, "The kept copy"
 */
#pragma once

#include "ledger-priv.h"

struct kept {
    const struct bfs_dir *folder;
    const char *boot_id;
    struct bfs_dir tree;
    struct ledger ledger; /* its entries are the copy's */
};

enum { BOOT_ID_SIZE = 40 };
int kept_boot_id(char boot_id[BOOT_ID_SIZE], struct err *err) must_check;
/* A copy with a ledger of this boot that describes what is there; false for any reason not to trust one. */
bool kept_find(const struct bfs_dir *folder, const char *boot_id, struct kept *ret_kept) must_check;
/* What is there, read byte by byte; the caller knows what it should be. A ledger of it is left. */
int kept_read(const struct bfs_dir *folder, const char *boot_id,
              const struct snapshot_limits *limits, struct kept *ret_kept,
              struct err *err) must_check;
int kept_open(const struct bfs_dir *folder, const char *boot_id, struct kept *ret_kept,
              struct err *err) must_check;
int kept_update(struct kept *kept, const struct bfs_dir *root, struct entries *wanted,
                struct snapshot_figures *figures, struct err *err) must_check;
int kept_check(const struct kept *kept, struct err *err) must_check;
int kept_check_links(const struct kept *kept, struct err *err) must_check;
void kept_done(struct kept *kept);
#define with_kept cleanup(kept_done) struct kept
