/* snapshot.h
 *
 * The execution snapshot: the source of a repository as it was at one moment, in a read-only copy of berm's own,
 * from which a payload runs while the person goes on editing. What is copied and hashed is the bytes on disk.
 * Nothing of the repository is executed, and no program is started to read it: git's index, .gitignore files and
 * the `.git` of worktrees and submodules are read as data, within budgets (docs/adr/0016).
 *
 * Calling sequence
 *   with_bfs_dir root = {0};
 *   snapshot_find_root(cwd_fd, &state, &root, err)      the repository around a directory; SB-4 refusals
 *   with_snapshot snapshot = NULL;
 *   snapshot_take(&request, &snapshot, err)             leases a kept copy and brings it up to date
 *   snapshot_digest(), snapshot_tree_fd()               what it is, and what is mounted read-only
 *   snapshot_check_source(snapshot, err)                before the release: the checkout still is that (FZ-1)
 *   snapshot_check_tree(snapshot, err)                  before the release and after the exit (FZ-3)
 *   snapshot_free()                                     ends the lease; the copy is kept for the next run
 *   snapshot_prune(&state, keep, err)                   now and then: the longest unused copies go
 *
 * What is source   every regular file and symbolic link beneath the root that .gitignore and .git/info/exclude do
 *              not leave out, and what git's index names or `include` asks for although they do. A directory
 *              with a `.git` of its own (a submodule, a clone within a clone) is read by its own rules. `.git`
 *              itself is no source. A directory is there when something in it is.
 * What is refused  a FIFO, socket or device that is not left out; a link that leads out of the repository;
 *              a file that changes while it is read; more than the limits; an index that is split.
 * The identity SHA-256 over a length-prefixed list of path, kind (file, executable, link), size and digest, or
 *              target. No times, owners, inodes, absolute paths or limits: the same bytes are the same work.
 *              A second hard link of a file is a file.
 * What is read again   a file whose device, inode, size, mode, owner, links, mtime and ctime are as they were is not read
 *              again, unless its ctime was less than two seconds old when it was read: a later change within
 *              the same tick of the filesystem's clock leaves no trace.
 * The kept copy    lies in STATE/snapshots/KEY/N, KEY by the root's path, N by who has it leased: up to
 *              SNAPSHOT_LEASES runs of one repository at a time. Files 0444 and 0555, directories 0755, the folder
 *              around them 0700. Its ledger is removed before the first change and written after the last, and
 *              names the boot: nothing is synced, so after a reboot, or a death half-way, or when anything in it
 *              is not as it was left, the copy is made anew.
 * Ownership    a snapshot owns its entries and its lease (an flock). The request's directories are borrowed for
 *              the call only.
 * Errors       ERR_REFUSED, ERR_OVER_BUDGET (names limit and remedy), ERR_CHANGED, ERR_CORRUPT (git's index),
 *              ERR_CONFLICT (all leases are taken), ERR_NOT_FOUND, ERR_SYS.
 * Limitations  the person's global excludes file and core.ignoreCase are not read. A file that comes into being after
 *              snapshot_take() is no part of it and is not noticed. The lease ends with the process: whoever lets a
 *              payload outlive it keeps a copy of snapshot_lease_fd(). A process of the same user outside the sandbox can
 *              change the copy, which snapshot_check_tree() tells by ctime, but for a change within the tick in which
 *              a file of it was completed. An I/O error while the kernel writes the copy back is not seen.
 * Source       gitignore(5), gitformat-index(5), gitrepository-layout(5), gitsubmodules(7).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attributes.h"
#include "bfs.h"
#include "err.h"
#include "hash.h"

enum { SNAPSHOT_LEASES = 8 };
#define SNAPSHOT_MAXIMUM_BYTES   (UINT64_C(512) << 20)
#define SNAPSHOT_MAXIMUM_ENTRIES ((size_t)16384)

struct snapshot_limits {
    uint64_t maximum_bytes; /* of all files together */
    size_t maximum_entries; /* files, links and directories */
};
#define SNAPSHOT_LIMITS                                                                            \
    {                                                                                              \
        .maximum_bytes = SNAPSHOT_MAXIMUM_BYTES, .maximum_entries = SNAPSHOT_MAXIMUM_ENTRIES       \
    }

struct snapshot_request {
    const struct bfs_dir *root;
    const struct bfs_dir *state; /* berm's state folder */
    struct snapshot_limits limits;
    /* Files of the repository that are source even where they are ignored, and directories of which everything
     * is (but a `.git`): relative paths; NULL-terminated, or NULL. ERR_NOT_FOUND when one of them is not there. */
    const char *const *include;
};

/* What the making of one cost. */
struct snapshot_figures {
    size_t entries;
    uint64_t bytes;
    size_t files_read;   /* files whose bytes were read */
    size_t files_copied; /* files that were written */
    size_t removed;      /* files, links and directories that are no longer source */
};

struct snapshot;

int snapshot_find_root(int cwd_fd, const struct bfs_dir *state, struct bfs_dir *ret_root,
                       struct err *err) must_check;
int snapshot_take(const struct snapshot_request *request, struct snapshot **ret_snapshot,
                  struct err *err) must_check;
const char *snapshot_digest(const struct snapshot *snapshot);
int snapshot_tree_fd(const struct snapshot *snapshot);
int snapshot_lease_fd(const struct snapshot *snapshot);
/* The digest of one file of it, or NULL; whether it is executable. */
const char *snapshot_file(const struct snapshot *snapshot, const char *path, bool *ret_executable);
struct snapshot_figures snapshot_figures(const struct snapshot *snapshot);
int snapshot_check_source(const struct snapshot *snapshot, struct err *err) must_check;
int snapshot_check_tree(const struct snapshot *snapshot, struct err *err) must_check;
void snapshot_free(struct snapshot *snapshot);
/* Copies that nobody has leased are removed, the longest unused first, until no more than `keep` are left. */
int snapshot_prune(const struct bfs_dir *state, size_t keep, struct err *err) must_check;

static inline void snapshot_freep(struct snapshot **snapshot)
{
    snapshot_free(*snapshot);
    *snapshot = NULL;
}
#define with_snapshot cleanup(snapshot_freep) struct snapshot *
