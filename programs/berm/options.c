#include "options.h"

#include "buf.h"
#include "nearest.h"
#include "units.h"

enum { QUOTED = 80 };

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

void options_done(struct options *options)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        strvec_done(&options->values[i].texts);
    }
    strvec_done(&options->operands);
    *options = (struct options){0};
}

/* An option as it stands in argv. */
struct word {
    struct span name;  /* "--memory" */
    const char *value; /* behind '=', or NULL */
    const struct option *option;
    bool by_alias;
};

static struct word split(const char *argument)
{
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    return (struct word){.name = span_of(argument, length), .value = equals ? equals + 1 : NULL};
}

static bool look_up(const struct verb *verb, struct word *word)
{
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        word->by_alias = option->alias && span_equals(word->name, option->alias);
        if (word->by_alias || span_equals(word->name, option->name)) {
            word->option = option;
            return true;
        }
    }
    return false;
}

static int unknown_option(const struct verb *verb, struct span name, struct err *err)
{
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < verb->option_count; i++) {
        nearest_offer(&nearest, verb->options[i].name);
        nearest_offer(&nearest, verb->options[i].alias);
    }
    const char *found = nearest_found(&nearest);
    return err_set(err, ERR_USAGE, "unknown option '%.*s'%s%s%s; 'berm help %s' lists all",
                   name.n < QUOTED ? (int)name.n : QUOTED, name.p, found ? "; did you mean " : "",
                   found ? found : "", found ? "?" : "", verb->name);
}

const struct verb *verb_named(const char *name, struct err *err)
{
    const struct verb *verb = verb_find(name);
    if (verb) {
        return verb;
    }
    struct nearest nearest = nearest_to(span_of_string(name));
    for (size_t i = 0; i < VERB_COUNT; i++) {
        nearest_offer(&nearest, verbs[i].name);
    }
    const char *found = nearest_found(&nearest);
    if (found) {
        (void)err_set(err, ERR_USAGE, "unknown command '%.*s'; did you mean 'berm %s'?", QUOTED,
                      name, found);
    } else {
        (void)err_set(err, ERR_USAGE, "unknown command '%.*s'; to run it: berm run -- %.*s", QUOTED,
                      name, QUOTED, name);
    }
    return NULL;
}

static void add_bound(struct buf *out, const struct word *word, int64_t value)
{
    if (word->by_alias) {
        buf_add_format(out, "%lld", (long long)(value / word->option->alias_scale));
    } else if (word->option->kind == KIND_SIZE) {
        units_add_exact_size(out, value);
    } else if (word->option->kind == KIND_DURATION) {
        units_add_exact_duration(out, value);
    } else {
        buf_add_format(out, "%lld", (long long)value);
    }
}

static int out_of_range(const struct word *word, const char *text, struct err *err)
{
    with_buf range = buf_new(100);
    int64_t lowest = word->option->minimum;
    if (word->by_alias) { /* the least whole count of its unit that is not below the minimum */
        lowest += word->option->alias_scale - 1;
    }
    add_bound(&range, word, lowest);
    buf_add_string(&range, " to ");
    add_bound(&range, word, word->option->maximum);
    return err_set(err, ERR_RANGE, "%.*s is outside its range, %s", QUOTED, text,
                   buf_string(&range));
}

/* The number of a size, count or duration, within its range. */
static int parse_number(const struct word *word, const char *text, int64_t *ret_number,
                        struct err *err)
{
    const struct option *option = word->option;
    if (option->accepts_none && !word->by_alias && strcmp(text, "none") == 0) {
        *ret_number = OPTION_NONE;
        return 0;
    }
    int64_t number = 0;
    int result;
    if (word->by_alias || option->kind == KIND_COUNT) {
        result = units_parse_count(text, &number, err);
    } else if (option->kind == KIND_SIZE) {
        result = units_parse_size(text, &number, err);
    } else {
        result = units_parse_duration(text, &number, err);
    }
    if (result < 0) {
        return -1;
    }
    if (word->by_alias && __builtin_mul_overflow(number, option->alias_scale, &number)) {
        return out_of_range(word, text, err);
    }
    if (number < option->minimum || number > option->maximum) {
        return out_of_range(word, text, err);
    }
    *ret_number = number;
    return 0;
}

static int parse_word(const struct option *option, const char *text, int64_t *ret_number,
                      struct err *err)
{
    with_buf list = buf_new(200);
    for (int64_t i = 0; option->words[i]; i++) {
        if (strcmp(option->words[i], text) == 0) {
            *ret_number = i;
            return 0;
        }
        buf_add_format(&list, "%s%s", i > 0 ? ", " : "", option->words[i]);
    }
    return err_set(err, ERR_USAGE, "'%.*s' is none of %s", QUOTED, text, buf_string(&list));
}

