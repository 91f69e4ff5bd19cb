#include "daemon-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file.h"

enum {
    RESOLVE =
        OS_RESOLVE_BENEATH | OS_RESOLVE_NO_SYMLINKS | OS_RESOLVE_NO_MAGICLINKS | OS_RESOLVE_NO_XDEV
};

static struct daemon_object object_of(const struct stat *stat)
{
    return (struct daemon_object){.device = stat->st_dev,
                                  .inode = stat->st_ino,
                                  .mode = stat->st_mode,
                                  .owner = stat->st_uid,
                                  .size_bytes = stat->st_size};
}

static struct fd open_beneath(int folder, const char *rest)
{
    return fd_adopt(
        os_openat2(folder, rest[0] ? rest : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE));
}

int daemon_place_open(const struct sandbox *sandbox, const char *path,
                      struct daemon_place *ret_place)
{
    int root = -1;
    const char *rest = NULL;
    struct stat stat;
    enum sandbox_place place = sandbox_place_of(sandbox, path, &root, &rest);
    if (place == SANDBOX_NOWHERE || root < 0) {
        return -EACCES;
    }
    with_fd folder = open_beneath(root, rest);
    int result = fd_is_open(&folder) ? os_fstat(fd_num(&folder), &stat) : fd_error(&folder);
    if (result < 0) {
        return result;
    }
    *ret_place = (struct daemon_place){.folder = fd_take(&folder),
                                       .identity = object_of(&stat),
                                       .is_private = place == SANDBOX_PRIVATE_PLACE};
    return 0;
}

void daemon_place_done(struct daemon_place *place)
{
    fd_close(&place->folder);
}

int daemon_object_look(const struct daemon_place *place, const char *name,
                       struct daemon_object *ret_object)
{
    struct stat stat;
    int result = os_stat_entry(fd_num(&place->folder), name, &stat);
    if (result == 0) {
        *ret_object = object_of(&stat);
    }
    return result;
}

int daemon_look_absent(const struct sandbox *sandbox, const struct daemon_wish *wish,
                       const char **ret_name)
{
    struct daemon_object seen;
    const char *const names[] = {wish->socket, wish->lock};
    with_daemon_place place = {0};
    int opened = daemon_place_open(sandbox, wish->folder, &place);
    for (size_t i = 0; i < countof(names) && opened == 0; i++) {
        int result = daemon_object_look(&place, names[i], &seen);
        if (result != -ENOENT) {
            *ret_name = names[i];
            return result < 0 ? result : -EEXIST;
        }
    }
    return 0;
}

bool daemon_object_same(const struct daemon_object *a, const struct daemon_object *b)
{
    return a->inode != 0 && a->device == b->device && a->inode == b->inode && a->mode == b->mode &&
           a->owner == b->owner && a->size_bytes == b->size_bytes;
}

ssize_t daemon_lock_read(const struct daemon_place *place, const char *name, uid_t owner,
                         char text[DAEMON_LOCK_BYTES], struct daemon_object *ret_object)
{
    struct stat stat;
    with_fd file = fd_adopt(os_openat2(fd_num(&place->folder), name,
                                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, RESOLVE));
    int result = fd_is_open(&file) ? os_fstat(fd_num(&file), &stat) : fd_error(&file);
    if (result < 0) {
        return result;
    }
    if (!S_ISREG(stat.st_mode) || stat.st_uid != owner || stat.st_nlink != 1 ||
        stat.st_size > DAEMON_LOCK_BYTES) {
        return -EINVAL;
    }
    ssize_t length = os_pread(fd_num(&file), text, DAEMON_LOCK_BYTES, 0);
    if (length == stat.st_size) {
        *ret_object = object_of(&stat);
    }
    return length < 0 ? length : length == stat.st_size ? length : -EINVAL;
}

bool daemon_place_is_beneath(const struct sandbox *sandbox, const char *path, uint64_t device,
                             uint64_t inode)
{
    char text[DAEMON_PATH_SIZE];
    size_t length = strlen(path);
    for (int depth = 0; depth < DAEMON_DEPTH && length > 0 && length < sizeof text; depth++) {
        with_daemon_place place = {0};
        memcpy(text, path, length);
        text[length] = '\0';
        if (daemon_place_open(sandbox, text, &place) < 0 || !place.is_private) {
            return false;
        }
        if (place.identity.device == device && place.identity.inode == inode) {
            return true;
        }
        while (length > 0 && text[--length] != '/') {
        }
    }
    return false;
}
