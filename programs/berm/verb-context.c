#include "context-words.h"
#include "say.h"
#include "verb.h"

enum { TEXT_BYTES = 65536, PATIENCE_MS = 5000 };

int verb_context(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    int minimum_tier = options_given(options, OPTION_MINIMUM_TIER)
                           ? (int)options->values[OPTION_MINIMUM_TIER].number
                           : BERM_CONTEXT_PLAIN;
    struct berm_context context;
    (void)berm_context_read(&context, sizeof context, PATIENCE_MS); /* the verdict is in it */
    ret_end->exit_code = context_exit(&context, minimum_tier);
    if (options_given(options, OPTION_JSON)) {
        with_json json = context_to_json(&context, minimum_tier);
        return say_json(json, err);
    }
    with_buf text = buf_new(TEXT_BYTES);
    context_add_words(&text, &context, minimum_tier);
    return say_result(&text, err);
}
