/* Man pages, berm(1) and one for each verb that has more to say than its help, in man(7). */
#include "exits.h"
#include "generate.h"

#ifndef BERM_VERSION
#error "the build names the version"
#endif

static const char date[] = "2026-11-29"; /* of the last change of the pages; set at a release */

struct entry {
    const char *term;
    const char *text;
};

static const struct entry run_exits[] = {
#define X(code, meaning) {code, meaning},
    RUN_EXITS(X)
#undef X
};

static const struct entry verb_exits[] = {
#define X(code, meaning) {code, meaning},
    VERB_EXITS(X)
#undef X
};

static const struct entry files[] = {
    {"$XDG_STATE_HOME/berm/runs/ID.json",
     "The record of a run (berm.run/v1), mode 0600. Without XDG_STATE_HOME it lies below "
     "~/.local/state. berm gc says how many stay."},
    {"$XDG_STATE_HOME/berm/runs/ID.stdout, ID.stderr",
     "Its output, as it was written, with --keep-output."},
    {"FILE.before-ID", "A file that stood at --report FILE and was no report."},
};

static const struct entry variables[] = {
    {"XDG_STATE_HOME, HOME", "where the records lie"},
    {"NO_COLOR", "when set to anything, no colours"},
    {"TERM", "when it is dumb, no live line and no colours"},
    {"PATH", "where COMMAND is searched for"},
};

/* Text without a meaning for roff. */
static void add_text(struct buf *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '-') {
            buf_add_string(out, "\\-");
        } else if (*p == '\\') {
            buf_add_string(out, "\\e");
        } else if (*p == '\'') {
            buf_add_string(out, "\\(aq");
        } else if (p == text && *p == '.') {
            buf_add_string(out, "\\&.");
        } else if (*p == '~') {
            buf_add_string(out, "\\(ti");
        } else {
            buf_add_char(out, *p);
        }
    }
}

static void add_font(struct buf *out, char font, const char *text)
{
    buf_add_format(out, "\\f%c", font);
    add_text(out, text);
    buf_add_string(out, "\\fR");
}

static void add_line(struct buf *out, const char *text)
{
    add_text(out, text);
    buf_add_char(out, '\n');
}

/* Each sentence begins a line, as roff wants it, and no line is longer than mandoc's lint likes. */
static void add_sentences(struct buf *out, const char *text)
{
    enum { LINE = 70 };
    with_buf line = buf_new(4000);
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        bool full = buf_length(&line) > 0 && buf_length(&line) + length > LINE;
        bool ended = buf_length(&line) > 0 && buf_string(&line)[buf_length(&line) - 1] == '.';
        if (full || ended) {
            add_line(out, buf_string(&line));
            buf_clear(&line);
        } else if (buf_length(&line) > 0) {
            buf_add_char(&line, ' ');
        }
        buf_add(&line, text, length);
        text += length + strspn(text + length, " ");
    }
    add_line(out, buf_string(&line));
}

static void add_paragraphs(struct buf *out, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        with_buf paragraph = buf_new(4000);
        buf_add(&paragraph, text, length);
        add_sentences(out, buf_string(&paragraph));
        text += length;
        if (*text == '\n') {
            text++;
            buf_add_string(out, ".PP\n");
        }
    }
}

static void add_title(struct buf *out, const char *name, const char *summary)
{
    buf_add_string(out, ".\\\" Made from berm's option tables.\n.TH ");
    for (const char *p = name; *p != '\0'; p++) {
        char upper = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
        buf_add_format(out, *p == '-' ? "\\-" : "%c", upper);
    }
    buf_add_format(out, " 1 %s \"berm %s\" \"User Commands\"\n.SH NAME\n", date, BERM_VERSION);
    add_text(out, name);
    buf_add_string(out, " \\- ");
    add_line(out, summary);
}

static void add_entries(struct buf *out, const char *section, const struct entry *entries,
                        size_t count, char font)
{
    buf_add_format(out, ".SH %s\n", section);
    for (size_t i = 0; i < count; i++) {
        buf_add_string(out, ".TP\n");
        add_font(out, font, entries[i].term);
        buf_add_char(out, '\n');
        add_sentences(out, entries[i].text);
    }
}

