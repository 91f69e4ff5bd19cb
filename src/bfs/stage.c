/* A staged file is nameless (O_TMPFILE), or, where the filesystem has no such files, carries an
 * unpredictable name that nobody else can have made; either way it is no part of the directory's
 * content until it is complete, synced and published by one rename or link. */
#include "bfs-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file.h"

static int choose_temporary_name(struct bfs_stage *stage, struct err *err)
{
    unsigned char random[16];
    int result = os_getrandom(random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "ask for random bytes");
    }
    int at = snprintf(stage->temporary, sizeof stage->temporary, ".berm-");
    for (size_t i = 0; i < sizeof random; i++) {
        at += snprintf(stage->temporary + at, sizeof stage->temporary - (size_t)at, "%02x",
                       random[i]);
    }
    return 0;
}

int bfs_stage_open_named(struct bfs_stage *stage, mode_t mode, struct err *err)
{
    if (choose_temporary_name(stage, err) < 0) {
        return -1;
    }
    stage->fd = fd_adopt(os_openat(bfs_dir_fd(stage->dir), stage->temporary,
                                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    if (!fd_is_open(&stage->fd)) {
        stage->temporary[0] = '\0'; /* nothing of ours is there */
        return err_sys(err, fd_error(&stage->fd), "make a file in '%s'", stage->dir->path);
    }
    return 0;
}

static int open_stage(struct bfs_stage *stage, mode_t mode, struct err *err)
{
    stage->fd = fd_adopt(os_openat(bfs_dir_fd(stage->dir), ".", O_RDWR | O_TMPFILE, mode));
    switch (fd_is_open(&stage->fd) ? 0 : fd_error(&stage->fd)) {
    case 0:
        return 0;
    case -EOPNOTSUPP: /* the filesystem has no nameless files */
    case -EISDIR:     /* the kernel has none */
    case -ENOENT:
    case -EINVAL:
        return bfs_stage_open_named(stage, mode, err);
    default:
        return err_sys(err, fd_error(&stage->fd), "make a file in '%s'", stage->dir->path);
    }
}

int bfs_stage_reserve(struct bfs_stage *stage, uint64_t bytes, struct err *err)
{
    if (bytes == 0) {
        return 0;
    }
    int result = bytes > INT64_MAX ? -EFBIG : os_fallocate(bfs_stage_fd(stage), (off_t)bytes);
    if (result == -EOPNOTSUPP || result == -ENOSYS) {
        return 0;
    }
    if (result < 0) {
        return err_sys(err, result, "set aside %llu bytes in '%s'", (unsigned long long)bytes,
                       stage->dir->path);
    }
    stage->reserved = true;
    return 0;
}

int bfs_stage_open(const struct bfs_dir *dir, mode_t mode, uint64_t reserve_bytes,
                   struct bfs_stage *ret_stage, struct err *err)
{
    with_bfs_stage stage = {.dir = dir};
    if (open_stage(&stage, mode, err) < 0 || bfs_stage_reserve(&stage, reserve_bytes, err) < 0) {
        return -1;
    }
    *ret_stage = stage;
    stage = (struct bfs_stage){0};
    return 0;
}

int bfs_stage_write(struct bfs_stage *stage, struct span bytes, struct err *err)
{
    int result = os_write_all(bfs_stage_fd(stage), bytes.p, bytes.n);
    if (result < 0) {
        return err_sys(err, result, "write a file in '%s'", stage->dir->path);
    }
    stage->written_bytes += bytes.n;
    return 0;
}

/* Everything that can fail for want of space or of a working disk, before the name is touched. */
static int complete(struct bfs_stage *stage, struct err *err)
{
    if (stage->reserved) {
        int result = os_ftruncate(bfs_stage_fd(stage), (off_t)stage->written_bytes);
        if (result < 0) {
            return err_sys(err, result, "cut a file in '%s' to its length", stage->dir->path);
        }
    }
    int result = os_fsync(bfs_stage_fd(stage));
    return result < 0 ? err_sys(err, result, "sync a file in '%s'", stage->dir->path) : 0;
}

static void end(struct bfs_stage *stage)
{
    stage->temporary[0] = '\0'; /* it is published: nothing to remove */
    fd_close(&stage->fd);
}

int bfs_stage_replace(struct bfs_stage *stage, const char *name, struct err *err)
{
    int dir_fd = bfs_dir_fd(stage->dir);
    if (bfs_check_name(name, err) < 0 || complete(stage, err) < 0) {
        return -1;
    }
    if (stage->temporary[0] == '\0') {
        if (choose_temporary_name(stage, err) < 0) {
            return -1;
        }
        int linked = os_link_fd(bfs_stage_fd(stage), dir_fd, stage->temporary);
        if (linked < 0) {
            stage->temporary[0] = '\0';
            return err_sys(err, linked, "name a file in '%s'", stage->dir->path);
        }
    }
    int result = bfs_rename_fd(dir_fd, stage->temporary, dir_fd, name, BFS_RENAME_REPLACE);
    if (result < 0) {
        return bfs_error(err, result, "replace", stage->dir->path, name);
    }
    end(stage);
    return bfs_dir_sync(stage->dir, err);
}

int bfs_create(const struct bfs_dir *dir, const char *name, mode_t mode, struct fd *ret_fd,
               struct err *err)
{
    if (bfs_check_name(name, err) < 0) {
        return -1;
    }
    *ret_fd = fd_adopt(os_openat(bfs_dir_fd(dir), name,
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, mode));
    return fd_is_open(ret_fd) ? 0 : bfs_error(err, fd_error(ret_fd), "create", dir->path, name);
}

int bfs_stage_create(struct bfs_stage *stage, const char *name, struct err *err)
{
    int dir_fd = bfs_dir_fd(stage->dir);
    if (bfs_check_name(name, err) < 0 || complete(stage, err) < 0) {
        return -1;
    }
    int result = stage->temporary[0] == '\0'
                     ? os_link_fd(bfs_stage_fd(stage), dir_fd, name)
                     : bfs_rename_fd(dir_fd, stage->temporary, dir_fd, name, BFS_RENAME_NEW);
    if (result < 0) {
        return bfs_error(err, result, "create", stage->dir->path, name);
    }
    end(stage);
    return bfs_dir_sync(stage->dir, err);
}

void bfs_stage_done(struct bfs_stage *stage)
{
    if (!stage) {
        return;
    }
    if (stage->temporary[0] != '\0') {
        /* Nobody else knows the name; a file that cannot be removed now stays as litter. */
        (void)!os_unlinkat(bfs_dir_fd(stage->dir), stage->temporary, 0);
    }
    fd_close(&stage->fd);
    *stage = (struct bfs_stage){0};
}
