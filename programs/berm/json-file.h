/* json-file.h
 *
 * JSON in a file that the person named: read whole within a budget, written atomically.
 *
 * Calling sequence, writing
 *   with_json_file file = {0};
 *   json_file_open(path, &file, err)        before the work: a mistyped folder is told at once
 *   json_file_write(&file, value, err)      mode 0600, synced, replaces what was there; a link is
 *                                           replaced and not followed
 *
 * A FIFO or a character device (/dev/fd/3, a process substitution) is opened and written to instead.
 *
 * Errors       ERR_NOT_FOUND, ERR_REFUSED (a folder, not a regular file), ERR_OVER_BUDGET,
 *              ERR_CORRUPT, ERR_SYS
 */
#pragma once

#include "bfs.h"
#include "json.h"

struct json_file {
    struct bfs_dir dir;
    struct bfs_stage stage;
    const char *name; /* in dir; borrowed from the path */
    struct fd direct; /* the FIFO or device */
};

int json_file_open(const char *path, struct json_file *ret_file, struct err *err) must_check;
int json_file_write(struct json_file *file, const json_t *value, struct err *err) must_check;
void json_file_done(struct json_file *file);
#define with_json_file cleanup(json_file_done) struct json_file

json_t *json_file_read(const char *path, struct err *err) must_check;
