/* Completion for zsh: one _arguments specification for each option. */
#include "generate.h"

static const char head[] =
    "#compdef berm\n"
    "# Completion of berm(1) for zsh. Made from berm's option tables.\n"
    "\n"
    "_berm_runs() {\n"
    "  local -a ids=(last ${XDG_STATE_HOME:-$HOME/.local/state}/berm/runs/*.json(N:t:r))\n"
    "  compadd -a ids\n"
    "  _files\n"
    "}\n"
    "\n"
    "_berm_variables() {\n"
    "  _parameters -g '*export*'\n"
    "}\n"
    "\n"
    "# Where the command of `berm run` begins, counted from `run`; 0: its options go on.\n"
    "_berm_command_start() {\n"
    "  local -i i=2\n"
    "  REPLY=0\n"
    "  while (( i < CURRENT )); do\n"
    "    if [[ $words[i] == -- ]]; then\n"
    "      REPLY=$(( i + 1 ))\n"
    "      return\n"
    "    elif (( ${_berm_with_value[(Ie)$words[i]]} )); then\n"
    "      (( i += 2 ))\n"
    "    elif [[ $words[i] == -* ]]; then\n"
    "      (( i++ ))\n"
    "    else\n"
    "      REPLY=$i\n"
    "      return\n"
    "    fi\n"
    "  done\n"
    "}\n"
    "\n"
    "_berm() {\n"
    "  local REPLY\n"
    "  local -a verbs=(\n";

/* Inside '...' of an _arguments specification. */
static void add_quoted(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            buf_add_string(out, "'\\''");
        } else {
            if (strchr("[]:\\", *text)) {
                buf_add_char(out, '\\');
            }
            buf_add_char(out, *text);
        }
    }
}

static void add_words(struct buf *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        buf_add_format(out, "%s%s", i > 0 ? " " : "", words[i]);
    }
}

static void add_action(struct buf *out, const struct option *option)
{
    switch (option->completion) {
    case COMPLETE_FILE:
        if (option->words) {
            buf_add_string(out, "{ compadd ");
            add_words(out, option->words);
            buf_add_string(out, "; _files }");
        } else {
            buf_add_string(out, "_files");
        }
        break;
    case COMPLETE_FOLDER:
        buf_add_string(out, "_files -/");
        break;
    case COMPLETE_WORDS:
        buf_add_char(out, '(');
        add_words(out, option->words);
        buf_add_char(out, ')');
        break;
    case COMPLETE_LIST:
        buf_add_string(out, "_values -s , guarantee ");
        add_words(out, option->words);
        break;
    case COMPLETE_VARIABLE:
        buf_add_string(out, "_berm_variables");
        break;
    case COMPLETE_NOTHING:
    case COMPLETE_RUN:
    case COMPLETE_VERB:
    case COMPLETE_COMMAND:
    default:
        buf_add_char(out, ' ');
        break;
    }
}

static void add_option(struct buf *out, const struct generate_name *name)
{
    const struct option *option = name->option;
    buf_add_format(out, "        '%s%s", option->repeatable ? "*" : "", name->name);
    if (option->kind != KIND_FLAG) {
        buf_add_string(out, option->optional_value ? "=-" : "=");
    }
    buf_add_char(out, '[');
    add_quoted(out, option->help);
    buf_add_char(out, ']');
    if (option->kind != KIND_FLAG) {
        buf_add_string(out, option->optional_value ? "::" : ":");
        add_quoted(out, name->is_alias ? "N" : option->value);
        buf_add_char(out, ':');
        add_action(out, option);
    }
    buf_add_string(out, "' \\\n");
}

static void add_operands(struct buf *out, const struct verb *verb)
{
    switch (verb->completion) {
    case COMPLETE_COMMAND:
        buf_add_string(out, "        '(-)1:command: _command_names -e'\n");
        break;
    case COMPLETE_RUN:
        buf_add_string(out, "        '1:run:_berm_runs'\n");
        break;
    case COMPLETE_VERB:
        buf_add_string(out, "        '1:command:{ _describe command verbs }'\n");
        break;
    case COMPLETE_NOTHING:
    case COMPLETE_FILE:
    case COMPLETE_FOLDER:
    case COMPLETE_WORDS:
    case COMPLETE_LIST:
    case COMPLETE_VARIABLE:
    default:
        buf_add_string(out, "        '*: : '\n");
        break;
    }
}

static void add_separate(struct buf *out, const struct generate_name *name)
{
    if (name->takes_word) {
        buf_add_format(out, " %s", name->name);
    }
}

/* Behind the options of the verb stands a command that completes as if it stood alone. */
static void add_command_start(struct buf *out, const struct verb *verb)
{
    buf_add_string(out, "      local -a _berm_with_value=(");
    generate_names(verb, out, add_separate);
    buf_add_string(out, " )\n"
                        "      _berm_command_start\n"
                        "      if (( REPLY )); then\n"
                        "        shift $(( REPLY - 1 )) words\n"
                        "        (( CURRENT -= REPLY - 1 ))\n"
                        "        _normal\n"
                        "        return\n"
                        "      fi\n");
}

void generate_zsh(struct buf *out)
{
    buf_add_string(out, head);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_format(out, "    '%s:", verbs[i].name);
        add_quoted(out, verbs[i].summary);
        buf_add_string(out, "'\n");
    }
    buf_add_string(out, "  )\n"
                        "  if (( CURRENT == 2 )); then\n"
                        "    _describe command verbs\n"
                        "    return\n"
                        "  fi\n"
                        "  local verb=$words[2]\n"
                        "  shift words\n"
                        "  (( CURRENT-- ))\n"
                        "  case $verb in\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_format(out, "    %s)\n", verbs[i].name);
        if (verbs[i].takes_command) {
            add_command_start(out, &verbs[i]);
        }
        buf_add_string(out, "      _arguments -S \\\n");
        generate_names(&verbs[i], out, add_option);
        buf_add_string(out, "        '(- *)--help[show help]' \\\n");
        add_operands(out, &verbs[i]);
        buf_add_string(out, "      ;;\n");
    }
    buf_add_string(out, "  esac\n}\n\n_berm \"$@\"\n");
}
