/* slot.c
 *
 * Invariants
 *   1. From the end of slot_take() on, the name holds a complete record: this run's provisional one,
 *      its final one, or that of a run that took the slot later.
 *   2. The name is only ever changed by renaming a complete, synced file of this run over it, right
 *      after a check of what it holds, under a lock on the directory that other runs of berm respect.
 *   3. The blocks of the final record are set aside before the slot is taken.
 */
#include "slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "file.h"
#include "json.h"
#include "memory.h"

enum {
    RECORD_MAXIMUM_BYTES = 16 << 20,
    LOCK_WAIT_MS = 1000,
};

struct slot {
    struct bfs_dir parent;
    char *name;
    char *path;
    char *kept;             /* name of what was there and is no record of berm's, or NULL */
    struct bfs_facts mine;  /* the file that this run put there last */
    struct bfs_stage final; /* with the blocks that were set aside; used up by the first publish */
};

/* Where the last component of path starts; "" when the path names a directory. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? "" : name;
}

/* Device files and the kernel's own files are no place for a record: as root, a report named
 * /dev/stdout would replace the link that everybody uses. */
static bool is_system_place(const char *directory)
{
    static const char *const places[] = {"/dev", "/proc", "/sys"};
    for (size_t i = 0; i < countof(places); i++) {
        size_t n = strlen(places[i]);
        if (strncmp(directory, places[i], n) == 0 &&
            (directory[n] == '\0' || directory[n] == '/') &&
            strncmp(directory, "/dev/shm", strlen("/dev/shm")) != 0) {
            return true;
        }
    }
    return false;
}

static int open_parent(struct slot *slot, const char *path, struct err *err)
{
    const char *name = name_of(path);
    if (name[0] == '\0') {
        return err_set(err, ERR_USAGE, "'%s' names a directory; name a file in it", path);
    }
    with_string parent = memory_format("%.*s", (int)(name - path), path);
    if (bfs_dir_make(AT_FDCWD, parent[0] ? parent : ".", 0700, BFS_TRUST_OWN, &slot->parent, err) <
        0) {
        return err_wrap(err, "cannot keep a record at '%s'", path);
    }
    if (is_system_place(slot->parent.path)) {
        return err_set(err, ERR_REFUSED, "'%s' is in %s, which is no place for a record", path,
                       slot->parent.path);
    }
    slot->name = memory_copy_string(name);
    slot->path =
        memory_format("%s/%s", strcmp(slot->parent.path, "/") ? slot->parent.path : "", name);
    return 0;
}

/* Held until the descriptor's description is unlocked. The lock is not what the safety rests on: the check is. */
static void lock_parent(const struct slot *slot)
{
    (void)!os_flock_within(bfs_dir_fd(&slot->parent), LOCK_WAIT_MS);
}

static void unlock_parent(const struct slot *slot)
{
    (void)!os_flock(bfs_dir_fd(&slot->parent), LOCK_UN); /* the close does it as well */
}

static bool is_record(const struct slot *slot)
{
    const struct bfs_rule rule = {.maximum_bytes = RECORD_MAXIMUM_BYTES, .allow_links = true};
    with_buf text = buf_new(RECORD_MAXIMUM_BYTES);
    struct err ignored = {0};
    if (bfs_read(&slot->parent, slot->name, &rule, &text, NULL, &ignored) < 0) {
        return false;
    }
    with_json json = json_read(buf_span(&text), &json_budget_report, &ignored);
    const char *schema = json_string_value(json_object_get(json, "schema"));
    return schema && (strcmp(schema, "lamina.safe-runner-report/v1") == 0 ||
                      strcmp(schema, "berm.run/v1") == 0);
}

