/* mountinfo.h
 *
 * One line of /proc/PID/mountinfo: a mount, as the kernel lists it. The launcher and the controller both
 * judge a sandbox by it, so whatever is not such a line is refused, never passed over.
 *
 * Calling sequence  mountinfo_parse(line, &mount) for each line of the file, without its newline; the
 *                   line is taken apart in place and must live as long as what is used of it
 * Allocates         nothing
 * Errors            -EINVAL: it is no such line
 * Source            proc_pid_mountinfo(5). Blanks, tabs, newlines, backslashes and "#" in a path are
 *                   written as three octal digits (seq_escape() in fs/proc_namespace.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"

struct mountinfo {
    uint64_t id;
    uint64_t parent; /* that it stands on; of the root, none that is listed */
    dev_t device;
    const char *root; /* what of the file system is shown; no path in some of the kernel's own */
    const char *path; /* where; begins with a slash */
    bool read_only;   /* the mount, whatever its file system is */
    bool no_links;    /* it is nosymfollow */
    const char *type;
};

int mountinfo_parse(char *line, struct mountinfo *ret_mount) must_check;
