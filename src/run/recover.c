#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "adopt.h"
#include "archive.h"
#include "event.h"
#include "file.h"
#include "manifest-priv.h"
#include "memory.h"
#include "proc.h"
#include "process.h"

enum {
    MANIFESTS_MAX = 10000,
    MANIFEST_BYTES_MAX = sizeof(struct watch_manifest) + WATCH_REPORTS_BYTES,
    LOCK_TRIES = 250,
    LOCK_PAUSE_MS = 20,
    WATCHDOG_WAIT_MS = 30000, /* for one that is finishing by itself */
};

const char *recover_state_name(enum recover_state state)
{
    static const char *const names[RECOVER_STATE_COUNT] = {"active", "healed", "left"};
    return names[state];
}

int recover_open_folder(char *const *environment, struct bfs_dir *ret_folder, struct err *err)
{
    with_archive archive = archive_open(environment, err);
    if (!archive) {
        return -1;
    }
    with_string path = memory_format("%s/../watch", archive_folder(archive));
    return bfs_dir_make(AT_FDCWD, path, 0700, BFS_TRUST_OWN, ret_folder, err);
}

/* --- who lives ---------------------------------------------------------------------------------- */

/* A pidfd of that very process; none: it is gone. */
static struct fd hold(const struct watch_process *process)
{
    const struct proc_identity who = {(pid_t)process->pid, process->start_ticks};
    if (process->pid <= 0 || process->pid > INT32_MAX) {
        return (struct fd){0};
    }
    struct fd pidfd = fd_adopt(os_pidfd_open(who.pid));
    with_fd proc = fd_adopt(fd_is_open(&pidfd) ? os_proc_open(who) : -ESRCH);
    if (!fd_is_open(&proc)) {
        fd_close(&pidfd);
    }
    return pidfd;
}

static bool is_of_this_boot(const struct watch_manifest *manifest)
{
    char now[WATCH_BOOT_ID_SIZE];
    ssize_t length = os_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", now, sizeof now);
    now[length > 0 ? strcspn(now, "\n") : 0] = '\0';
    return now[0] != '\0' && strcmp(now, manifest->boot_id) == 0;
}

/* A zombie ended; whoever has it for a child will reap it. */
static bool has_ended(struct fd *pidfd)
{
    return !fd_is_open(pidfd) || os_poll(fd_num(pidfd), POLLIN, 0) != 0;
}

/* A watchdog without its controller is at work, and nothing is to be done but to wait for it. */
static bool is_active(const struct watch_manifest *manifest)
{
    with_fd controller = hold(&manifest->controller);
    with_fd watchdog = hold(&manifest->watchdog);
    if (!has_ended(&controller)) {
        return true;
    }
    if (!has_ended(&watchdog)) {
        (void)!os_poll(fd_num(&watchdog), POLLIN, WATCHDOG_WAIT_MS);
    }
    return !has_ended(&watchdog);
}

/* --- what there still is ------------------------------------------------------------------------- */

/* Everything that is open for one manifest. */
struct found {
    struct watch_manifest manifest;
    struct fd slots[WATCH_SLOTS];
    struct fd parents[WATCH_DIRECTORIES];
    struct fd scope;
    struct fd scope_parent;
    struct fd leaf;
    struct fd gate;
    bool this_boot;
};

static void found_done(struct found *found)
{
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        fd_close(&found->slots[i]);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        fd_close(&found->parents[i]);
    }
    fd_close(&found->scope);
    fd_close(&found->scope_parent);
    fd_close(&found->leaf);
    fd_close(&found->gate);
}

static struct fd open_folder(const char *path)
{
    return fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
}

/* The directory is the one that the manifest means; its device number is that of today. */
static bool is_same(int fd, struct watch_identity *wanted, bool this_boot)
{
    struct stat there;
    if (os_fstat(fd, &there) < 0 || there.st_ino != wanted->inode ||
        there.st_uid != wanted->owner || (this_boot && there.st_dev != wanted->device)) {
        return false;
    }
    wanted->device = there.st_dev;
    return true;
}

