/* generate.h
 *
 * Writers of completions and man pages, from the option tables of programs/berm/verbs.c. The build
 * runs them (programs/generate/main.c); nothing of this is installed itself.
 */
#pragma once

#include "buf.h"
#include "options.h"

enum { GENERATED_BYTES = 262144 };

void generate_bash(struct buf *out);
void generate_zsh(struct buf *out);
void generate_fish(struct buf *out);
void generate_man(const struct verb *verb, struct buf *out); /* NULL: berm(1) itself */
bool generate_has_page(const struct verb *verb);

/* Calls each for every name that an option has; the alias of a number takes a plain count. */
struct generate_name {
    const struct verb *verb;
    const struct option *option;
    const char *name;
    bool is_alias;
    bool takes_word; /* a value as a word of its own */
};
typedef void generate_each(struct buf *out, const struct generate_name *name);
void generate_names(const struct verb *verb, struct buf *out, generate_each *each);
