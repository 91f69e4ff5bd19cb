/* Invariant: no function here follows a symbolic link or leaves the directory it starts from. */
#include "bfs-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"

static bool is_component(struct span part)
{
    return part.n > 0 && !span_equals(part, ".") && !span_equals(part, "..");
}

int bfs_check_path(const char *path, struct err *err)
{
    if (strlen(path) >= PATH_MAX) {
        return err_set(err, ERR_REFUSED, "a path of %zu bytes is longer than %d", strlen(path),
                       PATH_MAX - 1);
    }
    for (const char *part = path;;) {
        const char *end = strchrnul(part, '/');
        if (!is_component(span_of(part, (size_t)(end - part)))) {
            return err_set(err, ERR_REFUSED,
                           "'%s' is no plain relative path: an empty, '.' or '..' component", path);
        }
        if (*end == '\0') {
            return 0;
        }
        part = end + 1;
    }
}

int bfs_check_name(const char *name, struct err *err)
{
    if (!is_component(span_of_string(name)) || strchr(name, '/')) {
        return err_set(err, ERR_REFUSED, "'%s' is not the name of one directory entry", name);
    }
    return 0;
}

/* -ENOTDIR is also the answer for a link where a directory was asked for: tell them apart. */
static int not_a_directory(int dir_fd, const char *name)
{
    struct stat stat;
    int result = os_stat_entry(dir_fd, name, &stat);
    if (result < 0) {
        return result;
    }
    return S_ISLNK(stat.st_mode) ? -ELOOP : -ENOTDIR;
}

static int open_component(int dir_fd, const char *name, int flags)
{
    int fd = os_openat(dir_fd, name, flags | O_NOFOLLOW, 0);
    return fd == -ENOTDIR ? not_a_directory(dir_fd, name) : fd;
}

/* What openat2 does with our flags, in single steps: each is relative to the descriptor of the last
 * and follows nothing, so a component that is swapped meanwhile is either refused or not a link. */
static int walk(int dir_fd, const char *path, int flags)
{
    char name[NAME_MAX + 1];
    with_fd here = {0};
    int here_fd = dir_fd;
    for (;;) {
        const char *end = strchrnul(path, '/');
        size_t length = (size_t)(end - path);
        if (length > NAME_MAX) {
            return -ENAMETOOLONG;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        if (*end == '\0') {
            return open_component(here_fd, name, flags);
        }
        /* O_DIRECTORY makes the kernel mount what an automounter has to. */
        with_fd next = fd_adopt(open_component(here_fd, name, O_PATH | O_DIRECTORY));
        if (!fd_is_open(&next)) {
            return fd_error(&next);
        }
        fd_close(&here);
        here = fd_take(&next);
        here_fd = fd_num(&here);
        path = end + 1;
    }
}

int bfs_lookup(int dir_fd, const char *path, int flags)
{
    /* A link at the end is ELOOP by itself; O_NOFOLLOW is what lets O_PATH open the link. */
    int how = flags & O_PATH ? flags | O_NOFOLLOW : flags;
    int fd = os_openat2(dir_fd, path, how, 0,
                        OS_RESOLVE_BENEATH | OS_RESOLVE_NO_SYMLINKS | OS_RESOLVE_NO_MAGICLINKS);
    /* Before Linux 5.6 there is no openat2; older container filters answer EPERM for it. */
    return fd == -ENOSYS || fd == -EPERM ? walk(dir_fd, path, flags) : fd;
}

int bfs_error(struct err *err, int error, const char *doing, const char *directory,
              const char *name)
{
    switch (error) {
    case -ENOENT:
        return err_set(err, ERR_NOT_FOUND, "%s '%s/%s': there is no such file", doing, directory,
                       name);
    case -ELOOP:
        return err_set(err, ERR_REFUSED, "%s '%s/%s': a symbolic link is not followed here", doing,
                       directory, name);
    case -ENOTDIR:
        return err_set(err, ERR_REFUSED, "%s '%s/%s': a part of the path is not a directory", doing,
                       directory, name);
    case -EISDIR:
        return err_set(err, ERR_REFUSED, "%s '%s/%s': it is a directory", doing, directory, name);
    case -EEXIST:
        return err_set(err, ERR_CONFLICT, "%s '%s/%s': the name is taken", doing, directory, name);
    default:
        return err_sys(err, error, "%s '%s/%s'", doing, directory, name);
    }
}
