#include "run-priv.h"

#include <string.h>

#include "memory.h"

enum { MANIFEST_BYTES = 1 << 20, NO_WORD = 0 };

static const struct json_budget manifest_budget = {
    .bytes = MANIFEST_BYTES, .depth = 16, .items = 16384, .string_bytes = 64 << 10};

static bool is_digest(const char *text)
{
    return text && strlen(text) == HASH_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == HASH_HEX_SIZE - 1;
}

/* Which word is the value of the option; 0: it is not there. */
static size_t word_of(char *const *argv, const char *flag)
{
    for (size_t i = 1; argv[i]; i++) {
        if (strcmp(argv[i], flag) == 0) {
            return argv[i + 1] ? i + 1 : NO_WORD;
        }
    }
    return NO_WORD;
}

/* Its other members are the project's own. */
static int read_pins(const json_t *manifest, const char *path, struct frozen_sealed *sealed,
                     char digest[HASH_HEX_SIZE], struct err *err)
{
    const char *sha256 = json_string_value(json_object_get(manifest, "sha256"));
    const json_t *bytes = json_object_get(manifest, "bytes");
    if (!is_digest(sha256) || !json_is_integer(bytes) || json_integer_value(bytes) < 0) {
        return err_set(err, ERR_REFUSED,
                       "the manifest '%s' must be an object with \"sha256\", 64 digits 0-9a-f, and "
                       "\"bytes\", a number",
                       path);
    }
    memcpy(digest, sha256, HASH_HEX_SIZE);
    sealed->sha256 = digest;
    sealed->size_bytes = json_integer_value(bytes);
    return 0;
}

static int read_manifest(struct sealed_inputs *inputs, const struct bfs_dir *cwd, const char *path,
                         struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = MANIFEST_BYTES};
    with_buf text = buf_new(MANIFEST_BYTES + 1);
    struct hash hash;
    char hex[HASH_HEX_SIZE];
    if (bfs_read(cwd, path, &rule, &text, NULL, err) < 0) {
        return err_wrap(err, "the manifest of a sealed input");
    }
    with_json manifest = json_read(buf_span(&text), &manifest_budget, err);
    if (!manifest || read_pins(manifest, path, &inputs->list[inputs->count],
                               inputs->digests[inputs->count], err) < 0) {
        return err_wrap(err, "'%s'", path);
    }
    hash_init(&hash);
    hash_add(&hash, buf_span(&text).p, buf_span(&text).n);
    hash_hex(&hash, hex);
    strvec_push(&inputs->manifests, path);
    strvec_push(&inputs->manifests, hex);
    return 0;
}

/* The digest that the command names must be that of the manifest, when there is one. */
static int pin_by_word(const struct project_entrypoint *entrypoint, char *const *argv,
                       const struct project_sealed *sealed, struct frozen_sealed *frozen,
                       struct err *err)
{
    const struct project_sealed *list = entrypoint->sealed.items;
    for (size_t i = 0; i < entrypoint->sealed.count; i++) {
        size_t word = list[i].of && strcmp(list[i].of, sealed->item.name) == 0
                          ? word_of(argv, list[i].flag)
                          : NO_WORD;
        if (word == NO_WORD) {
            continue;
        }
        if (frozen->sha256 && strcmp(frozen->sha256, argv[word]) != 0) {
            return err_set(err, ERR_REFUSED,
                           "%s %s is not the digest that the manifest of '%s' says (%s)",
                           list[i].flag, argv[word], sealed->item.name, frozen->sha256);
        }
        frozen->sha256 = argv[word];
    }
    return 0;
}

int run_sealed_read(const struct project_entrypoint *entrypoint, char *const *argv,
                    const struct bfs_dir *cwd, struct sealed_inputs *ret_inputs, struct err *err)
{
    with_sealed_inputs inputs = {0};
    const struct project_sealed *list = entrypoint->sealed.items;
    BUG_IF(entrypoint->sealed.count > SEALED_COUNT);
    for (size_t i = 0; i < entrypoint->sealed.count; i++) {
        struct frozen_sealed *frozen = &inputs.list[inputs.count];
        if (list[i].of) {
            continue;
        }
        *frozen = (struct frozen_sealed){.argument = word_of(argv, list[i].flag),
                                         .maximum_bytes = (uint64_t)list[i].max_mib << 20,
                                         .executable = list[i].executable,
                                         .size_bytes = -1};
        BUG_IF(frozen->argument == NO_WORD); /* the judge of the entrypoint saw each */
        if ((list[i].manifest && read_manifest(&inputs, cwd, list[i].manifest, err) < 0) ||
            pin_by_word(entrypoint, argv, &list[i], frozen, err) < 0) {
            return -1;
        }
        inputs.count++;
    }
    *ret_inputs = inputs;
    inputs = (struct sealed_inputs){0};
    /* A pin of a manifest stands in the struct itself. */
    for (size_t i = 0; i < ret_inputs->count; i++) {
        bool own = ret_inputs->digests[i][0] != '\0';
        ret_inputs->list[i].sha256 = own ? ret_inputs->digests[i] : ret_inputs->list[i].sha256;
    }
    return 0;
}

void run_sealed_done(struct sealed_inputs *inputs)
{
    if (inputs) {
        strvec_done(&inputs->manifests);
    }
}
