/* The manifest is replaced as a whole: a file without a name, complete and synced, gets a name that
 * nobody can guess and is renamed over the old one. Whoever reads it after a crash finds the last state
 * that was complete. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>

#include "clock.h"
#include "file.h"
#include "watchdog.h"

static const char suffix[] = WATCH_UNFINISHED;

static void temporary_name(const struct watchdog *watchdog, char name[WATCH_NAME_SIZE])
{
    size_t length = strnlen(watchdog->manifest.file.name, WATCH_NAME_SIZE - sizeof suffix);
    memcpy(name, watchdog->manifest.file.name, length);
    memcpy(name + length, suffix, sizeof suffix);
}

static int fill(struct watchdog *watchdog, int file_fd)
{
    struct watch_manifest *manifest = &watchdog->manifest;
    manifest->reports_bytes = (uint32_t)watchdog->reports_bytes;
    manifest->written_ns = os_clock_real.realtime_ns();
    manifest->sum = watch_manifest_sum(manifest, watchdog->reports);
    int result = os_write_all(file_fd, manifest, sizeof *manifest);
    result =
        result < 0 ? result : os_write_all(file_fd, watchdog->reports, manifest->reports_bytes);
    return result < 0 ? result : os_fsync(file_fd);
}

static int publish(struct watchdog *watchdog, int file_fd, const char *temporary, bool named)
{
    int folder = fd_num(&watchdog->folder);
    const char *name = watchdog->manifest.file.name;
    bool first = watchdog->manifest.file.self.inode == 0;
    bool direct = first && !named; /* it has no name yet, and nothing is replaced */
    int result = named ? 0 : os_link_fd(file_fd, folder, direct ? name : temporary);
    if (result == 0 && !direct) {
        result = os_renameat(folder, temporary, folder, name, first ? RENAME_NOREPLACE : 0);
    }
    if (result == 0 && !watch_is_at(folder, name, file_fd)) {
        result = -EIO; /* it was said to have its name, and has not */
    }
    if (result < 0 && !direct) {
        (void)!os_unlinkat(folder, temporary, 0);
    }
    return result;
}

int manifest_write(struct watchdog *watchdog, enum watch_state state)
{
    char temporary[WATCH_NAME_SIZE];
    int folder = fd_num(&watchdog->folder);
    temporary_name(watchdog, temporary);
    watchdog->manifest.state = state;
    with_fd file = fd_adopt(os_openat(folder, ".", O_RDWR | O_TMPFILE, 0600));
    bool named = !fd_is_open(&file) && fd_error(&file) != -EDQUOT && fd_error(&file) != -ENOSPC;
    if (named) { /* the file system has no files without a name */
        file = fd_adopt(os_openat(folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    }
    if (!fd_is_open(&file)) {
        return watchdog_fail(watchdog, fd_error(&file), "make its manifest");
    }
    int result = fill(watchdog, fd_num(&file));
    if (result < 0 && named) {
        (void)!os_unlinkat(folder, temporary, 0);
    }
    result = result < 0 ? result : publish(watchdog, fd_num(&file), temporary, named);
    if (result < 0) {
        return watchdog_fail(watchdog, result, "write its manifest");
    }
    watchdog->manifest.file.self = watch_identity_of(fd_num(&file));
    const struct watch_word word = {
        .said = WATCH_MADE, .index = WATCH_MANIFEST_INDEX, .made = watchdog->manifest.file.self};
    result = watchdog_say(&word, -1);
    result = result < 0 ? result : os_fsync(folder);
    return result < 0 ? watchdog_fail(watchdog, result, "tell of its manifest, or sync its folder")
                      : 0;
}

/* Only the file that was put there. */
int manifest_remove(struct watchdog *watchdog)
{
    struct watch_identity there;
    const struct watch_entry *entry = &watchdog->manifest.file;
    if (entry->self.inode == 0) {
        return 0;
    }
    int folder = fd_num(&watchdog->folder);
    int result = watch_look(folder, entry->name, &there);
    if (result == -ENOENT) {
        return 0;
    }
    if (result == 0 && !watch_same(&there, &entry->self)) {
        return watchdog_fail(watchdog, -ESTALE, "find its own manifest");
    }
    result = result < 0 ? result : os_unlinkat(folder, entry->name, 0);
    result = result < 0 || watch_is_nowhere(folder, entry->name) ? result : -EIO;
    result = result < 0 ? result : os_fsync(folder);
    return result < 0 ? watchdog_fail(watchdog, result, "remove its manifest") : 0;
}
