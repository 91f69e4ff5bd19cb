/* Invariant: nothing is opened for reading that fstat of an O_PATH descriptor has not shown to be a
 * regular file, and what is read comes from that very inode. */
#include "bfs-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"

enum { PIECE_BYTES = 32 * 1024 }; /* more costs pages that are touched once */

static int check_rule(const struct bfs_facts *facts, const struct bfs_rule *rule, const char *name,
                      struct err *err)
{
    if (facts->links > 1 && !rule->allow_links) {
        return err_set(err, ERR_REFUSED, "'%s' has %llu hard links", name,
                       (unsigned long long)facts->links);
    }
    if (facts->size_bytes < 0 || (uint64_t)facts->size_bytes > rule->maximum_bytes) {
        return err_set(err, ERR_OVER_BUDGET, "'%s' has %lld bytes, more than %llu", name,
                       (long long)facts->size_bytes, (unsigned long long)rule->maximum_bytes);
    }
    return 0;
}

int bfs_file_open_fd(int path_fd, const char *name, const struct bfs_rule *rule,
                     struct bfs_file *ret_file, struct err *err)
{
    struct bfs_facts facts;
    if (bfs_facts_of(path_fd, &facts, err) < 0) {
        return -1;
    }
    if (!S_ISREG(facts.mode)) {
        return err_set(err, ERR_REFUSED, "'%s' is %s, not a regular file", name,
                       bfs_type_name(facts.mode));
    }
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
    /* O_NONBLOCK: a lease on the file answers EAGAIN instead of keeping us waiting. */
    with_bfs_file file = {
        .fd = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0))};
    if (!fd_is_open(&file.fd)) {
        return err_sys(err, fd_error(&file.fd), "open '%s'", name);
    }
    if (bfs_facts_of(fd_num(&file.fd), &file.facts, err) < 0) {
        return -1;
    }
    if (!bfs_facts_same_inode(&file.facts, &facts)) {
        return err_set(err, ERR_CHANGED, "'%s' was opened as another file", name);
    }
    if (check_rule(&file.facts, rule, name, err) < 0) {
        return -1;
    }
    *ret_file = file;
    file = (struct bfs_file){0};
    return 0;
}

int bfs_file_open(const struct bfs_dir *dir, const char *path, const struct bfs_rule *rule,
                  struct bfs_file *ret_file, struct err *err)
{
    if (bfs_check_path(path, err) < 0) {
        return -1;
    }
    with_fd found = fd_adopt(bfs_lookup(bfs_dir_fd(dir), path, O_PATH));
    if (!fd_is_open(&found)) {
        return bfs_error(err, fd_error(&found), "open", dir->path, path);
    }
    return bfs_file_open_fd(fd_num(&found), path, rule, ret_file, err);
}

static int check_unchanged(const struct bfs_file *file, struct err *err)
{
    struct bfs_facts now;
    if (bfs_facts_of(bfs_file_fd(file), &now, err) < 0) {
        return -1;
    }
    if (!bfs_facts_equal(&now, &file->facts)) {
        return err_set(err, ERR_CHANGED, "the file changed while it was read");
    }
    return 0;
}

int bfs_file_each(const struct bfs_file *file, bfs_take_bytes *take, void *context, struct err *err)
{
    size_t room =
        file->facts.size_bytes < PIECE_BYTES ? (size_t)file->facts.size_bytes + 1 : PIECE_BYTES;
    with_string piece = memory_resize(NULL, room); /* it is filled before it is read */
    for (int64_t offset = 0;;) {
        ssize_t got = os_pread(bfs_file_fd(file), piece, room, offset);
        if (got < 0) {
            return err_sys(err, (int)got, "read the file");
        }
        if (got > file->facts.size_bytes - offset) {
            return err_set(err, ERR_CHANGED, "the file grew while it was read");
        }
        if (got == 0) {
            if (offset < file->facts.size_bytes) {
                return err_set(err, ERR_CHANGED, "the file shrank while it was read");
            }
            return check_unchanged(file, err);
        }
        if (take(context, span_of(piece, (size_t)got), err) < 0) {
            return -1;
        }
        offset += got;
    }
}

static int take_into_buf(void *context, struct span bytes, struct err *err)
{
    struct buf *out = context;
    buf_add_span(out, bytes);
    return buf_fits(out) ? 0 : err_set(err, ERR_OVER_BUDGET, "the file does not fit its buffer");
}

int bfs_file_read(const struct bfs_file *file, struct buf *out, struct err *err)
{
    size_t before = buf_length(out);
    if (bfs_file_each(file, take_into_buf, out, err) < 0) {
        buf_cut(out, before); /* half a file is none */
        return -1;
    }
    return 0;
}

static int take_into_hash(void *context, struct span bytes, struct err *err)
{
    hash_add(context, bytes.p, bytes.n);
    return 0;
}

int bfs_file_hash(const struct bfs_file *file, char hex[HASH_HEX_SIZE], struct err *err)
{
    struct hash hash;
    hash_init(&hash);
    if (bfs_file_each(file, take_into_hash, &hash, err) < 0) {
        return -1;
    }
    hash_hex(&hash, hex);
    return 0;
}

int bfs_read(const struct bfs_dir *dir, const char *path, const struct bfs_rule *rule,
             struct buf *out, struct bfs_facts *ret_facts, struct err *err)
{
    with_bfs_file file = {0};
    if (bfs_file_open(dir, path, rule, &file, err) < 0) {
        return -1;
    }
    if (bfs_file_read(&file, out, err) < 0) {
        return err_wrap(err, "read '%s/%s'", dir->path, path);
    }
    if (ret_facts) {
        *ret_facts = file.facts;
    }
    return 0;
}

void bfs_file_done(struct bfs_file *file)
{
    if (!file) {
        return;
    }
    fd_close(&file->fd);
    *file = (struct bfs_file){0};
}
