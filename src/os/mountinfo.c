#include "mountinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

static bool is_octal(char c, char largest)
{
    return c >= '0' && c <= largest;
}

/* \040 and its like, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '\\' && is_octal(from[1], '3') && is_octal(from[2], '7') &&
            is_octal(from[3], '7')) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Digits, then `end`; what is behind it, or NULL. */
static char *take_number(char *text, char end, uint64_t *ret_number)
{
    char *behind = NULL;
    if (*text < '0' || *text > '9') {
        return NULL; /* strtoull(3) would take a sign or a blank */
    }
    *ret_number = strtoull(text, &behind, 10);
    return *behind == end ? behind + (end != '\0') : NULL;
}

/* What is left of the options is taken apart. */
static bool has_option(char *options, const char *wanted)
{
    for (const char *option; (option = strsep(&options, ",")) != NULL;) {
        if (strcmp(option, wanted) == 0) {
            return true;
        }
    }
    return false;
}

/* "36 35 98:0 /root /path rw,noatime shared:1 - ext4 /dev/x rw" */
int mountinfo_parse(char *line, struct mountinfo *ret_mount)
{
    enum { ID, PARENT, DEVICE, ROOT, PATH_FIELD, OPTIONS, FIELDS };
    char *fields[FIELDS];
    char *rest = line;
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = strsep(&rest, " ");
        if (!fields[i] || fields[i][0] == '\0') {
            return -EINVAL;
        }
    }
    const char *optional = strsep(&rest, " ");
    while (optional && strcmp(optional, "-") != 0) {
        optional = strsep(&rest, " ");
    }
    const char *type = strsep(&rest, " ");
    const char *mode = strsep(&fields[OPTIONS], ",");
    bool read_only = strcmp(mode, "ro") == 0;
    uint64_t id = 0;
    uint64_t parent = 0;
    uint64_t first = 0;
    uint64_t second = 0;
    char *colon = take_number(fields[DEVICE], ':', &first);
    if (!type || type[0] == '\0' || !rest || (!read_only && strcmp(mode, "rw") != 0) ||
        fields[PATH_FIELD][0] != '/' || !take_number(fields[ID], '\0', &id) ||
        !take_number(fields[PARENT], '\0', &parent) || !colon ||
        !take_number(colon, '\0', &second)) {
        return -EINVAL;
    }
    unescape(fields[ROOT]);
    unescape(fields[PATH_FIELD]);
    *ret_mount = (struct mountinfo){
        .id = id,
        .parent = parent,
        .device = makedev((unsigned)first, (unsigned)second),
        .root = fields[ROOT],
        .path = fields[PATH_FIELD],
        .read_only = read_only,
        .no_links = has_option(fields[OPTIONS], "nosymfollow"),
        .type = type,
    };
    return 0;
}
