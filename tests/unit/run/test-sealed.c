#include "../unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "memory.h"
#include "run-priv.h"

#define DIGEST_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define PINS_A   "{\"sha256\": \"" DIGEST_A "\", \"bytes\": 7, \"note\": [1]}"

static const char text[] =
    "schema: 1\nentrypoint:\n  e:\n    argv: [run]\n    sealed:\n"
    "      model: { flag: --model, manifest: m.json, max_mib: 2, executable: true }\n"
    "      loose: { flag: --loose }\n"
    "      digest: { flag: --digest, of: model }\n"
    "      other: { flag: --other, of: loose }\n";

static struct bfs_dir folder;

static int make_folder(void **state)
{
    char top[] = "/tmp/berm-sealed-XXXXXX";
    assert_non_null(mkdtemp(top));
    return bfs_dir_open(AT_FDCWD, top, BFS_TRUST_ANY, &folder, NULL);
}

static int remove_folder(void **state)
{
    (void)unlinkat(bfs_dir_fd(&folder), "m.json", 0);
    int result = rmdir(folder.path);
    bfs_dir_done(&folder);
    return result;
}

static void write_manifest(const char *bytes, size_t n)
{
    with_fd file =
        fd_adopt(os_openat(bfs_dir_fd(&folder), "m.json", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    assert_int_equal(write(fd_num(&file), bytes, n), n);
}

static int read_sealed(const char *digest, const char *other, struct sealed_inputs *inputs,
                       struct err *err)
{
    with_project project = {0};
    assert_int_equal(project_parse(span_of_string(text), "berm.yaml", &project, NULL), 0);
    with_strvec argv = {0};
    const char *const words[] = {"run",     "--loose", "l",       "--digest", digest,
                                 "--other", other,     "--model", "m"};
    for (size_t i = 0; i < countof(words); i++) {
        strvec_push(&argv, words[i]);
    }
    const struct project_entrypoint *entrypoint = project.entrypoint.items;
    int result = run_sealed_read(entrypoint, strvec_argv(&argv), &folder, inputs, err);
    if (result == 0) { /* what the words say lives as long as the words */
        assert_int_equal(inputs->count, 2);
        assert_string_equal(inputs->list[0].sha256, DIGEST_A);
        assert_string_equal(inputs->list[1].sha256, DIGEST_B);
        assert_ptr_equal(inputs->list[0].sha256, inputs->digests[0]);
    }
    return result;
}

/* SI-1, SI-2, SI-3: which words they are, how large they may be, and what pins them. */
static void what_is_declared_is_what_is_frozen(void **state)
{
    with_sealed_inputs inputs = {0};
    struct err err = {0};
    write_manifest(PINS_A, strlen(PINS_A));
    assert_int_equal(read_sealed(DIGEST_A, DIGEST_B, &inputs, &err), 0);
    const struct frozen_sealed *model = &inputs.list[0];
    assert_int_equal(model->argument, 8);
    assert_int_equal(model->maximum_bytes, 2 << 20);
    assert_int_equal(model->size_bytes, 7);
    assert_true(model->executable);
    assert_int_equal(inputs.list[1].argument, 2);
    assert_int_equal(inputs.list[1].maximum_bytes, 64 << 20);
    assert_int_equal(inputs.list[1].size_bytes, -1);
    assert_int_equal(inputs.manifests.count, 2);
    assert_string_equal(inputs.manifests.strings[0], "m.json");
    assert_int_equal(strlen(inputs.manifests.strings[1]), 64);
}

/* SI-2, SI-3: what is no manifest, is too large, or says another digest than the command, is refused. */
static void a_manifest_is_read_strictly(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "{\"sha256\": \"" DIGEST_A "\"}",
        "{\"sha256\": \"" DIGEST_A "\", \"bytes\": -1}",
        "{\"sha256\": \"" DIGEST_A "\", \"bytes\": \"7\"}",
        "{\"sha256\": \"AA\", \"bytes\": 7}",
        PINS_A "x",
        "{\"sha256\": \"" DIGEST_B "\", \"bytes\": 7}",
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        with_sealed_inputs inputs = {0};
        struct err err = {0};
        write_manifest(wrong[i], strlen(wrong[i]));
        assert_int_equal(read_sealed(DIGEST_A, DIGEST_B, &inputs, &err), -1);
        if (!strstr(err.msg, "m.json") && !strstr(err.msg, "--digest")) {
            fail_msg("%zu: %s", i, err.msg);
        }
    }
    with_sealed_inputs inputs = {0};
    struct err err = {0};
    enum { TOO_MANY = (1 << 20) + 1 };
    with_string blanks = memory_new(TOO_MANY);
    memset(blanks, ' ', TOO_MANY);
    write_manifest(blanks, TOO_MANY);
    assert_int_equal(read_sealed(DIGEST_A, DIGEST_B, &inputs, &err), -1);
    assert_int_equal(err.code, ERR_OVER_BUDGET);
    unlinkat(bfs_dir_fd(&folder), "m.json", 0);
    assert_int_equal(read_sealed(DIGEST_A, DIGEST_B, &inputs, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(symlinkat("/etc/hostname", bfs_dir_fd(&folder), "m.json"), 0);
    assert_int_equal(read_sealed(DIGEST_A, DIGEST_B, &inputs, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_declared_is_what_is_frozen),
        cmocka_unit_test(a_manifest_is_read_strictly),
    };
    return cmocka_run_group_tests_name("run/sealed", tests, make_folder, remove_folder);
}
