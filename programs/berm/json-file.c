#include "json-file.h"

#include <errno.h>
#include <fcntl.h>

#include "file.h"
#include "memory.h"
#include "say.h"

enum { RESERVE_BYTES = 256 << 10 };

/* 1: a FIFO or a device, opened for writing; 0: a file, to be or to be replaced. */
static int open_direct(const char *path, struct json_file *file, struct err *err)
{
    with_fd found = fd_adopt(os_openat(AT_FDCWD, path, O_PATH, 0));
    struct stat stat;
    if (!fd_is_open(&found) || os_fstat(fd_num(&found), &stat) < 0) {
        return 0; /* nothing there, or the staging says better what is wrong */
    }
    if (S_ISDIR(stat.st_mode)) {
        return err_set(err, ERR_REFUSED, "'%s' is a folder", path);
    }
    if (!S_ISFIFO(stat.st_mode) && !S_ISCHR(stat.st_mode)) {
        return 0;
    }
    /* Non-blocking: a FIFO that nobody reads is an error, not a wait without an end. */
    file->direct = fd_adopt(os_openat(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0));
    if (!fd_is_open(&file->direct)) {
        return err_sys(err, fd_error(&file->direct), "open '%s'", path);
    }
    return 1;
}

int json_file_open(const char *path, struct json_file *ret_file, struct err *err)
{
    int direct = open_direct(path, ret_file, err);
    if (direct != 0) {
        return direct < 0 ? -1 : 0;
    }
    const char *slash = strrchr(path, '/');
    ret_file->name = slash ? slash + 1 : path;
    with_string parent = !slash          ? memory_copy_string(".")
                         : slash == path ? memory_copy_string("/")
                                         : memory_format("%.*s", (int)(slash - path), path);
    return bfs_dir_open(AT_FDCWD, parent, BFS_TRUST_ANY, &ret_file->dir, err) < 0 ||
                   bfs_stage_open(&ret_file->dir, 0600, RESERVE_BYTES, &ret_file->stage, err) < 0
               ? -1
               : 0;
}

int json_file_write(struct json_file *file, const json_t *value, struct err *err)
{
    with_buf text = buf_new(SAY_JSON_BYTES);
    if (json_write(value, JSON_READABLE, &text, err) < 0) {
        return -1;
    }
    if (fd_is_open(&file->direct)) {
        int result = say_whole(fd_num(&file->direct), &text);
        return result < 0 ? err_sys(err, result, "write") : 0;
    }
    return bfs_stage_write(&file->stage, buf_span(&text), err) < 0 ||
                   bfs_stage_replace(&file->stage, file->name, err) < 0
               ? -1
               : 0;
}

void json_file_done(struct json_file *file)
{
    bfs_stage_done(&file->stage);
    bfs_dir_done(&file->dir);
    fd_close(&file->direct);
}

json_t *json_file_read(const char *path, struct err *err)
{
    with_fd found = fd_adopt(os_openat(AT_FDCWD, path, O_PATH, 0));
    if (!fd_is_open(&found)) {
        int error = fd_error(&found);
        if (error == -ENOENT || error == -ENOTDIR) {
            (void)err_set(err, ERR_NOT_FOUND, "'%s' is not there", path);
        } else {
            (void)err_sys(err, error, "open '%s'", path);
        }
        return NULL;
    }
    const struct bfs_rule rule = {.maximum_bytes = json_budget_report.bytes, .allow_links = true};
    with_bfs_file file = {0};
    with_buf text = buf_new(json_budget_report.bytes);
    if (bfs_file_open_fd(fd_num(&found), path, &rule, &file, err) < 0 ||
        bfs_file_read(&file, &text, err) < 0) {
        return NULL;
    }
    json_t *value = json_read(buf_span(&text), &json_budget_report, err);
    if (!value) {
        (void)err_wrap(err, "'%s'", path);
    }
    return value;
}
