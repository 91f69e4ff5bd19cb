#include "bfs-test.h"

static void lists_names_in_order_within_a_bound(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "b", "");
    put(place, "a\nb", "");
    put(place, "\xff", "");
    assert_int_equal(mkdirat(place->fd, ".hidden", 0755), 0);
    for (int i = 0; i < 2; i++) { /* a listing leaves no position behind */
        with_strvec names = {0};
        assert_ok(bfs_list(&place->dir, 4, &names, &err));
        assert_int_equal(names.count, 4);
        assert_string_equal(names.strings[0], ".hidden");
        assert_string_equal(names.strings[1], "a\nb");
        assert_string_equal(names.strings[3], "\xff");
    }
    with_strvec names = {0};
    assert_fails(bfs_list(&place->dir, 3, &names, &err), ERR_OVER_BUDGET);
    assert_int_equal(names.count, 0);
}

static void lists_more_than_one_kernel_answer(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char name[201];
    memset(name, 'n', sizeof name);
    for (int i = 0; i < 400; i++) {
        snprintf(name + 190, 11, "%010d", i);
        put(place, name, "");
    }
    with_strvec names = {0};
    assert_ok(bfs_list(&place->dir, 400, &names, &err));
    assert_int_equal(names.count, 400);
    assert_string_equal(names.strings[399], name);
}

static void renames_with_and_without_replacing(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_bfs_dir other = {0};
    assert_ok(bfs_dir_make_beneath(&place->dir, "other", 0755, &other, &err));
    put(place, "a", "a");
    put(place, "other/b", "b");
    assert_fails(bfs_rename(&place->dir, "a", &other, "b", BFS_RENAME_NEW, &err), ERR_CONFLICT);
    assert_content(place, "other/b", "b");
    assert_ok(bfs_rename(&place->dir, "a", &other, "b", BFS_RENAME_REPLACE, &err));
    assert_content(place, "other/b", "a");
    assert_ok(bfs_rename(&other, "b", &place->dir, "c", BFS_RENAME_NEW, &err));
    assert_content(place, "c", "a");
    assert_fails(bfs_rename(&place->dir, "none", &other, "x", BFS_RENAME_NEW, &err), ERR_NOT_FOUND);
    assert_fails(bfs_rename(&place->dir, "c", &other, "../x", BFS_RENAME_NEW, &err), ERR_REFUSED);
}

static void gives_a_second_name_to_regular_files_only(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "a", "a");
    assert_int_equal(symlinkat("a", place->fd, "link"), 0);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    assert_ok(bfs_link(&place->dir, "a", "b", &err));
    assert_content(place, "b", "a");
    assert_fails(bfs_link(&place->dir, "a", "b", &err), ERR_CONFLICT);
    assert_fails(bfs_link(&place->dir, "link", "c", &err), ERR_REFUSED);
    assert_fails(bfs_link(&place->dir, "fifo", "c", &err), ERR_REFUSED);
}

static void removes_only_what_is_still_that_inode(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "a", "mine");
    struct bfs_facts mine;
    assert_ok(bfs_stat(&place->dir, "a", &mine, &err));
    assert_int_equal(renameat(place->fd, "a", place->fd, "kept"), 0);
    put(place, "a", "somebody else's");
    assert_fails(bfs_remove(&place->dir, "a", &mine, &err), ERR_CHANGED);
    assert_content(place, "a", "somebody else's");
    assert_ok(bfs_remove(&place->dir, "kept", &mine, &err));
    assert_fails(bfs_remove(&place->dir, "kept", NULL, &err), ERR_NOT_FOUND);
}

static void removes_a_link_and_not_its_target(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "directory", 0755), 0);
    put(place, "directory/file", "x");
    assert_int_equal(symlinkat("directory", place->fd, "link"), 0);
    assert_ok(bfs_remove(&place->dir, "link", NULL, &err));
    assert_content(place, "directory/file", "x");
    assert_fails(bfs_remove(&place->dir, "directory", NULL, &err), ERR_SYS);
    assert_int_equal(err.sys, ENOTEMPTY);
    assert_int_equal(unlinkat(place->fd, "directory/file", 0), 0);
    assert_ok(bfs_remove(&place->dir, "directory", NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(lists_names_in_order_within_a_bound),
        place_test(lists_more_than_one_kernel_answer),
        place_test(renames_with_and_without_replacing),
        place_test(gives_a_second_name_to_regular_files_only),
        place_test(removes_only_what_is_still_that_inode),
        place_test(removes_a_link_and_not_its_target),
    };
    return cmocka_run_group_tests_name("bfs/entry", tests, NULL, NULL);
}
