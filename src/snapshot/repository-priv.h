/* repository-priv.h
 *
 * What git's own folder says about a directory that has a `.git`: which paths are tracked, and what is left out beside
 * .gitignore. `.git` may be a directory, a link to one, or the file of a linked worktree or a submodule.
 *
 * Ownership    a repository owns its paths and rules; `base` is borrowed.
 * Errors       as git-index-priv.h and ignore-priv.h; ERR_CORRUPT for a `.git` that names nothing,
 *              ERR_REFUSED: where no snapshot may be taken (SB-4).
 * Limitations  git's folder may lie anywhere, and is only read: the worst that a false one can do is to choose
 *              among the files that lie beneath the root. Its configuration is not read at all.
 * Source       gitrepository-layout(5)
 */
#pragma once

#include "bfs.h"
#include "ignore-priv.h"
#include "paths-priv.h"

struct repository {
    struct paths tracked;
    struct ignore exclude;
    const char *base; /* its own path from the root: empty, or it ends in '/' */
};

/* dir has an entry `.git`. */
int repository_open(const struct bfs_dir *dir, const char *base, struct repository *ret_repository,
                    struct err *err) must_check;
void repository_done(struct repository *repository);
#define with_repository cleanup(repository_done) struct repository

/* ERR_REFUSED for a directory that can be no root. */
int repository_check_root(const char *root, const char *state, struct err *err) must_check;
