/* Every word of a text is compared with the programs and sockets that nothing here may use; a word that names a
 * file of the repository adds that file to what is looked at (audit-paths.c). Nothing is understood of any language
 * but where a line is a comment alone, and even that only of a line that executes nothing wherever it stands. */
#include "audit-priv.h"

#include <stdio.h>
#include <string.h>

#include "program-priv.h"

static bool is_word_byte(char c)
{
    static const char others[] = "_./@+-";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c != '\0' && strchr(others, c) != NULL);
}

bool audit_next_word(struct span *rest, struct span *ret_word)
{
    size_t start = 0;
    while (start < rest->n && !is_word_byte(rest->p[start])) {
        start++;
    }
    size_t end = start;
    while (end < rest->n && is_word_byte(rest->p[end])) {
        end++;
    }
    *ret_word = span_of(rest->p + start, end - start);
    *rest = span_of(rest->p + end, rest->n - end);
    while (ret_word->n > 1 && ret_word->p[ret_word->n - 1] == '.') {
        ret_word->n--; /* the end of a sentence */
    }
    return ret_word->n > 0;
}

static int refuse_word(struct audit *audit, const struct audit_place *place, size_t line,
                       enum entrypoint_rule rule, struct span word)
{
    char where[sizeof audit->verdict->where];
    if (place->lines) {
        (void)snprintf(where, sizeof where, "%.180s:%zu", place->where, line);
    } else {
        (void)snprintf(where, sizeof where, "%.180s", place->where);
    }
    return audit_refuse(audit, rule, where, word);
}

/* Nothing that ends a comment, or a quote from a line before, or begins a command: a carriage return ends a line of
 * Python and JavaScript, and so does U+2028; ?> ends the comments of PHP. */
static bool is_words_alone(struct span line)
{
    static const char others[] = " \t_.,:-/#!";
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (c == '\0' || !strchr(others, c))) {
            return false;
        }
    }
    return true;
}

/* The next line goes on with it, and is no comment, whatever it begins with; $ is that of ninja. */
static bool goes_on(struct span line)
{
    return line.n > 0 && (line.p[line.n - 1] == '\\' || line.p[line.n - 1] == '$');
}

static bool is_comment(const struct audit_place *place, struct span line)
{
    size_t at = 0;
    if (!place->comment || !is_words_alone(line)) {
        return false;
    }
    while (at < line.n && (line.p[at] == ' ' || line.p[at] == '\t')) {
        at++;
    }
    struct span rest = span_of(line.p + at, line.n - at);
    return span_starts_with(rest, place->comment);
}

static bool is_one_of(struct span word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (span_equals(word, list[i])) {
            return true;
        }
    }
    return false;
}

unsigned audit_reader(struct span interpreter)
{
    static const unsigned readers[] = {
        [COMMENTS_NONE] = CALLED_BY_OTHERS,
        [COMMENTS_HASHES] = CALLED_BY_HASHES,
        [COMMENTS_SLASHES] = CALLED_BY_SLASHES,
    };
    return readers[program_comments(interpreter)];
}

/* CALLED_*: the word behind it is a file that it runs. What a text includes is of its own language. */
static unsigned caller(const struct audit_place *place, struct span word)
{
    static const char *const shell[] = {".", "source"};
    static const char *const same[] = {"include", "-include", "sinclude"};
    if (program_class(word) == PROGRAM_INTERPRETER) {
        return audit_reader(word);
    }
    if (is_one_of(word, same, countof(same))) {
        return place->named >> NAMED_SHIFT;
    }
    return span_equals(word, "exec")                ? CALLED_AS_ITSELF
           : is_one_of(word, shell, countof(shell)) ? CALLED_BY_HASHES
                                                    : 0;
}

/* The words behind it may be modules; the ordinary words of them only where a line begins. */
static enum audit_import imports(struct span word, bool first)
{
    static const char *const python[] = {"import", "from"};
    static const char *const begin[] = {"use", "load"};
    static const char *const others[] = {"require", "require_relative", "autoload", "dofile"};
    if (span_equals(word, "-m") || (first && is_one_of(word, python, countof(python)))) {
        return IMPORT_PYTHON;
    }
    return is_one_of(word, others, countof(others)) ||
                   (first && is_one_of(word, begin, countof(begin)))
               ? IMPORT_OTHERS
               : IMPORT_NOTHING;
}

/* Files are looked for in the folders that are named behind it. */
static bool goes_to(struct span before, struct span word)
{
    static const char *const words[] = {"cd",       "pushd",      "chdir",    "cwd",
                                        "-C",       "--cwd",      "--dir",    "--directory",
                                        "--prefix", "PYTHONPATH", "LUA_PATH", "NODE_PATH",
                                        "PERL5LIB", "RUBYLIB",    "LOAD_PATH"};
    return is_one_of(word, words, countof(words)) || span_starts_with(word, "sys.path") ||
           (span_equals(before, "use") && span_equals(word, "lib"));
}

struct line_state {
    unsigned called; /* CALLED_*: the last word runs the file behind it */
    enum audit_import import;
    struct span module; /* "Deep" of "Deep::Part", to be gone on with */
};

