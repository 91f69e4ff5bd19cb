/* A list of files in the order in which they were named; what one names is added behind. Each is looked at
 * once, and again when it turns out only later that something runs it. The depth of a file is that of the
 * file that named it first, and one more. */
#include "audit-priv.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "program-priv.h"
#include "shebang.h"
#include "text.h"

int audit_refuse(struct audit *audit, enum entrypoint_rule rule, const char *where, struct span saw)
{
    struct entrypoint_verdict *verdict = audit->verdict;
    verdict->rule = rule;
    (void)snprintf(verdict->where, sizeof verdict->where, "%.*s", (int)sizeof verdict->where - 1,
                   where);
    size_t n = saw.n < sizeof verdict->saw - 1 ? saw.n : sizeof verdict->saw - 1;
    memcpy(verdict->saw, saw.p, n);
    verdict->saw[n] = '\0';
    return 1;
}

int audit_refuse_budget(struct audit *audit, const char *where, const char *what, int budget)
{
    char saw[sizeof audit->verdict->saw];
    (void)snprintf(saw, sizeof saw, "more than %d %s", budget, what);
    return audit_refuse(audit, RULE_UNREADABLE, where, span_of_string(saw));
}

int audit_look(struct audit *audit, const char *path, struct buf *text,
               struct entrypoint_look *ret_look, struct err *err)
{
    if (++audit->looks > AUDIT_LOOKS) {
        return audit_refuse_budget(audit, path, "names that may be files", AUDIT_LOOKS);
    }
    return audit->files->look(audit->files->context, path, text, ret_look, err);
}

int audit_add(struct audit *audit, const char *path, unsigned depth)
{
    for (size_t i = 0; i < audit->paths.count; i++) {
        if (strcmp(audit->paths.strings[i], path) == 0) {
            audit->of[i].called |= audit->called;
            return 0;
        }
    }
    if (audit->paths.count == AUDIT_FILES) {
        return audit_refuse_budget(audit, path, "files", AUDIT_FILES);
    }
    if (depth > AUDIT_DEPTH) {
        return audit_refuse_budget(audit, path, "files that name each other in a row", AUDIT_DEPTH);
    }
    audit->of[audit->paths.count] = (struct audit_file){.depth = depth, .called = audit->called};
    strvec_push(&audit->paths, path);
    return 0;
}

static int check_file(struct audit *audit, const char *path, const struct entrypoint_look *look)
{
    char saw[64];
    switch (look->kind) {
    case LOOK_FILE:
        break;
    case LOOK_LINK:
        return audit_refuse(audit, RULE_LINK, path, span_of_string("a symbolic link"));
    case LOOK_NOTHING:
        return audit_refuse(audit, RULE_OUTSIDE, path, span_of_string("no such file"));
    case LOOK_OTHER:
    default:
        return audit_refuse(audit, RULE_OUTSIDE, path, span_of_string("no regular file"));
    }
    if (look->links != 1) {
        (void)snprintf(saw, sizeof saw, "%llu hard links", (unsigned long long)look->links);
        return audit_refuse(audit, RULE_LINK, path, span_of_string(saw));
    }
    return look->shared
               ? audit_refuse(audit, RULE_SHARED, path, span_of_string("others may write it"))
               : 0;
}

static bool is_system_folder(const char *path)
{
    static const char *const folders[] = {"/bin/", "/usr/bin/", "/usr/local/bin/"};
    for (size_t i = 0; i < countof(folders); i++) {
        size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) == 0 && path[n] != '\0' && !strchr(path + n, '/')) {
            return true;
        }
    }
    return false;
}

