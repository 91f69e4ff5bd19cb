/* source-priv.h
 *
 * Which files of a repository are its source, by one walk over the disk: paths, kinds, facts and the targets of links.
 * No file is read for its content.
 *
 * Ownership    ret_entries belong to the caller; digests and facts of copies are still empty.
 * Errors       as snapshot.h says of what is refused
 * Limitations  the walk is no moment: what changes meanwhile is seen before or after, and what was seen is
 *              compared when it is read.
 */
#pragma once

#include "paths-priv.h"
#include "snapshot-priv.h"

/* Everything beneath a directory but what is called `.git`, whatever would be ignored. */
int source_list_all(const struct bfs_dir *root, const struct snapshot_limits *limits,
                    struct entries *ret_entries, struct err *err) must_check;
int source_list(const struct bfs_dir *root, const struct snapshot_limits *limits,
                const struct paths *include, struct entries *ret_entries,
                struct err *err) must_check;
