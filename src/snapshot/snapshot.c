#include "snapshot-priv.h"

#include <fcntl.h>
#include <string.h>

#include "cursor-priv.h"
#include "file.h"
#include "kept-priv.h"
#include "lease-priv.h"
#include "memory.h"
#include "repository-priv.h"
#include "source-priv.h"

struct snapshot {
    struct bfs_dir root;
    struct bfs_dir folder;
    char boot_id[BOOT_ID_SIZE];
    struct kept kept;
    struct snapshot_figures figures;
    char digest[HASH_HEX_SIZE];
};

static int take(const struct snapshot_request *request, struct snapshot *snapshot, struct err *err)
{
    with_paths include = {0};
    with_entries entries = {0};
    for (const char *const *path = request->include; path && *path; path++) {
        paths_add(&include, span_of_string(*path));
    }
    paths_sort(&include);
    if (repository_check_root(snapshot->root.path, request->state->path, err) < 0 ||
        kept_boot_id(snapshot->boot_id, err) < 0 ||
        lease_take(request->state, snapshot->root.path, &snapshot->folder, err) < 0 ||
        source_list(&snapshot->root, &request->limits, &include, &entries, err) < 0 ||
        kept_open(&snapshot->folder, snapshot->boot_id, &snapshot->kept, err) < 0 ||
        kept_update(&snapshot->kept, &snapshot->root, &entries, &snapshot->figures, err) < 0) {
        return -1;
    }
    entries_digest(&snapshot->kept.ledger.entries, snapshot->digest);
    return kept_check_links(&snapshot->kept, err);
}

int snapshot_take(const struct snapshot_request *request, struct snapshot **ret_snapshot,
                  struct err *err)
{
    with_snapshot snapshot = memory_new(sizeof *snapshot);
    if (bfs_dir_open(bfs_dir_fd(request->root), ".", BFS_TRUST_ANY, &snapshot->root, err) < 0 ||
        take(request, snapshot, err) < 0) {
        return err_wrap(err, "take a snapshot of '%s'", request->root->path);
    }
    *ret_snapshot = snapshot;
    snapshot = NULL;
    return 0;
}

const char *snapshot_digest(const struct snapshot *snapshot)
{
    return snapshot->digest;
}

int snapshot_tree_fd(const struct snapshot *snapshot)
{
    return bfs_dir_fd(&snapshot->kept.tree);
}

int snapshot_lease_fd(const struct snapshot *snapshot)
{
    return bfs_dir_fd(&snapshot->folder);
}

const char *snapshot_file(const struct snapshot *snapshot, const char *path, bool *ret_executable)
{
    const struct entry *entry = entries_find(&snapshot->kept.ledger.entries, path);
    if (!entry || !entry_is_file(entry)) {
        return NULL;
    }
    *ret_executable = entry->kind == ENTRY_EXECUTABLE;
    return entry->sha256;
}

struct snapshot_figures snapshot_figures(const struct snapshot *snapshot)
{
    return snapshot->figures;
}

static int check_again(const struct bfs_dir *root, const struct entry *entry, struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = (uint64_t)entry->source.size_bytes,
                                  .allow_links = true};
    char hex[HASH_HEX_SIZE];
    with_bfs_file file = {0};
    return bfs_file_open(root, entry->path, &rule, &file, err) < 0 ||
                   bfs_file_hash(&file, hex, err) < 0 || strcmp(hex, entry->sha256) != 0
               ? -1
               : 0;
}

/* A link has no descriptor that its target could be read from: the target itself is compared. */
static int check_link(const struct bfs_dir *dir, const char *name, const struct entry *entry)
{
    char *target cleanup(memory_freep) = NULL;
    return bfs_read_link(dir, name, &target, NULL) < 0 || strcmp(target, entry->target) != 0 ? -1
                                                                                             : 0;
}

static int check_entry(const struct bfs_dir *root, struct cursor *cursor, const struct entry *entry)
{
    struct bfs_facts now;
    const struct bfs_dir *dir = NULL;
    const char *name = NULL;
    if (cursor_at(cursor, entry->path, &dir, &name, NULL) < 0) {
        return -1;
    }
    if (entry->kind == ENTRY_LINK) {
        return check_link(dir, name, entry);
    }
    if (bfs_stat(dir, name, &now, NULL) < 0 || !bfs_facts_equal(&now, &entry->source)) {
        return -1;
    }
    return entry_is_young(entry) ? check_again(root, entry, NULL) : 0;
}

int snapshot_check_source(const struct snapshot *snapshot, struct err *err)
{
    const struct entries *entries = &snapshot->kept.ledger.entries;
    with_cursor cursor = {.root = &snapshot->root};
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i];
        /* A directory is there when something in it is. */
        if (entry->kind != ENTRY_DIRECTORY && check_entry(&snapshot->root, &cursor, entry) < 0) {
            return err_set(err, ERR_CHANGED,
                           "'%s' of '%s' was changed after the snapshot was taken: run again",
                           entry->path, snapshot->root.path);
        }
    }
    return 0;
}

int snapshot_check_tree(const struct snapshot *snapshot, struct err *err)
{
    return kept_check(&snapshot->kept, err);
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot) {
        return;
    }
    kept_done(&snapshot->kept);
    bfs_dir_done(&snapshot->folder); /* and with it the lease */
    bfs_dir_done(&snapshot->root);
    memory_free(snapshot);
}
