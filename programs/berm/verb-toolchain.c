#include <fcntl.h>

#include "archive.h"
#include "clock.h"
#include "form.h"
#include "memory.h"
#include "process.h"
#include "say.h"
#include "text.h"
#include "toolchain.h"
#include "units.h"
#include "verb.h"

enum { WORDS_BYTES = 1 << 20 };

static int open_state(struct bfs_dir *ret_state, struct err *err)
{
    with_string path = archive_state_folder(os_environment_all(), err);
    return path ? bfs_dir_make(AT_FDCWD, path, 0700, BFS_TRUST_OWN, ret_state, err) : -1;
}

static void add_words(struct buf *out, const struct toolchain_facts *facts)
{
    buf_add_format(out, "%-16s ", facts->name);
    text_neutralise(out, span_of_string(facts->source));
    buf_add_format(out, " (%lld entries, ", (long long)facts->entries);
    units_add_bytes(out, facts->bytes);
    buf_add_format(out, ")\n  sha256         %s\n", facts->digest);
}

/* The last part of a path, where that can be a name. */
static int choose_name(const struct options *options, const char *path, char **ret_name,
                       struct err *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    with_string whole = memory_format("%.*s", (int)n, path);
    const char *slash = strrchr(whole, '/');
    const char *given = options->values[OPTION_NAME].text;
    const char *name = given ? given : slash ? slash + 1 : whole;
    if (!form_text_fits(SHAPE_NAME, name)) {
        return err_set(err, ERR_USAGE,
                       "'%s' can be no name of a toolchain: give one with --name, of 1 to 64 "
                       "letters, digits and . _ -, the first a letter or digit",
                       name);
    }
    *ret_name = memory_copy_string(name);
    return 0;
}

static int stage(const struct options *options, struct err *err)
{
    with_bfs_dir state = {0};
    with_string name = NULL;
    with_toolchain_facts facts = {0};
    if (options->operands.count != 2) {
        return err_set(err, ERR_USAGE, "toolchain stage: say which folder, and no more");
    }
    const char *path = options->operands.strings[1];
    if (choose_name(options, path, &name, err) < 0 || open_state(&state, err) < 0 ||
        toolchain_stage(&state, path, name, os_clock_real.realtime_ns(), &facts, err) < 0) {
        return -1;
    }
    if (options_given(options, OPTION_JSON)) {
        with_json json = record_encode(&toolchain_record, &facts);
        return say_json(json, err);
    }
    with_buf text = buf_new(WORDS_BYTES);
    add_words(&text, &facts);
    buf_add_format(&text, "  berm.yaml      toolchain: %s\n", facts.name);
    return say_result(&text, err);
}

static int list(const struct options *options, struct err *err)
{
    with_bfs_dir state = {0};
    with_strvec names = {0};
    with_json all = json_array();
    with_buf text = buf_new(WORDS_BYTES);
    if (options->operands.count != 1) {
        return err_set(err, ERR_USAGE, "toolchain list takes nothing more: '%s'",
                       options->operands.strings[1]);
    }
    int there = archive_open_state(os_environment_all(), &state, err);
    if (there < 0 || (there > 0 && toolchain_names(&state, &names, err) < 0)) {
        return -1;
    }
    for (size_t i = 0; i < names.count; i++) {
        with_toolchain_facts facts = {0};
        if (toolchain_read(&state, names.strings[i], &facts, err) < 0) {
            return -1;
        }
        json_array_append_new(all, record_encode(&toolchain_record, &facts));
        add_words(&text, &facts);
    }
    if (options_given(options, OPTION_JSON)) {
        with_json json = json_object();
        json_object_set(json, "toolchains", all);
        return say_json(json, err);
    }
    return say_result(&text, err);
}

int verb_toolchain(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    const char *what = options->operands.count > 0 ? options->operands.strings[0] : "";
    if (strcmp(what, "stage") == 0) {
        return stage(options, err);
    }
    if (strcmp(what, "list") == 0) {
        return list(options, err);
    }
    return err_set(err, ERR_USAGE,
                   "toolchain %s: there are toolchain stage DIR, and toolchain list", what);
}
