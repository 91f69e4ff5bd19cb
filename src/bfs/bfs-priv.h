/* bfs-priv.h
 *
 * What the files of bfs/ share.
 */
#pragma once

#include "bfs.h"

/* ERR_REFUSED when path is not relative or has an empty, "." or ".." component. */
int bfs_check_path(const char *path, struct err *err) must_check;
/* ERR_REFUSED when name is not one component. */
int bfs_check_name(const char *name, struct err *err) must_check;

/* Open path beneath dir_fd with open(2) flags, no link followed. -ELOOP for a link on the way; a link
 * at the end with O_PATH is opened itself. path was checked. */
int bfs_lookup(int dir_fd, const char *path, int flags) must_check;

/* A kernel's answer about dir/name as an error: the errnos that have a code of their own get it. */
int bfs_error(struct err *err, int error, const char *doing, const char *directory,
              const char *name);

/* ERR_REFUSED unless the directory is as trust says. */
int bfs_check_trust(const struct bfs_facts *facts, enum bfs_trust trust, const char *path,
                    struct err *err) must_check;
const char *bfs_type_name(uint32_t mode);

/* fsync of a directory, done by the filesystems that know it. */
int bfs_sync_fd(int dir_fd) must_check;

/* Rename without a sync; -EEXIST when new_name is taken and must not be. */
int bfs_rename_fd(int old_dir, const char *old_name, int new_dir, const char *new_name,
                  enum bfs_rename how) must_check;

/* Every byte of the file in order, in pieces; then the checks that it stayed the same. */
typedef int bfs_take_bytes(void *context, struct span bytes, struct err *err);
int bfs_file_each(const struct bfs_file *file, bfs_take_bytes *take, void *context,
                  struct err *err) must_check;

/* What a stage is where the filesystem has no nameless files; stage->dir is set. */
int bfs_stage_open_named(struct bfs_stage *stage, mode_t mode, struct err *err) must_check;
