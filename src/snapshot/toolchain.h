/* toolchain.h
 *
 * Staged runtimes (IB-4): an interpreter with all that belongs to it, copied out of a place that others may write, or that a
 * sandbox hides, into berm's state. The copy is what runs, by the path of what it was copied from, and its digest is
 * a part of what is frozen. Nothing is thereby said about the place that it came from: whoever stages it trusts it as it was then.
 *
 * Calling sequence
 *   toolchain_stage(&state, path, name, realtime_ns, &facts, err)    once
 *   toolchain_open(&state, name, &toolchain, err)     at each use: it is what was staged, or an error
 *   toolchain_facts(), toolchain_tree()               what it is, and what is shown in the place of facts->source
 *   toolchain_check(toolchain, err)                   right before the release, and after the exit
 *   toolchain_names(&state, &names, err)
 *
 * What is copied   every regular file, symbolic link and directory beneath the root but what is called `.git`. Files
 *              become 0444 or 0555, so no bit for another user or group stays. A link must lead to something
 *              within the root.
 * Where        STATE/toolchains/NAME: `tree`, `record.json` (what it is, from where, who could write each folder
 *              above it), and a ledger. Complete, or not there.
 * Trust        within one boot the ledger's facts tell that nothing was changed; in a later one all of it is
 *              read again, once, and must have the digest of the record.
 * Ownership    an open toolchain owns its descriptors; facts that were returned end with toolchain_facts_done().
 * Errors       ERR_NOT_FOUND; ERR_CONFLICT: the name is taken, or another stages at this moment; ERR_CHANGED: what
 *              is there is not what was staged, or the source changed meanwhile; ERR_REFUSED: a special file, a link
 *              out of the root, a ':' in a path, which PATH cannot hold; ERR_OVER_BUDGET: also, there are
 *              TOOLCHAIN_COUNT already; ERR_CORRUPT: the record.
 * Limitations  a program that has the path of another place within it goes on to look there. It is shown where it was
 *              copied from, so that folder must still be there for the sandbox. Libraries of the host that it
 *              loads are the host's. To remove one, remove its folder.
 */
#pragma once

#include "attributes.h"
#include "bfs.h"
#include "err.h"
#include "record.h"

enum { TOOLCHAIN_COUNT = 256, TOOLCHAIN_ENTRIES = 131072 };
#define TOOLCHAIN_BYTES (UINT64_C(4) << 30)

/* A folder above the source. */
struct toolchain_ancestor {
    char *path;
    int64_t mode;
    int64_t owner;
    int64_t group;
};

struct toolchain_facts {
    char *name;
    char *source; /* physical path */
    int64_t staged_realtime_ns;
    char *source_digest; /* read after the copy was made */
    char *digest;        /* of the copy */
    int64_t entries;
    int64_t bytes;
    struct object_list ancestors; /* struct toolchain_ancestor, the root first */
};
extern const struct record toolchain_record;
void toolchain_facts_done(struct toolchain_facts *facts);
#define with_toolchain_facts cleanup(toolchain_facts_done) struct toolchain_facts

struct toolchain;

int toolchain_stage(const struct bfs_dir *state, const char *path, const char *name,
                    int64_t realtime_ns, struct toolchain_facts *ret_facts,
                    struct err *err) must_check;
int toolchain_open(const struct bfs_dir *state, const char *name, struct toolchain **ret_toolchain,
                   struct err *err) must_check;
const struct toolchain_facts *toolchain_facts(const struct toolchain *toolchain);
const struct bfs_dir *toolchain_tree(const struct toolchain *toolchain);
int toolchain_check(const struct toolchain *toolchain, struct err *err) must_check;
void toolchain_free(struct toolchain *toolchain);
int toolchain_names(const struct bfs_dir *state, struct strvec *ret_names,
                    struct err *err) must_check;
/* The record alone: what is there is not looked at. */
int toolchain_read(const struct bfs_dir *state, const char *name, struct toolchain_facts *ret_facts,
                   struct err *err) must_check;

static inline void toolchain_freep(struct toolchain **toolchain)
{
    toolchain_free(*toolchain);
    *toolchain = NULL;
}
#define with_toolchain cleanup(toolchain_freep) struct toolchain *
