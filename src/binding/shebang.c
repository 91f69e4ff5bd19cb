#include "shebang.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The first line without "#!", as far as the kernel goes: up to a newline, or all of the 255 bytes
 * when it can tell that the interpreter's name is complete. NULL p: no script. */
static struct span first_line(struct span head)
{
    char *start = NULL;
    struct span none = {0};
    if (head.n < 2 || head.p[0] != '#' || head.p[1] != '!') {
        return none;
    }
    size_t n = head.n < SHEBANG_BYTES ? head.n : SHEBANG_BYTES;
    start = memchr(head.p, '\n', n);
    if (start) {
        return span_of(head.p + 2, (size_t)(start - head.p) - 2);
    }
    /* A shorter file is followed by zeros in the kernel's buffer, which end a name as well. */
    bool whole = head.n < SHEBANG_BYTES;
    struct span line = span_of(head.p + 2, (whole ? n : SHEBANG_BYTES - 1) - 2);
    size_t name = 0;
    while (name < line.n && is_blank(line.p[name])) {
        name++;
    }
    for (size_t at = name; at < line.n; at++) {
        if (is_blank(line.p[at]) || line.p[at] == '\0') {
            return line;
        }
    }
    return whole && name < line.n ? line : none;
}

static void copy(char to[SHEBANG_BYTES], struct span from)
{
    size_t n = strnlen(from.p, from.n);
    memcpy(to, from.p, n);
    to[n] = '\0';
}

void shebang_parse(struct span head, struct shebang *ret_shebang)
{
    *ret_shebang = (struct shebang){0};
    struct span line = first_line(head);
    while (line.n > 0 && is_blank(line.p[line.n - 1])) {
        line.n--;
    }
    while (line.n > 0 && is_blank(line.p[0])) {
        line = span_of(line.p + 1, line.n - 1);
    }
    if (line.n == 0) {
        return;
    }
    size_t end = 0;
    while (end < line.n && !is_blank(line.p[end]) && line.p[end] != '\0') {
        end++;
    }
    copy(ret_shebang->interpreter, span_of(line.p, end));
    if (end == line.n || line.p[end] == '\0') {
        return;
    }
    while (end < line.n && is_blank(line.p[end])) {
        end++;
    }
    copy(ret_shebang->argument, span_of(line.p + end, line.n - end));
}

bool shebang_is_env(const struct shebang *shebang)
{
    return strcmp(shebang->interpreter, "/usr/bin/env") == 0 ||
           strcmp(shebang->interpreter, "/bin/env") == 0;
}

const char *shebang_env_name(const struct shebang *shebang)
{
    if (!shebang_is_env(shebang)) {
        return NULL;
    }
    const char *name = shebang->argument;
    bool plain = name[0] != '\0' && name[0] != '-' && !strpbrk(name, " \t=");
    return plain ? name : NULL;
}
