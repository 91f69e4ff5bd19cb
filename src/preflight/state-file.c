#include "state-file-priv.h"

#include <errno.h>
#include <sys/file.h>

#include "file.h"
#include "process.h"

/* What is in it may be as good as ever. */
#define STATE_FILE_LEAVE_IT "leave it where it is, and see why it cannot be read"

enum { MODE = 0600, OTHERS_WRITE = 022 };

/* Nobody else wrote it. */
static int check_owner(const struct bfs_facts *facts, struct err *err)
{
    if (facts->owner != os_geteuid() || (facts->mode & OTHERS_WRITE) != 0) {
        return err_set(err, ERR_REFUSED,
                       "it belongs to uid %u with mode %o, and would have to be this user's (%u) "
                       "alone",
                       facts->owner, facts->mode & 07777U, os_geteuid());
    }
    return 0;
}

static int decode(const struct state_file *file, struct span text, void *value, struct err *err)
{
    with_json json = json_read(text, &json_budget_control, err);
    if (!json) {
        return -1;
    }
    if (record_decode(file->record, json, value, err) < 0) {
        err->code = ERR_CORRUPT;
        return err_wrap(err, "it is none of this berm");
    }
    return 0;
}

int state_file_read(const struct bfs_dir *folder, const struct state_file *file, void *value,
                    struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = STATE_FILE_BYTES};
    struct bfs_facts facts;
    struct err seen = {0};
    with_buf text = buf_new(STATE_FILE_BYTES);
    int result = bfs_read(folder, file->name, &rule, &text, &facts, &seen);
    if (result < 0 && seen.code == ERR_NOT_FOUND) {
        return 0;
    }
    if (result < 0 || check_owner(&facts, &seen) < 0 ||
        decode(file, buf_span(&text), value, &seen) < 0) {
        const char *remedy = seen.code == ERR_SYS       ? STATE_FILE_LEAVE_IT
                             : seen.code == ERR_CHANGED ? "try again"
                                                        : file->remedy;
        return err_set(err, seen.code, "'%s/%s': %s; %s", folder->path, file->name, seen.msg,
                       remedy);
    }
    return 1;
}

int state_file_write(const struct bfs_dir *folder, const struct state_file *file, const void *value,
                     struct err *err)
{
    with_json json = record_encode(file->record, value);
    with_buf text = buf_new(STATE_FILE_BYTES);
    with_bfs_stage stage = {0};
    if (json_write(json, JSON_READABLE, &text, err) < 0 ||
        bfs_stage_open(folder, MODE, 0, &stage, err) < 0 ||
        bfs_stage_write(&stage, buf_span(&text), err) < 0 ||
        bfs_stage_replace(&stage, file->name, err) < 0) {
        return err_wrap(err, "cannot write '%s/%s'", folder->path, file->name);
    }
    return 0;
}

int state_file_lock(const struct bfs_dir *folder, struct err *err)
{
    int result = os_flock_within(bfs_dir_fd(folder), STATE_FILE_WAIT_MS);
    return result == -EWOULDBLOCK
               ? err_set(err, ERR_CONFLICT,
                         "another berm changes what stands in '%s': waited %d ms; try again",
                         folder->path, STATE_FILE_WAIT_MS)
           : result < 0 ? err_sys(err, result, "cannot lock '%s'", folder->path)
                        : 0;
}

void state_file_unlock(const struct bfs_dir *folder)
{
    (void)!os_flock(bfs_dir_fd(folder), LOCK_UN); /* the close does it as well */
}
