/* Invariant: `at` never passes the end of the bytes, and every length is compared with what is left first. */
#include "git-index-priv.h"

#include <string.h>

#include "buf.h"

enum {
    HEADER_BYTES = 12,
    STAT_BYTES = 40, /* of an entry, before its digest: times, inode, mode, owner, size */
    MODE_OFFSET = 24,
    FLAG_EXTENDED = 0x4000,
    FLAG_LENGTH = 0x0fff,
    MODE_SPARSE_DIRECTORY = 040000,
};

struct index {
    struct span bytes;
    size_t at;
    size_t digest_bytes;
    uint32_t version;
    uint32_t count;
    size_t path_bytes; /* of all paths so far */
};

static uint32_t number_at(struct span bytes, size_t at, size_t n)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value = value << 8 | (unsigned char)bytes.p[at + i];
    }
    return value;
}

static int broken(struct err *err, const struct index *index, const char *what)
{
    return err_set(err, ERR_CORRUPT, "git's index is damaged at byte %zu: %s", index->at, what);
}

static size_t left(const struct index *index)
{
    return index->bytes.n - index->at;
}

/* How much of the path before is not shared, in version 4: seven bits a byte, the higher ones first, each
 * continuation counting one more. */
static bool read_offset(struct index *index, size_t *ret_value)
{
    size_t value = 0;
    for (bool first = true; left(index) > 0 && value < GIT_INDEX_BYTES; first = false) {
        unsigned char byte = (unsigned char)index->bytes.p[index->at++];
        value = first ? byte & 0x7fu : ((value + 1) << 7 | (byte & 0x7fu));
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* The rest of the entry, up to the next one; the whole path is in `path` afterwards. */
static int read_path(struct index *index, size_t begin, uint32_t flags, struct buf *path,
                     struct err *err)
{
    size_t dropped = buf_length(path);
    if (index->version == 4 && (!read_offset(index, &dropped) || dropped > buf_length(path))) {
        return broken(err, index, "a path that shares more than there is");
    }
    buf_cut(path, buf_length(path) - dropped);
    const char *name = index->bytes.p + index->at;
    const char *end = memchr(name, '\0', left(index));
    if (!end) {
        return broken(err, index, "a path without an end");
    }
    buf_add(path, name, (size_t)(end - name));
    index->at += (size_t)(end - name) + 1;
    size_t said = flags & FLAG_LENGTH;
    if (!buf_fits(path) ||
        (said < FLAG_LENGTH ? buf_length(path) != said : buf_length(path) < FLAG_LENGTH)) {
        return broken(err, index, "a path of another length");
    }
    if (index->version < 4) {
        /* One to eight bytes of zero, so that the entry has a multiple of eight. */
        size_t length = (index->at - 1 - begin + 8) & ~(size_t)7;
        if (length > index->bytes.n - begin) {
            return broken(err, index, "an entry without an end");
        }
        index->at = begin + length;
    }
    return 0;
}

/* A file, a link, a submodule, or what a sparse index has instead of many files. */
static bool is_mode(uint32_t mode)
{
    uint32_t type = mode & ~07777u;
    return type == 0100000 || type == 0120000 || type == 0160000 || mode == MODE_SPARSE_DIRECTORY;
}

static int read_entry(struct index *index, struct buf *path, struct paths *paths, struct err *err)
{
    size_t begin = index->at;
    size_t fixed = STAT_BYTES + index->digest_bytes + 2;
    if (left(index) < fixed + 2) {
        return broken(err, index, "an entry without an end");
    }
    uint32_t mode = number_at(index->bytes, begin + MODE_OFFSET, 4);
    uint32_t flags = number_at(index->bytes, begin + fixed - 2, 2);
    if (!is_mode(mode) || (index->version < 3 && (flags & FLAG_EXTENDED))) {
        return broken(err, index, "a mode or flags that no entry has");
    }
    index->at = begin + fixed + (flags & FLAG_EXTENDED ? 2 : 0);
    if (read_path(index, begin, flags, path, err) < 0) {
        return -1;
    }
    index->path_bytes += buf_length(path);
    if (index->path_bytes > GIT_INDEX_BYTES) {
        return err_set(err, ERR_OVER_BUDGET, "the paths of git's index have more than %d bytes",
                       GIT_INDEX_BYTES);
    }
    if (mode != MODE_SPARSE_DIRECTORY) {
        paths_add(paths, buf_span(path));
    }
    return 0;
}

/* git writes what may be passed over in upper case. */
static int read_extensions(struct index *index, struct err *err)
{
    while (left(index) > index->digest_bytes) {
        if (left(index) < 8) {
            return broken(err, index, "an extension without an end");
        }
        const char *name = index->bytes.p + index->at;
        size_t length = number_at(index->bytes, index->at + 4, 4);
        if (length > left(index) - 8) {
            return broken(err, index, "an extension without an end");
        }
        if (memcmp(name, "link", 4) == 0) {
            return err_set(err, ERR_REFUSED,
                           "git's index is split in two files, which is not read here: git "
                           "update-index --no-split-index");
        }
        if ((name[0] < 'A' || name[0] > 'Z') && memcmp(name, "sdir", 4) != 0) {
            return err_set(err, ERR_REFUSED, "git's index has an extension that is not known here");
        }
        index->at += 8 + length;
    }
    return left(index) == index->digest_bytes ? 0 : broken(err, index, "no checksum at its end");
}

static int parse(struct index index, struct paths *ret_paths, struct err *err)
{
    with_paths paths = {0};
    with_buf path = buf_new(GIT_INDEX_BYTES);
    index.at = HEADER_BYTES;
    for (uint32_t i = 0; i < index.count; i++) {
        if (read_entry(&index, &path, &paths, err) < 0) {
            return -1;
        }
    }
    if (read_extensions(&index, err) < 0) {
        return -1;
    }
    paths_sort(&paths);
    *ret_paths = paths;
    paths = (struct paths){0};
    return 0;
}

int git_index_parse(struct span bytes, struct paths *ret_paths, struct err *err)
{
    struct index index = {.bytes = bytes, .digest_bytes = 20};
    if (bytes.n < HEADER_BYTES || memcmp(bytes.p, "DIRC", 4) != 0) {
        return broken(err, &index, "it does not begin as one");
    }
    index.version = number_at(bytes, 4, 4);
    index.count = number_at(bytes, 8, 4);
    if (index.version < 2 || index.version > 4) {
        return err_set(err, ERR_REFUSED, "git's index has version %u, and 2 to 4 are known here",
                       index.version);
    }
    struct err failure = {0};
    if (parse(index, ret_paths, &failure) == 0) {
        return 0;
    }
    /* How long a digest is stands in the repository's configuration, which is not read: the other length fits or
     * does not. */
    index.digest_bytes = 32;
    if (failure.code != ERR_OVER_BUDGET && parse(index, ret_paths, NULL) == 0) {
        return 0;
    }
    if (err) {
        *err = failure;
    }
    return -1;
}

int git_index_read(const struct bfs_dir *git_dir, struct paths *ret_paths, struct err *err)
{
    static const struct bfs_rule rule = {.maximum_bytes = GIT_INDEX_BYTES, .allow_links = true};
    struct err failure = {0};
    with_buf bytes = buf_new(GIT_INDEX_BYTES + 1);
    if (bfs_read(git_dir, "index", &rule, &bytes, NULL, &failure) < 0) {
        if (failure.code == ERR_NOT_FOUND) {
            *ret_paths = (struct paths){0};
            return 0;
        }
        if (err) {
            *err = failure;
        }
        return -1;
    }
    return git_index_parse(buf_span(&bytes), ret_paths, err) < 0
               ? err_wrap(err, "read '%s/index'", git_dir->path)
               : 0;
}
