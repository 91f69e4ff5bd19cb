/* The command line: arguments separated by NUL. Whatever they are, parsing ends, an error says
 * something, and what is accepted lies in its range and in the arguments themselves. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void split(const uint8_t *data, size_t size, struct strvec *arguments)
{
    while (size > 0) {
        const uint8_t *end = memchr(data, 0, size);
        size_t length = end ? (size_t)(end - data) : size;
        strvec_push_format(arguments, "%.*s", (int)length, (const char *)data);
        size_t used = end ? length + 1 : length;
        data += used;
        size -= used;
    }
}

static void check_value(const struct option *option, const struct option_value *value)
{
    BUG_IF(strcmp(value->spelled, option->name) != 0 &&
           (!option->alias || strcmp(value->spelled, option->alias) != 0));
    bool number =
        option->kind == KIND_SIZE || option->kind == KIND_COUNT || option->kind == KIND_DURATION;
    bool none = (option->accepts_none && value->number == OPTION_NONE) ||
                (option->optional_value && !value->text);
    BUG_IF(number && !none && (value->number < option->minimum || value->number > option->maximum));
    BUG_IF(option->kind == KIND_TEXT && !option->optional_value &&
           (!value->text || !value->text[0]));
    BUG_IF(option->repeatable && value->texts.count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    with_strvec arguments = {0};
    split(data, size, &arguments);
    char *const *argv = strvec_argv(&arguments);
    with_options options = {0};
    struct err err = {0};
    if (options_parse(argv, &options, &err) < 0) {
        BUG_IF(err.code != ERR_USAGE && err.code != ERR_RANGE);
        BUG_IF(err.msg[0] == '\0');
        return 0;
    }
    BUG_IF(!options.verb);
    if (options.help) {
        return 0;
    }
    for (size_t i = 0; i < options.verb->option_count; i++) {
        const struct option *option = &options.verb->options[i];
        if (options_given(&options, option->id)) {
            check_value(option, &options.values[option->id]);
        }
    }
    BUG_IF(options.verb->takes_command != (options.command != NULL));
    BUG_IF(options.command && (options.command <= argv || !options.command[0]));
    BUG_IF(options.operands.count > options.verb->most_operands);
    return 0;
}
