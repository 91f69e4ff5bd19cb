#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "launcher.h"

/* Without openat2: one component after the other, each held before it is looked into. */
static int walk(const char *path)
{
    struct fd at = fd_adopt(os_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0));
    while (fd_is_open(&at)) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (length == 0) {
            break;
        }
        char name[256];
        struct stat facts;
        struct fd next = {-ENAMETOOLONG};
        if (length < sizeof name) {
            memcpy(name, path, length);
            name[length] = '\0';
            next = strcmp(name, "..") == 0
                       ? (struct fd){-ELOOP}
                       : fd_adopt(os_openat(fd_num(&at), name, O_PATH | O_NOFOLLOW, 0));
        }
        fd_close(&at);
        at = next;
        if (fd_is_open(&at)) {
            int result = os_fstat(fd_num(&at), &facts);
            if (result == 0 && S_ISLNK(facts.st_mode)) {
                result = -ELOOP;
            }
            if (result < 0) {
                fd_close(&at);
                at = fd_adopt(result);
            }
        }
        path += length;
    }
    return fd_is_open(&at) ? fd_num(&at) : fd_error(&at);
}

int place_open(const char *path, int flags)
{
    int fd = os_openat2(AT_FDCWD, path, O_PATH | flags, 0,
                        OS_RESOLVE_NO_SYMLINKS | OS_RESOLVE_NO_MAGICLINKS);
    if (fd != -ENOSYS) {
        return fd;
    }
    with_fd found = fd_adopt(walk(path));
    if (!fd_is_open(&found)) {
        return fd_error(&found);
    }
    struct stat facts;
    int result = os_fstat(fd_num(&found), &facts);
    if (result < 0) {
        return result;
    }
    if (flags & O_DIRECTORY && !S_ISDIR(facts.st_mode)) {
        return -ENOTDIR;
    }
    struct fd taken = fd_take(&found);
    return fd_num(&taken);
}

int place_is_same(int a, int b)
{
    struct stat first;
    struct stat second;
    int result = os_fstat(a, &first);
    result = result < 0 ? result : os_fstat(b, &second);
    return result < 0 ? result : first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}