static int store_value(const struct word *word, const char *text, struct option_value *value,
                       struct err *err)
{
    if (text[0] == '\0') {
        return err_set(err, ERR_USAGE, "its value is empty");
    }
    value->text = text;
    switch (word->option->kind) {
    case KIND_SIZE:
    case KIND_COUNT:
    case KIND_DURATION:
        return parse_number(word, text, &value->number, err);
    case KIND_WORD:
        return parse_word(word->option, text, &value->number, err);
    case KIND_TEXT:
        if (word->option->repeatable) {
            strvec_push(&value->texts, text);
        }
        return 0;
    case KIND_FLAG:
    default:
        BUG("a flag has no value");
    }
}

/* The value that the option has, or takes from the next argument. */
static int find_value(const struct word *word, char *const **next, const char **ret_text,
                      struct err *err)
{
    const struct option *option = word->option;
    *ret_text = word->value;
    if (option->kind == KIND_FLAG) {
        return word->value ? err_set(err, ERR_USAGE, "it takes no value") : 0;
    }
    if (word->value || option->optional_value) {
        return 0;
    }
    const char *following = **next;
    const char *name = word->by_alias ? option->alias : option->name;
    const char *example = word->by_alias ? "N" : option->value;
    if (!following) {
        return err_set(err, ERR_USAGE, "its value is missing; e.g. %s %s", name, example);
    }
    if (following[0] == '-' && following[1] != '\0') {
        return err_set(err, ERR_USAGE,
                       "its value is missing before '%.*s'; if that is the value, write %s=%.*s",
                       QUOTED, following, name, QUOTED, following);
    }
    *ret_text = following;
    (*next)++;
    return 0;
}

static int parse_option(struct options *options, char *const **next, struct err *err)
{
    struct word word = split(**next);
    (*next)++;
    if (!look_up(options->verb, &word)) {
        return unknown_option(options->verb, word.name, err);
    }
    const char *name = word.by_alias ? word.option->alias : word.option->name;
    struct option_value *value = &options->values[word.option->id];
    if (value->spelled && !word.option->repeatable) {
        bool same = strcmp(value->spelled, name) == 0;
        return err_set(err, ERR_USAGE, "%s is given %s%s", name, same ? "twice" : "as well as ",
                       same ? "" : value->spelled);
    }
    const char *text;
    if (find_value(&word, next, &text, err) < 0 ||
        (text && store_value(&word, text, value, err) < 0)) {
        return err_wrap(err, "%s", name);
    }
    value->spelled = name;
    return 0;
}

/* What is missing, and what is too much. */
static int check_whole(const struct options *options, struct err *err)
{
    const struct verb *verb = options->verb;
    if (verb->takes_command) {
        if (!options->command) {
            return err_set(err, ERR_USAGE, "no command to run; e.g. berm %s -- make", verb->name);
        }
        return 0;
    }
    for (size_t i = 0; i < verb->option_count; i++) {
        if (verb->options[i].needed && !options_given(options, verb->options[i].id)) {
            return err_set(err, ERR_USAGE, "%s is missing; usage: berm %s %s",
                           verb->options[i].name, verb->name, verb->operands);
        }
    }
    size_t count = options->operands.count;
    if (count > verb->most_operands) {
        return err_set(err, ERR_USAGE, "'%.*s' is one word too many; usage: berm %s %s", QUOTED,
                       options->operands.strings[verb->most_operands], verb->name, verb->operands);
    }
    return 0;
}

/* The options and operands of a verb. */
static int parse_rest(struct options *options, char *const *next, struct err *err)
{
    bool only_operands = false;
    while (*next) {
        bool is_option = (*next)[0] == '-' && (*next)[1] != '\0';
        if (!only_operands && strcmp(*next, "--") == 0) {
            only_operands = true;
            next++;
        } else if (!only_operands && is_option) {
            if (strcmp(*next, "--help") == 0 || strcmp(*next, "-h") == 0) {
                options->help = true;
                return 0;
            }
            if (parse_option(options, &next, err) < 0) {
                return -1;
            }
        } else if (options->verb->takes_command) {
            options->command = next;
            break;
        } else {
            strvec_push(&options->operands, *next++);
        }
    }
    return check_whole(options, err);
}

/* `berm --help`, `-h` and `--version` are the verbs of that name. */
static const char *verb_name(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return verbs[VERB_HELP].name;
    }
    return strcmp(word, "--version") == 0 ? verbs[VERB_VERSION].name : word;
}

int options_parse(char *const *arguments, struct options *ret_options, struct err *err)
{
    if (!arguments[0]) {
        return err_set(err, ERR_USAGE, "no command given; 'berm help' lists them");
    }
    const char *name = verb_name(arguments[0]);
    if (name[0] == '-') {
        return err_set(err, ERR_USAGE,
                       "'%.*s' comes before the command; e.g. berm run [options] COMMAND", QUOTED,
                       name);
    }
    ret_options->verb = verb_named(name, err);
    if (!ret_options->verb) {
        return -1;
    }
    if (parse_rest(ret_options, arguments + 1, err) < 0) {
        return err_wrap(err, "%s", ret_options->verb->name);
    }
    return 0;
}
