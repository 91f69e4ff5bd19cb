/* Invariant: while anything in the tree is being changed there is no ledger. So a death at any moment leaves either
 * a ledger and the tree that it describes, or no ledger. */
#include "kept-priv.h"

#include <fcntl.h>
#include <string.h>

#include "cursor-priv.h"
#include "file.h"
#include "memory.h"
#include "source-priv.h"

/* Without one, nothing that is kept can be believed after the next boot, so nothing is made. */
int kept_boot_id(char boot_id[BOOT_ID_SIZE], struct err *err)
{
    ssize_t length =
        os_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot_id, BOOT_ID_SIZE);
    if (length <= 0) {
        return err_sys(err, (int)length, "ask /proc which boot this is");
    }
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return 0;
}

static const char ledger_name[] = "ledger";
static const char tree_name[] = "tree";
enum { REMOVED_MAXIMUM = 1 << 22 };

static int changed(struct err *err, const char *path)
{
    return err_set(err, ERR_CHANGED, "'%s' of the snapshot is not what was copied", path);
}

static int check_ledger(const struct bfs_dir *tree, const struct ledger *ledger, struct err *err)
{
    struct bfs_facts now;
    with_cursor cursor = {.root = tree};
    if (bfs_facts_of(bfs_dir_fd(tree), &now, err) < 0) {
        return -1;
    }
    if (!bfs_facts_equal(&now, &ledger->tree)) {
        return changed(err, ".");
    }
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct entry *entry = &ledger->entries.items[i];
        const struct bfs_dir *dir = NULL;
        const char *name = NULL;
        if (cursor_at(&cursor, entry->path, &dir, &name, NULL) < 0 ||
            bfs_stat(dir, name, &now, NULL) < 0 || !bfs_facts_equal(&now, &entry->copy)) {
            return changed(err, entry->path);
        }
    }
    return 0;
}

bool kept_find(const struct bfs_dir *folder, const char *boot_id, struct kept *ret_kept)
{
    static const struct bfs_rule rule = {.maximum_bytes = LEDGER_BYTES};
    with_buf bytes = buf_new(LEDGER_BYTES);
    with_kept kept = {.folder = folder, .boot_id = boot_id};
    if (bfs_read(folder, ledger_name, &rule, &bytes, NULL, NULL) < 0 ||
        ledger_decode(buf_span(&bytes), boot_id, &kept.ledger, NULL) < 0 ||
        bfs_dir_open_beneath(folder, tree_name, &kept.tree, NULL) < 0 ||
        check_ledger(&kept.tree, &kept.ledger, NULL) < 0) {
        return false;
    }
    *ret_kept = kept;
    kept = (struct kept){0};
    return true;
}

int kept_open(const struct bfs_dir *folder, const char *boot_id, struct kept *ret_kept,
              struct err *err)
{
    if (kept_find(folder, boot_id, ret_kept)) {
        return 0;
    }
    with_kept kept = {.folder = folder, .boot_id = boot_id};
    if (bfs_tree_remove(folder, ledger_name, 1, err) < 0 ||
        bfs_tree_remove(folder, tree_name, REMOVED_MAXIMUM, err) < 0 ||
        bfs_tree_directory(folder, tree_name, 0755, err) < 0 ||
        bfs_dir_open_beneath(folder, tree_name, &kept.tree, err) < 0) {
        return err_wrap(err, "make a folder for the snapshot");
    }
    *ret_kept = kept;
    kept = (struct kept){0};
    return 0;
}

/* One update: the old entries against the wanted ones. */
struct update {
    struct kept *kept;
    const struct bfs_dir *root;
    struct entries *wanted;
    bool *stays; /* of each old entry: it is in the tree as it is wanted */
    struct snapshot_figures *figures;
    size_t dirty;
};

static int open_source(const struct update *update, struct entry *entry, struct bfs_file *ret_file,
                       struct err *err)
{
    /* Its size was counted by the walk, and must be that still. */
    static const struct bfs_rule rule = {.maximum_bytes = INT64_MAX, .allow_links = true};
    entry->read_ns = entry_now_ns();
    if (bfs_file_open(update->root, entry->path, &rule, ret_file, err) < 0) {
        return -1;
    }
    if (!bfs_facts_equal(&ret_file->facts, &entry->source)) {
        return err_set(err, ERR_CHANGED, "'%s' changed while the source was read", entry->path);
    }
    update->figures->files_read++;
    return 0;
}

static void keep(struct entry *entry, const struct entry *old)
{
    memcpy(entry->sha256, old->sha256, sizeof entry->sha256);
    entry->copy = old->copy;
}

