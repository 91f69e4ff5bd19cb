#include "snapshot-test.h"

#include "memory.h"

static void fill(const struct bench *bench)
{
    make_folder(bench, "d");
    put_work(bench, "d/a", "aaa", 0600);
    put_work(bench, "run", "#!/bin/sh\n", 0755);
}

static void digest_of(const struct bench *bench, char digest[HASH_HEX_SIZE])
{
    struct err err = {0};
    with_snapshot snapshot = NULL;
    assert_ok(take(bench, &snapshot, &err));
    memcpy(digest, snapshot_digest(snapshot), HASH_HEX_SIZE);
}

/* FZ-2: the same bytes are the same work, by whatever inodes */
static void the_identity_is_that_of_the_bytes(void **state)
{
    struct bench *bench = *state;
    char before[HASH_HEX_SIZE];
    char after[HASH_HEX_SIZE];
    fill(bench);
    digest_of(bench, before);
    assert_int_equal(unlinkat(work_fd(bench), "d/a", 0), 0);
    put_work(bench, "d/a", "aaa", 0644);
    digest_of(bench, after);
    assert_string_equal(after, before);
    put_work(bench, "d/a", "aab", 0644);
    digest_of(bench, after);
    assert_string_not_equal(after, before);
    put_work(bench, "d/a", "aaa", 0744);
    digest_of(bench, after);
    assert_string_not_equal(after, before);
}

/* FZ-4 */
static void limits_are_no_part_of_the_identity(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    char before[HASH_HEX_SIZE];
    fill(bench);
    digest_of(bench, before);
    const struct snapshot_request request = {
        .root = &bench->root, .state = &bench->state, .limits = {1 << 10, 10}};
    with_snapshot snapshot = NULL;
    assert_ok(snapshot_take(&request, &snapshot, &err));
    assert_string_equal(snapshot_digest(snapshot), before);
}

static void a_snapshot_knows_its_files(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    bool executable = false;
    with_snapshot snapshot = NULL;
    fill(bench);
    assert_ok(take(bench, &snapshot, &err));
    assert_string_equal(snapshot_file(snapshot, "d/a", &executable),
                        "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0");
    assert_false(executable);
    assert_non_null(snapshot_file(snapshot, "run", &executable));
    assert_true(executable);
    assert_null(snapshot_file(snapshot, "d", &executable));
    assert_null(snapshot_file(snapshot, "none", &executable));
    assert_int_equal(snapshot_figures(snapshot).entries, 3);
    assert_holds(snapshot_tree_fd(snapshot), "d/a", "aaa", 0444);
}

/* FZ-1: an edit before the release is told; FZ-3: one after it changes neither copy nor identity */
static void an_edit_of_the_checkout_is_told_and_does_not_reach_the_copy(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_snapshot snapshot = NULL;
    fill(bench);
    assert_int_equal(symlinkat("d/a", work_fd(bench), "link"), 0);
    assert_ok(take(bench, &snapshot, &err));
    assert_ok(snapshot_check_source(snapshot, &err));
    char before[HASH_HEX_SIZE];
    memcpy(before, snapshot_digest(snapshot), sizeof before);

    put_work(bench, "d/a", "AAA", 0600);
    assert_fails(snapshot_check_source(snapshot, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "d/a"));
    assert_ok(snapshot_check_tree(snapshot, &err));
    assert_holds(snapshot_tree_fd(snapshot), "d/a", "aaa", 0444);
    assert_string_equal(snapshot_digest(snapshot), before);
}

static void a_checkout_that_lost_or_swapped_something_is_told(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    int work = work_fd(bench);
    fill(bench);
    assert_int_equal(symlinkat("d/a", work, "link"), 0);
    for (int i = 0; i < 3; i++) {
        with_snapshot snapshot = NULL;
        assert_ok(take(bench, &snapshot, &err));
        assert_ok(snapshot_check_source(snapshot, &err));
        switch (i) {
        case 0:
            assert_int_equal(unlinkat(work, "link", 0), 0);
            assert_int_equal(symlinkat("run", work, "link"), 0);
            break;
        case 1: /* the directory is another, the file the same */
            assert_int_equal(renameat(work, "d", work, ".git/d"), 0);
            assert_int_equal(symlinkat(".git/d", work, "d"), 0);
            break;
        default:
            assert_int_equal(unlinkat(work, "run", 0), 0);
            break;
        }
        assert_fails(snapshot_check_source(snapshot, &err), ERR_CHANGED);
        if (i == 1) {
            assert_int_equal(unlinkat(work, "d", 0), 0);
            assert_int_equal(renameat(work, ".git/d", work, "d"), 0);
        }
    }
}

/* FZ-1: a change within the same tick of the clock */
static void a_young_file_is_checked_by_its_bytes(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    int64_t ahead = clock_ahead_ns;
    for (int young = 0; young < 2; young++) {
        with_snapshot snapshot = NULL;
        clock_ahead_ns = young ? 0 : ahead;
        put_work(bench, "f", "abc", 0644);
        assert_ok(take(bench, &snapshot, &err));
        put_work(bench, "f", "abd", 0644);
        facts_tell_nothing = true;
        int result = snapshot_check_source(snapshot, &err);
        facts_tell_nothing = false;
        assert_int_equal(result, young ? -1 : 0);
    }
    clock_ahead_ns = ahead;
}

/* FZ-3: the copy that a payload got at */
static void a_changed_copy_is_told(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_snapshot snapshot = NULL;
    fill(bench);
    assert_ok(take(bench, &snapshot, &err));
    assert_ok(snapshot_check_tree(snapshot, &err));
    assert_int_equal(unlinkat(snapshot_tree_fd(snapshot), "run", 0), 0);
    assert_fails(snapshot_check_tree(snapshot, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "'.' of the snapshot"));
}

static void two_runs_have_a_copy_each(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_snapshot first = NULL;
    with_snapshot second = NULL;
    fill(bench);
    assert_ok(take(bench, &first, &err));
    put_work(bench, "d/a", "later", 0644);
    assert_ok(take(bench, &second, &err));
    assert_holds(snapshot_tree_fd(first), "d/a", "aaa", 0444);
    assert_holds(snapshot_tree_fd(second), "d/a", "later", 0444);
    assert_ok(snapshot_check_tree(first, &err));
    assert_true(snapshot_lease_fd(first) != snapshot_lease_fd(second));
}

/* SB-4 */
static void a_root_that_holds_the_state_is_refused(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_snapshot snapshot = NULL;
    with_bfs_dir inside = {0};
    assert_ok(bfs_dir_make_beneath(&bench->root, "state", 0700, &inside, &err));
    const struct snapshot_request request = {
        .root = &bench->root, .state = &inside, .limits = SNAPSHOT_LIMITS};
    assert_fails(snapshot_take(&request, &snapshot, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, bench->root.path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(the_identity_is_that_of_the_bytes),
        bench_test(limits_are_no_part_of_the_identity),
        bench_test(a_snapshot_knows_its_files),
        bench_test(an_edit_of_the_checkout_is_told_and_does_not_reach_the_copy),
        bench_test(a_checkout_that_lost_or_swapped_something_is_told),
        bench_test(a_young_file_is_checked_by_its_bytes),
        bench_test(a_changed_copy_is_told),
        bench_test(two_runs_have_a_copy_each),
        bench_test(a_root_that_holds_the_state_is_refused),
    };
    return cmocka_run_group_tests_name("snapshot/snapshot", tests, NULL, NULL);
}
