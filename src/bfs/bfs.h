/* bfs.h
 *
 * The bounded filesystem: every read and every change whose place matters goes through a directory
 * that was opened once, by descriptor, following no link below it (FS-1…FS-6). No other part of
 * berm changes files by path, so the list of exceptions that FS-8 asks for is empty.
 *
 * Calling sequence, reading
 *   with_bfs_dir root = {0};
 *   bfs_dir_open(AT_FDCWD, "/srv/inputs", BFS_TRUST_ANY, &root, err)   the root, opened once
 *   with_bfs_file file = {0};
 *   bfs_file_open(&root, "a/b.json", &rule, &file, err)      regular, linked once, within budget
 *   bfs_file_read(&file, &out, err) or bfs_file_hash(...)    first and last fstat agree, or ERR_CHANGED
 *
 * Calling sequence, writing
 *   with_bfs_stage stage = {0};
 *   bfs_stage_open(&dir, 0600, reserve_bytes, &stage, err)   nameless where the filesystem can
 *   bfs_stage_write(&stage, bytes, err)                      again and again; digested on the way
 *   bfs_stage_replace(&stage, "name", err)                   synced, atomic, whatever was there before
 *   or bfs_stage_create(&stage, "name", err)                 synced, ERR_CONFLICT when the name is taken
 *   the end of the scope removes what was not published
 *
 * What is opened   O_PATH first, fstat, and only a regular file is opened for reading, through
 *              /proc/self/fd: a FIFO never blocks, a device is never opened, and there is no second
 *              look-up between the check and the use.
 * Names        a `path` below a directory is relative, of at most 4095 bytes, without empty, "." or
 *              ".." components; a `name` is one component. Any other byte is legal in them.
 * Ownership    a bfs_dir, bfs_file and bfs_stage own their descriptors; bfs_*_fd() lend one. A stage
 *              borrows its directory.
 * Errors       ERR_NOT_FOUND; ERR_REFUSED: traversal, a link on the way, no regular file, a second
 *              hard link, a directory that others may write; ERR_OVER_BUDGET; ERR_CHANGED: the file
 *              or directory is not what it was; ERR_CONFLICT: the name is taken; ERR_SYS.
 * Limitations  needs /proc. A read of a network or FUSE file blocks as long as its server does. The
 *              links on the way to a root itself are followed: the root is the caller's own choice.
 *              A removal checks the identity right before unlinkat(2); the kernel offers no removal
 *              by descriptor. A reserved nameless file can still fail to get its name when the
 *              directory itself has no block left for the entry.
 * Source       openat2(2), open(2) O_PATH and O_TMPFILE, rename(2), fsync(2) about directories.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"
#include "buf.h"
#include "err.h"
#include "fd.h"
#include "hash.h"
#include "span.h"
#include "strvec.h"

/* What one fstat of an open descriptor said. */
struct bfs_facts {
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint32_t mode; /* with the file type */
    uint32_t owner;
    uint32_t group;
    int64_t size_bytes;
    int64_t mtime_ns;
    int64_t ctime_ns;
};
int bfs_facts_of(int fd, struct bfs_facts *ret_facts, struct err *err) must_check;
/* The same inode and nothing about it has changed. */
bool bfs_facts_equal(const struct bfs_facts *a, const struct bfs_facts *b);
bool bfs_facts_same_inode(const struct bfs_facts *a, const struct bfs_facts *b);

/* Who, besides root and this process's own user, could change a file or the entries of a
 * directory; by its owner and mode. */
enum bfs_writers {
    BFS_WRITERS_OWN,     /* nobody */
    BFS_WRITERS_STICKY,  /* a directory where others may add entries, but not replace ours */
    BFS_WRITERS_GROUP,   /* the members of its group */
    BFS_WRITERS_WORLD,   /* everybody */
    BFS_WRITERS_FOREIGN, /* its owner is somebody else */
};
enum bfs_writers bfs_writers_of(const struct bfs_facts *facts);

/* --- directories ------------------------------------------------------------------------------ */