/* 1: the copy holds these very bytes already, 0: not. */
static int is_kept_file(struct update *update, struct entry *entry, const struct entry *old,
                        struct err *err)
{
    if (bfs_facts_equal(&entry->source, &old->source) && !entry_is_young(old)) {
        entry->read_ns = old->read_ns;
        return 1;
    }
    if (entry->source.size_bytes != old->source.size_bytes) {
        return 0;
    }
    char hex[HASH_HEX_SIZE];
    with_bfs_file file = {0};
    if (open_source(update, entry, &file, err) < 0 || bfs_file_hash(&file, hex, err) < 0) {
        return err_wrap(err, "read '%s'", entry->path);
    }
    update->dirty++;
    return strcmp(hex, old->sha256) == 0;
}

static int is_kept(struct update *update, struct entry *entry, const struct entry *old,
                   struct err *err)
{
    if (entry->kind != old->kind) {
        return 0;
    }
    switch (entry->kind) {
    case ENTRY_DIRECTORY:
        return 1;
    case ENTRY_LINK:
        return strcmp(entry->target, old->target) == 0;
    case ENTRY_FILE:
    case ENTRY_EXECUTABLE:
    default:
        return is_kept_file(update, entry, old, err);
    }
}

/* Both lists are sorted: one pass. An entry that is not kept has no facts of a copy. */
static int compare(struct update *update, struct err *err)
{
    const struct entries *old = &update->kept->ledger.entries;
    size_t at = 0;
    for (size_t i = 0; i < update->wanted->count; i++) {
        struct entry *entry = &update->wanted->items[i];
        while (at < old->count && entry_order(old->items[at].path, entry->path) < 0) {
            at++;
        }
        bool same = at < old->count && strcmp(old->items[at].path, entry->path) == 0;
        int kept = same ? is_kept(update, entry, &old->items[at], err) : 0;
        if (kept < 0) {
            return -1;
        }
        if (kept) {
            keep(entry, &old->items[at]);
            update->stays[at] = true;
        } else {
            update->dirty++;
        }
    }
    for (size_t i = 0; i < old->count; i++) {
        update->dirty += !update->stays[i];
    }
    return 0;
}

/* Last first: what a directory holds goes before it. */
static int remove_old(struct update *update, struct err *err)
{
    const struct entries *old = &update->kept->ledger.entries;
    with_cursor cursor = {.root = &update->kept->tree};
    for (size_t i = old->count; i-- > 0;) {
        const struct bfs_dir *dir = NULL;
        const char *name = NULL;
        if (update->stays[i]) {
            continue;
        }
        if (cursor_at(&cursor, old->items[i].path, &dir, &name, err) < 0 ||
            bfs_remove(dir, name, &old->items[i].copy, err) < 0) {
            return -1;
        }
        update->figures->removed++;
    }
    return 0;
}

static int copy_file(struct update *update, const struct bfs_dir *dir, const char *name,
                     struct entry *entry, struct err *err)
{
    with_bfs_file file = {0};
    mode_t mode = entry->kind == ENTRY_EXECUTABLE ? 0555 : 0444;
    if (open_source(update, entry, &file, err) < 0) {
        return -1;
    }
    update->figures->files_copied++;
    return bfs_tree_copy(&file, dir, name, mode, entry->sha256, &entry->copy, err);
}

static int make_entry(struct update *update, struct cursor *cursor, struct entry *entry,
                      struct err *err)
{
    const struct bfs_dir *dir = NULL;
    const char *name = NULL;
    if (cursor_at(cursor, entry->path, &dir, &name, err) < 0) {
        return -1;
    }
    switch (entry->kind) {
    case ENTRY_DIRECTORY:
        return bfs_tree_directory(dir, name, 0755, err); /* its facts when all is in it */
    case ENTRY_LINK:
        return bfs_tree_link(dir, name, entry->target, err) < 0
                   ? -1
                   : bfs_stat(dir, name, &entry->copy, err);
    case ENTRY_FILE:
    case ENTRY_EXECUTABLE:
    default:
        return copy_file(update, dir, name, entry, err);
    }
}

static int make_new(struct update *update, struct err *err)
{
    with_cursor cursor = {.root = &update->kept->tree};
    for (size_t i = 0; i < update->wanted->count; i++) {
        struct entry *entry = &update->wanted->items[i];
        bool is_there = entry->copy.inode != 0;
        if (!is_there && make_entry(update, &cursor, entry, err) < 0) {
            return err_wrap(err, "copy '%s' of '%s'", entry->path, update->root->path);
        }
    }
    return 0;
}

