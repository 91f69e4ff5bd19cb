/* walk-priv.h
 *
 * From a path to the file it leads to, one descriptor at a time: links are followed as the kernel
 * would, but every directory that has a say in where the path leads is opened and looked at, so that
 * the policy judges the very places that were walked through and the file that was found.
 *
 * Calling sequence
 *   with_walk walk = {0};
 *   int error = walk_to(&start, "/usr/bin/cc", &walk);    -errno; at most 40 links (path_resolution(7))
 *   walk.target       O_PATH, no link; walk.facts is its fstat
 *   walk.canonical    physical path; walk.places: each directory once for every time it was entered
 *
 * Limitations  a link below /proc/PID/ is walked by its text like any other: what has no path (a
 *              memfd, a removed file) is not found.
 */
#pragma once

#include "bfs.h"

struct walk_start {
    int cwd_fd;           /* relative paths start here; borrowed */
    const char *cwd_path; /* its physical path, absolute; NULL: it has none */
};

/* A directory that was gone through. */
struct walk_place {
    char *path;
    struct bfs_facts facts;
};

struct walk {
    struct fd target;
    struct bfs_facts facts;
    char *canonical;
    struct walk_place *places;
    size_t place_count;
};

int walk_to(const struct walk_start *start, const char *path, struct walk *ret_walk) must_check;
void walk_done(struct walk *walk);
#define with_walk cleanup(walk_done) struct walk
