/* options.h
 *
 * The command line as data: every verb and option of berm stands in the tables of verbs.c, and the
 * parser here, the help, the completions and the man pages all come from them.
 *
 * Calling sequence
 *   with_options options = {0};
 *   options_parse(argv + 1, &options, err)    on failure options.verb may still say which verb it was
 *   options_given(&options, OPTION_MEMORY)    then .number or .text of its value
 *
 * Grammar      --opt VALUE and --opt=VALUE; an optional value only as --opt=VALUE; `--` ends the
 *              options. The first word of `run` that is no option starts the command, and nothing
 *              behind it is looked at; other verbs take options and operands in any order. No
 *              abbreviations, no bundles. A separate value may not begin with '-' (a forgotten value
 *              would eat the next option, or the `--`): write --opt=-x when that is what you mean.
 * Errors       ERR_USAGE and ERR_RANGE, naming the option and what would be right
 * Ownership    everything is borrowed from argv but the texts of a repeatable option, which are
 *              copies of the options'.
 * Limitations  pure: whether a file is there, or a name is known to the host, is for others to say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"
#include "err.h"
#include "strvec.h"

enum option_id {
    OPTION_MEMORY,
    OPTION_MEMORY_HIGH,
    OPTION_TASKS,
    OPTION_TIMEOUT,
    OPTION_OUTPUT_MAX,
    OPTION_GRACE,
    OPTION_SAMPLE,
    OPTION_HIGH_SAMPLES,
    OPTION_TEMPORARY,
    OPTION_TEMPORARY_FILES,
    OPTION_REQUIRE,
    OPTION_SANDBOX,
    OPTION_CGROUP_PARENT,
    OPTION_WRITABLE,
    OPTION_READABLE,
    OPTION_DAEMON,
    OPTION_NETWORK,
    OPTION_GPU,
    OPTION_USER,
    OPTION_STDIN,
    OPTION_CWD,
    OPTION_ENV,
    OPTION_ENV_ALL,
    OPTION_REPORT,
    OPTION_KEEP_OUTPUT,
    OPTION_MEASURE_IO,
    OPTION_LABEL,
    OPTION_TIER,
    OPTION_PROMOTE,
    OPTION_WAIT,
    OPTION_WORKLOAD,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_EXPLAIN,
    OPTION_EXIT_MODE,
    OPTION_NAME,
    OPTION_FILE,
    OPTION_MINIMUM_TIER,
    OPTION_RESERVATION,
    OPTION_PID,
    OPTION_REQUIRE_PRODUCTION,
    OPTION_REASON,
    OPTION_RUNS,
    OPTION_STATE,
    OPTION_DRY_RUN,
    OPTION_ALL,
    OPTION_COUNT
};

enum option_kind {
    KIND_FLAG,
    KIND_SIZE,     /* .number in bytes */
    KIND_COUNT,    /* .number */
    KIND_DURATION, /* .number in ms; OPTION_NONE for "none" */
    KIND_TEXT,     /* .text, never empty */
    KIND_WORD,     /* .number is the index into .words */
};

/* What a shell may offer for a value or an operand. */
enum completion {
    COMPLETE_NOTHING,
    COMPLETE_FILE,
    COMPLETE_FOLDER,
    COMPLETE_WORDS,    /* of .words */
    COMPLETE_LIST,     /* of .words, separated by commas */
    COMPLETE_VARIABLE, /* a name of the environment */
    COMPLETE_RUN,      /* the id of a recorded run, or a file */
    COMPLETE_VERB,
    COMPLETE_COMMAND, /* a command with its own arguments */
};

enum { OPTION_NONE = -1 };

struct option {
    enum option_id id;
    enum option_kind kind;
    const char *name;  /* "--memory" */
    const char *value; /* its value in help: "2G"; NULL for a flag */
    const char *group;
    const char *help;         /* a line */
    const char *more;         /* what a man page adds, or NULL */
    int64_t minimum, maximum; /* of a number */
    const char *const
        *words; /* NULL-terminated; values of KIND_WORD, else what completion offers */
    enum completion completion;
    bool repeatable;
    bool optional_value; /* a flag that takes --name=VALUE too; bare, .text is NULL */
    bool accepts_none;
    bool needed;         /* the verb makes no sense without it */
    const char *alias;   /* a second name: of a flag ("-a"), or of a number, for which it takes a */
    int64_t alias_scale; /* count of this many of the option's unit ("--memory-mib"); or NULL */
};

enum verb_id {
    VERB_RUN,
    VERB_SHOW,
    VERB_ENVELOPE,
    VERB_SELF_TEST,
    VERB_PROMOTIONS,
    VERB_FENCE,
    VERB_VALIDATE_REPORT,
    VERB_CONTEXT,
    VERB_CONFIG,
    VERB_TOOLCHAIN,
    VERB_DAEMON,
    VERB_RECOVER,
    VERB_GC,
    VERB_HELP,
    VERB_VERSION,
    VERB_COUNT
};

struct verb {
    enum verb_id id;
    const char *name;
    const char *operands; /* in the usage line */
    const char *summary;  /* a line */
    const char *about;    /* paragraphs of a man page, separated by '\n' */
    const struct option *options;
    size_t option_count;
    size_t most_operands;       /* not for a verb that takes a command */
    enum completion completion; /* of operands */
    bool takes_command;
};

extern const char *const option_tier_words[]; /* of OPTION_MINIMUM_TIER; NULL-terminated */
extern const struct verb verbs[VERB_COUNT];   /* by id, in the order of help */

struct option_value {
    const char
        *spelled;     /* as it was written ("--memory-mib"), without its value; NULL: not given */
    const char *text; /* as written; NULL: a flag, or no optional value */
    int64_t number;
    struct strvec texts; /* all of a repeatable option */
};

struct options {
    const struct verb *verb;
    struct option_value values[OPTION_COUNT];
    char *const *command; /* NULL-terminated tail of argv; NULL: none */
    struct strvec operands;
    bool help; /* --help was given: show it, check nothing else */
};

int options_parse(char *const *arguments, struct options *ret_options, struct err *err) must_check;
void options_done(struct options *options);
#define with_options cleanup(options_done) struct options

static inline bool options_given(const struct options *options, enum option_id id)
{
    return options->values[id].spelled != NULL;
}

const struct verb *verb_find(const char *name); /* NULL: there is none */
const struct verb *verb_named(const char *name, struct err *err) must_check; /* or ERR_USAGE */
