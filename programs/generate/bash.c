/* Completion for bash, with or without the bash-completion package. What is fixed stands in the two
 * texts; what depends on the tables lies between them as cases on "VERB:OPTION". */
#include "generate.h"

static const char head[] =
    "# Completion of berm(1) for bash. Made from berm's option tables.\n"
    "\n"
    "# What compgen found, a line each; no process is left running, as <( ) would.\n"
    "_berm_offer() { [[ -n $1 ]] && mapfile -t COMPREPLY <<< \"$1\"; }\n"
    "\n"
    "# Each completes $1, out of the words of $2 where there are some.\n"
    "_berm_words() { _berm_offer \"$(compgen -W \"$2\" -- \"$1\")\"; }\n"
    "_berm_variables() { _berm_offer \"$(compgen -e -- \"$1\")\"; }\n"
    "\n"
    "_berm_files()\n"
    "{\n"
    "    compopt -o filenames\n"
    "    _berm_offer \"$(compgen -W \"$2\" -- \"$1\"; compgen -f -- \"$1\")\"\n"
    "}\n"
    "\n"
    "_berm_folders()\n"
    "{\n"
    "    compopt -o filenames\n"
    "    _berm_offer \"$(compgen -d -- \"$1\")\"\n"
    "}\n"
    "\n"
    "# Words separated by commas: only the last is completed.\n"
    "_berm_list()\n"
    "{\n"
    "    local before=\n"
    "    [[ $1 == *,* ]] && before=${1%,*},\n"
    "    _berm_offer \"$(compgen -P \"$before\" -W \"$2\" -- \"${1##*,}\")\"\n"
    "}\n"
    "\n"
    "_berm_runs()\n"
    "{\n"
    "    local record ids=last\n"
    "    for record in \"${XDG_STATE_HOME:-$HOME/.local/state}\"/berm/runs/*.json; do\n"
    "        record=${record##*/}\n"
    "        [[ $record != '*.json' ]] && ids+=\" ${record%.json}\"\n"
    "    done\n"
    "    _berm_files \"$1\" \"$ids\"\n"
    "}\n"
    "\n"
    "# The command that berm runs begins at word $1: it completes as if it stood alone.\n"
    "_berm_command()\n"
    "{\n"
    "    if declare -F _command_offset > /dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    elif ((COMP_CWORD == $1)); then\n"
    "        compopt -o filenames\n"
    "        _berm_offer \"$(compgen -c -- \"$2\")\"\n"
    "    else\n"
    "        _berm_files \"$2\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_berm()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} option= i=2\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD < 2)); then\n";

static const char walk[] =
    "        return\n"
    "    fi\n"
    "    # What does the cursor stand in? With = among the word breaks, --a=b is three words.\n"
    "    while ((i < COMP_CWORD)); do\n"
    "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
    "            if [[ $verb == run ]]; then\n"
    "                _berm_command $((i + 1)) \"$cur\"\n"
    "                return\n"
    "            fi\n"
    "            break\n"
    "        elif [[ ${COMP_WORDS[i]} == -* && ${COMP_WORDS[i + 1]} == = ]]; then\n"
    "            ((COMP_CWORD <= i + 2)) && option=${COMP_WORDS[i]}\n"
    "            i=$((i + 3))\n"
    "        elif [[ ${COMP_WORDS[i]} == -* ]]; then\n"
    "            case $verb:${COMP_WORDS[i]} in\n";

static const char walk_end[] =
    "                ((COMP_CWORD == i + 1)) && option=${COMP_WORDS[i]}\n"
    "                i=$((i + 2))\n"
    "                ;;\n"
    "            *) i=$((i + 1)) ;;\n"
    "            esac\n"
    "        elif [[ $verb == run ]]; then\n"
    "            _berm_command \"$i\" \"$cur\"\n"
    "            return\n"
    "        else\n"
    "            i=$((i + 1))\n"
    "        fi\n"
    "    done\n"
    "    if [[ -n $option ]]; then\n"
    "        [[ $cur == = ]] && cur=\n"
    "        case $verb:$option in\n";

static const char options_head[] = "        esac\n"
                                   "        return\n"
                                   "    fi\n"
                                   "    if [[ $cur == -* ]]; then\n"
                                   "        case $verb in\n";

static const char operands_head[] = "        esac\n"
                                    "        return\n"
                                    "    fi\n"
                                    "    case $verb in\n";

static const char tail[] = "    esac\n"
                           "}\n"
                           "\n"
                           "complete -F _berm berm\n";

static const char between[] = " | ";

static void add_separate(struct buf *out, const struct generate_name *name)
{
    if (name->takes_word) {
        buf_add_format(out, "%s:%s%s", name->verb->name, name->name, between);
    }
}

static void add_words(struct buf *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        buf_add_format(out, "%s%s", i > 0 ? " " : "", words[i]);
    }
}

static void add_value(struct buf *out, const struct generate_name *name)
{
    static const char *const functions[] = {
        [COMPLETE_NOTHING] = NULL,  [COMPLETE_FILE] = "files", [COMPLETE_FOLDER] = "folders",
        [COMPLETE_WORDS] = "words", [COMPLETE_LIST] = "list",  [COMPLETE_VARIABLE] = "variables",
        [COMPLETE_RUN] = "runs",    [COMPLETE_VERB] = NULL,    [COMPLETE_COMMAND] = NULL,
    };
    const struct option *option = name->option;
    const char *function = functions[option->completion];
    if (option->kind == KIND_FLAG || name->is_alias || !function) {
        return;
    }
    buf_add_format(out, "            %s:%s) _berm_%s \"$cur\"", name->verb->name, name->name,
                   function);
    if (option->words) {
        buf_add_string(out, " \"");
        add_words(out, option->words);
        buf_add_char(out, '"');
    }
    buf_add_string(out, " ;;\n");
}

static void add_name(struct buf *out, const struct generate_name *name)
{
    buf_add_format(out, "%s ", name->name);
}

static void add_verb_names(struct buf *out)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_format(out, "%s ", verbs[i].name);
    }
}

static void add_operands(struct buf *out, const struct verb *verb)
{
    switch (verb->completion) {
    case COMPLETE_RUN:
        buf_add_format(out, "        %s) _berm_runs \"$cur\" ;;\n", verb->name);
        break;
    case COMPLETE_COMMAND:
        buf_add_format(out, "        %s) _berm_command \"$COMP_CWORD\" \"$cur\" ;;\n", verb->name);
        break;
    case COMPLETE_VERB:
        buf_add_format(out, "        %s) _berm_words \"$cur\" \"", verb->name);
        add_verb_names(out);
        buf_add_string(out, "\" ;;\n");
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

void generate_bash(struct buf *out)
{
    buf_add_string(out, head);
    buf_add_string(out, "        _berm_words \"$cur\" \"");
    add_verb_names(out);
    buf_add_string(out, "--help --version\"\n");
    buf_add_string(out, walk);
    buf_add_string(out, "            ");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        generate_names(&verbs[i], out, add_separate);
    }
    buf_cut(out, buf_length(out) - (sizeof between - 1));
    buf_add_string(out, ")\n");
    buf_add_string(out, walk_end);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        generate_names(&verbs[i], out, add_value);
    }
    buf_add_string(out, options_head);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_format(out, "            %s) _berm_words \"$cur\" \"", verbs[i].name);
        generate_names(&verbs[i], out, add_name);
        buf_add_string(out, "--help\" ;;\n");
    }
    buf_add_string(out, operands_head);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        add_operands(out, &verbs[i]);
    }
    buf_add_string(out, tail);
}
