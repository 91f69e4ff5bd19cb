/* Completion for fish. Options are offered until the command of `berm run` begins. */
#include "generate.h"

static const char head[] =
    "# Completion of berm(1) for fish. Made from berm's option tables.\n"
    "\n"
    "# Where the command of `berm run` begins among the words up to the cursor; 0: an option "
    "wants\n"
    "# its value there.\n"
    "function __berm_command_start\n"
    "    set -l i 0\n"
    "    set -l skip 0\n"
    "    for word in (commandline -opc)\n"
    "        set i (math $i + 1)\n"
    "        if test $i -lt 3\n"
    "            continue\n"
    "        else if test $skip = 1\n"
    "            set skip 0\n"
    "        else if test $word = --\n"
    "            math $i + 1\n"
    "            return\n"
    "        else if contains -- $word $__berm_with_value\n"
    "            set skip 1\n"
    "        else if not string match -q -- '-*' $word\n"
    "            echo $i\n"
    "            return\n"
    "        end\n"
    "    end\n"
    "    test $skip = 1; and echo 0; or math $i + 1\n"
    "end\n"
    "\n"
    "# True while the words behind `berm VERB` are berm's own.\n"
    "function __berm_options_of\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -ge 2; and test $words[2] = $argv[1]; or return 1\n"
    "    test $argv[1] = run; or return 0\n"
    "    contains -- -- $words; and return 1\n"
    "    set -l start (__berm_command_start)\n"
    "    test $start = 0; or test $start -gt (count $words)\n"
    "end\n"
    "\n"
    "# The command that berm runs completes as if it stood alone.\n"
    "function __berm_command\n"
    "    set -l words (commandline -opc)\n"
    "    set -l start (__berm_command_start)\n"
    "    test $start = 0; and return\n"
    "    set -l before\n"
    "    if test $start -le (count $words)\n"
    "        set before (string escape -- $words[$start..-1])\n"
    "    end\n"
    "    complete --do-complete=(string join ' ' -- $before (commandline -ct))\n"
    "end\n"
    "\n"
    "function __berm_runs\n"
    "    set -l state $XDG_STATE_HOME\n"
    "    test -n \"$state\"; or set state ~/.local/state\n"
    "    echo last\n"
    "    for record in $state/berm/runs/*.json\n"
    "        string replace -r '.*/(.*)\\\\.json$' '$1' -- $record\n"
    "    end\n"
    "end\n"
    "\n";

/* Inside '...': fish knows \' and \\ there. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            buf_add_char(out, '\\');
        }
        buf_add_char(out, *text);
    }
    buf_add_char(out, '\'');
}

static void add_words(struct buf *out, const char *const *words)
{
    buf_add_string(out, " -a '");
    for (size_t i = 0; words[i]; i++) {
        buf_add_format(out, "%s%s", i > 0 ? " " : "", words[i]);
    }
    buf_add_char(out, '\'');
}

static void add_separate(struct buf *out, const struct generate_name *name)
{
    if (name->takes_word) {
        buf_add_format(out, " %s", name->name);
    }
}

static void add_value(struct buf *out, const struct option *option)
{
    switch (option->completion) {
    case COMPLETE_FILE:
        buf_add_string(out, " -r -F");
        break;
    case COMPLETE_FOLDER:
        buf_add_string(out, " -x -a '(__fish_complete_directories)'");
        break;
    case COMPLETE_VARIABLE:
        buf_add_string(out, " -x -a '(set -nx)'");
        break;
    case COMPLETE_NOTHING:
    case COMPLETE_WORDS:
    case COMPLETE_LIST:
    case COMPLETE_RUN:
    case COMPLETE_VERB:
    case COMPLETE_COMMAND:
    default:
        buf_add_string(out, " -x");
        break;
    }
    if (option->words) {
        add_words(out, option->words);
    }
}

static void add_option(struct buf *out, const struct generate_name *name)
{
    const struct option *option = name->option;
    bool is_short = name->name[1] != '-';
    buf_add_format(out, "complete -c berm -n '__berm_options_of %s' -%c %s", name->verb->name,
                   is_short ? 's' : 'l', name->name + (is_short ? 1 : 2));
    if (option->kind != KIND_FLAG && !option->optional_value) {
        if (name->is_alias) {
            buf_add_string(out, " -x");
        } else {
            add_value(out, option);
        }
    }
    buf_add_string(out, " -d ");
    add_quoted(out, option->help);
    buf_add_char(out, '\n');
}

static void add_operands(struct buf *out, const struct verb *verb)
{
    const char *name = verb->name;
    switch (verb->completion) {
    case COMPLETE_COMMAND:
        buf_add_format(out,
                       "complete -c berm -n '__fish_seen_subcommand_from %s' -x -a "
                       "'(__berm_command)'\n",
                       name);
        break;
    case COMPLETE_RUN:
        buf_add_format(out, "complete -c berm -n '__berm_options_of %s' -F -a '(__berm_runs)'\n",
                       name);
        break;
    case COMPLETE_VERB:
        buf_add_format(out, "complete -c berm -n '__berm_options_of %s' -a '", name);
        for (size_t i = 0; i < VERB_COUNT; i++) {
            buf_add_format(out, "%s%s", i > 0 ? " " : "", verbs[i].name);
        }
        buf_add_string(out, "'\n");
        break;
    case COMPLETE_NOTHING:
    case COMPLETE_FILE:
    case COMPLETE_FOLDER:
    case COMPLETE_WORDS:
    case COMPLETE_LIST:
    case COMPLETE_VARIABLE:
    default:
        break;
    }
}

void generate_fish(struct buf *out)
{
    buf_add_string(out, head);
    buf_add_string(out, "set -g __berm_with_value");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        generate_names(&verbs[i], out, add_separate);
    }
    buf_add_string(out, "\n\ncomplete -c berm -f\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_format(out, "complete -c berm -n __fish_use_subcommand -a %s -d ", verbs[i].name);
        add_quoted(out, verbs[i].summary);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        generate_names(&verbs[i], out, add_option);
        add_operands(out, &verbs[i]);
    }
}
