#include "config-words.h"
#include "config.h"
#include "exits.h"
#include "lookup.h"
#include "say.h"
#include "verb.h"

typedef void words_function(const json_t *json, struct buf *out);

static int say(const struct options *options, const json_t *json, words_function *words,
               struct err *err)
{
    if (options_given(options, OPTION_JSON)) {
        return say_json(json, err);
    }
    with_buf text = buf_new(CONFIG_WORDS_BYTES);
    words(json, &text);
    return say_result(&text, err);
}

static int show(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    if (options->operands.count > 1) {
        return err_set(err, ERR_USAGE, "config show takes nothing more: '%s'",
                       options->operands.strings[1]);
    }
    with_json config = run_config(NULL, err);
    if (!config) {
        return -1;
    }
    ret_end->exit_code = lookup_number(config, "refusals") > 0 ? EXIT_NEGATIVE : EXIT_OK;
    return say(options, config, config_words, err);
}

static int check(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    char *const *argv = strvec_argv(&options->operands) + 1;
    if (!argv[0]) {
        return err_set(err, ERR_USAGE,
                       "config check: say which command: berm config check -- ENTRYPOINT [ARG...]");
    }
    with_json checked = run_config_check(NULL, argv, err);
    if (!checked) {
        return -1;
    }
    bool refused = json_is_object(lookup(checked, "refused"));
    ret_end->exit_code = refused ? EXIT_NEGATIVE : EXIT_OK;
    return say(options, checked, config_words_check, err);
}

int verb_config(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    const char *what = options->operands.count > 0 ? options->operands.strings[0] : "";
    if (strcmp(what, "show") == 0) {
        return show(options, ret_end, err);
    }
    if (strcmp(what, "check") == 0) {
        return check(options, ret_end, err);
    }
    return err_set(err, ERR_USAGE, "config %s: there are config show, and config check -- COMMAND",
                   what);
}
