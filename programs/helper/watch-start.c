/* What the watchdog takes and makes before it is ready: names first, durably, then what they name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "file.h"
#include "proc.h"
#include "process.h"
#include "watchdog.h"

/* A description of its own: a lock that the controller holds on it must not count as held by us, nor
 * outlive the controller. */
static int reopen(struct fd *came, const struct watch_identity *identity, struct fd *ret_fd)
{
    *ret_fd = fd_adopt(os_openat(fd_num(came), ".", O_RDONLY | O_DIRECTORY, 0));
    if (!fd_is_open(ret_fd)) {
        return fd_error(ret_fd);
    }
    struct watch_identity there = watch_identity_of(fd_num(ret_fd));
    return watch_same(&there, identity) ? 0 : -ESTALE;
}

int start_take(struct watchdog *watchdog, struct fd *fds)
{
    const struct watch_manifest *manifest = &watchdog->manifest;
    int result = reopen(&fds[WATCH_FD_FOLDER], &manifest->file.parent, &watchdog->folder);
    for (size_t i = 0; i < WATCH_SLOTS && result == 0; i++) {
        result =
            manifest->slots[i].path[0] != '\0'
                ? reopen(&fds[WATCH_FD_SLOT + i], &manifest->slots[i].parent, &watchdog->slots[i])
                : 0;
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES && result == 0; i++) {
        result = manifest->directories[i].path[0] != '\0'
                     ? reopen(&fds[WATCH_FD_PARENT + i], &manifest->directories[i].parent,
                              &watchdog->parents[i])
                     : 0;
    }
    if (manifest->lock.path[0] != '\0') {
        watchdog->lock = fd_take(&fds[WATCH_FD_LOCK]); /* the very one: it is held by both */
    }
    return result < 0 ? watchdog_fail(watchdog, result, "open the folders again") : 0;
}

static int read_own_start(uint64_t *ret_ticks)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_openat(AT_FDCWD, "/proc/self/stat", O_RDONLY, 0));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    *ret_ticks = result < 0 ? 0 : stat.start_ticks;
    return result;
}

static int make_directory(struct watchdog *watchdog, size_t i)
{
    struct watch_entry *entry = &watchdog->manifest.directories[i];
    int parent = fd_num(&watchdog->parents[i]);
    int result = os_mkdirat(parent, entry->name, 0700);
    if (result < 0) {
        return result;
    }
    with_fd made = fd_adopt(os_openat(parent, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    bool there = fd_is_open(&made) && watch_is_at(parent, entry->name, fd_num(&made));
    entry->self = there ? watch_identity_of(fd_num(&made)) : (struct watch_identity){0};
    if (entry->self.inode == 0) {
        (void)!os_unlinkat(parent, entry->name, AT_REMOVEDIR);
        return fd_is_open(&made) ? -EIO : fd_error(&made);
    }
    const struct watch_word word = {.said = WATCH_MADE, .index = (uint32_t)i, .made = entry->self};
    return watchdog_say(&word, fd_num(&made));
}

static int make_directories(struct watchdog *watchdog)
{
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        int result =
            watchdog->manifest.directories[i].path[0] != '\0' ? make_directory(watchdog, i) : 0;
        if (result < 0) {
            return watchdog_fail(watchdog, result, "make a directory of the run");
        }
    }
    return 0;
}

static int take_lock(struct watchdog *watchdog)
{
    if (!fd_is_open(&watchdog->lock)) {
        return 0;
    }
    int result = os_flock(fd_num(&watchdog->lock), LOCK_EX | LOCK_NB);
    return result < 0 ? watchdog_fail(watchdog, result, "take the lock") : 0;
}

static int set_aside(struct watchdog *watchdog)
{
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        int result = fd_is_open(&watchdog->slots[i]) ? slot_set_aside(watchdog, i) : 0;
        if (result < 0) {
            return watchdog_fail(watchdog, result, "set aside room for the report of a crash");
        }
    }
    return 0;
}

int start_prepare(struct watchdog *watchdog, struct fd *fds)
{
    struct watch_process *self = &watchdog->manifest.watchdog;
    int result = start_take(watchdog, fds);
    if (result < 0) {
        return result;
    }
    self->pid = os_getpid();
    result = read_own_start(&self->start_ticks);
    if (result < 0) {
        return watchdog_fail(watchdog, result, "read its own start time");
    }
    /* Where nothing is made, the first state is the second. */
    result = watchdog->manifest.directories[0].path[0] != '\0'
                 ? manifest_write(watchdog, WATCH_INTENT)
                 : 0;
    result = result < 0 ? result : make_directories(watchdog);
    result = result < 0 ? result : take_lock(watchdog);
    result = result < 0 ? result : set_aside(watchdog);
    return result < 0 ? result : manifest_write(watchdog, WATCH_PREPARED);
}
