/* The files of json-file.h over POSIX alone. A FIFO or a device is refused where json-file.h writes to it. */
#include "json-file.h"

#include <errno.h>
#include <fcntl.h>

#include "file.h"
#include "host.h"
#include "say.h"

enum { CHUNK_BYTES = 65536 };

int json_file_open(const char *path, struct json_file *ret_file, struct err *err)
{
    ret_file->name = path; /* of the file itself, whose folder is opened when it is written */
    return 0;
}

int json_file_write(struct json_file *file, const json_t *value, struct err *err)
{
    with_buf text = buf_new(SAY_JSON_BYTES);
    return json_write(value, JSON_READABLE, &text, err) < 0
               ? -1
               : host_replace(file->name, buf_span(&text), err);
}

void json_file_done(struct json_file *file)
{
    (void)file;
}

static int read_all(int fd, const char *path, struct buf *text, struct err *err)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        ssize_t got = os_read(fd, chunk, sizeof chunk);
        if (got == -EINTR) {
            continue;
        }
        if (got < 0) {
            return err_sys(err, (int)got, "read '%s'", path);
        }
        if (got == 0) {
            return 0;
        }
        buf_add(text, chunk, (size_t)got);
        if (!buf_fits(text)) {
            return err_set(err, ERR_OVER_BUDGET, "'%s' is longer than %zu bytes", path,
                           text->maximum);
        }
    }
}

json_t *json_file_read(const char *path, struct err *err)
{
    /* Non-blocking: a FIFO that nobody writes is told as what it is, and not waited for. */
    with_fd file = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0));
    struct stat stat;
    if (!fd_is_open(&file)) {
        int error = fd_error(&file);
        if (error == -ENOENT || error == -ENOTDIR) {
            (void)err_set(err, ERR_NOT_FOUND, "'%s' is not there", path);
        } else {
            (void)err_sys(err, error, "open '%s'", path);
        }
        return NULL;
    }
    if (os_fstat(fd_num(&file), &stat) < 0 || !S_ISREG(stat.st_mode)) {
        (void)err_set(err, ERR_REFUSED, "'%s' is not a regular file", path);
        return NULL;
    }
    with_buf text = buf_new(json_budget_report.bytes);
    if (read_all(fd_num(&file), path, &text, err) < 0) {
        return NULL;
    }
    json_t *value = json_read(buf_span(&text), &json_budget_report, err);
    if (!value) {
        (void)err_wrap(err, "'%s'", path);
    }
    return value;
}
