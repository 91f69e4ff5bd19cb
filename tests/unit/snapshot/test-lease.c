#include "snapshot-test.h"

#include <sys/file.h>

#include "lease-priv.h"
#include "memory.h"

static void a_lease_is_for_one(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct bfs_dir folders[SNAPSHOT_LEASES] = {0};
    for (int i = 0; i < SNAPSHOT_LEASES; i++) {
        assert_ok(lease_take(&bench->state, "/r", &folders[i], &err));
        assert_int_equal(folders[i].facts.mode, S_IFDIR | 0700);
        for (int j = 0; j < i; j++) {
            assert_false(bfs_facts_same_inode(&folders[i].facts, &folders[j].facts));
        }
    }
    with_bfs_dir more = {0};
    assert_fails(lease_take(&bench->state, "/r", &more, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "/r"));
    with_bfs_dir other = {0};
    assert_ok(lease_take(&bench->state, "/other", &other, &err));

    /* What was given back first is taken first, and is the same folder. */
    struct bfs_facts third = folders[3].facts;
    bfs_dir_done(&folders[3]);
    assert_ok(lease_take(&bench->state, "/r", &more, &err));
    assert_true(bfs_facts_same_inode(&more.facts, &third));
    for (int i = 0; i < SNAPSHOT_LEASES; i++) {
        bfs_dir_done(&folders[i]);
    }
}

static size_t count_copies(const struct bench *bench)
{
    with_bfs_dir all = {0};
    with_strvec keys = {0};
    size_t count = 0;
    if (bfs_dir_open_beneath(&bench->state, "snapshots", &all, NULL) < 0) {
        return 0;
    }
    assert_int_equal(bfs_list(&all, 100, &keys, NULL), 0);
    for (size_t i = 0; i < keys.count; i++) {
        with_bfs_dir dir = {0};
        with_strvec names = {0};
        assert_int_equal(bfs_dir_open_beneath(&all, keys.strings[i], &dir, NULL), 0);
        assert_int_equal(bfs_list(&dir, 100, &names, NULL), 0);
        count += names.count;
    }
    return count;
}

static void make_old(const struct bfs_dir *folder, time_t seconds)
{
    const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(futimens(bfs_dir_fd(folder), times), 0);
}

static void the_longest_unused_copies_go_first_and_no_leased_one(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    static const char *const roots[] = {"/a", "/b", "/c", "/d"};
    struct bfs_facts newest = {0};
    assert_ok(snapshot_prune(&bench->state, 0, &err)); /* there is nothing yet */
    with_bfs_dir leased = {0};
    assert_ok(lease_take(&bench->state, "/leased", &leased, &err));
    make_old(&leased, 1);
    for (size_t i = 0; i < countof(roots); i++) {
        with_bfs_dir folder = {0};
        assert_ok(lease_take(&bench->state, roots[i], &folder, &err));
        assert_ok(bfs_tree_directory(&folder, "tree", 0755, &err));
        make_old(&folder, (time_t)(1000 + i));
        newest = folder.facts;
    }
    assert_int_equal(count_copies(bench), 5);
    assert_ok(snapshot_prune(&bench->state, 2, &err));
    assert_int_equal(count_copies(bench), 2);
    with_bfs_dir again = {0};
    assert_ok(lease_take(&bench->state, "/d", &again, &err));
    assert_true(bfs_facts_same_inode(&again.facts, &newest));
    assert_ok(snapshot_prune(&bench->state, 0, &err));
    assert_int_equal(count_copies(bench), 2); /* both leased */
}

/* A copy that is used is not the longest unused one. */
static void taking_a_lease_is_a_use(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct bfs_facts facts;
    with_bfs_dir folder = {0};
    assert_ok(lease_take(&bench->state, "/a", &folder, &err));
    make_old(&folder, 1);
    bfs_dir_done(&folder);
    assert_ok(lease_take(&bench->state, "/a", &folder, &err));
    assert_ok(bfs_facts_of(bfs_dir_fd(&folder), &facts, &err));
    assert_true(facts.mtime_ns > INT64_C(1000000000) * 1000000);
}

/* I2: a folder of the state that is a link is not used */
static void a_link_is_no_folder(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(symlinkat("../work", bfs_dir_fd(&bench->state), "snapshots"), 0);
    assert_fails(lease_take(&bench->state, "/a", &folder, &err), ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(a_lease_is_for_one),
        bench_test(the_longest_unused_copies_go_first_and_no_leased_one),
        bench_test(taking_a_lease_is_a_use),
        bench_test(a_link_is_no_folder),
    };
    return cmocka_run_group_tests_name("snapshot/lease", tests, NULL, NULL);
}