/* BFS_TRUST_ANY: no matter who may write the directory; for reading, where every file is checked by
 * itself. BFS_TRUST_OWN: nobody else may replace what we put there; its owner is this user or root, it
 * is not writable by the world (unless sticky) nor by a group other than this user's private one. */
enum bfs_trust { BFS_TRUST_ANY = 1, BFS_TRUST_OWN };

/* A directory authority: its identity is that of the descriptor, whatever its path names later. */
struct bfs_dir {
    struct fd fd;
    struct bfs_facts facts; /* when it was opened */
    char *path;             /* physical, for messages and records */
};

/* A root: links on the way are followed, then the place is bound. base_fd: AT_FDCWD or a directory. */
int bfs_dir_open(int base_fd, const char *path, enum bfs_trust trust, struct bfs_dir *ret_dir,
                 struct err *err) must_check;
/* The same, made first as far as it is missing (mode of each new directory, less the umask). */
int bfs_dir_make(int base_fd, const char *path, mode_t mode, enum bfs_trust trust,
                 struct bfs_dir *ret_dir, struct err *err) must_check;
/* A directory beneath another, no link followed. */
int bfs_dir_open_beneath(const struct bfs_dir *dir, const char *path, struct bfs_dir *ret_dir,
                         struct err *err) must_check;
int bfs_dir_make_beneath(const struct bfs_dir *dir, const char *path, mode_t mode,
                         struct bfs_dir *ret_dir, struct err *err) must_check;
int bfs_dir_sync(const struct bfs_dir *dir, struct err *err) must_check;
static inline int bfs_dir_fd(const struct bfs_dir *dir)
{
    return fd_num(&dir->fd);
}
void bfs_dir_done(struct bfs_dir *dir);
#define with_bfs_dir cleanup(bfs_dir_done) struct bfs_dir

/* The entry itself, a link is not followed. */
int bfs_stat(const struct bfs_dir *dir, const char *name, struct bfs_facts *ret_facts,
             struct err *err) must_check;
/* Names (without "." and ".."), sorted; more than maximum: ERR_OVER_BUDGET. */
int bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
             struct err *err) must_check;
enum bfs_rename { BFS_RENAME_REPLACE = 1, BFS_RENAME_NEW };
/* Both directories are synced. BFS_RENAME_NEW: ERR_CONFLICT when new_name is taken. */
int bfs_rename(const struct bfs_dir *old_dir, const char *old_name, const struct bfs_dir *new_dir,
               const char *new_name, enum bfs_rename how, struct err *err) must_check;
/* A second name for a regular file; ERR_CONFLICT when new_name is taken. Synced. */
int bfs_link(const struct bfs_dir *dir, const char *name, const char *new_name,
             struct err *err) must_check;
/* Remove a file, or an empty directory. With `expected` only when the entry is still that inode
 * (ERR_CHANGED). Not synced: bfs_dir_sync() once after many. */
int bfs_remove(const struct bfs_dir *dir, const char *name, const struct bfs_facts *expected,
               struct err *err) must_check;

/* --- regular files ---------------------------------------------------------------------------- */

struct bfs_rule {
    uint64_t maximum_bytes; /* checked before the first byte is read */
    bool allow_links;       /* more than one hard link is all right */
};

struct bfs_file {
    struct fd fd; /* O_RDONLY */
    struct bfs_facts facts;
};

int bfs_file_open(const struct bfs_dir *dir, const char *path, const struct bfs_rule *rule,
                  struct bfs_file *ret_file, struct err *err) must_check;
/* From an O_PATH descriptor that the caller found himself; name is for messages. */
int bfs_file_open_fd(int path_fd, const char *name, const struct bfs_rule *rule,
                     struct bfs_file *ret_file, struct err *err) must_check;
/* The whole file, appended to out (ERR_OVER_BUDGET when its maximum is smaller). */
int bfs_file_read(const struct bfs_file *file, struct buf *out, struct err *err) must_check;
int bfs_file_hash(const struct bfs_file *file, char hex[HASH_HEX_SIZE], struct err *err) must_check;
static inline int bfs_file_fd(const struct bfs_file *file)
{
    return fd_num(&file->fd);
}
void bfs_file_done(struct bfs_file *file);
#define with_bfs_file cleanup(bfs_file_done) struct bfs_file

