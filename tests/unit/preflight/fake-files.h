/* fake-files.h
 *
 * A repository that is a table, for tests of the audit.
 */
#pragma once

#include "../unit.h"

#include "entrypoint.h"

struct fake_file {
    const char *path;
    const char *text; /* NULL: a compiled program */
    size_t n;         /* of the text; 0: up to its first NUL */
    enum entrypoint_kind kind;
    uint64_t links;
    bool plain; /* not executable */
    bool shared;
    int64_t size_bytes; /* 0: that of the text */
};

struct fake_files {
    const struct fake_file *list;
    size_t count;
    size_t looks;
};

static inline int fake_look(void *context, const char *path, struct buf *text,
                            struct entrypoint_look *ret_look, struct err *err)
{
    static const char compiled[] = "\177ELF\0\0\0 docker";
    struct fake_files *files = context;
    files->looks++;
    *ret_look = (struct entrypoint_look){0};
    for (size_t i = 0; i < files->count; i++) {
        const struct fake_file *file = &files->list[i];
        if (strcmp(file->path, path) != 0) {
            continue;
        }
        size_t n = !file->text ? sizeof compiled : file->n ? file->n : strlen(file->text);
        *ret_look = (struct entrypoint_look){
            .kind = file->kind ? file->kind : LOOK_FILE,
            .links = file->links ? file->links : 1,
            .executable = !file->plain,
            .shared = file->shared,
            .size_bytes = file->size_bytes ? file->size_bytes : (int64_t)n,
        };
        if (text && ret_look->kind == LOOK_FILE) {
            buf_add(text, file->text ? file->text : compiled, n);
        }
    }
    return 0;
}

#define FAKE(...)                                                                                  \
    (&(struct fake_files){(const struct fake_file[]){__VA_ARGS__},                                 \
                          countof(((const struct fake_file[]){__VA_ARGS__})), 0})
#define ARGV(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

static inline struct entrypoint_verdict audited(char *const *argv, enum entrypoint_begin begin,
                                                struct fake_files *fake)
{
    const struct entrypoint_files files = {fake_look, fake};
    struct entrypoint_verdict verdict = {0};
    struct err err = {0};
    assert_int_equal(entrypoint_audit(argv, begin, &files, &verdict, &err), 0);
    return verdict;
}

/* `wanted` is "WHERE: SAW" or a part of it. */
static inline void assert_verdict(struct entrypoint_verdict verdict, enum entrypoint_rule rule,
                                  const char *wanted)
{
    with_buf got = buf_new(1000);
    buf_add_format(&got, "%s: %s", verdict.where, verdict.saw);
    if (verdict.rule != rule || !strstr(buf_string(&got), wanted)) {
        fail_msg("rule %d, '%s' instead of %d, '%s'", (int)verdict.rule, buf_string(&got),
                 (int)rule, wanted);
    }
}
