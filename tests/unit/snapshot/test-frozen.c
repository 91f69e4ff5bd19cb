#include "snapshot-test.h"

#include "frozen.h"
#include "memory.h"

static const char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char digest_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/* A piece of work that can be varied: /usr/bin/tool data OUTSIDE, in the repository. */
struct piece {
    struct bench *bench;
    char *argv[6];
    struct frozen_program programs[2];
    struct frozen_sealed sealed;
    struct frozen_work work;
    char *outside;
};

static void piece_done(struct piece *piece)
{
    memory_free(piece->outside);
}

static void piece_make(struct piece *piece, struct bench *bench)
{
    *piece = (struct piece){.bench = bench};
    piece->outside = memory_format("%s/out", bench->place->path);
    put(bench->place, "out", "outside");
    put_work(bench, "data", "inside", 0644);
    piece->argv[0] = WORD("tool");
    piece->argv[1] = WORD("data");
    piece->argv[2] = piece->outside;
    piece->programs[0] = (struct frozen_program){"/usr/bin/tool", digest_a};
    piece->work = (struct frozen_work){
        .argv = piece->argv,
        .programs = piece->programs,
        .program_count = 1,
        .cwd = &bench->root,
        .runner_build = digest_a,
        .workload = "w",
    };
}

static int identity(const struct piece *piece, char digest[HASH_HEX_SIZE], struct err *err)
{
    with_frozen_inputs inputs = NULL;
    with_snapshot snapshot = NULL;
    if (frozen_read_inputs(&piece->work, &piece->bench->root, &inputs, err) < 0) {
        return -1;
    }
    const struct snapshot_request request = {.root = &piece->bench->root,
                                             .state = &piece->bench->state,
                                             .limits = SNAPSHOT_LIMITS,
                                             .include = frozen_include(inputs)};
    return snapshot_take(&request, &snapshot, err) < 0
               ? -1
               : frozen_identity(&piece->work, inputs, snapshot, digest, err);
}

/* FZ-2: each part counts */
static void every_part_of_the_work_is_in_the_identity(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct piece piece cleanup(piece_done) = {0};
    char seen[14][HASH_HEX_SIZE];
    size_t count = 0;
    with_bfs_dir below = {0};
    piece_make(&piece, bench);
    make_folder(bench, ".git/b");
    assert_ok(bfs_dir_open_beneath(&bench->root, ".git/b", &below, &err));
    const struct frozen_work was = piece.work;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work.runner_build = digest_b;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work = was;
    piece.work.workload = NULL;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work.workload = "";
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work = was;
    piece.work.toolchain = digest_b;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work = was;
    piece.work.environment = (char *[]){WORD("A=1"), NULL};
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work = was;
    piece.work.cwd = &below;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work = was;
    piece.argv[3] = WORD("--more");
    assert_ok(identity(&piece, seen[count++], &err));
    piece.argv[3] = NULL;
    piece.programs[0].sha256 = digest_b;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.programs[0] = (struct frozen_program){"/usr/bin/other", digest_a};
    assert_ok(identity(&piece, seen[count++], &err));
    piece.programs[0].path = "/usr/bin/tool";
    piece.programs[1] = (struct frozen_program){"/bin/sh", digest_a};
    piece.work.program_count = 2;
    assert_ok(identity(&piece, seen[count++], &err));
    piece.work = was;
    put(bench->place, "out", "other bytes");
    assert_ok(identity(&piece, seen[count++], &err));
    put(bench->place, "out", "outside");
    put_work(bench, "data", "INSIDE", 0644);
    assert_ok(identity(&piece, seen[count++], &err));
    put_work(bench, "data", "inside", 0644);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(seen[i], seen[j]);
        }
    }
    /* How the program was called is not what it is; and all is as it was. */
    piece.argv[0] = WORD("./tool");
    char again[HASH_HEX_SIZE];
    assert_ok(identity(&piece, again, &err));
    assert_string_equal(again, seen[0]);
}

/* FZ-2: what is in the repository is named from its root; an ignored program of it is a part of the snapshot */
static void a_program_of_the_repository_is_the_snapshots(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct piece piece cleanup(piece_done) = {0};
    char digest[HASH_HEX_SIZE];
    piece_make(&piece, bench);
    put_work(bench, ".gitignore", "tool\n", 0644);
    put_work(bench, "tool", "abc", 0755);
    with_string path = memory_format("%s/tool", bench->root.path);
    piece.programs[0] = (struct frozen_program){
        path, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
    assert_ok(identity(&piece, digest, &err));
    piece.programs[0].sha256 = digest_a; /* what was bound is not what the snapshot holds */
    assert_fails(identity(&piece, digest, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "tool"));
}

/* SI-4: the copied bytes are those that preflight saw */
static void a_sealed_input_that_changed_before_the_snapshot_is_refused(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct piece piece cleanup(piece_done) = {0};
    char digest[HASH_HEX_SIZE];
    piece_make(&piece, bench);
    piece.sealed = (struct frozen_sealed){.argument = 1, .maximum_bytes = 100, .size_bytes = -1};
    piece.work.sealed = &piece.sealed;
    piece.work.sealed_count = 1;
    assert_ok(identity(&piece, digest, &err));

    with_frozen_inputs inputs = NULL;
    with_snapshot snapshot = NULL;
    assert_ok(frozen_read_inputs(&piece.work, &bench->root, &inputs, &err));
    put_work(bench, "data", "INSIDE", 0644);
    assert_ok(take(bench, &snapshot, &err));
    assert_fails(frozen_identity(&piece.work, inputs, snapshot, digest, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "data"));
}

/* FZ-1 */
static void what_changed_since_is_told_before_the_release(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct piece piece cleanup(piece_done) = {0};
    for (int i = 0; i < 3; i++) {
        with_frozen_inputs inputs = NULL;
        with_snapshot snapshot = NULL;
        piece_done(&piece);
        piece_make(&piece, bench);
        assert_ok(frozen_read_inputs(&piece.work, &bench->root, &inputs, &err));
        assert_ok(take(bench, &snapshot, &err));
        assert_ok(frozen_check(inputs, snapshot, &err));
        switch (i) {
        case 0:
            put(bench->place, "out", "OUTSIDE");
            break;
        case 1:
            put_work(bench, "data", "INSIDE", 0644);
            break;
        default:
            assert_int_equal(unlinkat(snapshot_tree_fd(snapshot), "data", 0), 0);
            break;
        }
        assert_fails(frozen_check(inputs, snapshot, &err), ERR_CHANGED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(every_part_of_the_work_is_in_the_identity),
        bench_test(a_program_of_the_repository_is_the_snapshots),
        bench_test(a_sealed_input_that_changed_before_the_snapshot_is_refused),
        bench_test(what_changed_since_is_told_before_the_release),
    };
    return cmocka_run_group_tests_name("snapshot/frozen", tests, NULL, NULL);
}
