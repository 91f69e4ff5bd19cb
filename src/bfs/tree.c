/* Nothing here is synced, and nothing follows a link but bfs_stays_beneath(), which opens what it finds as a place
 * only (O_PATH) and closes it again. */
#include "bfs-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"

enum { DEPTH_MAXIMUM = 256 }; /* of a tree that is removed: one descriptor for each */

int bfs_tree_directory(const struct bfs_dir *dir, const char *name, mode_t mode, struct err *err)
{
    if (bfs_check_name(name, err) < 0) {
        return -1;
    }
    int result = os_mkdirat(bfs_dir_fd(dir), name, mode);
    if (result < 0) {
        return bfs_error(err, result, "make directory", dir->path, name);
    }
    struct bfs_facts facts;
    if (bfs_stat(dir, name, &facts, err) < 0) {
        return -1;
    }
    if ((facts.mode & 07777) == mode) {
        return 0;
    }
    with_fd made = fd_adopt(bfs_lookup(bfs_dir_fd(dir), name, O_RDONLY | O_DIRECTORY));
    result = fd_is_open(&made) ? os_fchmod(fd_num(&made), mode) : fd_error(&made);
    return result < 0 ? bfs_error(err, result, "set the mode of", dir->path, name) : 0;
}

int bfs_tree_link(const struct bfs_dir *dir, const char *name, const char *target, struct err *err)
{
    if (bfs_check_name(name, err) < 0) {
        return -1;
    }
    int result = os_symlinkat(target, bfs_dir_fd(dir), name);
    return result < 0 ? bfs_error(err, result, "make link", dir->path, name) : 0;
}

static int create(const struct bfs_dir *dir, const char *name, mode_t mode, struct fd *ret_fd,
                  struct err *err)
{
    if (bfs_check_name(name, err) < 0) {
        return -1;
    }
    *ret_fd = fd_adopt(
        os_openat(bfs_dir_fd(dir), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, mode));
    return fd_is_open(ret_fd) ? 0 : bfs_error(err, fd_error(ret_fd), "create", dir->path, name);
}

struct copying {
    struct hash hash;
    int to_fd;
};

static int take_piece(void *context, struct span bytes, struct err *err)
{
    struct copying *copying = context;
    hash_add(&copying->hash, bytes.p, bytes.n);
    int result = os_write_all(copying->to_fd, bytes.p, bytes.n);
    return result < 0 ? err_sys(err, result, "write the copy") : 0;
}

/* The bytes of a clone are read from the clone itself: what was hashed is what is there. */
static int hash_clone(const struct bfs_file *file, struct bfs_file *clone, char hex[HASH_HEX_SIZE],
                      struct err *err)
{
    struct bfs_facts now;
    if (bfs_facts_of(bfs_file_fd(clone), &clone->facts, err) < 0 ||
        bfs_file_hash(clone, hex, err) < 0 || bfs_facts_of(bfs_file_fd(file), &now, err) < 0) {
        return -1;
    }
    if (!bfs_facts_equal(&now, &file->facts)) {
        return err_set(err, ERR_CHANGED, "the file changed while it was read");
    }
    return 0;
}

static int fill(const struct bfs_file *file, struct bfs_file *copy, char hex[HASH_HEX_SIZE],
                struct err *err)
{
    if (file->facts.size_bytes > 0 && os_clone_file(bfs_file_fd(copy), bfs_file_fd(file)) == 0) {
        return hash_clone(file, copy, hex, err);
    }
    struct copying copying = {.to_fd = bfs_file_fd(copy)};
    hash_init(&copying.hash);
    if (bfs_file_each(file, take_piece, &copying, err) < 0) {
        return -1;
    }
    hash_hex(&copying.hash, hex);
    return 0;
}

int bfs_tree_copy(const struct bfs_file *file, const struct bfs_dir *dir, const char *name,
                  mode_t mode, char hex[HASH_HEX_SIZE], struct bfs_facts *ret_copy, struct err *err)
{
    with_bfs_file copy = {0};
    struct bfs_facts facts;
    if (create(dir, name, mode, &copy.fd, err) < 0) {
        return -1;
    }
    if (fill(file, &copy, hex, err) < 0) {
        return err_wrap(err, "copy '%s' to '%s'", name, dir->path);
    }
    if (bfs_facts_of(bfs_file_fd(&copy), &facts, err) < 0) {
        return -1;
    }
    if ((facts.mode & 07777) != mode) {
        int result = os_fchmod(bfs_file_fd(&copy), mode);
        if (result < 0) {
            return err_sys(err, result, "set the mode of '%s/%s'", dir->path, name);
        }
        if (bfs_facts_of(bfs_file_fd(&copy), &facts, err) < 0) {
            return -1;
        }
    }
    *ret_copy = facts;
    return 0;
}

