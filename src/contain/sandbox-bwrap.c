/* Bubblewrap's arguments, from the plan; handed over by descriptor (--args). What the launcher can do as well
 * is left to it: bubblewrap makes a file system for each place that is hidden, and reads the list of all mounts
 * anew for each that it binds. */
#include "sandbox-priv.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "memory.h"

/* Both rules for the death of berm at once, and a pid namespace: neither alone is enough (R15).
 * The launcher needs three capabilities for a moment, and drops them from the bounding set as well. It
 * closes user namespaces itself: --disable-userns makes a second one, in which it would have to copy all
 * mounts to have a right to them. */
static const char *const always[] = {
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",    "--die-with-parent",
    "--as-pid-1",     "--cap-drop",    "ALL",           "--cap-add",        "CAP_SYS_ADMIN",
    "--cap-add",      "CAP_SETPCAP",   "--cap-add",     "CAP_SYS_RESOURCE",
};

static const struct {
    const char *option;
    bool twice; /* source and destination */
} mount_options[] = {
    [MOUNT_READ_ONLY] = {"--ro-bind", true}, [MOUNT_WRITABLE] = {"--bind", true},
    [MOUNT_EMPTY] = {"--tmpfs", false},      [MOUNT_FOLDER] = {"--dir", false},
    [MOUNT_PROCESSES] = {"--proc", false},
};
_Static_assert(countof(mount_options) == MOUNT_KIND_COUNT, "the last kind of mount has an option");

bool sandbox_is_bare(const struct sandbox *sandbox, size_t index)
{
    const struct sandbox_mount *hidden = &sandbox->mounts[index];
    for (size_t i = index + 1; i < sandbox->mount_count; i++) {
        const char *later = sandbox->mounts[i].path; /* in it, or over it */
        if (path_is_beneath(later, hidden->path) || path_is_beneath(hidden->path, later)) {
            return false;
        }
    }
    return hidden->kind == MOUNT_EMPTY;
}

static void add(struct buf *out, const char *word)
{
    buf_add(out, word, strlen(word) + 1);
}

void sandbox_render_arguments(const struct sandbox *sandbox, struct buf *out)
{
    for (size_t i = 0; i < countof(always); i++) {
        add(out, always[i]);
    }
    if (!sandbox->host_network) {
        add(out, "--unshare-net");
    }
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        const struct sandbox_mount *entry = &sandbox->mounts[i];
        if (entry->kind == MOUNT_DEVICES || sandbox_is_bare(sandbox, i)) {
            continue;
        }
        add(out, mount_options[entry->kind].option);
        if (mount_options[entry->kind].twice) {
            add(out, entry->from ? entry->from : entry->path);
        }
        add(out, entry->path);
    }
}
