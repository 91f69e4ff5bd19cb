/* The report of a crash, into slots that are still this run's. The authority is the folder that the
 * controller opened and the run's id in what is there, not a file's inode: also a success that was
 * published right before the death is replaced (RS-5), and what another run put there is not. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "file.h"
#include "watchdog.h"

enum {
    HEAD_BYTES = 4096, /* of a record; its run id stands at its beginning */
    LOCK_WAIT_MS = 1000,
    RANDOM_BYTES = 16,
};

int slot_set_aside(struct watchdog *watchdog, size_t slot)
{
    int folder = fd_num(&watchdog->slots[slot]);
    struct fd file = fd_adopt(os_openat(folder, ".", O_RDWR | O_TMPFILE, 0600));
    if (!fd_is_open(&file)) {
        bool full = fd_error(&file) == -ENOSPC || fd_error(&file) == -EDQUOT;
        return full ? fd_error(&file) : 0; /* without: it is made when it is needed */
    }
    int result = os_fallocate(fd_num(&file), WATCH_SPARE_BYTES);
    if (result < 0 && result != -EOPNOTSUPP && result != -ENOSYS) {
        fd_close(&file);
        return result;
    }
    watchdog->spares[slot] = file;
    return 0;
}

/* 1: what is there is this run's record; 0: it is not; -errno. */
static int is_ours(const struct watchdog *watchdog, int folder, const char *name)
{
    char head[HEAD_BYTES];
    struct stat facts = {0};
    with_fd file =
        fd_adopt(os_openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0));
    if (!fd_is_open(&file)) {
        return fd_error(&file) == -ENOENT || fd_error(&file) == -ELOOP ? 0 : fd_error(&file);
    }
    int result = os_fstat(fd_num(&file), &facts);
    bool looked = facts.st_ino != 0 && watch_is_at(folder, name, fd_num(&file));
    result = result == 0 && !looked ? -EIO : result;
    if (result < 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0) {
        return result;
    }
    ssize_t got = os_pread(fd_num(&file), head, sizeof head, 0);
    got = got == 0 ? -EIO : got; /* it has bytes, and one that reads none has not looked */
    return got < 0 ? (int)got : watch_is_of_run(head, (size_t)got, watchdog->manifest.run_id);
}

static int unpredictable_name(char name[WATCH_NAME_SIZE])
{
    unsigned char random[RANDOM_BYTES];
    static const char prefix[] = ".berm-";
    int result = os_getrandom(random, sizeof random);
    memcpy(name, prefix, sizeof prefix);
    char *at = name + sizeof prefix - 1;
    for (size_t i = 0; i < sizeof random; i++) {
        *at++ = "0123456789abcdef"[random[i] >> 4];
        *at++ = "0123456789abcdef"[random[i] & 15];
    }
    *at = '\0';
    return result;
}

/* The complete and synced bytes, under a name for now. */
static int write_file(struct watchdog *watchdog, size_t slot, const struct watch_text *text,
                      char name[WATCH_NAME_SIZE])
{
    int folder = fd_num(&watchdog->slots[slot]);
    struct fd *spare = &watchdog->spares[slot];
    int result = unpredictable_name(name);
    if (result < 0) {
        return result;
    }
    bool named = !fd_is_open(spare);
    if (named) {
        *spare = fd_adopt(os_openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    }
    if (!fd_is_open(spare)) {
        return fd_error(spare);
    }
    int file = fd_num(spare);
    off_t start = os_lseek(file, 0, SEEK_SET);
    result = start < 0
                 ? (int)start
                 : os_write_all(file, (const char *)watchdog->reports + text->offset, text->bytes);
    result = result < 0 ? result : os_ftruncate(file, text->bytes);
    result = result < 0 ? result : os_fsync(file);
    off_t length = result < 0 ? 0 : os_lseek(file, 0, SEEK_END);
    result = result == 0 && length != text->bytes ? -EIO
                                                  : result; /* what was set aside is still there */
    result = result < 0 || named ? result : os_link_fd(file, folder, name);
    if (result < 0 && named) {
        (void)!os_unlinkat(folder, name, 0);
    }
    return result;
}

static int write_report(struct watchdog *watchdog, size_t slot, enum watch_ending ending)
{
    const struct watch_text *text = &watchdog->reports->texts[slot][ending];
    const char *name = watchdog->manifest.slots[slot].name;
    char temporary[WATCH_NAME_SIZE];
    if (text->bytes == 0) {
        return 0;
    }
    int folder = fd_num(&watchdog->slots[slot]);
    (void)!os_flock_within(folder,
                           LOCK_WAIT_MS); /* the check is what counts, as in src/report/slot.c */
    int ours = is_ours(watchdog, folder, name);
    int result = ours <= 0 ? ours : write_file(watchdog, slot, text, temporary);
    if (ours == 1 && result == 0) {
        result = os_renameat(folder, temporary, folder, name, 0);
        if (result == 0 && !watch_is_at(folder, name, fd_num(&watchdog->spares[slot]))) {
            result = -EIO;
        }
        if (result < 0) {
            (void)!os_unlinkat(folder, temporary, 0);
        }
        result = result < 0 ? result : os_fsync(folder);
    }
    (void)!os_flock(folder, LOCK_UN); /* the end of this process does it as well */
    fd_close(&watchdog->spares[slot]);
    return result;
}

uint32_t slot_write_reports(struct watchdog *watchdog, enum watch_ending ending)
{
    uint32_t left = 0;
    for (size_t slot = 0; watchdog->reports && slot < WATCH_SLOTS; slot++) {
        if (fd_is_open(&watchdog->slots[slot]) && write_report(watchdog, slot, ending) < 0) {
            left |= WATCH_LEFT_REPORT;
        }
    }
    return left;
}
