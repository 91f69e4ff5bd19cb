/* The mounts of a sandbox, as /proc/PID/mountinfo lists them: which of them can be written, and may they
 * be? Source: proc(5) mountinfo. */
#include "sandbox-priv.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Every pointer leads into the text. */
struct mount_line {
    char *text;
    const char *device;
    const char *root; /* of the file system, what is shown */
    const char *path;
    bool writable;
    const char *type;
};

static void mount_line_done(struct mount_line *line)
{
    memory_free(line->text);
}
#define with_mount_line cleanup(mount_line_done) struct mount_line

/* Blanks, tabs, newlines and backslashes are written as three octal digits; no other blank is. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            char digits[] = {from[1], from[2], from[3], '\0'};
            *to++ = (char)strtol(digits, NULL, 8);
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* "36 35 98:0 /root /path rw,noatime shared:1 - ext4 /dev/x rw"; what it cannot be is no line. */
static bool parse_mount(const char *line, struct mount_line *entry)
{
    enum { ID, PARENT, DEVICE, ROOT, PATH_FIELD, OPTIONS, FIELDS };
    char *fields[FIELDS];
    entry->text = memory_format("%.*s", (int)strcspn(line, "\n"), line);
    char *rest = entry->text;
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strsep(&rest, " ");
        if (!fields[i] || fields[i][0] == '\0') {
            return false;
        }
    }
    const char *field = strsep(&rest, " ");
    while (field && strcmp(field, "-") != 0) {
        field = strsep(&rest, " ");
    }
    entry->device = fields[DEVICE];
    entry->path = fields[PATH_FIELD];
    entry->root = fields[ROOT];
    unescape(fields[PATH_FIELD]);
    unescape(fields[ROOT]);
    const char *mode = strsep(&fields[OPTIONS], ",");
    entry->writable = strcmp(mode, "rw") == 0;
    entry->type = strsep(&rest, " ");
    return entry->type && rest && fields[PATH_FIELD][0] == '/' &&
           (entry->writable || strcmp(mode, "ro") == 0);
}

static bool may_be_written(const struct sandbox *sandbox, const struct mount_line *entry,
                           const char *private_device)
{
    static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full",   "/dev/random",
                                          "/dev/urandom", "/dev/tty",  "/dev/console"};
    if (strcmp(entry->device, private_device) == 0) {
        return true;
    }
    if (strcmp(entry->type, "devpts") == 0) {
        return true;
    }
    if (strcmp(entry->type, "proc") == 0) { /* another one is not the sandbox's */
        return path_is_beneath(entry->path, "/proc");
    }
    for (size_t i = 0; i < countof(devices); i++) {
        if (strcmp(entry->path, devices[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sandbox->root_count; i++) {
        if (path_is_beneath(entry->path, sandbox->roots[i].path)) {
            return true;
        }
    }
    return false;
}

/* A mount that a later one stands over cannot be reached. */
static bool is_covered(const char *rest, const char *path)
{
    for (const char *line = rest; *line;
         line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
        with_mount_line later = {0};
        if (parse_mount(line, &later) && strcmp(later.path, "/") != 0 &&
            path_is_beneath(path, later.path)) {
            return true;
        }
    }
    return false;
}

int sandbox_check_mounts(const struct sandbox *sandbox, const char *text,
                         const char *private_device, struct err *err)
{
    bool root_seen = false;
    for (const char *line = text; *line;) {
        with_mount_line entry = {0};
        const char *rest = line + strcspn(line, "\n");
        rest += *rest == '\n';
        if (!parse_mount(line, &entry)) {
            return sandbox_not_as_planned(err, "a mount cannot be read", "mountinfo");
        }
        if (entry.writable && !may_be_written(sandbox, &entry, private_device) &&
            !is_covered(rest, entry.path)) {
            return sandbox_not_as_planned(err, "a mount can be written", entry.path);
        }
        root_seen = root_seen || strcmp(entry.path, "/") == 0;
        line = rest;
    }
    return root_seen ? 0 : sandbox_not_as_planned(err, "it has no root", "mountinfo");
}

/* --- the same place by another mount ------------------------------------------------------------ */

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

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

void mounts_other_paths(const char *text, const char *path, struct strvec *ret_paths)
{
    const char *own = NULL;
    size_t longest = 0;
    for (const char *line = text; *line; line = next_line(line)) {
        with_mount_line entry = {0};
        if (parse_mount(line, &entry) && path_is_beneath(path, entry.path) &&
            strlen(entry.path) >= longest) {
            own = line;
            longest = strlen(entry.path);
        }
    }
    with_mount_line mine = {0};
    if (!own || !parse_mount(own, &mine)) {
        return;
    }
    with_string within = joined(mine.root, rest_beneath(path, mine.path));
    for (const char *line = text; *line; line = next_line(line)) {
        with_mount_line entry = {0};
        if (line != own && parse_mount(line, &entry) && strcmp(entry.device, mine.device) == 0 &&
            path_is_beneath(within, entry.root)) {
            with_string other = joined(entry.path, rest_beneath(within, entry.root));
            strvec_push(ret_paths, other);
        }
    }
}
