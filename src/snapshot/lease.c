#include "lease-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "file.h"
#include "hash.h"
#include "memory.h"
#include "snapshot.h"

static const char folder[] = "snapshots";
enum { KEY_LENGTH = 24, REPOSITORIES_MAXIMUM = 65536, REMOVED_MAXIMUM = 1 << 22 };

static char *key_of(const char *root_path)
{
    struct hash hash;
    char hex[HASH_HEX_SIZE];
    hash_init(&hash);
    hash_add(&hash, root_path, strlen(root_path));
    hash_hex(&hash, hex);
    return memory_format("%.*s", KEY_LENGTH, hex);
}

/* 1: ours, 0: somebody else's or gone meanwhile. */
static int try_lock(const struct bfs_dir *parent, const char *name, const struct bfs_dir *dir,
                    struct err *err)
{
    struct bfs_facts now;
    int result = os_flock(bfs_dir_fd(dir), LOCK_EX | LOCK_NB);
    if (result == -EWOULDBLOCK) {
        return 0;
    }
    if (result < 0) {
        return err_sys(err, result, "lease '%s'", dir->path);
    }
    /* Whoever prunes holds the lock while he removes the folder. */
    return bfs_stat(parent, name, &now, NULL) == 0 && bfs_facts_same_inode(&now, &dir->facts);
}

/* The folder's mtime tells when it was used last. */
static int mark_used(const struct bfs_dir *dir, struct err *err)
{
    return bfs_tree_remove(dir, "used", 1, err) < 0
               ? -1
               : bfs_tree_write(dir, "used", span_of("", 0), err);
}

int lease_take(const struct bfs_dir *state, const char *root_path, struct bfs_dir *ret_folder,
               struct err *err)
{
    with_string key = key_of(root_path);
    with_string path = memory_format("%s/%s", folder, key);
    with_bfs_dir parent = {0};
    if (bfs_dir_make_beneath(state, path, 0700, &parent, err) < 0) {
        return -1;
    }
    for (int i = 0; i < SNAPSHOT_LEASES; i++) {
        with_bfs_dir dir = {0};
        const char name[] = {(char)('0' + i), '\0'};
        if (bfs_dir_make_beneath(&parent, name, 0700, &dir, err) < 0) {
            return -1;
        }
        int ours = try_lock(&parent, name, &dir, err);
        if (ours < 0 || (ours == 1 && mark_used(&dir, err) < 0)) {
            return -1;
        }
        if (ours == 1) {
            *ret_folder = dir;
            dir = (struct bfs_dir){0};
            return 0;
        }
    }
    return err_set(err, ERR_CONFLICT,
                   "%d runs from '%s' have a snapshot already: wait until one of them ends",
                   SNAPSHOT_LEASES, root_path);
}

struct copy {
    char *key;
    char *name;
    int64_t used_ns;
};

struct copies {
    struct copy *items;
    size_t count;
};

static void copies_done(struct copies *copies)
{
    for (size_t i = 0; i < copies->count; i++) {
        memory_free(copies->items[i].key);
        memory_free(copies->items[i].name);
    }
    memory_free(copies->items);
}

static int compare(const void *a, const void *b)
{
    int64_t one = ((const struct copy *)a)->used_ns;
    int64_t other = ((const struct copy *)b)->used_ns;
    return (one > other) - (one < other);
}

static int list_copies(const struct bfs_dir *all, const char *key, struct copies *copies,
                       struct err *err)
{
    with_bfs_dir dir = {0};
    with_strvec names = {0};
    if (bfs_dir_open_beneath(all, key, &dir, err) < 0 ||
        bfs_list(&dir, SNAPSHOT_LEASES, &names, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        struct bfs_facts facts;
        if (bfs_stat(&dir, names.strings[i], &facts, err) < 0) {
            return -1;
        }
        copies->items = memory_resize(copies->items, (copies->count + 1) * sizeof *copies->items);
        copies->items[copies->count++] = (struct copy){
            .key = memory_copy_string(key),
            .name = memory_copy_string(names.strings[i]),
            .used_ns = facts.mtime_ns,
        };
    }
    return 0;
}

/* 1: removed, 0: it is leased. */
static int remove_copy(const struct bfs_dir *all, const struct copy *copy, struct err *err)
{
    with_bfs_dir parent = {0};
    with_bfs_dir dir = {0};
    if (bfs_dir_open_beneath(all, copy->key, &parent, err) < 0 ||
        bfs_dir_open_beneath(&parent, copy->name, &dir, err) < 0) {
        return -1;
    }
    int ours = try_lock(&parent, copy->name, &dir, err);
    if (ours != 1) {
        return ours;
    }
    /* The ledger first: what is removed half-way is no copy. */
    if (bfs_tree_remove(&dir, "ledger", 1, err) < 0 ||
        bfs_tree_remove(&parent, copy->name, REMOVED_MAXIMUM, err) < 0) {
        return -1;
    }
    (void)!bfs_remove(all, copy->key, NULL, NULL); /* stays while there is another in it */
    return 1;
}

int snapshot_prune(const struct bfs_dir *state, size_t keep, struct err *err)
{
    with_bfs_dir all = {0};
    with_strvec keys = {0};
    struct copies copies cleanup(copies_done) = {0};
    struct err failure = {0};
    if (bfs_dir_open_beneath(state, folder, &all, &failure) < 0) {
        return failure.code == ERR_NOT_FOUND ? 0 : err_set(err, failure.code, "%s", failure.msg);
    }
    if (bfs_list(&all, REPOSITORIES_MAXIMUM, &keys, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < keys.count; i++) {
        if (list_copies(&all, keys.strings[i], &copies, err) < 0) {
            return -1;
        }
    }
    if (copies.count > 1) {
        qsort(copies.items, copies.count, sizeof *copies.items, compare);
    }
    size_t left = copies.count;
    for (size_t i = 0; i < copies.count && left > keep; i++) {
        int removed = remove_copy(&all, &copies.items[i], err);
        if (removed < 0) {
            return -1;
        }
        left -= (size_t)removed;
    }
    return 0;
}