static void add_option(struct buf *out, const struct option *option)
{
    buf_add_string(out, ".TP\n");
    add_font(out, 'B', option->name);
    if (option->value) {
        buf_add_string(out, option->optional_value ? "[=" : " ");
        add_font(out, 'I', option->value);
        buf_add_string(out, option->optional_value ? "]" : "");
    }
    if (option->alias) {
        buf_add_string(out, ", ");
        add_font(out, 'B', option->alias);
        if (option->kind != KIND_FLAG) {
            buf_add_char(out, ' ');
            add_font(out, 'I', "N");
        }
    }
    buf_add_char(out, '\n');
    char first = option->help[0];
    with_buf sentence = buf_new(4000);
    buf_add_char(&sentence, first >= 'a' && first <= 'z' ? (char)(first - 'a' + 'A') : first);
    buf_add_format(&sentence, "%s.", option->help + 1);
    if (option->more) {
        buf_add_format(&sentence, " %s", option->more);
    }
    add_sentences(out, buf_string(&sentence));
}

static void add_options(struct buf *out, const struct verb *verb)
{
    buf_add_string(out, ".SH OPTIONS\n");
    const char *group = "";
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        if (strcmp(group, option->group) != 0 && verb->takes_command) {
            group = option->group;
            buf_add_format(out, ".SS %s\n", group);
        }
        add_option(out, option);
    }
    if (verb->takes_command) {
        buf_add_string(out, ".PP\nSizes are 1024\\-based: 2G, 512M, 64K or a number of bytes.\n"
                            "Durations have a unit: 500ms, 30s, 2m, 1h or 1d.\n");
    }
}

static void add_see_also(struct buf *out, const struct verb *verb)
{
    buf_add_string(out, ".SH SEE ALSO\n");
    bool first = true;
    if (verb) {
        buf_add_string(out, ".BR berm (1)");
        first = false;
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (generate_has_page(&verbs[i]) && &verbs[i] != verb) {
            buf_add_format(out, "%s.BR berm\\-", first ? "" : ",\n");
            add_text(out, verbs[i].name);
            buf_add_string(out, " (1)");
            first = false;
        }
    }
    buf_add_char(out, '\n');
}

static void add_verb_page(struct buf *out, const struct verb *verb)
{
    with_buf name = buf_new(100);
    buf_add_format(&name, "berm-%s", verb->name);
    add_title(out, buf_string(&name), verb->summary);
    buf_add_string(out, ".SH SYNOPSIS\n.B berm ");
    add_line(out, verb->name);
    add_line(out, verb->operands);
    buf_add_string(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, verb->about);
    if (verb->option_count > 0) {
        add_options(out, verb);
    }
    if (verb->takes_command) {
        add_entries(out, "EXIT STATUS", run_exits, countof(run_exits), 'B');
        buf_add_string(out, ".PP\nCOMMAND may use these codes too; the report decides.\n");
        add_entries(out, "FILES", files, countof(files), 'I');
        add_entries(out, "ENVIRONMENT", variables, countof(variables), 'B');
    } else {
        add_entries(out, "EXIT STATUS", verb_exits, countof(verb_exits), 'B');
    }
    add_see_also(out, verb);
}

static void add_main_page(struct buf *out)
{
    add_title(out, "berm", "run heavy or untrusted commands within limits, and report truthfully");
    buf_add_string(out, ".SH SYNOPSIS\n.B berm\n.I command\n[options]\n.SH DESCRIPTION\n");
    add_paragraphs(out,
                   "berm runs a command, measures it, stops it at limits, ends everything that it "
                   "started and writes a report that can be trusted.\n"
                   "Results go to standard output, one JSON object with --json; words and progress "
                   "go to standard error, each line beginning with berm:.");
    buf_add_string(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < VERB_COUNT; i++) {
        buf_add_string(out, ".TP\n");
        add_font(out, 'B', verbs[i].name);
        if (verbs[i].operands[0] != '\0') {
            buf_add_char(out, ' ');
            add_text(out, verbs[i].operands);
        }
        buf_add_char(out, '\n');
        add_line(out, verbs[i].summary);
    }
    buf_add_string(out, ".SH EXIT STATUS\n.B berm run\nanswers as its own page says; "
                        "the other commands:\n");
    for (size_t i = 0; i < countof(verb_exits); i++) {
        buf_add_string(out, ".TP\n");
        add_font(out, 'B', verb_exits[i].term);
        buf_add_char(out, '\n');
        add_line(out, verb_exits[i].text);
    }
    add_entries(out, "FILES", files, countof(files), 'I');
    add_entries(out, "ENVIRONMENT", variables, countof(variables), 'B');
    add_see_also(out, NULL);
}

bool generate_has_page(const struct verb *verb)
{
    return verb->about != NULL;
}

void generate_man(const struct verb *verb, struct buf *out)
{
    if (verb) {
        BUG_IF(!generate_has_page(verb));
        add_verb_page(out, verb);
    } else {
        add_main_page(out);
    }
}