/* What is not what it was is out of reach for good: nothing of the run is there. */
static void open_entry(struct watch_entry *entry, bool this_boot, struct fd *ret_fd)
{
    if (entry->path[0] == '\0') {
        return;
    }
    *ret_fd = open_folder(entry->path);
    if (!fd_is_open(ret_fd) || !is_same(fd_num(ret_fd), &entry->parent, this_boot)) {
        fd_close(ret_fd);
        *entry = (struct watch_entry){0};
        return;
    }
    entry->self.device = entry->self.inode ? entry->parent.device : 0; /* made in there */
}

/* A cgroup of this boot that is still that cgroup; else it is gone, with whoever was in it. */
static void open_leaf(struct found *found)
{
    struct watch_leaf *leaf = &found->manifest.leaf;
    if (!found->this_boot || leaf->path[0] == '\0') {
        return;
    }
    found->scope = open_folder(leaf->path);
    if (!fd_is_open(&found->scope) || !is_same(fd_num(&found->scope), &leaf->scope, true)) {
        return;
    }
    found->leaf = fd_adopt(
        os_openat(fd_num(&found->scope), leaf->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    if (fd_is_open(&found->leaf) && !is_same(fd_num(&found->leaf), &leaf->self, true)) {
        fd_close(&found->leaf);
    }
    if (leaf->flags & WATCH_LEAF_SCOPE_IS_OURS) {
        const char *slash = strrchr(leaf->path, '/');
        with_string parent = memory_format("%.*s", (int)(slash - leaf->path), leaf->path);
        found->scope_parent = open_folder(parent[0] ? parent : "/");
    }
    if (leaf->flags & WATCH_LEAF_HAS_GATE) {
        found->gate = hold(&leaf->gate);
    }
}

static void find(struct found *found)
{
    struct watch_manifest *manifest = &found->manifest;
    found->this_boot = is_of_this_boot(manifest);
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        open_entry(&manifest->slots[i], found->this_boot, &found->slots[i]);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        open_entry(&manifest->directories[i], found->this_boot, &found->parents[i]);
    }
    open_leaf(found);
    manifest->lock = (struct watch_entry){0}; /* who held it is dead */
    manifest->unit[0] = '\0';
}

static int borrow(const struct fd *fd)
{
    return fd_is_open(fd) ? fd_num(fd) : -1;
}

static int finish(const struct bfs_dir *folder, struct found *found, struct span reports,
                  const struct os_clock *clock, uint32_t *ret_left, struct err *err)
{
    struct adoption adoption = {
        .manifest = &found->manifest,
        .reports = reports,
        .folder_fd = bfs_dir_fd(folder),
        .leaf_fd = borrow(&found->leaf),
        .scope_fd = borrow(&found->scope),
        .scope_parent_fd = borrow(&found->scope_parent),
        .gate_pidfd = borrow(&found->gate),
    };
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        adoption.slot_fds[i] = borrow(&found->slots[i]);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        adoption.parent_fds[i] = borrow(&found->parents[i]);
    }
    return adopt_finish(&adoption, clock, ret_left, err);
}

/* --- one manifest -------------------------------------------------------------------------------- */

static void say_left(uint32_t left, char *text, size_t size)
{
    static const char *const words[] = {"processes", "a cgroup", "a directory", "a report",
                                        "the manifest"};
    size_t at = (size_t)snprintf(text, size, "left:");
    for (size_t i = 0; i < countof(words); i++) {
        if ((left >> i) & 1 && at < size) {
            at += (size_t)snprintf(text + at, size - at, " %s", words[i]);
        }
    }
}

/* The next state of a manifest, complete but not yet in its place: what it says stands in the old one. */
static void remove_unfinished(const struct bfs_dir *folder, const char *name)
{
    struct err ignored = {0};
    with_string next = memory_format("%s.new", name);
    if (bfs_remove(folder, next, NULL, &ignored) < 0) {
        /* Nearly always there is none. */
    }
}

static const char *what_was(const struct found *found)
{
    if (!found->this_boot) {
        return "of a boot that ended";
    }
    if (found->manifest.leaf.path[0] == '\0') {
        return "it had no leaf yet";
    }
    return fd_is_open(&found->leaf) ? "its leaf was still there" : "its leaf was gone";
}

