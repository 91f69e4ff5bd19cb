#include "frozen.h"

#include <string.h>

#include "encoding-priv.h"
#include "inputs-priv.h"

/* What lies in the repository is named from its root, so that a clone elsewhere is the same work. */
static void encode_place(struct encoding *encoding, const struct frozen_inputs *inputs,
                         const char *path)
{
    bool is_root = strcmp(path, inputs->root_path) == 0;
    const char *relative = is_root ? "" : inputs_relative(inputs, path);
    encoding_number(encoding, relative != NULL);
    encoding_string(encoding, relative ? relative : path);
}

/* A file of the repository must be in the snapshot, and, when it was hashed before, be there as it was hashed. */
static int check_inside(const struct snapshot *snapshot, const char *path, const char *sha256,
                        struct err *err)
{
    bool executable = false;
    const char *held = snapshot_file(snapshot, path, &executable);
    if (!held) {
        return err_set(err, ERR_NOT_FOUND, "'%s' is not in the snapshot", path);
    }
    if (sha256[0] != '\0' && strcmp(held, sha256) != 0) {
        return err_set(err, ERR_CHANGED, "'%s' changed between its check and the snapshot", path);
    }
    return 0;
}

static int encode_programs(struct encoding *encoding, const struct frozen_work *work,
                           const struct frozen_inputs *inputs, const struct snapshot *snapshot,
                           struct err *err)
{
    encoding_number(encoding, work->program_count);
    for (size_t i = 0; i < work->program_count; i++) {
        const struct frozen_program *program = &work->programs[i];
        const char *relative = inputs_relative(inputs, program->path);
        if (relative && check_inside(snapshot, relative, program->sha256, err) < 0) {
            return -1;
        }
        encode_place(encoding, inputs, program->path);
        encoding_string(encoding, program->sha256);
    }
    return 0;
}

static void encode_words(struct encoding *encoding, char *const *words, size_t first)
{
    size_t count = 0;
    while (words && words[count]) {
        count++;
    }
    encoding_number(encoding, count);
    for (size_t i = first; i < count; i++) {
        encoding_string(encoding, words[i]);
    }
}

static int encode_inputs(struct encoding *encoding, const struct frozen_inputs *inputs,
                         const struct snapshot *snapshot, struct err *err)
{
    encoding_number(encoding, inputs->count);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct input *input = &inputs->items[i];
        if (input->inside && check_inside(snapshot, input->path, input->sha256, err) < 0) {
            return -1;
        }
        encoding_number(encoding, input->argument);
        encoding_number(encoding, input->sealed);
        encoding_string(encoding, input->inside ? input->path : NULL);
        encoding_string(encoding, input->sha256);
    }
    return 0;
}

int frozen_identity(const struct frozen_work *work, const struct frozen_inputs *inputs,
                    const struct snapshot *snapshot, char digest[HASH_HEX_SIZE], struct err *err)
{
    struct encoding encoding;
    encoding_init(&encoding, "berm.frozen/1");
    encoding_string(&encoding, work->runner_build);
    encoding_string(&encoding, work->workload);
    encoding_string(&encoding, work->toolchain);
    encoding_string(&encoding, snapshot_digest(snapshot));
    encode_place(&encoding, inputs, work->cwd->path);
    encode_words(&encoding, work->argv, 1);
    encode_words(&encoding, work->environment, 0);
    if (encode_programs(&encoding, work, inputs, snapshot, err) < 0 ||
        encode_inputs(&encoding, inputs, snapshot, err) < 0) {
        return -1;
    }
    encoding_hex(&encoding, digest);
    return 0;
}

int frozen_check(const struct frozen_inputs *inputs, const struct snapshot *snapshot,
                 struct err *err)
{
    return inputs_check(inputs, err) < 0 || snapshot_check_source(snapshot, err) < 0
               ? -1
               : snapshot_check_tree(snapshot, err);
}
