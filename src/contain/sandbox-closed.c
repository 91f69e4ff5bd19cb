/* What is closed in the finished sandbox, or comes from another place than it seems to, by the mounts that the
 * kernel lists: the launcher's rules, and the copies that a payload at a tier runs from. */
#include "sandbox-priv.h"

#include <fcntl.h>
#include <string.h>

#include "memory.h"

/* Something empty of the private file system stands there or above; nothing shows through it. What is not there
 * needs no cover. */
static bool is_masked(const struct sandbox *sandbox, const struct mount_table *table,
                      dev_t private_device, const char *path)
{
    const struct mountinfo *seen = mount_behind(table, path);
    return mount_is_cover(seen, private_device, path) ? mount_is_alone(table, seen)
                                                      : sandbox_is_nowhere(sandbox, path);
}

static bool is_writable_beneath(const struct mount_table *table, const struct mountinfo *closed)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct mountinfo *entry = &table->mounts[i];
        if (!entry->read_only && path_is_beneath(entry->path, closed->path) &&
            !mount_is_covered(table, entry)) {
            return true;
        }
    }
    return false;
}

/* A mount of its own, which nobody can rename; of what is closed, nothing in it can be written either. */
static bool is_pinned(const struct mount_table *table, dev_t private_device, const char *path,
                      bool closed)
{
    const struct mountinfo *seen = mount_at(table, path);
    if (!seen) {
        return mount_is_cover(mount_behind(table, path), private_device, path);
    }
    return !closed || !is_writable_beneath(table, seen);
}

static int check_rule(const struct sandbox *sandbox, const struct mount_table *table,
                      dev_t private_device, const struct sandbox_rule *rule, struct err *err)
{
    const char *path = rule->path;
    switch (rule->kind) {
    case LAUNCH_MASK:
        return is_masked(sandbox, table, private_device, path)
                   ? 0
                   : sandbox_not_as_planned(err, "a place is not hidden", path);
    case LAUNCH_CLOSE:
        return is_pinned(table, private_device, path, true)
                   ? 0
                   : sandbox_not_as_planned(err, "a place is not closed", path);
    case LAUNCH_PIN:
        return is_pinned(table, private_device, path, false)
                   ? 0
                   : sandbox_not_as_planned(err, "a folder could be moved away", path);
    case LAUNCH_KEEP:
    case LAUNCH_EXPECT:
    case LAUNCH_WRITABLE:
    case LAUNCH_KIND_COUNT:
    default:
        return 0;
    }
}

/* The same part of the same file system as on the host. */
static bool is_of(const struct sandbox *sandbox, const struct mountinfo *seen, const char *from)
{
    with_host_path copy = {0};
    if (host_path_open(AT_FDCWD, from, &copy) < 0) {
        return false;
    }
    const struct mountinfo *outside = mount_behind(&sandbox->host_mounts, copy.path);
    if (!outside || outside->device != seen->device) {
        return false;
    }
    with_string root = mount_root_of(outside, copy.path);
    return strcmp(root, seen->root) == 0;
}

static int check_copies(const struct sandbox *sandbox, const struct mount_table *table,
                        struct err *err)
{
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        const struct sandbox_mount *planned = &sandbox->mounts[i];
        const struct mountinfo *seen = planned->from ? mount_at(table, planned->path) : NULL;
        if (planned->from && (!seen || !seen->read_only || !is_of(sandbox, seen, planned->from))) {
            return sandbox_not_as_planned(err, "a place is not its copy", planned->path);
        }
    }
    return 0;
}

int sandbox_check_closed(const struct sandbox *sandbox, const struct mount_table *table,
                         dev_t private_device, struct err *err)
{
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        if (check_rule(sandbox, table, private_device, &sandbox->rules[i], err) < 0) {
            return -1;
        }
    }
    return check_copies(sandbox, table, err);
}