/* A second name for what is there, so that the slot itself is never without a file. */
static int keep(struct slot *slot, const char *run_id, struct err *err)
{
    with_string kept = memory_format("%s.before-%s", slot->name, run_id);
    struct err failure = {0};
    if (bfs_link(&slot->parent, slot->name, kept, &failure) < 0 &&
        bfs_rename(&slot->parent, slot->name, &slot->parent, kept, BFS_RENAME_NEW, err) < 0) {
        return err_wrap(err, "what is there is no record of berm's and cannot be kept");
    }
    slot->kept = memory_copy_string(kept);
    return 0;
}

/* See what is in the way before it is replaced. */
static int clear(struct slot *slot, const char *run_id, struct err *err)
{
    struct bfs_facts there;
    struct err failure = {0};
    if (bfs_stat(&slot->parent, slot->name, &there, &failure) < 0) {
        if (failure.code == ERR_NOT_FOUND) {
            return 0;
        }
        if (err) {
            *err = failure;
        }
        return -1;
    }
    switch (there.mode & S_IFMT) {
    case S_IFLNK: /* replaced itself; where it leads is not looked at */
        return 0;
    case S_IFREG:
        return there.size_bytes == 0 || is_record(slot) ? 0 : keep(slot, run_id, err);
    case S_IFDIR:
        return err_set(err, ERR_REFUSED, "it is a directory; name a file in it");
    default:
        return err_set(err, ERR_REFUSED, "it is no regular file and is not replaced");
    }
}

/* Rename the stage over the name, and know the file again later. */
static int put(struct slot *slot, struct bfs_stage *stage, struct err *err)
{
    struct bfs_facts facts;
    if (bfs_facts_of(bfs_stage_fd(stage), &facts, err) < 0) {
        return -1;
    }
    int result = bfs_stage_replace(stage, slot->name, err);
    /* A failed last sync leaves the new file there: it is this run's all the same. */
    struct bfs_facts there;
    struct err ignored = {0};
    if (result == 0 || (bfs_stat(&slot->parent, slot->name, &there, &ignored) == 0 &&
                        bfs_facts_same_inode(&there, &facts))) {
        slot->mine = facts;
    }
    return result;
}

static int take_name(struct slot *slot, const char *run_id, struct span provisional,
                     struct err *err)
{
    with_bfs_stage stage = {0};
    if (bfs_stage_open(&slot->parent, 0600, 0, &stage, err) < 0 ||
        bfs_stage_write(&stage, provisional, err) < 0) {
        return -1;
    }
    lock_parent(slot);
    int result = clear(slot, run_id, err) < 0 ? -1 : put(slot, &stage, err);
    unlock_parent(slot);
    return result;
}

struct slot *slot_take(const char *path, const char *run_id, struct span provisional,
                       size_t reserve_bytes, struct err *err)
{
    with_slot slot = memory_new(sizeof *slot);
    if (open_parent(slot, path, err) < 0) {
        return NULL;
    }
    if (bfs_stage_open(&slot->parent, 0600, reserve_bytes, &slot->final, err) < 0 ||
        take_name(slot, run_id, provisional, err) < 0) {
        (void)err_wrap(err, "cannot take '%s'", slot->path);
        return NULL;
    }
    struct slot *taken = slot;
    slot = NULL;
    return taken;
}

int slot_reserve(struct slot *slot, size_t bytes, struct err *err)
{
    return bfs_stage_reserve(&slot->final, bytes, err) < 0
               ? err_wrap(err, "no room for '%s'", slot->path)
               : 0;
}

/* The directory is the one that was bound, is still where its path says, and is still ours. */
static int check_parent(const struct slot *slot, struct err *err)
{
    with_bfs_dir there = {0};
    struct err failure = {0};
    if (bfs_dir_open(AT_FDCWD, slot->parent.path, BFS_TRUST_OWN, &there, &failure) < 0) {
        return err_set(err, ERR_CHANGED, "the directory of the slot has changed: %s", failure.msg);
    }
    if (!bfs_facts_same_inode(&there.facts, &slot->parent.facts)) {
        return err_set(err, ERR_CHANGED, "'%s' is no longer the directory that was opened",
                       slot->parent.path);
    }
    return 0;
}

