/* ignore-priv.h
 *
 * One file of ignore patterns (.gitignore, .git/info/exclude), and the question whether a path is left out.
 *
 * Calling sequence
 *   with_ignore rules = {0};
 *   ignore_read(&dir, ".gitignore", "sub/", above, &rules, err)   no such file: no rules
 *   ignore_ask(&rules, "sub/x.o", false, &budget)                 the deepest file that has a word on it decides, in
 *                                                                 it the last line that matches
 *
 * Ownership    `above` and `base` are borrowed and must outlive the rules.
 * Errors       ERR_REFUSED for a link or no regular file, ERR_OVER_BUDGET over IGNORE_BYTES, IGNORE_RULES or IGNORE_LINE.
 * Limitations  matching is by case, whatever core.ignoreCase says
 * Source       gitignore(5)
 */
#pragma once

#include "attributes.h"
#include "bfs.h"
#include "buf.h"
#include "wildcard-priv.h"

enum { IGNORE_BYTES = 1 << 20, IGNORE_RULES = 16384, IGNORE_LINE = 4096 };

struct ignore_rule {
    const char *pattern; /* without the '!' and the '/' at its end and at its beginning */
    size_t literal;      /* bytes before the first wildcard */
    bool takes;          /* '!' */
    bool directories;    /* only these */
    bool any_depth;      /* has no slash: the name alone is asked */
};

struct ignore {
    struct buf text;
    struct ignore_rule *rules;
    size_t count;
    const char *base; /* the directory of the file, from the root: empty, or it ends in '/' */
    const struct ignore *above;
};

int ignore_read(const struct bfs_dir *dir, const char *name, const char *base,
                const struct ignore *above, struct ignore *ret_ignore, struct err *err) must_check;
/* The same of a text; `text` is taken. */
int ignore_parse(struct buf *text, const char *base, const struct ignore *above,
                 struct ignore *ret_ignore, struct err *err) must_check;
/* Is this path left out? A budget that is used up: no. */
bool ignore_ask(const struct ignore *ignore, const char *path, bool is_directory,
                struct wildcard_budget *budget);
void ignore_done(struct ignore *ignore);
#define with_ignore cleanup(ignore_done) struct ignore
