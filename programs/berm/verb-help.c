#include "help.h"
#include "say.h"
#include "verb.h"

int verb_help(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    with_buf text = buf_new(HELP_BYTES);
    if (options->operands.count > 0) {
        const struct verb *verb = verb_named(options->operands.strings[0], err);
        if (!verb) {
            return -1;
        }
        help_verb(verb, &text);
    } else if (options_given(options, OPTION_ALL)) {
        help_all(&text);
    } else {
        help_overview(&text);
    }
    return say_result(&text, err);
}