static void heal(const struct bfs_dir *folder, const char *name, const struct os_clock *clock,
                 struct recovered *ret)
{
    const struct bfs_rule rule = {.maximum_bytes = MANIFEST_BYTES_MAX};
    struct bfs_facts facts;
    struct err err = {0};
    struct span reports = {0};
    uint32_t left = 0;
    with_buf bytes = buf_new(MANIFEST_BYTES_MAX);
    struct found *found = memory_new(sizeof *found);
    ret->state = RECOVER_LEFT;
    if (bfs_read(folder, name, &rule, &bytes, &facts, &err) < 0 ||
        manifest_read(buf_span(&bytes), &found->manifest, &reports, &err) < 0) {
        (void)snprintf(ret->what, sizeof ret->what, "%s: %s", name, err.msg);
        memory_free(found);
        return;
    }
    struct watch_manifest *manifest = &found->manifest;
    memcpy(ret->run_id, manifest->run_id, sizeof ret->run_id);
    if (is_of_this_boot(manifest) && is_active(manifest)) {
        ret->state = RECOVER_ACTIVE;
        memory_free(found);
        return;
    }
    manifest->file = (struct watch_entry){
        .parent = {folder->facts.device, folder->facts.inode, folder->facts.owner, 0},
        .self = {facts.device, facts.inode, facts.owner, 0},
    };
    (void)snprintf(manifest->file.path, sizeof manifest->file.path, "%s", folder->path);
    (void)snprintf(manifest->file.name, sizeof manifest->file.name, "%s", name);
    find(found);
    remove_unfinished(folder, name);
    if (finish(folder, found, reports, clock, &left, &err) < 0) {
        (void)snprintf(ret->what, sizeof ret->what, "%s", err.msg);
    } else if (left != 0) {
        say_left(left, ret->what, sizeof ret->what);
    } else {
        ret->state = RECOVER_HEALED;
        (void)snprintf(ret->what, sizeof ret->what, "%s", what_was(found));
    }
    found_done(found);
    memory_free(found);
}

/* --- all of them --------------------------------------------------------------------------------- */

static bool is_manifest(const char *name)
{
    static const char suffix[] = ".watch";
    size_t n = strlen(name);
    return n >= sizeof suffix && strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

/* Two at once would adopt one run twice. */
static int lock(const struct bfs_dir *folder, struct err *err)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        int result = os_flock(bfs_dir_fd(folder), LOCK_EX | LOCK_NB);
        if (result != -EWOULDBLOCK) {
            return result < 0 ? err_sys(err, result, "cannot lock '%s'", folder->path) : 0;
        }
        (void)!os_poll(-1, 0, LOCK_PAUSE_MS); /* nobody notifies of an unlocked file */
    }
    return err_set(err, ERR_CONFLICT, "another berm is healing runs of '%s'", folder->path);
}

int recover_runs(char *const *environment, const struct os_clock *clock,
                 struct recovery *ret_recovery, struct err *err)
{
    with_bfs_dir folder = {0};
    with_strvec names = {0};
    if (recover_open_folder(environment, &folder, err) < 0 || lock(&folder, err) < 0 ||
        bfs_list(&folder, MANIFESTS_MAX, &names, err) < 0) {
        return -1;
    }
    struct recovery recovery = {.runs = memory_new((names.count + 1) * sizeof *recovery.runs)};
    for (size_t i = 0; i < names.count; i++) {
        struct bfs_facts there;
        struct err gone = {0};
        struct recovered *one = &recovery.runs[recovery.count];
        if (!is_manifest(names.strings[i])) {
            continue;
        }
        heal(&folder, names.strings[i], clock, one);
        /* Its run may have ended by itself since the list was made. */
        if (one->state == RECOVER_LEFT && bfs_stat(&folder, names.strings[i], &there, &gone) < 0 &&
            gone.code == ERR_NOT_FOUND) {
            *one = (struct recovered){0};
            continue;
        }
        recovery.counts[one->state]++;
        recovery.count++;
    }
    *ret_recovery = recovery;
    return 0;
}

void recovery_done(struct recovery *recovery)
{
    if (recovery) {
        memory_free(recovery->runs);
        *recovery = (struct recovery){0};
    }
}
