#include "help.h"

#include "span.h"

enum { NAME_COLUMN = 30, VERB_COLUMN = 20 };

/* Words of text from the current column on; a line that is full goes on at the indent. */
static void add_wrapped(struct buf *out, const char *text, size_t column, size_t indent)
{
    bool first = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > HELP_COLUMNS) {
            buf_add_format(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            buf_add_char(out, ' ');
            column++;
        }
        buf_add(out, text, length);
        column += length;
        text += length + strspn(text + length, " ");
        first = false;
    }
    buf_add_char(out, '\n');
}

/* Blanks up to the column, on a line of its own when the line is there already. */
static void go_to_column(struct buf *out, size_t line_start, size_t column)
{
    size_t now = buf_length(out) - line_start;
    if (now + 2 > column) {
        buf_add_char(out, '\n');
        now = 0;
    }
    buf_add_format(out, "%*s", (int)(column - now), "");
}

static void add_option(struct buf *out, const struct option *option)
{
    size_t start = buf_length(out);
    buf_add_format(out, "  %s", option->name);
    if (option->optional_value) {
        buf_add_format(out, "[=%s]", option->value);
    } else if (option->value) {
        buf_add_format(out, " %s", option->value);
    }
    go_to_column(out, start, NAME_COLUMN);

    with_buf text = buf_new(1000);
    buf_add_string(&text, option->help);
    if (option->alias) {
        buf_add_format(&text, " (also %s)", option->alias);
    }
    add_wrapped(out, buf_string(&text), NAME_COLUMN, NAME_COLUMN);
}

static void add_exits(struct buf *out)
{
    buf_add_string(out,
                   "\nexit: COMMAND's own; 120 limit, 124 time, 121 refused, 125 berm failed,\n"
                   " 126/127 not executable/found, 128+n signal. COMMAND may use these too;\n"
                   " the report decides. --exit-mode outcome|bisect\n");
}

void help_verb(const struct verb *verb, struct buf *out)
{
    buf_add_format(out, "usage: berm %s%s%s\n%s\n", verb->name, verb->operands[0] ? " " : "",
                   verb->operands, verb->summary);
    const char *group = "";
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        if (strcmp(group, option->group) != 0) {
            group = option->group;
            buf_add_format(out, "\n%s\n", group);
        }
        add_option(out, option);
    }
    if (verb->takes_command) {
        add_exits(out);
    }
}

void help_overview(struct buf *out)
{
    buf_add_string(out, "usage: berm COMMAND [options]\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        size_t start = buf_length(out);
        buf_add_format(out, "  %s", verbs[i].name);
        go_to_column(out, start, VERB_COLUMN);
        add_wrapped(out, verbs[i].summary, VERB_COLUMN, VERB_COLUMN);
    }
    buf_add_string(out, "Start with: berm run -- COMMAND    All options: berm help -a\n");
}

void help_all(struct buf *out)
{
    help_overview(out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_char(out, '\n');
        help_verb(&verbs[i], out);
    }
}
