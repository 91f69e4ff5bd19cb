/* Whether the payload's user can get to a place of the host at all: where it cannot, the launcher, who is that user,
 * could not cover it either, and need not. Source: acl(5); linux/posix_acl_xattr.h. */
#include "sandbox-priv.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
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

/* What cannot be read may let anybody pass. */
static bool acl_lets_pass(const struct sandbox *sandbox, const char *folder)
{
    _Alignas(struct posix_acl_xattr_entry) char bytes[ACL_BYTES];
    with_fd fd = fd_adopt(os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0));
    if (!fd_is_open(&fd)) {
        return true;
    }
    ssize_t other = os_fgetxattr(fd_num(&fd), "system.nfs4_acl", bytes, sizeof bytes);
    ssize_t got = os_fgetxattr(fd_num(&fd), "system.posix_acl_access", bytes, sizeof bytes);
    if (other != -ENODATA && other != -EOPNOTSUPP) {
        return true;
    }
    if (got == -ENODATA || got == -EOPNOTSUPP) {
        return false;
    }
    const size_t head = sizeof(struct posix_acl_xattr_header);
    const size_t step = sizeof(struct posix_acl_xattr_entry);
    if (got < (ssize_t)head || ((size_t)got - head) % step != 0) {
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
static bool is_closed(const struct sandbox *sandbox, const char *folder, const struct stat *facts)
{
    bool owns = facts->st_uid == sandbox->uid;
    mode_t pass = owns ? S_IXUSR : facts->st_gid == sandbox->gid ? S_IXGRP : S_IXOTH;
    return !(facts->st_mode & pass) &&
           (owns || !(facts->st_mode & S_IXGRP) || !acl_lets_pass(sandbox, folder));
}

bool sandbox_is_out_of_reach(const struct sandbox *sandbox, const char *path)
{
    if (!sandbox->become) {
        return false; /* it was looked at by the same user */
    }
    with_string above = memory_copy_string(path);
    for (char *slash = strrchr(above, '/'); slash && slash != above; slash = strrchr(above, '/')) {
        struct stat facts;
        *slash = '\0';
        if (os_stat_entry(AT_FDCWD, above, &facts) < 0) {
            return false;
        }
        if (is_closed(sandbox, above, &facts)) {
            return true;
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
    return missing || (result == -EACCES && !sandbox->become) ||
           sandbox_is_out_of_reach(sandbox, place);
}
