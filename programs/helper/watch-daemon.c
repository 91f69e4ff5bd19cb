/* Socket and lock of a managed daemon, in a folder of the host: removed when they are what was sealed, or, before
 * that, when the lock holds the reservation. Whatever else has their names stays and is told. What was not started
 * may have made nothing: whoever has a name then is nobody of the run's. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "watchdog.h"

static bool is_sealed(const struct watch_object *sealed, const struct stat *there)
{
    return sealed->self.inode == there->st_ino && sealed->self.device == there->st_dev &&
           sealed->self.owner == there->st_uid && sealed->mode == there->st_mode &&
           sealed->size_bytes == there->st_size;
}

/* No heap and no JSON: 64 digits that nobody else could know are as good. */
static bool holds_reservation(const struct watch_daemon *daemon, int folder)
{
    char text[WATCH_LOCK_BYTES];
    char digits[2 * WATCH_RESERVATION_BYTES];
    struct stat facts;
    with_fd lock = fd_adopt(
        os_openat(folder, daemon->lock_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0));
    if (!fd_is_open(&lock) || os_fstat(fd_num(&lock), &facts) < 0 || !S_ISREG(facts.st_mode) ||
        facts.st_nlink != 1 || facts.st_size > (off_t)sizeof text) {
        return false;
    }
    for (size_t i = 0; i < sizeof digits; i++) {
        uint8_t byte = daemon->reservation[i / 2];
        digits[i] = "0123456789abcdef"[i % 2 ? byte & 15 : byte >> 4];
    }
    ssize_t length = os_pread(fd_num(&lock), text, sizeof text, 0);
    return length > 0 && memmem(text, (size_t)length, digits, sizeof digits) != NULL;
}

/* 0: nothing of that name is there any more. */
static int remove_object(const struct watch_object *sealed, int folder, const char *name,
                         mode_t type, bool is_its)
{
    struct stat there = {0};
    int result = os_stat_entry(folder, name, &there);
    if (result < 0) {
        return result == -ENOENT ? 0 : result;
    }
    bool may = sealed->self.inode != 0 ? is_sealed(sealed, &there)
                                       : is_its && (there.st_mode & S_IFMT) == type;
    result = may ? os_unlinkat(folder, name, 0) : -EEXIST;
    return result < 0 || watch_is_nowhere(folder, name) ? result : -EIO;
}

uint32_t daemon_remove_objects(struct watchdog *watchdog)
{
    uint32_t left = 0;
    for (size_t i = 0; i < WATCH_DAEMONS; i++) {
        const struct watch_daemon *daemon = &watchdog->manifest.daemons[i];
        if (daemon->state < WATCH_DAEMON_STARTED || !fd_is_open(&watchdog->daemons[i])) {
            continue;
        }
        int folder = fd_num(&watchdog->daemons[i]);
        bool is_its = holds_reservation(daemon, folder);
        int socket = remove_object(&daemon->socket, folder, daemon->place.name, S_IFSOCK, is_its);
        int lock = remove_object(&daemon->lock, folder, daemon->lock_name, S_IFREG, is_its);
        if (socket < 0 || lock < 0) {
            left |= WATCH_LEFT_DAEMON;
        }
    }
    return left;
}
