/* inputs-priv.h
 *
 * The files that a piece of work names: what frozen.h keeps of them.
 */
#pragma once

#include "frozen.h"
#include "strvec.h"

struct input {
    size_t argument; /* which word */
    bool sealed;
    bool inside; /* path is relative to the root, else physical */
    char *path;
    char sha256
        [HASH_HEX_SIZE]; /* empty: of the repository and not sealed, so the snapshot tells it */
    int64_t read_ns;
    struct bfs_facts facts;
};

struct frozen_inputs {
    char *root_path;
    struct input *items;
    size_t count;
    uint64_t argument_bytes;
    size_t argument_files;
    struct strvec include;
};

/* The part of a physical path beneath the root, or NULL. */
const char *inputs_relative(const struct frozen_inputs *inputs, const char *path);
/* What lies outside is still what was read; inside, the snapshot's check of its source says so. */
int inputs_check(const struct frozen_inputs *inputs, struct err *err) must_check;
