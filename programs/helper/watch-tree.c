/* Directories that were made for the run, and whatever lies in them: by descriptor, into no link, no
 * other file system and no deeper than anybody would make them; and what claims the lock. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "watchdog.h"

enum { DEPTH_MAX = 32, ENTRIES_MAX = 1 << 20, LIST_BYTES = 2048 };

struct removal {
    uint64_t device;
    int64_t entries; /* that may still be removed */
};

static int remove_contents(struct removal *removal, int dir_fd, int depth);

static int remove_folder(struct removal *removal, int dir_fd, const char *name, int depth)
{
    struct stat facts;
    with_fd inner = fd_adopt(os_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    if (!fd_is_open(&inner)) {
        return fd_error(&inner);
    }
    int result = os_fstat(fd_num(&inner), &facts);
    if (result < 0) {
        return result;
    }
    if (facts.st_dev != removal->device || depth >= DEPTH_MAX) {
        return -EXDEV;
    }
    result = remove_contents(removal, fd_num(&inner), depth + 1);
    return result < 0 ? result : os_unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static int remove_entry(struct removal *removal, int dir_fd, const char *name, int depth)
{
    if (--removal->entries < 0) {
        return -EOVERFLOW;
    }
    int result = os_unlinkat(dir_fd, name, 0);
    return result == -EISDIR || result == -EPERM ? remove_folder(removal, dir_fd, name, depth)
                                                 : result;
}

/* One listing; the number of entries that were in it, or -errno. */
static int remove_some(struct removal *removal, int dir_fd, int depth)
{
    char list[LIST_BYTES];
    int removed = 0;
    ssize_t got = os_getdents(dir_fd, list, sizeof list);
    for (ssize_t at = 0; at < got;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(list + at);
        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        int result = remove_entry(removal, dir_fd, entry->d_name, depth);
        if (result < 0 && result != -ENOENT) {
            return result;
        }
        removed++;
    }
    return got < 0 ? (int)got : got == 0 ? 0 : removed + 1;
}

/* What is removed while it is listed may make the listing skip: from the start until one finds nothing. */
static int remove_contents(struct removal *removal, int dir_fd, int depth)
{
    for (;;) {
        int total = 0;
        off_t start = os_lseek(dir_fd, 0, SEEK_SET);
        int result = start < 0 ? (int)start : 1;
        int listings = 0;
        while (result > 0) {
            result = remove_some(removal, dir_fd, depth);
            total += result > 1 ? result - 1 : 0;
            listings++;
        }
        if (result < 0 || total == 0) {
            return result;
        }
    }
}

/* 1: the name leads to what was made; 0: to nothing or to something else; -errno. */
static int is_there(const struct watch_entry *entry, int parent_fd)
{
    struct watch_identity there;
    int result = watch_look(parent_fd, entry->name, &there);
    return result == 0 ? watch_same(&there, &entry->self) : result == -ENOENT ? 0 : result;
}

static int empty_directory(const struct watch_entry *entry, int parent_fd)
{
    with_fd dir =
        fd_adopt(os_openat(parent_fd, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    if (!fd_is_open(&dir)) {
        return fd_error(&dir);
    }
    struct watch_identity held = watch_identity_of(fd_num(&dir));
    struct removal removal = {.device = held.device, .entries = ENTRIES_MAX};
    return watch_same(&held, &entry->self) ? remove_contents(&removal, fd_num(&dir), 0) : -ESTALE;
}

/* 0 when it is no longer there, or another is there by now. Asked again right before the removal. */
static int remove_directory(const struct watch_entry *entry, int parent_fd)
{
    int there = is_there(entry, parent_fd);
    int result = there == 1 ? empty_directory(entry, parent_fd) : there;
    there = result < 0 ? result : is_there(entry, parent_fd);
    if (there != 1) {
        return there;
    }
    result = os_unlinkat(parent_fd, entry->name, AT_REMOVEDIR);
    return result < 0 || watch_is_nowhere(parent_fd, entry->name) ? result : -EIO;
}

/* Made right before the crash, so that only its unpredictable name is on record: nobody can have put
 * anything there. */
static int remove_unrecorded(const struct watch_entry *entry, int parent_fd)
{
    int result = os_unlinkat(parent_fd, entry->name, AT_REMOVEDIR);
    result = result < 0 || watch_is_nowhere(parent_fd, entry->name) ? result : -EIO;
    return result == -ENOENT ? 0 : result;
}

uint32_t tree_remove_directories(struct watchdog *watchdog)
{
    uint32_t left = 0;
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        struct watch_entry *entry = &watchdog->manifest.directories[i];
        if (entry->path[0] == '\0' || !fd_is_open(&watchdog->parents[i])) {
            continue;
        }
        int parent = fd_num(&watchdog->parents[i]);
        int result = entry->self.inode != 0 ? remove_directory(entry, parent)
                     : watchdog->adopted    ? remove_unrecorded(entry, parent)
                                            : 0;
        if (result < 0) {
            left |= WATCH_LEFT_DIRECTORY;
        }
    }
    return left;
}

/* One that cannot go counts no longer. Its folder is everybody's, and found again by its identity. */
void tree_remove_claim(const struct watchdog *watchdog)
{
    struct watch_identity parent;
    struct watch_identity there;
    const struct watch_entry *claim = &watchdog->manifest.lock;
    if (claim->self.inode == 0) {
        return;
    }
    with_fd folder = fd_adopt(os_openat(AT_FDCWD, claim->path, O_RDONLY | O_DIRECTORY, 0));
    parent = fd_is_open(&folder) ? watch_identity_of(fd_num(&folder)) : (struct watch_identity){0};
    if (watch_same(&parent, &claim->parent) &&
        watch_look(fd_num(&folder), claim->name, &there) == 0 && watch_same(&there, &claim->self)) {
        (void)!os_unlinkat(fd_num(&folder), claim->name, 0);
    }
}
