/* cursor-priv.h
 *
 * Paths beneath a root, one after the other, mostly of the same directory: that directory stays open.
 *
 * Calling sequence   with_cursor cursor = {.root = &root}; cursor_at(&cursor, path, &dir, &name, err)
 * Ownership          the root is borrowed; *ret_dir is good until the next call, *ret_name is a part of path
 * Errors             as bfs_dir_open_beneath(): no link is followed
 */
#pragma once

#include "bfs.h"

struct cursor {
    const struct bfs_dir *root;
    char *path; /* of dir, from the root; NULL: none is open */
    struct bfs_dir dir;
};

int cursor_at(struct cursor *cursor, const char *path, const struct bfs_dir **ret_dir,
              const char **ret_name, struct err *err) must_check;
void cursor_done(struct cursor *cursor);
#define with_cursor cleanup(cursor_done) struct cursor