/* The interpreter of a `#!` line, and what it is told. */
static int check_shebang(struct audit *audit, const char *path, struct span text)
{
    struct shebang shebang;
    shebang_parse(text, &shebang);
    const char *name = shebang_is_env(&shebang) ? shebang_env_name(&shebang) : NULL;
    struct span program = span_of_string(name ? name : shebang.interpreter);
    char where[sizeof audit->verdict->where];
    (void)snprintf(where, sizeof where, "%.180s:1", path);
    bool has_words = shebang_is_env(&shebang) && !name;
    /* Behind `env -S` stands a command line, which may name a client. */
    struct audit_place place = {.path = NULL, .where = where, .named = NAMED_BY_OTHERS};
    struct err err = {0};
    if (has_words && audit_words(audit, &place, span_of_string(shebang.argument), &err) > 0) {
        return 1;
    }
    enum program_class class = program_class(program);
    if (class != PROGRAM_INTERPRETER && class != PROGRAM_UNKNOWN && !has_words) {
        return audit_refuse(audit, program_rule(class), where, program);
    }
    bool harmless = program_option_is_harmless(program, name ? "" : shebang.argument);
    if (class == PROGRAM_UNKNOWN || has_words || !is_system_folder(shebang.interpreter) ||
        (name && strchr(name, '/')) || !harmless) {
        with_buf saw = buf_new(2 * SHEBANG_BYTES);
        buf_add_format(&saw, "#!%s%s%s", shebang.interpreter, *shebang.argument ? " " : "",
                       shebang.argument);
        return audit_refuse(audit, RULE_INTERPRETER, where, buf_span(&saw));
    }
    return 0;
}

static int look_at_command(struct audit *audit, const struct audit_place *place,
                           const json_t *command, struct err *err)
{
    struct span text = span_of(json_string_value(command), json_string_length(command));
    return json_is_string(command)
               ? audit_words(audit, place, text, err)
               : audit_refuse(audit, RULE_UNREADABLE, place->where,
                              span_of_string("neither a text nor a list of texts"));
}

/* A command line, or, of composer, a list of them. */
static int look_at_script(struct audit *audit, const struct audit_place *place,
                          const json_t *script, struct err *err)
{
    if (!json_is_array(script)) {
        return look_at_command(audit, place, script, err);
    }
    int result = 0;
    for (size_t i = 0; i < json_array_size(script) && result == 0; i++) {
        result = look_at_command(audit, place, json_array_get(script, i), err);
    }
    return result;
}

static int look_at_package(struct audit *audit, const char *path, unsigned depth, struct span text,
                           struct err *err)
{
    with_json package = json_read(text, &json_budget_control, NULL);
    json_t *scripts = json_object_get(package, "scripts");
    if (!json_is_object(package) || (scripts && !json_is_object(scripts))) {
        return audit_refuse(audit, RULE_UNREADABLE, path,
                            span_of_string(package ? "no object of scripts" : "no JSON"));
    }
    const char *name;
    json_t *script;
    int result = 0;
    json_object_foreach(scripts, name, script) {
        with_buf where = buf_new(1000);
        buf_add_format(&where, "%.100s: scripts.%.60s", path, name);
        struct audit_place place = {.path = path,
                                    .where = buf_string(&where),
                                    .depth = depth,
                                    .named = NAMED_BY_HASHES}; /* a shell reads it */
        result = look_at_script(audit, &place, script, err);
        if (result != 0) {
            break;
        }
    }
    return result;
}

