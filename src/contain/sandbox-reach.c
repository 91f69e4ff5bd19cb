/* Whether the payload's user can get to a place of the host at all: where it cannot, the launcher, who is that user,
 * could not cover it either, and need not. Source: acl(5); linux/posix_acl_xattr.h. */
#include "sandbox-priv.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "memory.h"

enum { ACL_BYTES = 4096 };

/* An entry for the user or its one group; what an owner, or anybody, may is in the mode. */
static bool lets_pass(const struct sandbox *sandbox, const struct posix_acl_xattr_entry *entry)
{
    unsigned tag = le16toh(entry->e_tag);
    unsigned id = le32toh(entry->e_id);
    return (le16toh(entry->e_perm) & ACL_EXECUTE) &&
           ((tag == ACL_USER && id == sandbox->uid) || (tag == ACL_GROUP && id == sandbox->gid));
}

/* One folder, for all that is asked about it. */
struct folder {
    struct fd fd;
    bool is_bare; /* O_PATH: its attributes are read by its name in /proc */
    struct stat facts;
};

static int open_folder(const char *path, struct folder *folder)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW;
    folder->fd = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | flags, 0));
    folder->is_bare = !fd_is_open(&folder->fd);
    if (folder->is_bare) {
        folder->fd = fd_adopt(os_openat(AT_FDCWD, path, O_PATH | flags, 0));
    }
    return fd_is_open(&folder->fd) ? os_fstat(fd_num(&folder->fd), &folder->facts)
                                   : fd_error(&folder->fd);
}

static ssize_t read_attribute(const struct folder *folder, const char *name, void *value,
                              size_t size)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd_num(&folder->fd));
    return folder->is_bare ? os_getxattr(path, name, value, size)
                           : os_fgetxattr(fd_num(&folder->fd), name, value, size);
}

/* What cannot be read may let anybody pass. */
static bool acl_lets_pass(const struct sandbox *sandbox, const struct folder *folder)
{
    _Alignas(struct posix_acl_xattr_entry) char bytes[ACL_BYTES];
    ssize_t other = read_attribute(folder, "system.nfs4_acl", bytes, sizeof bytes);
    ssize_t got = read_attribute(folder, "system.posix_acl_access", bytes, sizeof bytes);
    if (other != -ENODATA && other != -EOPNOTSUPP) {
        return true;
    }
    if (got == -ENODATA || got == -EOPNOTSUPP) {
        return false;
    }
    const struct posix_acl_xattr_header *list = (const void *)bytes;
    const size_t head = sizeof *list;
    const size_t step = sizeof(struct posix_acl_xattr_entry);
    if (got < (ssize_t)head || ((size_t)got - head) % step != 0 ||
        le32toh(list->a_version) != POSIX_ACL_XATTR_VERSION) {
        return true;
    }
    for (size_t at = head; at < (size_t)got; at += step) {
        if (lets_pass(sandbox, (const void *)(bytes + at))) {
            return true;
        }
    }
    return false;
}

/* The group's bits of a folder with an access list are its mask: without its x nobody whom it names passes. */
static bool is_closed(const struct sandbox *sandbox, const struct folder *folder)
{
    const struct stat *facts = &folder->facts;
    bool owns = facts->st_uid == sandbox->uid;
    mode_t pass = owns ? S_IXUSR : facts->st_gid == sandbox->gid ? S_IXGRP : S_IXOTH;
    return !(facts->st_mode & pass) &&
           (owns || !(facts->st_mode & S_IXGRP) || !acl_lets_pass(sandbox, folder));
}

static bool is_in_a_root(const struct sandbox *sandbox, const char *path)
{
    for (size_t i = 0; i < sandbox->root_count; i++) {
        with_string within = path_in_root(&sandbox->roots[i], path);
        if (within) {
            return true;
        }
    }
    return false;
}

/* Modes beneath a writable root are the payload's own to change, by whatever path: another mount may show the root, or a
 * folder beneath it, elsewhere. */
static bool may_be_opened(const struct sandbox *sandbox, const char *path)
{
    with_strvec others = {0};
    bool found = is_in_a_root(sandbox, path);
    mounts_other_paths(&sandbox->host_mounts, path, &others);
    for (size_t i = 0; i < others.count && !found; i++) {
        found = is_in_a_root(sandbox, others.strings[i]);
    }
    return found;
}

bool sandbox_is_out_of_reach(const struct sandbox *sandbox, const char *path)
{
    if (!sandbox->become) {
        return false; /* it was looked at by the same user */
    }
    with_string above = memory_copy_string(path);
    for (char *slash = strrchr(above, '/'); slash && slash != above; slash = strrchr(above, '/')) {
        struct folder folder = {0};
        *slash = '\0';
        int result = open_folder(above, &folder);
        bool closed = result == 0 && is_closed(sandbox, &folder) && !may_be_opened(sandbox, above);
        fd_close(&folder.fd);
        if (result < 0 || closed) {
            return closed;
        }
    }
    return false;
}

/* Of what is seen there in the sandbox: of a copy, where that has one. */
bool sandbox_is_nowhere(const struct sandbox *sandbox, const char *path)
{
    const struct sandbox_mount *shown = NULL;
    struct stat facts;
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        const struct sandbox_mount *entry = &sandbox->mounts[i];
        shown = path_is_beneath(path, entry->path) ? entry : shown;
    }
    with_string place = shown && shown->from
                            ? memory_format("%s%s", shown->from, path + strlen(shown->path))
                            : memory_copy_string(path);
    int result = os_stat_entry(AT_FDCWD, place, &facts);
    bool missing = result == -ENOENT || result == -ENOTDIR;
    bool closed = result == -EACCES && !sandbox->become && !may_be_opened(sandbox, path);
    return missing || closed || sandbox_is_out_of_reach(sandbox, place);
}