/* "Deep::Part" is Deep/Part. */
static int try_module(struct audit *audit, const struct audit_place *place, struct span word,
                      struct line_state *state, struct err *err)
{
    const char *behind = state->module.p ? state->module.p + state->module.n : NULL;
    bool goes_on = behind && word.p == behind + 2 && memcmp(behind, "::", 2) == 0;
    state->module = goes_on ? span_of(state->module.p, state->module.n + 2 + word.n) : word;
    return audit_try_module(audit, place, state->module, state->import, err);
}

/* "-mpkg.run" of Python and "-MDeep" of Perl: what stands right behind the letter. */
static int try_option(struct audit *audit, const struct audit_place *place, struct span word,
                      struct line_state *state, struct err *err)
{
    struct span behind = span_of(word.p + 2, word.n - 2);
    if (word.p[1] == 'm') {
        return audit_try_module(audit, place, behind, IMPORT_PYTHON, err);
    }
    if (word.p[1] == 'M') {
        state->import = IMPORT_OTHERS;
        return try_module(audit, place, behind, state, err);
    }
    return 0;
}

/* What names the file that it stands in: node "$0" of a shell's script reads it another way. Behind a caller stands
 * something in front of it. */
static bool is_itself(const struct audit_place *place, struct span word)
{
    static const char *const names[] = {"BASH_SOURCE", "__FILE__", "__file__", "__filename"};
    bool zero = span_equals(word, "0") && (word.p[-1] == '$' || word.p[-1] == '{');
    return place->path && place->lines && (zero || is_one_of(word, names, countof(names)));
}

static int look_at_word(struct audit *audit, const struct audit_place *place, struct span word,
                        struct line_state *state, struct err *err)
{
    int result = audit_try_scripts_of(audit, place, word, err);
    if (result == 0 && word.n > 2 && word.p[0] == '-') {
        result = try_option(audit, place, word, state, err);
    } else if (result == 0 && state->import != IMPORT_NOTHING) {
        result = try_module(audit, place, word, state, err);
    }
    if (result == 0 && state->called && is_itself(place, word)) {
        audit->called = state->called;
        return audit_add(audit, place->path, place->depth);
    }
    return result == 0 ? audit_try_word(audit, place, word, state->called, err) : result;
}

static int look_at_line(struct audit *audit, const struct audit_place *place, size_t number,
                        struct span line, struct err *err)
{
    struct span rest = line;
    struct span word;
    struct line_state state = {0};
    for (bool first = true; audit_next_word(&rest, &word); first = false) {
        enum entrypoint_rule rule = program_word_rule(word);
        if (rule != RULE_NONE) {
            return refuse_word(audit, place, number, rule, word);
        }
        int result = place->names_only ? 0 : look_at_word(audit, place, word, &state, err);
        if (result != 0) {
            return result;
        }
        enum audit_import import = imports(word, first);
        state.import = import != IMPORT_NOTHING ? import : state.import;
        /* Options may stand between an interpreter and its script. */
        unsigned called = caller(place, word);
        state.called = called ? called : word.p[0] == '-' ? state.called : 0;
    }
    return 0;
}

/* Folders may be named behind what is found in them; so they come first. */
static int find_folders(struct audit *audit, const struct audit_place *place, size_t number,
                        struct span line, struct err *err)
{
    struct span rest = line;
    struct span word;
    struct span before = {0};
    bool going = false;
    bool searching = false;
    (void)number; /* what is refused here is told by its own path */
    for (int result = 0; audit_next_word(&rest, &word);) {
        if (word.n > 2 && (span_starts_with(word, "-C") || span_starts_with(word, "-I"))) {
            struct span behind = span_of(word.p + 2, word.n - 2);
            result = audit_try_folder(audit, place, behind, false, err);
        } else if (going || searching) {
            result = audit_try_folder(audit, place, word, searching, err);
        }
        if (result != 0) {
            return result;
        }
        going = going || goes_to(before, word);
        searching = searching || span_equals(word, "PATH");
        before = word;
    }
    return 0;
}

static int each_line(struct audit *audit, const struct audit_place *place, struct span text,
                     int (*look)(struct audit *, const struct audit_place *, size_t, struct span,
                                 struct err *),
                     struct err *err)
{
    size_t number = 1;
    int result = 0;
    bool behind = false;
    for (size_t start = 0; start < text.n && result == 0; number++) {
        const char *end = memchr(text.p + start, '\n', text.n - start);
        size_t length = end ? (size_t)(end - text.p) - start : text.n - start;
        struct span line = span_of(text.p + start, length);
        result = !behind && is_comment(place, line) ? 0 : look(audit, place, number, line, err);
        behind = goes_on(line);
        start += length + 1;
    }
    return result;
}

int audit_words(struct audit *audit, const struct audit_place *place, struct span text,
                struct err *err)
{
    int result = place->names_only ? 0 : each_line(audit, place, text, find_folders, err);
    return result == 0 ? each_line(audit, place, text, look_at_line, err) : result;
}