static bool ends_with_one_of(const char *path, const char *const *ends, size_t count)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(ends[i]);
        if (n >= length && strcmp(path + n - length, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Who reads a file of that name; CALLED_BY_OTHERS: nobody knows. */
static unsigned reader_by_name(const char *path)
{
    static const char *const slashes[] = {
        ".js", ".mjs", ".cjs", ".jsx",   ".ts",    ".mts",  ".tsx",    ".go",    ".java",   ".kt",
        ".cc", ".cpp", ".hpp", ".swift", ".scala", ".dart", ".groovy", ".proto", ".gradle", ".php"};
    static const char *const hashes[] = {
        ".sh",  ".bash",  ".zsh",     ".fish",    ".py",         ".awk",
        ".mk",  ".jl",    ".yml",     ".yaml",    ".toml",       ".ini",
        ".cfg", ".ninja", "makefile", "Makefile", "meson.build", "CMakeLists.txt"};
    return ends_with_one_of(path, slashes, countof(slashes)) ? CALLED_BY_SLASHES
           : ends_with_one_of(path, hashes, countof(hashes)) ? CALLED_BY_HASHES
                                                             : CALLED_BY_OTHERS;
}

/* How a line begins that is a comment alone, whoever reads the file; NULL: none is. What is one in some languages is a
 * command in others. What names a file may read it too, in a way that nobody sees; what may be executed without a `#!`
 * line is read by a shell; and of a name that says nothing only who is seen to run it says something. */
static const char *know_comment(const char *path, const struct audit_file *file, bool executable,
                                struct span text)
{
    struct shebang shebang;
    shebang_parse(text, &shebang);
    const char *name = shebang_env_name(&shebang);
    struct span interpreter = span_of_string(name ? name : shebang.interpreter);
    unsigned readers = file->called & CALLED_BY;
    if (interpreter.n > 0) {
        readers |= audit_reader(interpreter);
    } else {
        unsigned reader = reader_by_name(path);
        readers |= executable ? CALLED_BY_HASHES : 0;
        readers |= readers == 0 || reader != CALLED_BY_OTHERS ? reader : 0;
    }
    readers |= file->called >> NAMED_SHIFT;
    return readers == CALLED_BY_SLASHES ? "//" : readers == CALLED_BY_HASHES ? "#" : NULL;
}

static bool is_package(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strcmp(name, "package.json") == 0 || strcmp(name, "composer.json") == 0;
}

/* There is nothing to be read in it. A script may be called `batch`; a program of such a name is one. */
static int check_compiled(struct audit *audit, size_t index)
{
    struct span path = span_of_string(audit->paths.strings[index]);
    enum entrypoint_rule rule = program_rule(program_class(path));
    bool other = rule == RULE_RUNNER || rule == RULE_WRAPPER;
    return index == 0 && other ? audit_refuse(audit, rule, path.p, path) : 0;
}

/* Of a file that is read to its end. What is read again counts once. */
static int count_bytes(struct audit *audit, size_t index, const struct entrypoint_look *look,
                       struct span text)
{
    const char *path = audit->paths.strings[index];
    audit->bytes += audit->of[index].looked_at ? 0 : text.n;
    if (look->size_bytes > AUDIT_FILE_BYTES) {
        return audit_refuse_budget(audit, path, "bytes of one file", AUDIT_FILE_BYTES);
    }
    return audit->bytes > AUDIT_TOTAL_BYTES
               ? audit_refuse_budget(audit, path, "bytes together", AUDIT_TOTAL_BYTES)
               : 0;
}

/* Bytes that are no text; 0: they can wait for whoever reads them. A shell takes even those for a script that it is told
 * to run, and any program for one that begins with its name. */
static int look_at_bytes(struct audit *audit, size_t index, const struct entrypoint_look *look,
                         struct span text, struct err *err)
{
    const char *path = audit->paths.strings[index];
    if (span_starts_with(text, "\177ELF")) {
        return check_compiled(audit, index);
    }
    if (span_starts_with(text, "#!") || (audit->of[index].called & CALLED) ||
        audit_is_script_name(span_of_string(path))) {
        return audit_refuse(audit, RULE_UNREADABLE, path,
                            span_of_string("a script with zero bytes in it"));
    }
    const struct audit_place place = {
        .path = path, .where = path, .lines = true, .names_only = true};
    if (!look->executable) {
        return 0;
    }
    int result = count_bytes(audit, index, look, text);
    return result != 0 ? result : audit_words(audit, &place, text, err);
}

static int look_at_text(struct audit *audit, size_t index, const struct entrypoint_look *look,
                        struct span text, struct err *err)
{
    const char *path = audit->paths.strings[index];
    struct audit_file *file = &audit->of[index];
    const char *comment = know_comment(path, file, look->executable, text);
    if (file->looked_at && file->comment == comment && !is_package(path)) {
        return 0; /* nothing else is read of it */
    }
    file->comment = comment;
    int result = count_bytes(audit, index, look, text);
    if (result == 0 && is_package(path)) {
        result = look_at_package(audit, path, file->depth, text, err);
        if (result != 0 || !(file->called & CALLED)) {
            return result;
        }
    }
    if (result == 0 && span_starts_with(text, "#!")) {
        result = check_shebang(audit, path, text);
    }
    unsigned named = !comment            ? CALLED_BY_OTHERS
                     : comment[0] == '/' ? CALLED_BY_SLASHES
                                         : CALLED_BY_HASHES;
    const struct audit_place place = {.path = path,
                                      .where = path,
                                      .lines = true,
                                      .depth = file->depth,
                                      .comment = comment,
                                      .named = named << NAMED_SHIFT};
    return result != 0 ? result : audit_words(audit, &place, text, err);
}

/* What a text goes to is forgotten behind it. */
static void begin_text(struct audit *audit)
{
    strvec_done(&audit->folders);
    strvec_done(&audit->searched);
    audit->called = 0;
}

/* What it is called by may become known meanwhile: it may call itself. */
static int look_at_file(struct audit *audit, size_t index, struct err *err)
{
    const char *path = audit->paths.strings[index];
    struct audit_file *file = &audit->of[index];
    file->looked_at_as = file->called;
    with_buf text = buf_new(AUDIT_FILE_BYTES);
    struct entrypoint_look look;
    begin_text(audit);
    int result = audit_look(audit, path, &text, &look, err);
    if (result == 0) {
        result = check_file(audit, path, &look);
    }
    if (result != 0) {
        return result;
    }
    struct span bytes = buf_span(&text);
    result = bytes.n > 0 && memchr(bytes.p, '\0', bytes.n)
                 ? look_at_bytes(audit, index, &look, bytes, err)
                 : look_at_text(audit, index, &look, bytes, err);
    file->looked_at = true;
    return result;
}

/* What was not looked at, or before somebody was seen to run it; count: all was. */
static size_t find_unseen(const struct audit *audit)
{
    size_t i = 0;
    while (i < audit->paths.count && audit->of[i].looked_at &&
           audit->of[i].looked_at_as == audit->of[i].called) {
        i++;
    }
    return i;
}

/* /usr/bin/../bin/sh and its like, and the loader wherever it is. What leads above the top may be any. */
static bool is_system_program(struct span word)
{
    with_buf path = buf_new(4096);
    while (span_starts_with(word, "../")) {
        word = span_of(word.p + 2, word.n - 2); /* as if it began at the top of all */
        word = span_starts_with(word, "/../") ? span_of(word.p + 1, word.n - 1) : word;
    }
    bool inside = audit_join(span_of("", 0), word, &path);
    if (!inside || word.p[0] != '/') {
        return !inside;
    }
    char *leaf = strrchr(buf_string(&path), '/');
    if (!leaf || program_is_loader(word)) {
        return leaf;
    }
    struct span above = span_of(buf_string(&path), (size_t)(leaf - buf_string(&path)));
    const char *folder = memrchr(above.p, '/', above.n);
    folder = folder ? folder + 1 : above.p;
    struct span name = span_of(folder, above.n - (size_t)(folder - above.p));
    return span_equals(name, "bin") || span_equals(name, "sbin");
}

/* An interpreter, and a program or a loader right behind it: another word, or the rest of this one. */
static bool is_told_a_program(struct span word, struct span rest, const char *next)
{
    struct span argument = rest;
    struct span option;
    if (rest.n == 0) {
        argument = span_of_string(next ? next : "");
    }
    while (argument.n > 0 && strchr(" \t'\"", argument.p[0])) {
        argument = span_of(argument.p + 1, argument.n - 1);
    }
    struct span left = argument;
    bool is_option = audit_next_word(&left, &option) && option.p == argument.p;
    with_string text = is_option ? memory_format("%.*s", (int)option.n, option.p)
                                 : memory_format("%.*s", (int)argument.n, argument.p);
    enum entrypoint_rule rule = program_argument_rule(word, text);
    bool looks_so = text[0] == '-' || strcspn(text, "{}();$`") < strlen(text) ||
                    strcspn(argument.p, "{}();$`") < argument.n;
    return looks_so && (rule == RULE_EVAL || rule == RULE_LOADER);
}

/* A repository's own wrapper is given away by what it is to start: a program right behind it or behind "--", one of
 * the system's folders, or an interpreter with its program. */
static int check_wrapped(struct audit *audit, char *const *argv, size_t program)
{
    for (size_t i = program + 1; argv[i]; i++) {
        bool here = (i == program + 1 || strcmp(argv[i - 1], "--") == 0) && argv[i + 1];
        struct span whole = span_of_string(argv[i]);
        struct span rest = whole;
        struct span word;
        while (audit_next_word(&rest, &word)) {
            enum program_class class = program_class(word);
            bool starts = class != PROGRAM_UNKNOWN && class != PROGRAM_CLIENT;
            bool wrapped =
                (here && word.n == whole.n) || is_system_program(word) ||
                (class == PROGRAM_INTERPRETER && is_told_a_program(word, rest, argv[i + 1]));
            if (starts && wrapped) {
                char where[32];
                (void)snprintf(where, sizeof where, "argv[%zu]", i);
                return audit_refuse(audit, RULE_WRAPPER, where, word);
            }
        }
    }
    return 0;
}

/* A host program at the front: an interpreter with a script behind it, and nothing else. */
static int check_host_program(struct audit *audit, char *const *argv)
{
    struct span program = span_of_string(argv[0]);
    enum entrypoint_rule rule = program_rule(program_class(program));
    if (rule != RULE_NONE) {
        return audit_refuse(audit, rule, "argv[0]", program);
    }
    rule = program_argument_rule(program, argv[1]);
    if (rule != RULE_NONE) {
        return audit_refuse(audit, rule, "argv[1]", span_of_string(argv[1] ? argv[1] : argv[0]));
    }
    int result = check_wrapped(audit, argv, 1);
    audit->called = audit_reader(program);
    return result == 0 ? audit_add(audit, argv[1], 0) : result;
}

static int check_front(struct audit *audit, char *const *argv, enum entrypoint_begin begin,
                       struct err *err)
{
    struct span first = span_of_string(argv[0]);
    if (begin == ENTRYPOINT_FILE_OR_INTERPRETER && !strchr(argv[0], '/')) {
        return check_host_program(audit, argv);
    }
    /* A shell wants it, for a file at the top. */
    bool here = begin == ENTRYPOINT_FILE_OR_INTERPRETER && span_starts_with(first, "./");
    const char *path = argv[0] + (here ? 2 : 0);
    if (!form_text_fits(SHAPE_PATH, path)) {
        return audit_refuse(audit, RULE_OUTSIDE, "argv[0]", first);
    }
    /* A copy of one in the repository is one all the same. */
    bool interpreter = program_class(first) == PROGRAM_INTERPRETER;
    if (interpreter) {
        enum entrypoint_rule rule = program_argument_rule(first, argv[1]);
        if (rule != RULE_NONE) {
            return audit_refuse(audit, rule, "argv[1]",
                                span_of_string(argv[1] ? argv[1] : argv[0]));
        }
    }
    int result = check_wrapped(audit, argv, 0);
    result = result == 0 ? audit_add(audit, path, 0) : result;
    const struct audit_place place = {.where = "argv[1]"};
    return result == 0 && interpreter
               ? audit_try_word(audit, &place, span_of_string(argv[1]), audit_reader(first), err)
               : result;
}

static int audit_all(struct audit *audit, char *const *argv, enum entrypoint_begin begin,
                     struct err *err)
{
    int result = check_front(audit, argv, begin, err);
    /* What is no interpreter of the host reads what it likes. */
    bool of_host = begin == ENTRYPOINT_FILE_OR_INTERPRETER && !strchr(argv[0], '/');
    unsigned reader = of_host ? audit_reader(span_of_string(argv[0])) : CALLED_BY_OTHERS;
    unsigned named = reader << NAMED_SHIFT;
    audit->called = 0;
    for (size_t i = 0; argv[i] && result == 0; i++) {
        char where[32];
        (void)snprintf(where, sizeof where, "argv[%zu]", i);
        const struct audit_place place = {.where = where, .named = i > 0 ? named : 0};
        result = audit_words(audit, &place, span_of_string(argv[i]), err);
    }
    for (size_t i = find_unseen(audit); i < audit->paths.count && result == 0;
         i = find_unseen(audit)) {
        result = look_at_file(audit, i, err);
    }
    return result;
}

int entrypoint_audit(char *const *argv, enum entrypoint_begin begin,
                     const struct entrypoint_files *files, struct entrypoint_verdict *ret_verdict,
                     struct err *err)
{
    struct entrypoint_verdict verdict = {0};
    struct audit audit = {.files = files, .verdict = &verdict};
    int result = audit_all(&audit, argv, begin, err);
    strvec_done(&audit.paths);
    begin_text(&audit);
    if (result < 0) {
        return -1;
    }
    *ret_verdict = verdict;
    return 0;
}
