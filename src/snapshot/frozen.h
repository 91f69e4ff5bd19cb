/* frozen.h
 *
 * The frozen identity of a piece of work (FZ-2): what is run, on what, from which source, by which berm. It is one
 * digest, made before the run and used after it; nothing is computed anew from what the payload may have changed.
 *
 * Calling sequence
 *   with_frozen_inputs inputs = NULL;
 *   frozen_read_inputs(&work, &root, &inputs, err)     file arguments and sealed inputs: found, judged, hashed
 *   snapshot_take(... .include = frozen_include(inputs))   so that what is asked for by name is in the snapshot
 *   frozen_identity(&work, inputs, snapshot, digest, err)
 *   frozen_check(inputs, snapshot, err)                right before the release: all of it is still that (FZ-1)
 *   snapshot_check_tree(snapshot, err)                 after the exit: what ran is what was frozen (FZ-3)
 *
 * File arguments   each word behind the first that names a regular file from the cwd, through links too. One in the
 *              repository is a part of the snapshot, even where it is ignored; one outside is hashed where it is, and is
 *              named in the identity by its bytes. FROZEN_ARGUMENT_FILES and FROZEN_ARGUMENT_BYTES are the most.
 * Sealed inputs   a word that an entrypoint declares as such: a path of the repository without links, a file with one
 *              hard link, of this user or root, of at most its own ceiling, which is compared before a byte is read;
 *              with the digest and the size that the manifest says, when it says them (SI-2, SI-3). What the snapshot then
 *              holds under that path must be these bytes (SI-4).
 * Ownership    inputs own copies of what they keep; the work is borrowed for each call.
 * Errors       ERR_REFUSED, ERR_OVER_BUDGET, ERR_CHANGED, ERR_NOT_FOUND, ERR_SYS
 * Limitations  a file whose name is only a part of a word ("--config=x") is no file argument; in the repository it is source
 *              all the same. A directory given as an argument counts by its name alone. Stdin is not in the
 *              identity, and limits are not either (FZ-4).
 */
#pragma once

#include <stdint.h>

#include "attributes.h"
#include "bfs.h"
#include "err.h"
#include "hash.h"
#include "snapshot.h"

enum { FROZEN_ARGUMENT_FILES = 4096 };
#define FROZEN_ARGUMENT_BYTES (UINT64_C(64) << 20)
#define FROZEN_SEALED_BYTES   (UINT64_C(256) << 20) /* no ceiling of a sealed input is above */

/* A program of the chain that is started: the target first, then its interpreters (binding.h). */
struct frozen_program {
    const char *path; /* physical */
    const char *sha256;
};

struct frozen_sealed {
    size_t argument; /* which word of argv is its path */
    uint64_t maximum_bytes;
    bool executable;    /* it must be */
    const char *sha256; /* 64 lowercase hexadecimal digits, or NULL: not pinned */
    int64_t size_bytes; /* -1: not pinned */
};

struct frozen_work {
    char *const *argv; /* NULL-terminated; [0] is how the program was called, and is not used */
    const struct frozen_program *programs;
    size_t program_count;
    const struct bfs_dir *cwd;
    const struct frozen_sealed *sealed;
    size_t sealed_count;
    char *const *environment; /* of the payload, NULL-terminated; NULL: none */
    const char *toolchain;    /* digest of what was staged (toolchain.h); NULL: none */
    const char *runner_build; /* digest of berm and its helper */
    const char *workload;     /* NULL: none is named */
};

struct frozen_inputs;

int frozen_read_inputs(const struct frozen_work *work, const struct bfs_dir *root,
                       struct frozen_inputs **ret_inputs, struct err *err) must_check;
/* Relative paths of the repository, NULL-terminated; borrowed. */
const char *const *frozen_include(const struct frozen_inputs *inputs);
int frozen_identity(const struct frozen_work *work, const struct frozen_inputs *inputs,
                    const struct snapshot *snapshot, char digest[HASH_HEX_SIZE],
                    struct err *err) must_check;
int frozen_check(const struct frozen_inputs *inputs, const struct snapshot *snapshot,
                 struct err *err) must_check;
void frozen_inputs_free(struct frozen_inputs *inputs);

static inline void frozen_inputs_freep(struct frozen_inputs **inputs)
{
    frozen_inputs_free(*inputs);
    *inputs = NULL;
}
#define with_frozen_inputs cleanup(frozen_inputs_freep) struct frozen_inputs *
