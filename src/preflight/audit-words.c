/* Every word of a text is compared with the programs and sockets that nothing here may use; a word that names a
 * file of the repository adds that file to what is looked at. Nothing is understood of any language but
 * where a line is a comment alone. */
#include "audit-priv.h"

#include <stdio.h>
#include <string.h>

#include "program-priv.h"

enum { WORD_BYTES = 1024, NAME_BYTES = 255 };

static bool is_word_byte(char c)
{
    static const char others[] = "_./@+-";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || (c != '\0' && strchr(others, c) != NULL);
}

/* The next word of *rest, which goes on behind it. */
static bool next_word(struct span *rest, struct span *ret_word)
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

static bool ends_with(struct span word, const char *suffix)
{
    size_t n = strlen(suffix);
    return word.n > n && memcmp(word.p + word.n - n, suffix, n) == 0;
}

static bool is_script_name(struct span word)
{
    static const char *const suffixes[] = {".sh",  ".bash", ".zsh", ".py", ".js",  ".mjs", ".cjs",
                                           ".ts",  ".mts",  ".rb",  ".pl", ".pm",  ".php", ".lua",
                                           ".tcl", ".awk",  ".mk",  ".jl", ".fish"};
    for (size_t i = 0; i < countof(suffixes); i++) {
        if (ends_with(word, suffixes[i])) {
            return true;
        }
    }
    return false;
}

static bool is_data_name(struct span word)
{
    static const char *const suffixes[] = {
        ".json", ".yaml", ".yml", ".md",  ".txt", ".csv", ".tsv", ".toml", ".lock", ".xml",
        ".html", ".css",  ".svg", ".ini", ".cfg", ".log", ".sql", ".c",    ".h",    ".rs"};
    for (size_t i = 0; i < countof(suffixes); i++) {
        if (ends_with(word, suffixes[i])) {
            return true;
        }
    }
    return false;
}

bool audit_join(struct span folder, struct span path, struct buf *out)
{
    const struct span parts[] = {folder, path};
    for (size_t i = 0; i < countof(parts); i++) {
        struct span rest = parts[i];
        while (rest.n > 0) {
            const char *slash = memchr(rest.p, '/', rest.n);
            size_t n = slash ? (size_t)(slash - rest.p) : rest.n;
            struct span part = span_of(rest.p, n);
            rest = span_of(rest.p + n + (slash != NULL), rest.n - n - (slash != NULL));
            if (span_equals(part, "..")) {
                if (buf_length(out) == 0) {
                    return false;
                }
                const char *last = strrchr(buf_string(out), '/');
                buf_cut(out, last ? (size_t)(last - buf_string(out)) : 0);
            } else if (n > NAME_BYTES) {
                return false;
            } else if (n > 0 && !span_equals(part, ".")) {
                buf_add_string(out, buf_length(out) > 0 ? "/" : "");
                buf_add_span(out, part);
            }
        }
    }
    return buf_length(out) > 0 && buf_fits(out);
}

/* A file that a word may mean. What a command names is looked at when it is a script; what a script names, also
 * when it only may be one. */
static int try_path(struct audit *audit, const struct audit_place *place, struct span folder,
                    struct span word, struct err *err)
{
    with_buf path = buf_new(4 * WORD_BYTES);
    if (!audit_join(folder, word, &path) || memchr(word.p, '\0', word.n)) {
        return 0;
    }
    struct entrypoint_look look;
    int result = audit_look(audit, buf_string(&path), NULL, &look, err);
    if (result != 0 || look.kind == LOOK_NOTHING || look.kind == LOOK_OTHER) {
        return result;
    }
    if (look.kind == LOOK_LINK) {
        return audit_refuse(audit, RULE_LINK, buf_string(&path), span_of_string("a symbolic link"));
    }
    bool script = look.executable || is_script_name(word);
    bool wanted = script || place->all || (place->path && !is_data_name(word));
    return wanted ? audit_add(audit, buf_string(&path), place->depth + 1) : 0;
}

static struct span folder_of(const struct audit_place *place)
{
    const char *slash = place->path ? strrchr(place->path, '/') : NULL;
    return span_of(place->path ? place->path : "", slash ? (size_t)(slash - place->path) : 0);
}

/* Beside the script, and below the top. */
static int try_both(struct audit *audit, const struct audit_place *place, struct span word,
                    struct err *err)
{
    struct span folder = folder_of(place);
    int result = try_path(audit, place, span_of("", 0), word, err);
    return result == 0 && folder.n > 0 ? try_path(audit, place, folder, word, err) : result;
}

static int try_with(struct audit *audit, const struct audit_place *place, struct span word,
                    const char *suffix, struct err *err)
{
    with_buf longer = buf_new(2 * WORD_BYTES);
    buf_add_span(&longer, word);
    buf_add_string(&longer, suffix);
    return try_both(audit, place, buf_span(&longer), err);
}

