#include "bfs-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"

enum { DIRECTORY_FLAGS = O_RDONLY | O_DIRECTORY | O_NOCTTY | O_NONBLOCK };

/* The physical path of an open directory, as the kernel knows it. */
static int physical_path(int fd, char **ret_path, struct err *err)
{
    char entry[32];
    char path[PATH_MAX];
    (void)snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
    ssize_t length = os_readlinkat(AT_FDCWD, entry, path, sizeof path);
    if (length < 0) {
        return err_sys(err, (int)length, "ask for the path of an open directory in /proc");
    }
    *ret_path = memory_copy_string(path);
    return 0;
}

/* Bind an open directory; fd is eaten. */
static int bind_directory(struct fd *fd, enum bfs_trust trust, struct bfs_dir *ret_dir,
                          struct err *err)
{
    with_bfs_dir dir = {.fd = fd_take(fd)};
    if (bfs_facts_of(bfs_dir_fd(&dir), &dir.facts, err) < 0 ||
        physical_path(bfs_dir_fd(&dir), &dir.path, err) < 0 ||
        bfs_check_trust(&dir.facts, trust, dir.path, err) < 0) {
        return -1;
    }
    *ret_dir = dir;
    dir = (struct bfs_dir){0};
    return 0;
}

int bfs_dir_open(int base_fd, const char *path, enum bfs_trust trust, struct bfs_dir *ret_dir,
                 struct err *err)
{
    with_fd fd = fd_adopt(os_openat(base_fd, path, DIRECTORY_FLAGS, 0));
    if (!fd_is_open(&fd)) {
        int error = fd_error(&fd);
        if (error == -ENOENT) {
            return err_set(err, ERR_NOT_FOUND, "there is no directory '%s'", path);
        }
        if (error == -ENOTDIR) {
            return err_set(err, ERR_REFUSED, "'%s' is not a directory", path);
        }
        return err_sys(err, error, "open directory '%s'", path);
    }
    return bind_directory(&fd, trust, ret_dir, err);
}

int bfs_dir_open_beneath(const struct bfs_dir *dir, const char *path, struct bfs_dir *ret_dir,
                         struct err *err)
{
    if (bfs_check_path(path, err) < 0) {
        return -1;
    }
    with_fd fd = fd_adopt(bfs_lookup(bfs_dir_fd(dir), path, DIRECTORY_FLAGS));
    if (!fd_is_open(&fd)) {
        return bfs_error(err, fd_error(&fd), "open directory", dir->path, path);
    }
    return bind_directory(&fd, BFS_TRUST_ANY, ret_dir, err);
}

/* One directory; one that is there already is as good. */
static int make_one(const struct bfs_dir *dir, const char *name, mode_t mode,
                    struct bfs_dir *ret_dir, struct err *err)
{
    int result = os_mkdirat(bfs_dir_fd(dir), name, mode);
    if (result < 0 && result != -EEXIST) {
        return bfs_error(err, result, "make directory", dir->path, name);
    }
    if (result == 0 && bfs_dir_sync(dir, err) < 0) {
        return -1;
    }
    return bfs_dir_open_beneath(dir, name, ret_dir, err);
}

int bfs_dir_make_beneath(const struct bfs_dir *dir, const char *path, mode_t mode,
                         struct bfs_dir *ret_dir, struct err *err)
{
    if (bfs_check_path(path, err) < 0) {
        return -1;
    }
    with_bfs_dir here = {0};
    for (const char *end;; path = end + 1) {
        end = strchrnul(path, '/');
        with_string name = memory_format("%.*s", (int)(end - path), path);
        with_bfs_dir next = {0};
        if (make_one(fd_is_open(&here.fd) ? &here : dir, name, mode, &next, err) < 0) {
            return -1;
        }
        bfs_dir_done(&here);
        here = next;
        next = (struct bfs_dir){0};
        if (*end == '\0') {
            break;
        }
    }
    *ret_dir = here;
    here = (struct bfs_dir){0};
    return 0;
}

/* Split at the last component: *ret_parent ends where it starts, trailing slashes do not count. */
static const char *last_component(const char *path, size_t *ret_parent, size_t *ret_end)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/') {
        end--;
    }
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    *ret_parent = start;
    *ret_end = end;
    return path + start;
}

int bfs_dir_make(int base_fd, const char *path, mode_t mode, enum bfs_trust trust,
                 struct bfs_dir *ret_dir, struct err *err)
{
    struct err failure = {0};
    if (bfs_dir_open(base_fd, path, trust, ret_dir, &failure) == 0) {
        return 0;
    }
    size_t parent_length;
    size_t end;
    const char *last = last_component(path, &parent_length, &end);
    if (failure.code != ERR_NOT_FOUND || end == 0) {
        if (err) {
            *err = failure;
        }
        return -1;
    }
    with_string name = memory_format("%.*s", (int)(end - parent_length), last);
    with_string parent_path = memory_format("%.*s", (int)parent_length, path);
    with_bfs_dir parent = {0};
    with_bfs_dir made = {0};
    if (bfs_dir_make(base_fd, parent_length ? parent_path : ".", mode, BFS_TRUST_ANY, &parent,
                     err) < 0 ||
        bfs_dir_make_beneath(&parent, name, mode, &made, err) < 0 ||
        bfs_check_trust(&made.facts, trust, made.path, err) < 0) {
        return -1;
    }
    *ret_dir = made;
    made = (struct bfs_dir){0};
    return 0;
}

int bfs_sync_fd(int dir_fd)
{
    int result = os_fsync(dir_fd);
    /* Some network and FUSE filesystems know no fsync of a directory; there is nothing to wait for. */
    return result == -EINVAL || result == -EOPNOTSUPP ? 0 : result;
}

int bfs_dir_sync(const struct bfs_dir *dir, struct err *err)
{
    int result = bfs_sync_fd(bfs_dir_fd(dir));
    return result < 0 ? err_sys(err, result, "sync directory '%s'", dir->path) : 0;
}

void bfs_dir_done(struct bfs_dir *dir)
{
    if (!dir) {
        return;
    }
    fd_close(&dir->fd);
    memory_free(dir->path);
    *dir = (struct bfs_dir){0};
}