/* Open, read, close. ret_facts may be NULL. */
int bfs_read(const struct bfs_dir *dir, const char *path, const struct bfs_rule *rule,
             struct buf *out, struct bfs_facts *ret_facts, struct err *err) must_check;

/* A new file to be written as its bytes come (kept output): there from the start, and growing. ERR_CONFLICT
 * when the name is taken, by a link too. */
int bfs_create(const struct bfs_dir *dir, const char *name, mode_t mode, struct fd *ret_fd,
               struct err *err) must_check;

/* --- trees of copies ---------------------------------------------------------------------------- */

/* A tree that can be made again needs no sync; whoever makes one keeps another word on whether it is complete.
 * A part of it that failed stays as far as it came. */

/* A new, empty directory of exactly that mode; ERR_CONFLICT when the name is taken. */
int bfs_tree_directory(const struct bfs_dir *dir, const char *name, mode_t mode,
                       struct err *err) must_check;
int bfs_tree_link(const struct bfs_dir *dir, const char *name, const char *target,
                  struct err *err) must_check;
/* A new file with the bytes of another and exactly that mode, whatever the umask; it shares the blocks where the
 * filesystem can. The digest is that of the copy. */
int bfs_tree_copy(const struct bfs_file *file, const struct bfs_dir *dir, const char *name,
                  mode_t mode, char hex[HASH_HEX_SIZE], struct bfs_facts *ret_copy,
                  struct err *err) must_check;
/* A new file with these bytes. */
int bfs_tree_write(const struct bfs_dir *dir, const char *name, struct span bytes,
                   struct err *err) must_check;
/* The directory `name` and all that it holds, links as links; of more than `maximum` entries: ERR_OVER_BUDGET. No
 * such directory is fine. */
int bfs_tree_remove(const struct bfs_dir *dir, const char *name, size_t maximum,
                    struct err *err) must_check;
/* What a symbolic link says, at most PATH_MAX - 1 bytes; ERR_REFUSED when it is none. */
int bfs_read_link(const struct bfs_dir *dir, const char *name, char **ret_target,
                  struct err *err) must_check;
/* Where path leads when its links are followed, none out of the directory: 0, or ERR_REFUSED for one that leads
 * out, or is absolute. One that leads nowhere is fine. Without openat2(2), a ".." behind a name is refused too,
 * since that name could be a link. */
int bfs_stays_beneath(const struct bfs_dir *dir, const char *path, const char *target,
                      struct err *err) must_check;

/* --- staging and publication ------------------------------------------------------------------ */

enum { BFS_TEMPORARY_SIZE = 48 };

struct bfs_stage {
    struct fd fd;
    const struct bfs_dir *dir;
    char temporary[BFS_TEMPORARY_SIZE]; /* its name for now; empty: it has none */
    uint64_t written_bytes;
    bool reserved; /* writing up to reserve_bytes cannot hit a full disk */
};

/* reserve_bytes 0: nothing is set aside. A filesystem that cannot reserve leaves `reserved` false; a
 * full one fails. */
int bfs_stage_open(const struct bfs_dir *dir, mode_t mode, uint64_t reserve_bytes,
                   struct bfs_stage *ret_stage, struct err *err) must_check;
/* Room for so many bytes in all, before any is written: of no effect where the filesystem sets none aside. */
int bfs_stage_reserve(struct bfs_stage *stage, uint64_t bytes, struct err *err) must_check;
int bfs_stage_write(struct bfs_stage *stage, struct span bytes, struct err *err) must_check;
/* Ends the stage: synced, named, directory synced. On failure nothing of the name has changed,
 * except that a failed last sync (ERR_SYS "sync directory") leaves the new content there. */
int bfs_stage_replace(struct bfs_stage *stage, const char *name, struct err *err) must_check;
int bfs_stage_create(struct bfs_stage *stage, const char *name, struct err *err) must_check;
static inline int bfs_stage_fd(const struct bfs_stage *stage)
{
    return fd_num(&stage->fd);
}
void bfs_stage_done(struct bfs_stage *stage);
#define with_bfs_stage cleanup(bfs_stage_done) struct bfs_stage
