/* The list of operations, with any paths: bubblewrap gets exactly the words that the list says, and the
 * launcher a plan that it accepts and that says the same. No path becomes an option or another path. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"
#include "sandbox-priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPERATIONS_MAX = 64 };

/* The next path out of the input: a byte of kind, then text up to a NUL. */
static bool next(const uint8_t **data, size_t *size, unsigned *ret_kind, char **ret_path)
{
    if (*size < 2) {
        return false;
    }
    *ret_kind = **data;
    const char *text = (const char *)*data + 1;
    size_t length = strnlen(text, *size - 1);
    *ret_path = memory_format("/%.*s", (int)length, text);
    size_t used = 1 + length + (length < *size - 1);
    *data += used;
    *size -= used;
    return true;
}

static const char *word(const struct buf *words, size_t *at)
{
    BUG_IF(*at >= buf_length(words));
    const char *text = buf_string(words) + *at;
    *at += strlen(text) + 1;
    return text;
}

/* Behind the fixed options stand the mounts that are left to bubblewrap, and nothing else. */
static void compare_arguments(const struct sandbox *sandbox)
{
    static const char *const options[] = {[MOUNT_READ_ONLY] = "--ro-bind",
                                          [MOUNT_WRITABLE] = "--bind",
                                          [MOUNT_EMPTY] = "--tmpfs",
                                          [MOUNT_FOLDER] = "--dir",
                                          [MOUNT_PROCESSES] = "--proc"};
    with_buf words = buf_new(1 << 20);
    sandbox_render_arguments(sandbox, &words);
    BUG_IF(!buf_fits(&words));
    size_t at = 0;
    while (strcmp(word(&words, &at), "--unshare-net") != 0) {
    }
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        const struct sandbox_mount *one = &sandbox->mounts[i];
        if (one->kind == MOUNT_DEVICES || sandbox_is_bare(sandbox, i)) {
            continue; /* the launcher makes them */
        }
        BUG_IF(strcmp(word(&words, &at), options[one->kind]) != 0);
        BUG_IF(strcmp(word(&words, &at), one->path) != 0);
        bool twice = one->kind == MOUNT_READ_ONLY || one->kind == MOUNT_WRITABLE;
        BUG_IF(twice && strcmp(word(&words, &at), one->path) != 0);
    }
    BUG_IF(at != buf_length(&words));
}

static const char *compare_item(const char *at, const struct buf *text, uint32_t kind,
                                const char *path)
{
    struct launch_item item;
    memcpy(&item, at, sizeof item);
    BUG_IF(item.kind != kind || item.path >= buf_length(text));
    BUG_IF(strcmp(buf_string(text) + item.path, path) != 0);
    return at + sizeof item;
}

/* The rules, then the places that are hidden as a whole, and nothing else. */
static void compare_items(const struct sandbox *sandbox)
{
    with_buf items = buf_new(1 << 20);
    with_buf text = buf_new(1 << 20);
    sandbox_render_items(sandbox, &items, &text);
    const char *at = buf_string(&items);
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        at = compare_item(at, &text, (uint32_t)sandbox->rules[i].kind, sandbox->rules[i].path);
    }
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        if (sandbox_is_bare(sandbox, i)) {
            at = compare_item(at, &text, LAUNCH_MASK, sandbox->mounts[i].path);
        }
    }
    BUG_IF(at != buf_string(&items) + buf_length(&items));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sandbox *sandbox = memory_new(sizeof *sandbox);
    unsigned kind;
    char *path;
    for (int i = 0; i < OPERATIONS_MAX && next(&data, &size, &kind, &path); i++) {
        sandbox_add_mount(sandbox, kind % MOUNT_KIND_COUNT, path, "fuzz");
        sandbox_add_rule(sandbox, kind % LAUNCH_KIND_COUNT, path, NULL, "fuzz");
        memory_free(path);
    }
    compare_arguments(sandbox);
    compare_items(sandbox);
    sandbox_free(sandbox);
    return 0;
}
