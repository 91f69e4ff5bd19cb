#include "bfs-priv.h"

#include <sys/stat.h>

#include "clock.h"
#include "file.h"
#include "process.h"

static struct bfs_facts facts_from(const struct stat *stat)
{
    return (struct bfs_facts){
        .device = stat->st_dev,
        .inode = stat->st_ino,
        .links = stat->st_nlink,
        .mode = stat->st_mode,
        .owner = stat->st_uid,
        .group = stat->st_gid,
        .size_bytes = stat->st_size,
        .mtime_ns = clock_timespec_ns(stat->st_mtim),
        .ctime_ns = clock_timespec_ns(stat->st_ctim),
    };
}

int bfs_facts_of(int fd, struct bfs_facts *ret_facts, struct err *err)
{
    struct stat stat;
    int result = os_fstat(fd, &stat);
    if (result < 0) {
        return err_sys(err, result, "ask for the facts of an open file");
    }
    *ret_facts = facts_from(&stat);
    return 0;
}

int bfs_stat(const struct bfs_dir *dir, const char *name, struct bfs_facts *ret_facts,
             struct err *err)
{
    struct stat stat;
    if (bfs_check_name(name, err) < 0) {
        return -1;
    }
    int result = os_stat_entry(bfs_dir_fd(dir), name, &stat);
    if (result < 0) {
        return bfs_error(err, result, "look at", dir->path, name);
    }
    *ret_facts = facts_from(&stat);
    return 0;
}

bool bfs_facts_same_inode(const struct bfs_facts *a, const struct bfs_facts *b)
{
    return a->device == b->device && a->inode == b->inode;
}

bool bfs_facts_equal(const struct bfs_facts *a, const struct bfs_facts *b)
{
    return bfs_facts_same_inode(a, b) && a->links == b->links && a->mode == b->mode &&
           a->owner == b->owner && a->group == b->group && a->size_bytes == b->size_bytes &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

enum bfs_writers bfs_writers_of(const struct bfs_facts *facts)
{
    bool sticky = S_ISDIR(facts->mode) && (facts->mode & S_ISVTX);
    if (facts->owner != 0 && facts->owner != os_geteuid()) {
        return BFS_WRITERS_FOREIGN;
    }
    if (sticky && (facts->mode & (S_IWGRP | S_IWOTH))) {
        return BFS_WRITERS_STICKY;
    }
    if (facts->mode & S_IWOTH) {
        return BFS_WRITERS_WORLD;
    }
    return facts->mode & S_IWGRP ? BFS_WRITERS_GROUP : BFS_WRITERS_OWN;
}

/* A group that, by the convention of one group for each user, has no other member: it is this
 * process's own and has the user's number. Root's group counts as root. */
static bool group_is_private(uint32_t group)
{
    return group == 0 || (group == os_getegid() && group == os_geteuid());
}

int bfs_check_trust(const struct bfs_facts *facts, enum bfs_trust trust, const char *path,
                    struct err *err)
{
    if (trust == BFS_TRUST_ANY) {
        return 0;
    }
    const char *who = NULL;
    const char *remedy = "chmod go-w it or use another directory";
    switch (bfs_writers_of(facts)) {
    case BFS_WRITERS_OWN:
    case BFS_WRITERS_STICKY:
        return 0;
    case BFS_WRITERS_GROUP:
        if (group_is_private(facts->group)) {
            return 0;
        }
        who = "its group may replace files in it";
        break;
    case BFS_WRITERS_WORLD:
        who = "everybody may replace files in it";
        break;
    case BFS_WRITERS_FOREIGN:
    default:
        who = "it belongs to somebody else, who may replace files in it";
        remedy = "use a directory of your own";
        break;
    }
    return err_set(err, ERR_REFUSED, "directory '%s' (mode %04o, owner %u, group %u): %s; %s", path,
                   facts->mode & 07777u, facts->owner, facts->group, who, remedy);
}

const char *bfs_type_name(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a regular file";
    case S_IFDIR:
        return "a directory";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "of an unknown type";
    }
}
