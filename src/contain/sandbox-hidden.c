/* Whether what is to be hidden is: by the mount that its path leads to in the finished sandbox. A place that
 * is hidden as a whole has the launcher's cover, and nothing in it; one with something shown in it has a file
 * system of bubblewrap's, which is not the one that the host has there. */
#include "sandbox-priv.h"

#include <string.h>

#define DEVICES_ROOT "/dev"

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
    return seen ? is_private(seen, private_device, MOUNT_EMPTY_ROOT) && mount_is_alone(table, seen)
                : sandbox_is_out_of_reach(sandbox, path);
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
    return is_private(mount_at(table, SANDBOX_PRIVATE), private_device, MOUNT_EMPTY_ROOT)
               ? 0
               : sandbox_not_as_planned(err, "a place is not hidden", SANDBOX_PRIVATE);
}
