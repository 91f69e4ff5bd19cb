/* The mounts of a sandbox, as /proc/PID/mountinfo lists them: which of them can be written, and may they
 * be? Source: proc(5) mountinfo. */
#include "sandbox-priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mount_line {
    char device[24];
    char root[512];
    char path[4096];
    char options[512];
    char type[64];
};

/* Blanks, tabs, newlines and backslashes are written as three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3') {
            char digits[4] = {from[1], from[2], from[2] ? from[3] : '\0', '\0'};
            *to++ = (char)strtol(digits, NULL, 8);
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static bool parse_mount(const char *line, struct mount_line *entry)
{
    if (sscanf(line, "%*d %*d %23s %511s %4095s %511s", entry->device, entry->root, entry->path,
               entry->options) != 4) {
        return false;
    }
    const char *dash = strstr(line, " - ");
    if (!dash || sscanf(dash, " - %63s", entry->type) != 1) {
        return false;
    }
    unescape(entry->path);
    return true;
}

static bool may_be_written(const struct sandbox *sandbox, const struct mount_line *entry,
                           const char *private_device)
{
    static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full",   "/dev/random",
                                          "/dev/urandom", "/dev/tty",  "/dev/console"};
    static const char *const types[] = {"proc", "devpts"};
    if (strcmp(entry->device, private_device) == 0) {
        return true;
    }
    for (size_t i = 0; i < countof(types); i++) {
        if (strcmp(entry->type, types[i]) == 0) {
            return true;
        }
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
    struct mount_line later;
    for (const char *line = rest; *line;
         line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
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
        struct mount_line entry;
        const char *rest = line + strcspn(line, "\n");
        rest += *rest == '\n';
        if (!parse_mount(line, &entry)) {
            return sandbox_not_as_planned(err, "a mount cannot be read", "mountinfo");
        }
        bool writable = strncmp(entry.options, "rw", 2) == 0;
        if (writable && !may_be_written(sandbox, &entry, private_device) &&
            !is_covered(rest, entry.path)) {
            return sandbox_not_as_planned(err, "a mount can be written", entry.path);
        }
        root_seen = root_seen || strcmp(entry.path, "/") == 0;
        line = rest;
    }
    return root_seen ? 0 : sandbox_not_as_planned(err, "it has no root", "mountinfo");
}