/* "./lib" of a JavaScript import is lib.js and its kin. */
static int try_modules(struct audit *audit, const struct audit_place *place, struct span word,
                       struct err *err)
{
    static const char *const suffixes[] = {".js", ".mjs", ".cjs", ".ts", "/index.js"};
    int result = 0;
    for (size_t i = 0; i < countof(suffixes) && result == 0; i++) {
        result = try_with(audit, place, word, suffixes[i], err);
    }
    return result;
}

/* "a.b" of a Python import is a/b.py. */
static int try_import(struct audit *audit, const struct audit_place *place, struct span word,
                      struct err *err)
{
    char path[WORD_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < word.n && n < sizeof path; i++) {
        if (word.p[i] != '.' || n > 0) {
            path[n++] = word.p[i] == '.' ? '/' : word.p[i];
        }
    }
    int result = n > 0 ? try_with(audit, place, span_of(path, n), ".py", err) : 0;
    return result == 0 && n > 0 ? try_with(audit, place, span_of(path, n), "/__init__.py", err)
                                : result;
}

static int try_word(struct audit *audit, const struct audit_place *place, struct span word,
                    bool called, struct err *err)
{
    const char *slash = memchr(word.p, '/', word.n);
    if (word.n > WORD_BYTES || (!slash && !called && !is_script_name(word))) {
        return 0;
    }
    int result = word.p[0] == '/' ? 0 : try_both(audit, place, word, err);
    if (result == 0 && slash) { /* behind a variable: $HERE/lib.sh */
        size_t skipped = (size_t)(slash - word.p) + 1;
        struct span tail = span_of(word.p + skipped, word.n - skipped);
        result = tail.n > 0 ? try_both(audit, place, tail, err) : 0;
    }
    if (result == 0 && (span_starts_with(word, "./") || span_starts_with(word, "../"))) {
        result = try_modules(audit, place, word, err);
    }
    return result;
}

/* What a program that reads its scripts from a file of the repository would find. */
static int try_scripts_of(struct audit *audit, const struct audit_place *place, struct span word,
                          struct err *err)
{
    static const char *const makefiles[] = {"Makefile", "makefile", "GNUmakefile"};
    struct audit_place called = *place;
    called.all = true;
    int result = 0;
    if (program_reads_package_json(word)) {
        result = try_both(audit, &called, span_of_string("package.json"), err);
    }
    for (size_t i = 0; i < countof(makefiles) && result == 0 && program_reads_makefile(word); i++) {
        result = try_both(audit, &called, span_of_string(makefiles[i]), err);
    }
    return result;
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

static bool is_comment(struct span line)
{
    size_t at = 0;
    while (at < line.n && (line.p[at] == ' ' || line.p[at] == '\t')) {
        at++;
    }
    struct span rest = span_of(line.p + at, line.n - at);
    return span_starts_with(rest, "#") || span_starts_with(rest, "//");
}

/* The word behind it is a file that it runs. */
static bool calls(struct span word)
{
    return span_equals(word, ".") || span_equals(word, "source") || span_equals(word, "exec") ||
           program_class(word) == PROGRAM_INTERPRETER;
}

static int look_at_line(struct audit *audit, const struct audit_place *place, size_t number,
                        struct span line, struct err *err)
{
    struct span rest = line;
    struct span word;
    bool called = false;
    bool importing = false;
    for (size_t i = 0; next_word(&rest, &word); i++) {
        enum entrypoint_rule rule = program_word_rule(word);
        if (rule != RULE_NONE) {
            return refuse_word(audit, place, number, rule, word);
        }
        importing =
            i == 0 ? place->python && (span_equals(word, "import") || span_equals(word, "from"))
                   : importing;
        int result = try_scripts_of(audit, place, word, err);
        if (result == 0 && importing && i > 0) {
            result = try_import(audit, place, word, err);
        }
        if (result == 0) {
            result = try_word(audit, place, word, called, err);
        }
        if (result != 0) {
            return result;
        }
        called = calls(word);
    }
    return 0;
}

int audit_words(struct audit *audit, const struct audit_place *place, struct span text,
                struct err *err)
{
    size_t number = 1;
    for (size_t start = 0; start < text.n; number++) {
        const char *end = memchr(text.p + start, '\n', text.n - start);
        size_t length = end ? (size_t)(end - text.p) - start : text.n - start;
        struct span line = span_of(text.p + start, length);
        if (!place->lines || !is_comment(line)) {
            int result = look_at_line(audit, place, number, line, err);
            if (result != 0) {
                return result;
            }
        }
        start += length + 1;
    }
    return 0;
}
