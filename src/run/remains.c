#include "remains-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "adopt.h"
#include "cgroupfs.h"
#include "event.h"
#include "file.h"
#include "memory.h"
#include "proc.h"
#include "process.h"
#include "scope.h"

/* Nothing else says that there is none: a call that failed for another reason has not looked. */
static bool is_gone(int error)
{
    return error == -ESRCH || error == -ENOENT || error == -ENODEV || error == -ENOTDIR ||
           error == -ELOOP;
}

/* --- who lives ---------------------------------------------------------------------------------- */

/* A pidfd of that very process; none: it is gone. */
static int hold(const struct watch_process *process, struct fd *ret_pidfd, struct err *err)
{
    const struct proc_identity who = {(pid_t)process->pid, process->start_ticks};
    if (process->pid <= 0 || process->pid > INT32_MAX) {
        return 0;
    }
    struct fd pidfd = fd_adopt(os_pidfd_open(who.pid));
    with_fd proc = fd_adopt(fd_is_open(&pidfd) ? os_proc_open(who) : fd_error(&pidfd));
    if (fd_is_open(&proc)) {
        *ret_pidfd = pidfd;
        return 0;
    }
    bool is_thread = fd_error(&pidfd) == -EINVAL; /* the number is one of another process by now */
    fd_close(&pidfd);
    return is_thread || is_gone(fd_error(&proc))
               ? 0
               : err_sys(err, fd_error(&proc), "cannot look at process %d", who.pid);
}

/* A zombie ended; whoever has it for a child will reap it. */
static int is_alive(const struct watch_process *process, int wait_ms, bool *ret_alive,
                    struct err *err)
{
    with_fd pidfd = {0};
    if (hold(process, &pidfd, err) < 0) {
        return -1;
    }
    int ended = fd_is_open(&pidfd) ? os_poll(fd_num(&pidfd), POLLIN, wait_ms) : POLLIN;
    if (ended < 0) {
        return err_sys(err, ended, "cannot look at process %lld", (long long)process->pid);
    }
    *ret_alive = ended == 0;
    return 0;
}

int remains_life(const struct watch_manifest *manifest, int wait_ms, enum remains_life *ret_life,
                 struct err *err)
{
    bool controller = false;
    bool watchdog = false;
    if (is_alive(&manifest->controller, 0, &controller, err) < 0 ||
        (!controller && is_alive(&manifest->watchdog, wait_ms, &watchdog, err) < 0)) {
        return -1;
    }
    *ret_life = controller ? REMAINS_RUNNING : watchdog ? REMAINS_FINISHING : REMAINS_DEAD;
    return 0;
}

/* --- what there still is ------------------------------------------------------------------------- */

void remains_done(struct remains *remains)
{
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        fd_close(&remains->slots[i]);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        fd_close(&remains->parents[i]);
    }
    for (size_t i = 0; i < WATCH_DAEMONS; i++) {
        fd_close(&remains->daemons[i]);
    }
    fd_close(&remains->scope);
    fd_close(&remains->scope_parent);
    fd_close(&remains->leaf);
    fd_close(&remains->gate);
}

