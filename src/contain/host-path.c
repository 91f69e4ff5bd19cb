/* A path of the host, held by descriptor and named by the kernel. */
#include "sandbox-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "memory.h"

static int name_of(int fd, char *path, size_t size)
{
    char own[32];
    (void)snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    ssize_t length = os_readlinkat(AT_FDCWD, own, path, size);
    return length < 0 ? (int)length : 0;
}

int host_text_read(int dir_fd, const char *path, struct buf *ret_text)
{
    char chunk[16384];
    with_fd file = fd_adopt(os_openat(dir_fd, path, O_RDONLY | O_NOCTTY, 0));
    ssize_t got = fd_error(&file);
    while (fd_is_open(&file) && (got = os_read(fd_num(&file), chunk, sizeof chunk)) > 0) {
        buf_add(ret_text, chunk, (size_t)got);
    }
    return got < 0 ? (int)got : buf_fits(ret_text) ? 0 : -EFBIG;
}

int host_path_open(int base_fd, const char *path, struct host_path *ret_place)
{
    char name[4096];
    with_host_path place = {.fd = fd_adopt(os_openat(base_fd, path, O_PATH, 0))};
    int result = fd_error(&place.fd);
    struct stat named;
    result = result < 0 ? result : name_of(fd_num(&place.fd), name, sizeof name);
    result = result < 0 ? result : os_fstat(fd_num(&place.fd), &place.stat);
    /* " (deleted)" is not a part of a name, and a place in another root has none here. */
    result = result < 0 ? result : os_stat_entry(AT_FDCWD, name, &named);
    if (result < 0) {
        return result;
    }
    if (name[0] != '/' || named.st_dev != place.stat.st_dev || named.st_ino != place.stat.st_ino) {
        return -ENOENT;
    }
    place.path = memory_copy_string(name);
    *ret_place = place;
    place = (struct host_path){0};
    return 0;
}

void host_path_done(struct host_path *place)
{
    if (!place) {
        return;
    }
    fd_close(&place->fd);
    memory_free(place->path);
    *place = (struct host_path){0};
}

bool path_is_temporary(const char *path)
{
    return path_is_beneath(path, "/tmp") || path_is_beneath(path, "/var/tmp") ||
           path_is_beneath(path, "/dev/shm");
}
