#include "snapshot-test.h"

#include "inputs-priv.h"
#include "memory.h"

static const char abc_sha256[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static int read_inputs(const struct bench *bench, char *const *argv,
                       const struct frozen_sealed *sealed, struct frozen_inputs **ret_inputs,
                       struct err *err)
{
    const struct frozen_work work = {
        .argv = argv,
        .cwd = &bench->root,
        .sealed = sealed,
        .sealed_count = sealed ? 1 : 0,
        .runner_build = "build",
    };
    return frozen_read_inputs(&work, &bench->root, ret_inputs, err);
}

static char *outside(const struct bench *bench, const char *name)
{
    return memory_format("%s/%s", bench->place->path, name);
}

/* FZ-2: from the cwd, through links, inside and outside */
static void words_that_name_files_are_inputs(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_frozen_inputs inputs = NULL;
    with_string out = outside(bench, "out");
    put(bench->place, "out", "abc");
    make_folder(bench, "d");
    put_work(bench, "d/in", "in", 0644);
    assert_int_equal(symlinkat("d/in", work_fd(bench), "link"), 0);
    assert_int_equal(mkfifoat(work_fd(bench), "fifo", 0600), 0);
    char *const argv[] = {
        WORD("d/in"),    WORD("--flag"), out, WORD("link"), WORD("d"), WORD(""), WORD("fifo"),
        WORD("in/none"), WORD("d/in/x"), NULL};
    alarm(10);
    assert_ok(read_inputs(bench, argv, NULL, &inputs, &err));
    alarm(0);
    assert_int_equal(inputs->count, 2);
    assert_int_equal(inputs->items[0].argument, 2);
    assert_string_equal(inputs->items[0].path, out);
    assert_string_equal(inputs->items[0].sha256, abc_sha256);
    assert_int_equal(inputs->items[1].argument, 3);
    assert_string_equal(inputs->items[1].path, "d/in");
    const char *const *include = frozen_include(inputs);
    assert_string_equal(include[0], "d/in");
    assert_null(include[1]);
}

/* SI-3: the generic ceiling */
static void file_arguments_have_a_ceiling(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_frozen_inputs inputs = NULL;
    int fd = openat(work_fd(bench), "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, FROZEN_ARGUMENT_BYTES / 2 + 1), 0);
    close(fd);
    char *const one[] = {WORD("x"), WORD("big"), NULL};
    assert_ok(read_inputs(bench, one, NULL, &inputs, &err));
    frozen_inputs_freep(&inputs);
    char *const two[] = {WORD("x"), WORD("big"), WORD("big"), NULL};
    assert_fails(read_inputs(bench, two, NULL, &inputs, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "64 MiB"));
    static char *many[FROZEN_ARGUMENT_FILES + 3];
    put_work(bench, "small", "", 0644);
    many[0] = WORD("x");
    for (size_t i = 1; i <= FROZEN_ARGUMENT_FILES + 1; i++) {
        many[i] = WORD("small");
    }
    assert_fails(read_inputs(bench, many, NULL, &inputs, &err), ERR_OVER_BUDGET);
}

static void what_was_read_outside_is_looked_at_again(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    int64_t ahead = clock_ahead_ns;
    with_string out = outside(bench, "out");
    char *const argv[] = {WORD("x"), out, NULL};
    for (int i = 0; i < 4; i++) {
        with_frozen_inputs inputs = NULL;
        put(bench->place, "out", "abc");
        clock_ahead_ns = i == 3 ? 0 : ahead;
        assert_ok(read_inputs(bench, argv, NULL, &inputs, &err));
        assert_ok(inputs_check(inputs, &err));
        switch (i) {
        case 0:
            put(bench->place, "out", "abd");
            break;
        case 1:
            put(bench->place, "other", "abc");
            assert_int_equal(renameat(bench->place->fd, "other", bench->place->fd, "out"), 0);
            break;
        case 2:
            assert_int_equal(renameat(bench->place->fd, "out", bench->place->fd, "there"), 0);
            assert_int_equal(symlinkat("there", bench->place->fd, "out"), 0);
            break;
        default:
            put(bench->place, "out", "abd");
            facts_tell_nothing = true;
            break;
        }
        assert_fails(inputs_check(inputs, &err), ERR_CHANGED);
        facts_tell_nothing = false;
        assert_int_equal(unlinkat(bench->place->fd, "out", 0), 0);
    }
    clock_ahead_ns = ahead;
}

static int seal(const struct bench *bench, const char *word, struct frozen_sealed sealed,
                struct err *err)
{
    with_frozen_inputs inputs = NULL;
    char *const argv[] = {WORD("x"), WORD(word), NULL};
    sealed.argument = 1;
    if (read_inputs(bench, argv, &sealed, &inputs, err) < 0) {
        return -1;
    }
    assert_int_equal(inputs->count, 1);
    assert_true(inputs->items[0].sealed && inputs->items[0].inside);
    assert_string_equal(inputs->items[0].path, "model");
    assert_string_equal(inputs->items[0].sha256, abc_sha256);
    assert_string_equal(frozen_include(inputs)[0], "model");
    return 0;
}

/* SI-1 SI-2: a physical path of the repository, and what the manifest pins */
static void a_sealed_input_is_what_it_is_said_to_be(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    const struct frozen_sealed any = {.maximum_bytes = 3, .size_bytes = -1};
    put_work(bench, "model", "abc", 0644);
    with_string absolute = memory_format("%s/model", bench->root.path);
    with_string beside = outside(bench, "out");
    put(bench->place, "out", "abc");
    assert_ok(seal(bench, "model", any, &err));
    assert_ok(seal(bench, absolute, any, &err));
    assert_fails(seal(bench, beside, any, &err), ERR_REFUSED);
    assert_fails(seal(bench, "./model", any, &err), ERR_REFUSED);
    assert_fails(seal(bench, "../work/model", any, &err), ERR_REFUSED);
    assert_fails(seal(bench, "none", any, &err), ERR_NOT_FOUND);
    assert_int_equal(symlinkat("model", work_fd(bench), "link"), 0);
    assert_fails(seal(bench, "link", any, &err), ERR_REFUSED);

    struct frozen_sealed pinned = {.maximum_bytes = 3, .size_bytes = 3, .sha256 = abc_sha256};
    assert_ok(seal(bench, "model", pinned, &err));
    pinned.size_bytes = 4;
    assert_fails(seal(bench, "model", pinned, &err), ERR_REFUSED);
    pinned.size_bytes = 3;
    with_string upper = memory_copy_string(abc_sha256);
    upper[0] = 'B';
    pinned.sha256 = upper;
    assert_fails(seal(bench, "model", pinned, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "lowercase"));
    upper[0] = 'c';
    assert_fails(seal(bench, "model", pinned, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, abc_sha256));
}

/* SI-1: the worker must be executable; D6: one hard link; I2: no link on the way */
static void a_sealed_input_is_a_file_of_its_own(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct frozen_sealed sealed = {.maximum_bytes = 3, .size_bytes = -1, .executable = true};
    put_work(bench, "model", "abc", 0655);
    assert_fails(seal(bench, "model", sealed, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "chmod u+x"));
    put_work(bench, "model", "abc", 0700);
    assert_ok(seal(bench, "model", sealed, &err));
    assert_int_equal(linkat(work_fd(bench), "model", work_fd(bench), "second", 0), 0);
    assert_fails(seal(bench, "model", sealed, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(work_fd(bench), "second", 0), 0);
    make_folder(bench, "d");
    put_work(bench, "d/model", "abc", 0700);
    assert_int_equal(symlinkat("d", work_fd(bench), "e"), 0);
    assert_fails(seal(bench, "e/model", sealed, &err), ERR_REFUSED);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(work_fd(bench), "model", 54321, 54321, 0), 0);
        assert_fails(seal(bench, "model", sealed, &err), ERR_REFUSED);
        assert_non_null(strstr(err.msg, "54321"));
    }
}

/* SI-3: the ceiling before the first byte */
static void a_sealed_input_over_its_ceiling_is_not_read(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    int fd = openat(work_fd(bench), "model", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
    close(fd);
    const struct frozen_sealed sealed = {.maximum_bytes = FROZEN_SEALED_BYTES, .size_bytes = -1};
    alarm(20);
    assert_fails(seal(bench, "model", sealed, &err), ERR_OVER_BUDGET);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(words_that_name_files_are_inputs),
        bench_test(file_arguments_have_a_ceiling),
        bench_test(what_was_read_outside_is_looked_at_again),
        bench_test(a_sealed_input_is_what_it_is_said_to_be),
        bench_test(a_sealed_input_is_a_file_of_its_own),
        bench_test(a_sealed_input_over_its_ceiling_is_not_read),
    };
    return cmocka_run_group_tests_name("snapshot/inputs", tests, NULL, NULL);
}
