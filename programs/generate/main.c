/* generate - print a completion or a man page
 *
 *   generate bash|zsh|fish|man [VERB]
 */
#include "generate.h"

#include <stdio.h>

void generate_names(const struct verb *verb, struct buf *out, generate_each *each)
{
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        bool takes_word = option->kind != KIND_FLAG && !option->optional_value;
        each(out, &(struct generate_name){verb, option, option->name, false, takes_word});
        if (option->alias) {
            each(out, &(struct generate_name){verb, option, option->alias, true, takes_word});
        }
    }
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const struct verb *verb = argc > 2 ? find(argv[2]) : NULL;
    with_buf out = buf_new(GENERATED_BYTES);
    if (argc > 2 && !verb) {
        what = "";
    }
    if (strcmp(what, "bash") == 0) {
        generate_bash(&out);
    } else if (strcmp(what, "zsh") == 0) {
        generate_zsh(&out);
    } else if (strcmp(what, "fish") == 0) {
        generate_fish(&out);
    } else if (strcmp(what, "man") == 0) {
        generate_man(verb, &out);
    } else {
        (void)fputs("usage: generate bash|zsh|fish|man [VERB]\n", stderr);
        return 2;
    }
    bool written = buf_fits(&out) &&
                   fwrite(buf_string(&out), 1, buf_length(&out), stdout) == buf_length(&out) &&
                   fflush(stdout) == 0;
    return written ? 0 : 1;
}
