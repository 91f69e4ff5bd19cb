/* lease-priv.h
 *
 * A folder of the state that one snapshot has for itself, as long as its descriptor, or a copy of it, is open.
 *
 * Errors       ERR_CONFLICT: SNAPSHOT_LEASES of that repository are taken.
 * Limitations  an flock: on a network filesystem it is as good as the server's
 * Source       flock(2)
 */
#pragma once

#include "bfs.h"

int lease_take(const struct bfs_dir *state, const char *root_path, struct bfs_dir *ret_folder,
               struct err *err) must_check;
