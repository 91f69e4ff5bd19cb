#include "ignore-priv.h"

#include <string.h>

#include "memory.h"

/* Blanks at the end of a line do not count, unless a backslash stands before them. */
static void cut_blanks(char *line)
{
    char *end = line;
    for (char *at = line; *at != '\0'; at++) {
        if (*at == '\\') {
            at++;
            if (*at == '\0') {
                return;
            }
        } else if (*at == ' ') {
            continue;
        }
        end = at + 1;
    }
    *end = '\0';
}

static struct ignore_rule rule_of(char *line)
{
    struct ignore_rule rule = {0};
    rule.takes = *line == '!';
    line += rule.takes;
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == '/') {
        rule.directories = true;
        line[length - 1] = '\0';
    }
    rule.any_depth = strchr(line, '/') == NULL;
    rule.pattern = line + (*line == '/');
    rule.literal = wildcard_literal(rule.pattern);
    return rule;
}

static void add_rule(struct ignore *ignore, char *line)
{
    if (*line == '\0' || *line == '#') {
        return;
    }
    cut_blanks(line);
    if ((ignore->count & (ignore->count - 1)) == 0) {
        size_t room = ignore->count ? ignore->count * 2 : 1;
        ignore->rules = memory_resize(ignore->rules, room * sizeof *ignore->rules);
    }
    ignore->rules[ignore->count++] = rule_of(line);
}

int ignore_parse(struct buf *text, const char *base, const struct ignore *above,
                 struct ignore *ret_ignore, struct err *err)
{
    with_ignore ignore = {.text = *text, .base = base, .above = above};
    *text = (struct buf){0};
    char *line = ignore.text.data;
    char *end = line ? line + buf_length(&ignore.text) : line;
    if (line && strncmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3; /* a byte order mark */
    }
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        newline = newline ? newline : end;
        if (newline - line > IGNORE_LINE || ignore.count == IGNORE_RULES) {
            return err_set(err, ERR_OVER_BUDGET,
                           "more than %d patterns, or one of more than %d bytes", IGNORE_RULES,
                           IGNORE_LINE);
        }
        newline[newline > line && newline[-1] == '\r' ? -1 : 0] = '\0';
        add_rule(&ignore, line);
        line = newline + 1;
    }
    *ret_ignore = ignore;
    ignore = (struct ignore){0};
    return 0;
}

int ignore_read(const struct bfs_dir *dir, const char *name, const char *base,
                const struct ignore *above, struct ignore *ret_ignore, struct err *err)
{
    static const struct bfs_rule rule = {.maximum_bytes = IGNORE_BYTES, .allow_links = true};
    struct err failure = {0};
    with_buf text = buf_new(IGNORE_BYTES + 1);
    if (bfs_read(dir, name, &rule, &text, NULL, &failure) < 0) {
        if (failure.code != ERR_NOT_FOUND) {
            if (err) {
                *err = failure;
            }
            return -1;
        }
        buf_clear(&text);
    }
    return ignore_parse(&text, base, above, ret_ignore, err) < 0
               ? err_wrap(err, "read '%s/%s'", dir->path, name)
               : 0;
}

static bool matches(const struct ignore_rule *rule, const char *path, const char *name,
                    struct wildcard_budget *budget)
{
    const char *pattern = rule->pattern;
    if (rule->any_depth) {
        return pattern[rule->literal] == '\0' ? strcmp(pattern, name) == 0
                                              : wildcard_match(pattern, name, budget);
    }
    /* The literal beginning goes first; what is left is a pattern of its own, so that "a**" + "/b" begins anew. */
    if (strncmp(pattern, path, rule->literal) != 0) {
        return false;
    }
    return wildcard_match(pattern + rule->literal, path + rule->literal, budget);
}

/* 1: left out, 0: taken, -1: no word. */
static int ask_one(const struct ignore *ignore, const char *path, bool is_directory,
                   struct wildcard_budget *budget)
{
    const char *below = path + strlen(ignore->base);
    const char *slash = strrchr(below, '/');
    const char *name = slash ? slash + 1 : below;
    for (size_t i = ignore->count; i-- > 0 && budget->steps > 0;) {
        const struct ignore_rule *rule = &ignore->rules[i];
        budget->steps--;
        if ((is_directory || !rule->directories) && matches(rule, below, name, budget)) {
            return !rule->takes;
        }
    }
    return -1;
}

bool ignore_ask(const struct ignore *ignore, const char *path, bool is_directory,
                struct wildcard_budget *budget)
{
    for (; ignore; ignore = ignore->above) {
        int word = ask_one(ignore, path, is_directory, budget);
        if (word >= 0) {
            return word == 1;
        }
    }
    return false;
}

void ignore_done(struct ignore *ignore)
{
    if (!ignore) {
        return;
    }
    buf_done(&ignore->text);
    memory_free(ignore->rules);
    *ignore = (struct ignore){0};
}
