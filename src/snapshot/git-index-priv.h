/* git-index-priv.h
 *
 * The paths that git's index names, and no more: versions 2, 3 and 4, digests of 20 or 32 bytes.
 *
 * Ownership    the caller owns ret_paths, sorted.
 * Errors       ERR_CORRUPT: not an index, or out of order; ERR_REFUSED: it is split, or has an extension that must
 *              be understood and is not; ERR_OVER_BUDGET over GIT_INDEX_BYTES, or when the paths of a version 4
 *              have more than that.
 * Limitations  the checksum at its end is not looked at: the paths are compared with what lies on the disk. A directory
 *              of a sparse index stands for files that are not on the disk, and is left out.
 * Source       gitformat-index(5)
 */
#pragma once

#include "bfs.h"
#include "paths-priv.h"

enum { GIT_INDEX_BYTES = 64 << 20 };

/* Of an open git directory; no index there: no paths. */
int git_index_read(const struct bfs_dir *git_dir, struct paths *ret_paths,
                   struct err *err) must_check;
int git_index_parse(struct span bytes, struct paths *ret_paths, struct err *err) must_check;