static int check_name(const struct slot *slot, struct err *err)
{
    struct bfs_facts there;
    struct err failure = {0};
    if (bfs_stat(&slot->parent, slot->name, &there, &failure) < 0) {
        return failure.code == ERR_NOT_FOUND
                   ? err_set(err, ERR_CONFLICT, "somebody removed it during the run")
                   : err_set(err, failure.code, "%s", failure.msg);
    }
    if (!bfs_facts_same_inode(&there, &slot->mine)) {
        return err_set(err, ERR_CONFLICT, "it belongs to another run by now");
    }
    return 0;
}

static int replace_mine(struct slot *slot, struct err *err)
{
    lock_parent(slot);
    int result = check_parent(slot, err) < 0 || check_name(slot, err) < 0
                     ? -1
                     : put(slot, &slot->final, err);
    unlock_parent(slot);
    return result;
}

int slot_publish(struct slot *slot, struct span final, struct err *err)
{
    /* A second publication has no blocks of its own. */
    if (!fd_is_open(&slot->final.fd) &&
        bfs_stage_open(&slot->parent, 0600, 0, &slot->final, err) < 0) {
        return err_wrap(err, "cannot write '%s'", slot->path);
    }
    if (bfs_stage_write(&slot->final, final, err) < 0 || replace_mine(slot, err) < 0) {
        bfs_stage_done(&slot->final);
        return err_wrap(err, "cannot write '%s'", slot->path);
    }
    bfs_stage_done(&slot->final);
    return 0;
}

const char *slot_path(const struct slot *slot)
{
    return slot->path;
}

const struct bfs_dir *slot_parent(const struct slot *slot)
{
    return &slot->parent;
}

const char *slot_name(const struct slot *slot)
{
    return slot->name;
}

const char *slot_kept(const struct slot *slot)
{
    return slot->kept;
}

void slot_free(struct slot *slot)
{
    if (!slot) {
        return;
    }
    bfs_stage_done(&slot->final);
    bfs_dir_done(&slot->parent);
    memory_free(slot->name);
    memory_free(slot->path);
    memory_free(slot->kept);
    memory_free(slot);
}

static int write_fallback(const char *folder, const char *run_id, struct span bytes, char *ret_path,
                          size_t path_size, struct err *err)
{
    with_bfs_dir dir = {0};
    with_bfs_stage stage = {0};
    unsigned char random[8];
    int result = os_getrandom(random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "ask for random bytes");
    }
    with_buf name = buf_new(256);
    buf_add_format(&name, "berm-report-%s-", run_id);
    for (size_t i = 0; i < sizeof random; i++) {
        buf_add_format(&name, "%02x", random[i]);
    }
    buf_add_string(&name, ".json");
    if (bfs_dir_open(AT_FDCWD, folder, BFS_TRUST_OWN, &dir, err) < 0 ||
        bfs_stage_open(&dir, 0600, 0, &stage, err) < 0 || bfs_stage_write(&stage, bytes, err) < 0 ||
        bfs_stage_create(&stage, buf_string(&name), err) < 0) {
        return -1;
    }
    int length = snprintf(ret_path, path_size, "%s/%s", dir.path, buf_string(&name));
    return length > 0 && (size_t)length < path_size
               ? 0
               : err_set(err, ERR_OVER_BUDGET, "the path of the fallback report is too long");
}

int slot_fallback(const char *run_id, struct span bytes, char *ret_path, size_t path_size,
                  struct err *err)
{
    static const char *const folders[] = {"/tmp", "/var/tmp"};
    if (bytes.n > RECORD_MAXIMUM_BYTES) {
        return err_set(err, ERR_OVER_BUDGET, "a fallback report may have at most %d bytes",
                       RECORD_MAXIMUM_BYTES);
    }
    for (size_t i = 0; i < countof(folders); i++) {
        if (write_fallback(folders[i], run_id, bytes, ret_path, path_size, err) == 0) {
            return 0;
        }
    }
    return -1; /* err has what the last folder said */
}
