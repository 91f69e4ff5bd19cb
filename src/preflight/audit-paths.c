/* Which files of the repository a word may mean: below its top, beside the text that it stands in, and in the folders
 * that this text goes to. Those are kept for one text at a time, in `audit`. */
#include "audit-priv.h"

#include <string.h>

#include "program-priv.h"

enum { WORD_BYTES = 4096, NAME_BYTES = 255 };

static bool ends_with(struct span word, const char *suffix)
{
    size_t n = strlen(suffix);
    return word.n > n && memcmp(word.p + word.n - n, suffix, n) == 0;
}

bool audit_is_script_name(struct span word)
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
    bool script = look.executable || audit_is_script_name(word);
    bool wanted =
        script || place->all || (audit->called & CALLED) || (place->path && !is_data_name(word));
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

/* Beside the script, below the top, and where it goes to. */
static int try_everywhere(struct audit *audit, const struct audit_place *place, struct span word,
                          struct err *err)
{
    int result = try_both(audit, place, word, err);
    for (size_t i = 0; i < audit->folders.count && result == 0; i++) {
        result = try_path(audit, place, span_of_string(audit->folders.strings[i]), word, err);
    }
    return result;
}

static int try_with(struct audit *audit, const struct audit_place *place, struct span word,
                    const char *suffix, struct err *err)
{
    with_buf longer = buf_new(2 * WORD_BYTES);
    buf_add_span(&longer, word);
    buf_add_string(&longer, suffix);
    return try_everywhere(audit, place, buf_span(&longer), err);
}

static int try_suffixes(struct audit *audit, const struct audit_place *place, struct span word,
                        const char *const *suffixes, size_t count, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = try_with(audit, place, word, suffixes[i], err);
    }
    return result;
}

int audit_try_module(struct audit *audit, const struct audit_place *place, struct span word,
                     enum audit_import import, struct err *err)
{
    static const char *const python[] = {".py", "/__init__.py", "/__main__.py"};
    static const char *const others[] = {".rb", ".pm", ".lua"};
    char path[WORD_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < word.n && n < sizeof path; i++) {
        bool between = word.p[i] == '.' || word.p[i] == ':';
        if (!between || (n > 0 && path[n - 1] != '/')) {
            path[n++] = between ? '/' : word.p[i];
        }
    }
    if (n == 0) {
        return 0;
    }
    audit->called = 0; /* whoever names it, its own language reads it */
    return import == IMPORT_PYTHON
               ? try_suffixes(audit, place, span_of(path, n), python, countof(python), err)
               : try_suffixes(audit, place, span_of(path, n), others, countof(others), err);
}

int audit_try_word(struct audit *audit, const struct audit_place *place, struct span word,
                   unsigned called, struct err *err)
{
    /* "./lib" of a JavaScript import is lib.js and its kin. */
    static const char *const script[] = {".js", ".mjs", ".cjs", ".ts", "/index.js"};
    const char *slash = memchr(word.p, '/', word.n);
    int result = 0;
    if (word.n > WORD_BYTES) {
        return 0;
    }
    audit->called = called ? called : place->named;
    /* Of a text most words are none; of a command every one may be a file. */
    if (!slash && !called && place->path && !audit_is_script_name(word)) {
        for (size_t i = 0; i < audit->searched.count && result == 0; i++) {
            struct span folder = span_of_string(audit->searched.strings[i]);
            result = try_path(audit, place, folder, word, err);
        }
        return result;
    }
    result = word.p[0] == '/' ? 0 : try_everywhere(audit, place, word, err);
    if (result == 0 && slash) { /* behind a variable: $HERE/lib.sh */
        size_t skipped = (size_t)(slash - word.p) + 1;
        struct span tail = span_of(word.p + skipped, word.n - skipped);
        result = tail.n > 0 ? try_everywhere(audit, place, tail, err) : 0;
    }
    if (result == 0 && (span_starts_with(word, "./") || span_starts_with(word, "../"))) {
        result = try_suffixes(audit, place, word, script, countof(script), err);
    }
    return result;
}

/* --- folders ---------------------------------------------------------------------------------- */

int audit_try_scripts_of(struct audit *audit, const struct audit_place *place, struct span word,
                         struct err *err)
{
    const char *names = program_reads(word);
    struct audit_place all = *place;
    int result = 0;
    all.all = true;
    audit->called = 0;
    while (names && *names && result == 0) {
        struct span name = span_of(names, strcspn(names, " "));
        result = try_everywhere(audit, &all, name, err);
        names += name.n + (names[name.n] == ' ');
    }
    return result;
}

static int add_folder(struct audit *audit, const struct audit_place *place, struct strvec *list,
                      const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->strings[i], path) == 0) {
            return 0;
        }
    }
    if (list->count == AUDIT_FOLDERS) {
        return audit_refuse_budget(audit, place->where, "folders of one text", AUDIT_FOLDERS);
    }
    strvec_push(list, path);
    return 0;
}

static int try_folder(struct audit *audit, const struct audit_place *place, struct strvec *list,
                      struct span folder, struct span word, struct err *err)
{
    with_buf path = buf_new(4 * WORD_BYTES);
    struct entrypoint_look look;
    if (!audit_join(folder, word, &path) || memchr(word.p, '\0', word.n)) {
        return 0;
    }
    int result = audit_look(audit, buf_string(&path), NULL, &look, err);
    if (result != 0 || look.kind == LOOK_NOTHING || look.kind == LOOK_FILE) {
        return result;
    }
    if (look.kind == LOOK_LINK) {
        return audit_refuse(audit, RULE_LINK, buf_string(&path), span_of_string("a symbolic link"));
    }
    return add_folder(audit, place, list, buf_string(&path));
}

int audit_try_folder(struct audit *audit, const struct audit_place *place, struct span word,
                     bool searched, struct err *err)
{
    struct strvec *list = searched ? &audit->searched : &audit->folders;
    const char *slash = memchr(word.p, '/', word.n);
    size_t skipped = slash ? (size_t)(slash - word.p) + 1 : 0;
    const struct span words[] = {word, span_of(word.p + skipped, word.n - skipped)};
    int result = 0;
    if (word.n > WORD_BYTES) {
        return 0;
    }
    /* The second is what is behind a variable: $HERE/lib. */
    for (size_t i = word.p[0] == '/'; i < 1 + (slash != NULL) && result == 0; i++) {
        result = try_folder(audit, place, list, span_of("", 0), words[i], err);
        if (result == 0 && folder_of(place).n > 0) {
            result = try_folder(audit, place, list, folder_of(place), words[i], err);
        }
    }
    return result;
}