static int look_at_directories(struct update *update, struct err *err)
{
    with_cursor cursor = {.root = &update->kept->tree};
    for (size_t i = 0; i < update->wanted->count; i++) {
        struct entry *entry = &update->wanted->items[i];
        const struct bfs_dir *dir = NULL;
        const char *name = NULL;
        if (entry->kind == ENTRY_DIRECTORY &&
            (cursor_at(&cursor, entry->path, &dir, &name, err) < 0 ||
             bfs_stat(dir, name, &entry->copy, err) < 0)) {
            return -1;
        }
    }
    return bfs_facts_of(bfs_dir_fd(&update->kept->tree), &update->kept->ledger.tree, err);
}

static int write_ledger(struct kept *kept, struct err *err)
{
    with_buf bytes = buf_new(LEDGER_BYTES);
    ledger_encode(&kept->ledger, kept->boot_id, &bytes);
    if (!buf_fits(&bytes)) {
        return err_set(err, ERR_OVER_BUDGET, "the list of the snapshot has more than %d bytes",
                       LEDGER_BYTES);
    }
    return bfs_tree_write(kept->folder, ledger_name, buf_span(&bytes), err);
}

/* The order is the invariant. */
static int apply(struct update *update, struct err *err)
{
    struct kept *kept = update->kept;
    if (bfs_tree_remove(kept->folder, ledger_name, 1, err) < 0 || remove_old(update, err) < 0 ||
        make_new(update, err) < 0 || look_at_directories(update, err) < 0) {
        return -1;
    }
    entries_done(&kept->ledger.entries);
    kept->ledger.entries = *update->wanted;
    *update->wanted = (struct entries){0};
    return write_ledger(kept, err);
}

int kept_update(struct kept *kept, const struct bfs_dir *root, struct entries *wanted,
                struct snapshot_figures *figures, struct err *err)
{
    size_t count = kept->ledger.entries.count;
    with_entries taken = *wanted;
    *wanted = (struct entries){0};
    bool *stays cleanup(memory_freep) = memory_new(count + 1);
    struct update update = {
        .kept = kept, .root = root, .wanted = &taken, .stays = stays, .figures = figures};
    figures->entries = taken.count;
    figures->bytes = taken.bytes;
    if (compare(&update, err) < 0) {
        return -1;
    }
    bool first = kept->ledger.tree.inode == 0;
    return first || update.dirty > 0 ? apply(&update, err) : 0;
}

static int hash_entry(const struct kept *kept, struct entry *entry, struct err *err)
{
    static const struct bfs_rule rule = {.maximum_bytes = INT64_MAX};
    with_bfs_file file = {0};
    entry->copy = entry->source;
    entry->read_ns = entry_now_ns();
    return !entry_is_file(entry) ||
                   (bfs_file_open(&kept->tree, entry->path, &rule, &file, err) == 0 &&
                    bfs_file_hash(&file, entry->sha256, err) == 0)
               ? 0
               : -1;
}

int kept_read(const struct bfs_dir *folder, const char *boot_id,
              const struct snapshot_limits *limits, struct kept *ret_kept, struct err *err)
{
    struct err ignored = {0};
    with_kept kept = {.folder = folder, .boot_id = boot_id};
    struct entries *entries = &kept.ledger.entries;
    if (bfs_dir_open_beneath(folder, tree_name, &kept.tree, err) < 0 ||
        source_list_all(&kept.tree, limits, entries, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < entries->count; i++) {
        if (hash_entry(&kept, &entries->items[i], err) < 0) {
            return -1;
        }
    }
    if (bfs_facts_of(bfs_dir_fd(&kept.tree), &kept.ledger.tree, err) < 0) {
        return -1;
    }
    if (bfs_tree_remove(folder, ledger_name, 1, &ignored) < 0 ||
        write_ledger(&kept, &ignored) < 0) {
        /* Somebody else writes the same at this moment, or the next has to read all again. */
    }
    *ret_kept = kept;
    kept = (struct kept){0};
    return 0;
}

int kept_check(const struct kept *kept, struct err *err)
{
    return check_ledger(&kept->tree, &kept->ledger, err);
}

int kept_check_links(const struct kept *kept, struct err *err)
{
    for (size_t i = 0; i < kept->ledger.entries.count; i++) {
        const struct entry *entry = &kept->ledger.entries.items[i];
        if (entry->kind == ENTRY_LINK &&
            bfs_stays_beneath(&kept->tree, entry->path, entry->target, err) < 0) {
            return err_wrap(err, "what it leads to is no part of the source; make it relative, or "
                                 "leave it out in .gitignore");
        }
    }
    return 0;
}

void kept_done(struct kept *kept)
{
    if (!kept) {
        return;
    }
    bfs_dir_done(&kept->tree);
    ledger_done(&kept->ledger);
    *kept = (struct kept){0};
}