int bfs_tree_write(const struct bfs_dir *dir, const char *name, struct span bytes, struct err *err)
{
    with_fd fd = {0};
    if (create(dir, name, 0600, &fd, err) < 0) {
        return -1;
    }
    int result = os_write_all(fd_num(&fd), bytes.p, bytes.n);
    return result < 0 ? err_sys(err, result, "write '%s/%s'", dir->path, name) : 0;
}

struct removal {
    size_t left; /* of the budget */
    size_t maximum;
};

static int remove_entries(const struct bfs_dir *dir, struct removal *removal, unsigned depth,
                          struct err *err);

static int remove_entry(const struct bfs_dir *dir, const char *name, struct removal *removal,
                        unsigned depth, struct err *err)
{
    struct bfs_facts facts;
    if (bfs_stat(dir, name, &facts, err) < 0) {
        return -1;
    }
    if (S_ISDIR(facts.mode)) {
        with_bfs_dir below = {0};
        if (bfs_dir_open_beneath(dir, name, &below, err) < 0 ||
            remove_entries(&below, removal, depth + 1, err) < 0) {
            return -1;
        }
    }
    return bfs_remove(dir, name, &facts, err);
}

static int remove_entries(const struct bfs_dir *dir, struct removal *removal, unsigned depth,
                          struct err *err)
{
    with_strvec names = {0};
    if (depth > DEPTH_MAXIMUM) {
        return err_set(err, ERR_OVER_BUDGET, "'%s' lies more than %d directories deep", dir->path,
                       DEPTH_MAXIMUM);
    }
    if (bfs_list(dir, removal->left, &names, err) < 0) {
        return err_wrap(err, "remove at most %zu files", removal->maximum);
    }
    removal->left -= names.count;
    for (size_t i = 0; i < names.count; i++) {
        if (remove_entry(dir, names.strings[i], removal, depth, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int bfs_tree_remove(const struct bfs_dir *dir, const char *name, size_t maximum, struct err *err)
{
    struct removal removal = {.left = maximum, .maximum = maximum};
    struct bfs_facts facts;
    struct err failure = {0};
    if (bfs_stat(dir, name, &facts, &failure) < 0) {
        if (failure.code == ERR_NOT_FOUND) {
            return 0;
        }
        if (err) {
            *err = failure;
        }
        return -1;
    }
    return remove_entry(dir, name, &removal, 0, err);
}

int bfs_read_link(const struct bfs_dir *dir, const char *name, char **ret_target, struct err *err)
{
    char target[PATH_MAX];
    if (bfs_check_name(name, err) < 0) {
        return -1;
    }
    ssize_t length = os_readlinkat(bfs_dir_fd(dir), name, target, sizeof target);
    if (length == -EINVAL) {
        return err_set(err, ERR_REFUSED, "'%s/%s' is no symbolic link", dir->path, name);
    }
    if (length < 0) {
        return bfs_error(err, (int)length, "read link", dir->path, name);
    }
    *ret_target = memory_copy_string(target);
    return 0;
}

/* Without the kernel's help: by the words alone. */
static bool words_stay_beneath(const char *path, const char *target)
{
    int depth = 0;
    bool named = false;
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++) {
        depth++;
    }
    for (const char *part = target; *part != '\0';) {
        const char *end = strchrnul(part, '/');
        struct span word = span_of(part, (size_t)(end - part));
        if (span_equals(word, "..")) {
            if (named || --depth < 0) {
                return false;
            }
        } else if (word.n > 0 && !span_equals(word, ".")) {
            named = true;
            depth++;
        }
        part = *end == '\0' ? end : end + 1;
    }
    return true;
}

/* 1, 0, or -errno of a look that failed. */
static int stays_beneath(const struct bfs_dir *dir, const char *path, const char *target)
{
    if (target[0] == '/') {
        return 0;
    }
    with_fd found = fd_adopt(os_openat2(bfs_dir_fd(dir), path, O_PATH, 0,
                                        OS_RESOLVE_BENEATH | OS_RESOLVE_NO_MAGICLINKS));
    switch (fd_error(&found)) {
    case 0:
    case -ENOENT: /* it leads nowhere, at least not out */
    case -ENOTDIR:
    case -ELOOP:
    case -EACCES:
    case -ENAMETOOLONG:
        return 1;
    case -EXDEV:
        return 0;
    case -ENOSYS:
    case -EPERM:
        return words_stay_beneath(path, target);
    default:
        return fd_error(&found);
    }
}

int bfs_stays_beneath(const struct bfs_dir *dir, const char *path, const char *target,
                      struct err *err)
{
    if (bfs_check_path(path, err) < 0) {
        return -1;
    }
    int stays = stays_beneath(dir, path, target);
    if (stays < 0) {
        return err_sys(err, stays, "follow the link '%s' in '%s'", path, dir->path);
    }
    return stays == 1 ? 0
                      : err_set(err, ERR_REFUSED, "the link '%s' leads out of '%s' (to '%s')", path,
                                dir->path, target);
}