/* The folder, when it is the one that the manifest means; none: it is gone, or another by now. */
static int open_same(int dir_fd, const char *path, struct watch_identity *wanted, bool this_boot,
                     struct fd *ret_fd, struct err *err)
{
    struct stat there;
    with_fd folder = fd_adopt(os_openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    int result = fd_is_open(&folder) ? os_fstat(fd_num(&folder), &there) : fd_error(&folder);
    if (result < 0) {
        return is_gone(result) ? 0 : err_sys(err, result, "cannot look at '%s'", path);
    }
    if (there.st_ino == wanted->inode && there.st_uid == wanted->owner &&
        (!this_boot || there.st_dev == wanted->device)) {
        wanted->device = there.st_dev;
        *ret_fd = fd_take(&folder);
    }
    return 0;
}

/* What is not what it was is out of reach for good: nothing of the run is there. */
static int open_entry(struct watch_entry *entry, bool this_boot, struct fd *ret_fd, struct err *err)
{
    if (entry->path[0] == '\0') {
        return 0;
    }
    if (open_same(AT_FDCWD, entry->path, &entry->parent, this_boot, ret_fd, err) < 0) {
        return -1;
    }
    if (!fd_is_open(ret_fd)) {
        *entry = (struct watch_entry){0};
        return 0;
    }
    entry->self.device = entry->self.inode ? entry->parent.device : 0; /* made in there */
    return 0;
}

/* What lay in the private file system of a sandbox is gone with it. */
static int open_daemon(struct watch_daemon *daemon, bool this_boot, struct fd *ret_fd,
                       struct err *err)
{
    if (daemon->on_host && open_entry(&daemon->place, this_boot, ret_fd, err) < 0) {
        return -1;
    }
    if (!fd_is_open(ret_fd)) {
        *daemon = (struct watch_daemon){0};
        return 0;
    }
    struct watch_object *objects[] = {&daemon->socket, &daemon->lock};
    for (size_t i = 0; i < countof(objects); i++) {
        uint64_t device = daemon->place.parent.device;
        objects[i]->self.device = objects[i]->self.inode ? device : 0; /* made in there */
    }
    return 0;
}

static int open_scope_parent(struct remains *remains, struct err *err)
{
    const struct watch_leaf *leaf = &remains->manifest.leaf;
    const char *slash = strrchr(leaf->path, '/');
    with_string path = memory_format("%.*s", (int)(slash - leaf->path), leaf->path);
    remains->scope_parent =
        fd_adopt(os_openat(AT_FDCWD, path[0] ? path : "/", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    int error = fd_error(&remains->scope_parent);
    return fd_is_open(&remains->scope_parent) || is_gone(error)
               ? 0
               : err_sys(err, error, "cannot look at '%s'", path);
}

/* A cgroup of this boot that is still that cgroup; else it is gone, with whoever was in it. One that was never
 * armed is on record by its name alone, which the watchdog looks for itself. */
static int open_leaf(struct remains *remains, struct err *err)
{
    struct watch_leaf *leaf = &remains->manifest.leaf;
    remains->had_leaf = leaf->path[0] != '\0' && leaf->scope.inode != 0;
    if (!remains->this_boot) {
        *leaf = (struct watch_leaf){0};
    }
    if (leaf->path[0] == '\0' || leaf->scope.inode == 0) {
        return 0;
    }
    if (open_same(AT_FDCWD, leaf->path, &leaf->scope, true, &remains->scope, err) < 0) {
        return -1;
    }
    if (!fd_is_open(&remains->scope)) {
        return 0;
    }
    if (open_same(fd_num(&remains->scope), leaf->name, &leaf->self, true, &remains->leaf, err) <
        0) {
        return -1;
    }
    if ((leaf->flags & WATCH_LEAF_SCOPE_IS_OURS) && open_scope_parent(remains, err) < 0) {
        return -1;
    }
    return leaf->flags & WATCH_LEAF_HAS_GATE ? hold(&leaf->gate, &remains->gate, err) : 0;
}

int remains_open(struct remains *remains, struct err *err)
{
    struct watch_manifest *manifest = &remains->manifest;
    int result = 0;
    for (size_t i = 0; i < WATCH_SLOTS && result == 0; i++) {
        result = open_entry(&manifest->slots[i], remains->this_boot, &remains->slots[i], err);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES && result == 0; i++) {
        result =
            open_entry(&manifest->directories[i], remains->this_boot, &remains->parents[i], err);
    }
    for (size_t i = 0; i < WATCH_DAEMONS && result == 0; i++) {
        result = open_daemon(&manifest->daemons[i], remains->this_boot, &remains->daemons[i], err);
    }
    manifest->lock = (struct watch_entry){0}; /* who held it is dead */
    if (remains->this_boot) {
        memcpy(remains->units[0], manifest->leaf.unit, sizeof remains->units[0]);
        memcpy(remains->units[1], manifest->unit, sizeof remains->units[1]);
    }
    manifest->unit[0] = '\0';
    return result < 0 ? -1 : open_leaf(remains, err);
}

bool remains_have_units(const struct remains *remains)
{
    return remains->units[0][0] != '\0' || remains->units[1][0] != '\0';
}

int remains_forget_units(const struct remains *remains, const char *runtime_dir,
                         int64_t deadline_ns, struct err *err)
{
    struct scope_offer offer;
    const struct scope_question question = {.runtime_dir = runtime_dir};
    if (!remains_have_units(remains)) {
        return 0;
    }
    scope_probe(&question, &offer);
    for (size_t i = 0; i < countof(remains->units); i++) {
        if (remains->units[i][0] &&
            scope_forget_unit(&offer, remains->units[i], deadline_ns, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int borrow(const struct fd *fd)
{
    return fd_is_open(fd) ? fd_num(fd) : -1;
}

int remains_adopt(const struct remains *remains, const struct bfs_dir *folder, struct span reports,
                  const struct os_clock *clock, int64_t scope_ms, uint32_t *ret_left,
                  struct err *err)
{
    struct adoption adoption = {
        .scope_ms = scope_ms,
        .manifest = &remains->manifest,
        .reports = reports,
        .folder_fd = bfs_dir_fd(folder),
        .leaf_fd = borrow(&remains->leaf),
        .scope_fd = borrow(&remains->scope),
        .scope_parent_fd = borrow(&remains->scope_parent),
        .gate_pidfd = borrow(&remains->gate),
    };
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        adoption.slot_fds[i] = borrow(&remains->slots[i]);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        adoption.parent_fds[i] = borrow(&remains->parents[i]);
    }
    for (size_t i = 0; i < WATCH_DAEMONS; i++) {
        adoption.daemon_fds[i] = borrow(&remains->daemons[i]);
    }
    return adopt_finish(&adoption, clock, ret_left, err);
}
