/* What a repository says of itself comes from anybody: an index or a file of ignore patterns is read within its
 * bounds, and a pattern takes no longer than its budget. The first byte chooses. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "git-index-priv.h"
#include "ignore-priv.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_index(struct span bytes)
{
    with_paths paths = {0};
    if (git_index_parse(bytes, &paths, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < paths.count; i++) {
        BUG_IF(!paths_has(&paths, paths.items[i]));
    }
}

/* The text up to a NUL, asked about the paths behind it. */
static void check_patterns(const char *text, const char *end)
{
    struct err err = {0};
    struct wildcard_budget budget = {.steps = 1 << 16};
    with_ignore rules = {0};
    with_buf patterns = buf_new(1 << 20);
    buf_add_string(&patterns, text);
    if (ignore_parse(&patterns, "", NULL, &rules, &err) < 0) {
        return;
    }
    for (const char *path = text + strlen(text) + 1; path < end; path += strlen(path) + 1) {
        bool file = ignore_ask(&rules, path, false, &budget);
        uint64_t left = budget.steps;
        bool directory = ignore_ask(&rules, path, true, &budget);
        BUG_IF(budget.steps > left);
        (void)(file && directory);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    with_string copy = memory_new(size + 1);
    memcpy(copy, data, size);
    if (data[0] & 1) {
        check_index(span_of(copy + 1, size - 1));
    } else {
        check_patterns(copy + 1, copy + size);
    }
    return 0;
}
