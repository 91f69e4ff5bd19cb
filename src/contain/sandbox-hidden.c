/* Whether what is to be hidden is: by the mount that its path leads to in the finished sandbox. A place that
 * is hidden as a whole has the launcher's cover, and nothing in it; one with something shown in it has a file
 * system of bubblewrap's, which is not the one that the host has there. */
#include "sandbox-priv.h"

#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

#define COVER_ROOT   "/empty" /* of the private file system */
#define DEVICES_ROOT "/dev"

/* The mount that the path leads to; NULL: none of its own, or more than one. */
static const struct mountinfo *mount_at(const struct mount_table *table, const char *path)
{
    const struct mountinfo *found = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct mountinfo *entry = &table->mounts[i];
        if (strcmp(entry->path, path) == 0 && !mount_is_covered(table, entry)) {
            if (found) {
                return NULL;
            }
            found = entry;
        }
    }
    return found;
}

static bool is_private(const struct mountinfo *entry, dev_t device, const char *root)
{
    return entry && entry->read_only && entry->device == device && strcmp(entry->root, root) == 0;
}

/* The host's own mount at the same place is not what hides it. */
static bool is_of_host(const struct sandbox *sandbox, const struct mountinfo *entry)
{
    const struct mountinfo *outside = mount_at(&sandbox->host_mounts, entry->path);
    return outside && outside->device == entry->device;
}

/* Nothing that is mounted beneath shows through. */
static bool is_alone(const struct mount_table *table, const struct mountinfo *cover)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct mountinfo *entry = &table->mounts[i];
        if (entry != cover && path_is_beneath(entry->path, cover->path) &&
            !mount_is_covered(table, entry)) {
            return false;
        }
    }
    return true;
}

/* Something opens it again as a whole: it, or what it lies in. */
static bool is_reopened(const struct sandbox *sandbox, size_t index)
{
    for (size_t i = index + 1; i < sandbox->mount_count; i++) {
        if (path_is_beneath(sandbox->mounts[index].path, sandbox->mounts[i].path)) {
            return true;
        }
    }
    return false;
}

/* By the modes of what leads to it: then the launcher could not cover it either, and need not. */
static bool is_out_of_reach(const struct sandbox *sandbox, const char *path)
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
        mode_t pass = facts.st_uid == sandbox->uid   ? S_IXUSR
                      : facts.st_gid == sandbox->gid ? S_IXGRP
                                                     : S_IXOTH;
        if (!(facts.st_mode & pass)) {
            return true;
        }
    }
    return false;
}

static bool is_empty(const struct sandbox *sandbox, const struct mount_table *table,
                     dev_t private_device, size_t index)
{
    const char *path = sandbox->mounts[index].path;
    const struct mountinfo *seen = mount_at(table, path);
    if (is_reopened(sandbox, index)) {
        return true;
    }
    if (!sandbox_is_bare(sandbox, index)) {
        return seen && seen->read_only && strcmp(seen->type, "tmpfs") == 0 &&
               !is_of_host(sandbox, seen);
    }
    return seen ? is_private(seen, private_device, COVER_ROOT) && is_alone(table, seen)
                : is_out_of_reach(sandbox, path);
}

static bool is_hidden(const struct sandbox *sandbox, const struct mount_table *table,
                      dev_t private_device, size_t index)
{
    const struct sandbox_mount *planned = &sandbox->mounts[index];
    const struct mountinfo *seen = mount_at(table, planned->path);
    if (planned->kind == MOUNT_PROCESSES) {
        return seen && strcmp(seen->type, "proc") == 0 && !is_of_host(sandbox, seen);
    }
    if (planned->kind == MOUNT_DEVICES) {
        return is_private(seen, private_device, DEVICES_ROOT);
    }
    return planned->kind != MOUNT_EMPTY || is_empty(sandbox, table, private_device, index);
}

int sandbox_check_hidden(const struct sandbox *sandbox, const struct mount_table *table,
                         dev_t private_device, struct err *err)
{
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        if (!is_hidden(sandbox, table, private_device, i)) {
            return sandbox_not_as_planned(err, "a place is not hidden", sandbox->mounts[i].path);
        }
    }
    return is_private(mount_at(table, SANDBOX_PRIVATE), private_device, COVER_ROOT)
               ? 0
               : sandbox_not_as_planned(err, "a place is not hidden", SANDBOX_PRIVATE);
}
