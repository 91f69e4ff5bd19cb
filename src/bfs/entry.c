#include "bfs-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "memory.h"

enum { LISTING_BYTES = 32 * 1024 };

static int take_entries(const char *entries, size_t length, const struct bfs_dir *dir,
                        size_t maximum, struct strvec *names, struct err *err)
{
    for (size_t at = 0; at < length;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (names->count == maximum) {
            return err_set(err, ERR_OVER_BUDGET, "directory '%s' has more than %zu entries",
                           dir->path, maximum);
        }
        strvec_push(names, entry->d_name);
    }
    return 0;
}

int bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names, struct err *err)
{
    /* A description of its own: the position in a listing belongs to the open file. */
    with_fd fd = fd_adopt(os_openat(bfs_dir_fd(dir), ".", O_RDONLY | O_DIRECTORY, 0));
    if (!fd_is_open(&fd)) {
        return err_sys(err, fd_error(&fd), "open directory '%s' to list it", dir->path);
    }
    with_string entries = memory_new(LISTING_BYTES);
    with_strvec names = {0};
    for (;;) {
        ssize_t length = os_getdents(fd_num(&fd), entries, LISTING_BYTES);
        if (length < 0) {
            return err_sys(err, (int)length, "list directory '%s'", dir->path);
        }
        if (length == 0) {
            break;
        }
        if (take_entries(entries, (size_t)length, dir, maximum, &names, err) < 0) {
            return -1;
        }
    }
    strvec_sort(&names);
    *ret_names = names;
    names = (struct strvec){0};
    return 0;
}

/* RENAME_NOREPLACE where the filesystem has none: a second name, which fails when there is one, and
 * the first one away. */
static int rename_new_by_link(int old_dir, const char *old_name, int new_dir, const char *new_name)
{
    int result = os_linkat(old_dir, old_name, new_dir, new_name);
    return result < 0 ? result : os_unlinkat(old_dir, old_name, 0);
}

int bfs_rename_fd(int old_dir, const char *old_name, int new_dir, const char *new_name,
                  enum bfs_rename how)
{
    if (how == BFS_RENAME_REPLACE) {
        return os_renameat(old_dir, old_name, new_dir, new_name, 0);
    }
    int result = os_renameat(old_dir, old_name, new_dir, new_name, RENAME_NOREPLACE);
    if (result == -EINVAL || result == -ENOSYS) {
        return rename_new_by_link(old_dir, old_name, new_dir, new_name);
    }
    return result;
}

int bfs_rename(const struct bfs_dir *old_dir, const char *old_name, const struct bfs_dir *new_dir,
               const char *new_name, enum bfs_rename how, struct err *err)
{
    if (bfs_check_name(old_name, err) < 0 || bfs_check_name(new_name, err) < 0) {
        return -1;
    }
    int result = bfs_rename_fd(bfs_dir_fd(old_dir), old_name, bfs_dir_fd(new_dir), new_name, how);
    if (result < 0) {
        return bfs_error(err, result, "rename to", new_dir->path, new_name);
    }
    if (bfs_dir_sync(new_dir, err) < 0) {
        return -1;
    }
    return bfs_facts_same_inode(&old_dir->facts, &new_dir->facts) ? 0 : bfs_dir_sync(old_dir, err);
}

int bfs_link(const struct bfs_dir *dir, const char *name, const char *new_name, struct err *err)
{
    struct bfs_facts facts;
    if (bfs_check_name(new_name, err) < 0 || bfs_stat(dir, name, &facts, err) < 0) {
        return -1;
    }
    if ((facts.mode & S_IFMT) != S_IFREG) {
        return err_set(err, ERR_REFUSED, "'%s/%s' is %s", dir->path, name,
                       bfs_type_name(facts.mode));
    }
    int result = os_linkat(bfs_dir_fd(dir), name, bfs_dir_fd(dir), new_name);
    if (result < 0) {
        return bfs_error(err, result, "give a second name to", dir->path, name);
    }
    return bfs_dir_sync(dir, err);
}

int bfs_remove(const struct bfs_dir *dir, const char *name, const struct bfs_facts *expected,
               struct err *err)
{
    struct bfs_facts facts;
    if (bfs_stat(dir, name, &facts, err) < 0) {
        return -1;
    }
    if (expected && !bfs_facts_same_inode(&facts, expected)) {
        return err_set(err, ERR_CHANGED, "'%s/%s' is another file by now and was left alone",
                       dir->path, name);
    }
    int flags = (facts.mode & S_IFMT) == S_IFDIR ? AT_REMOVEDIR : 0;
    int result = os_unlinkat(bfs_dir_fd(dir), name, flags);
    return result < 0 ? bfs_error(err, result, "remove", dir->path, name) : 0;
}
