/* The mounts of a sandbox, as /proc/PID/mountinfo lists them: which of them can be written, and may they
 * be? And those of the host: by which other paths is a place seen? Source: proc_pid_mountinfo(5). */
#include "sandbox-priv.h"

#include <errno.h>
#include <string.h>

#include "memory.h"

int mount_table_parse(const char *text, struct mount_table *ret_table)
{
    with_mount_table table = {.text = memory_copy_string(text)};
    size_t room = 0;
    char *rest = table.text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && (rest || line[0] != '\0');) {
        if (table.count == room) {
            room = room * 2 + 64;
            table.mounts = memory_resize(table.mounts, room * sizeof *table.mounts);
        }
        int result = mountinfo_parse(line, &table.mounts[table.count]);
        if (result < 0) {
            return result;
        }
        table.count++;
    }
    *ret_table = table;
    table = (struct mount_table){0};
    return 0;
}

void mount_table_done(struct mount_table *table)
{
    if (!table) {
        return;
    }
    memory_free(table->text);
    memory_free(table->mounts);
    *table = (struct mount_table){0};
}

/* --- what can be reached ------------------------------------------------------------------------ */

/* What stands on "/" is entered by "/.." only, and covers nothing for whoever has the root beneath it. */
static bool stands_on(const struct mountinfo *entry, const struct mountinfo *other)
{
    return entry->parent == other->id && entry != other && strcmp(entry->path, other->path) == 0 &&
           strcmp(entry->path, "/") != 0;
}

/* On the way to it, in the mount that both stand on. */
static bool stands_before(const struct mountinfo *entry, const struct mountinfo *other)
{
    return entry->parent == other->parent && strcmp(entry->path, other->path) != 0 &&
           path_is_beneath(other->path, entry->path) && strcmp(entry->path, "/") != 0;
}

static const struct mountinfo *parent_of(const struct mount_table *table,
                                         const struct mountinfo *entry)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->mounts[i].id == entry->parent && &table->mounts[i] != entry) {
            return &table->mounts[i];
        }
    }
    return NULL;
}

bool mount_is_covered(const struct mount_table *table, const struct mountinfo *entry)
{
    for (size_t i = 0; i < table->count; i++) {
        if (stands_on(&table->mounts[i], entry)) {
            return true;
        }
    }
    /* No chain of parents is longer than the table, unless it leads back to itself. */
    for (size_t steps = 0; entry && steps < table->count; steps++) {
        for (size_t i = 0; i < table->count; i++) {
            if (stands_before(&table->mounts[i], entry)) {
                return true;
            }
        }
        entry = parent_of(table, entry);
    }
    return false;
}

const struct mountinfo *mount_at(const struct mount_table *table, const char *path)
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

const struct mountinfo *mount_behind(const struct mount_table *table, const char *path)
{
    const struct mountinfo *found = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const struct mountinfo *entry = &table->mounts[i];
        if (path_is_beneath(path, entry->path) && !mount_is_covered(table, entry) &&
            (!found || strlen(entry->path) >= strlen(found->path))) {
            found = entry;
        }
    }
    return found;
}

bool mount_is_alone(const struct mount_table *table, const struct mountinfo *cover)
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

bool mount_is_cover(const struct mountinfo *entry, dev_t private_device, const char *path)
{
    if (!entry || !entry->read_only || entry->device != private_device) {
        return false;
    }
    return strcmp(entry->root, MOUNT_EMPTY_ROOT) == 0 ||
           (strcmp(entry->root, MOUNT_VOID_ROOT) == 0 && strcmp(entry->path, path) == 0);
}

/* --- what can be written ------------------------------------------------------------------------ */

static bool may_be_written(const struct sandbox *sandbox, const struct mountinfo *entry,
                           dev_t private_device)
{
    if (entry->device == private_device || strcmp(entry->type, "devpts") == 0) {
        return true;
    }
    if (strcmp(entry->type, "proc") == 0) { /* another one is not the sandbox's */
        return path_is_beneath(entry->path, "/proc");
    }
    for (size_t i = 0; i < sandbox->root_count; i++) {
        if (path_is_beneath(entry->path, sandbox->roots[i].path)) {
            return true;
        }
    }
    return false;
}

/* The payload's, and a link in there would lead somewhere. */
static bool follows_links(const struct sandbox *sandbox, const struct mountinfo *entry,
                          dev_t private_device)
{
    return sandbox_bars_links(sandbox) && entry->device == private_device && !entry->read_only &&
           !entry->no_links;
}

int sandbox_check_written(const struct sandbox *sandbox, const struct mount_table *table,
                          dev_t private_device, struct err *err)
{
    bool root_seen = false;
    for (size_t i = 0; i < table->count; i++) {
        const struct mountinfo *entry = &table->mounts[i];
        if (!entry->read_only && !may_be_written(sandbox, entry, private_device) &&
            !mount_is_covered(table, entry)) {
            return sandbox_not_as_planned(err, "a mount can be written", entry->path);
        }
        if (follows_links(sandbox, entry, private_device) && !mount_is_covered(table, entry)) {
            return sandbox_not_as_planned(err, "links are followed", entry->path);
        }
        root_seen = root_seen || strcmp(entry->path, "/") == 0;
    }
    return root_seen ? 0 : sandbox_not_as_planned(err, "it has no root", "mountinfo");
}

/* --- the same place by another mount ------------------------------------------------------------ */

/* What is left of a path beneath a root: empty, or from a slash on. */
static const char *rest_beneath(const char *path, const char *root)
{
    return strcmp(root, "/") == 0 ? (path[1] ? path : "") : path + strlen(root);
}

static char *joined(const char *root, const char *rest)
{
    return strcmp(root, "/") == 0 && rest[0] ? memory_copy_string(rest)
                                             : memory_format("%s%s", root, rest);
}

char *mount_root_of(const struct mountinfo *entry, const char *path)
{
    return joined(entry->root, rest_beneath(path, entry->path));
}

void mounts_other_paths(const struct mount_table *table, const char *path, struct strvec *ret_paths)
{
    const struct mountinfo *own = mount_behind(table, path);
    if (!own) {
        return;
    }
    with_string within = mount_root_of(own, path);
    for (size_t i = 0; i < table->count; i++) {
        const struct mountinfo *entry = &table->mounts[i];
        if (entry != own && entry->device == own->device && path_is_beneath(within, entry->root)) {
            with_string other = joined(entry->path, rest_beneath(within, entry->root));
            strvec_push(ret_paths, other);
        }
    }
}
