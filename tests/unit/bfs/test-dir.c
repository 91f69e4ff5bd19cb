#include "bfs-test.h"

/* RS-1 */
static void a_directory_is_bound_by_identity(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_string_equal(place->dir.path, place->path);
    with_bfs_dir below = {0};
    assert_int_equal(mkdirat(place->fd, "below", 0755), 0);
    assert_ok(bfs_dir_open_beneath(&place->dir, "below", &below, &err));
}

/* RS-1: the message names path and mode */
static void a_place_that_others_may_write_is_not_trusted(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char path[80];
    snprintf(path, sizeof path, "%s/d", place->path);
    assert_int_equal(mkdirat(place->fd, "d", 0755), 0);
    static const struct {
        mode_t mode;
        bool fine;
    } cases[] = {{0755, true}, {0700, true}, {0777, false}, {01777, true}, {0757, false}};
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(fchmodat(place->fd, "d", cases[i].mode, 0), 0);
        with_bfs_dir dir = {0};
        if (cases[i].fine) {
            assert_ok(bfs_dir_open(AT_FDCWD, path, BFS_TRUST_OWN, &dir, &err));
            continue;
        }
        assert_fails(bfs_dir_open(AT_FDCWD, path, BFS_TRUST_OWN, &dir, &err), ERR_REFUSED);
        char mode[8];
        snprintf(mode, sizeof mode, "%04o", cases[i].mode);
        assert_non_null(strstr(err.msg, path));
        assert_non_null(strstr(err.msg, mode));
        assert_ok(bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &dir, &err));
    }
}

/* D9: a directory of another owner, as only root can make one */
static void a_place_of_somebody_else_is_not_trusted(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(mkdirat(place->fd, "theirs", 0755), 0);
    assert_int_equal(fchownat(place->fd, "theirs", 54321, 54321, 0), 0);
    with_bfs_dir dir = {0};
    assert_fails(bfs_dir_open(place->fd, "theirs", BFS_TRUST_OWN, &dir, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "owner 54321"));
    assert_ok(bfs_dir_open(place->fd, "theirs", BFS_TRUST_ANY, &dir, &err));
    bfs_dir_done(&dir);

    assert_int_equal(mkdirat(place->fd, "group", 0755), 0);
    assert_int_equal(fchownat(place->fd, "group", 0, 54321, 0), 0);
    assert_int_equal(fchmodat(place->fd, "group", 02775, 0), 0);
    assert_fails(bfs_dir_open(place->fd, "group", BFS_TRUST_OWN, &dir, &err), ERR_REFUSED);
    assert_int_equal(fchownat(place->fd, "group", 0, 0, 0), 0);
    assert_ok(bfs_dir_open(place->fd, "group", BFS_TRUST_OWN, &dir, &err));
}

static void a_root_may_be_reached_through_links_and_is_then_physical(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char path[80];
    char physical[80];
    assert_int_equal(mkdirat(place->fd, "real", 0755), 0);
    assert_int_equal(symlinkat("real", place->fd, "alias"), 0);
    snprintf(path, sizeof path, "%s/alias", place->path);
    snprintf(physical, sizeof physical, "%s/real", place->path);
    with_bfs_dir dir = {0};
    assert_ok(bfs_dir_open(AT_FDCWD, path, BFS_TRUST_OWN, &dir, &err));
    assert_string_equal(dir.path, physical);
    with_bfs_dir beneath = {0};
    assert_fails(bfs_dir_open_beneath(&place->dir, "alias", &beneath, &err), ERR_REFUSED);
    assert_ok(bfs_dir_open(place->fd, "real", BFS_TRUST_OWN, &beneath, &err));
}

static void what_is_no_directory_is_none(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_bfs_dir dir = {0};
    put(place, "file", "x");
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    alarm(10);
    assert_fails(bfs_dir_open(place->fd, "file", BFS_TRUST_ANY, &dir, &err), ERR_REFUSED);
    assert_fails(bfs_dir_open(place->fd, "fifo", BFS_TRUST_ANY, &dir, &err), ERR_REFUSED);
    assert_fails(bfs_dir_open(place->fd, "none", BFS_TRUST_ANY, &dir, &err), ERR_NOT_FOUND);
    assert_fails(bfs_dir_open_beneath(&place->dir, "fifo", &dir, &err), ERR_REFUSED);
    alarm(0);
}

static void makes_what_is_missing_of_a_path(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/a/b//c/", place->path);
    {
        with_bfs_dir dir = {0};
        assert_ok(bfs_dir_make(AT_FDCWD, path, 0700, BFS_TRUST_OWN, &dir, &err));
        assert_int_equal(dir.facts.mode, S_IFDIR | 0700);
        snprintf(path, sizeof path, "%s/a/b/c", place->path);
        assert_string_equal(dir.path, path);
    }
    with_bfs_dir again = {0};
    assert_ok(bfs_dir_make(AT_FDCWD, path, 0700, BFS_TRUST_OWN, &again, &err));
    with_bfs_dir beneath = {0};
    assert_ok(bfs_dir_make_beneath(&place->dir, "a/b/d/e", 0755, &beneath, &err));
    with_bfs_dir relative = {0};
    assert_ok(bfs_dir_make(place->fd, "r/s", 0755, BFS_TRUST_OWN, &relative, &err));
}

/* I2: a link where a directory is to be made is not followed */
static void makes_nothing_through_a_link(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "elsewhere", 0755), 0);
    assert_int_equal(symlinkat("elsewhere", place->fd, "link"), 0);
    assert_int_equal(symlinkat("missing", place->fd, "dangling"), 0);
    with_bfs_dir dir = {0};
    assert_fails(bfs_dir_make_beneath(&place->dir, "link/x", 0755, &dir, &err), ERR_REFUSED);
    assert_fails(bfs_dir_make_beneath(&place->dir, "dangling", 0755, &dir, &err), ERR_REFUSED);
    assert_fails(bfs_dir_make(place->fd, "dangling", 0755, BFS_TRUST_OWN, &dir, &err), ERR_REFUSED);
    put(place, "file", "x");
    assert_fails(bfs_dir_make_beneath(&place->dir, "file/x", 0755, &dir, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(place->fd, "elsewhere", AT_REMOVEDIR), 0); /* still empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_directory_is_bound_by_identity),
        place_test(a_place_that_others_may_write_is_not_trusted),
        place_test(a_place_of_somebody_else_is_not_trusted),
        place_test(a_root_may_be_reached_through_links_and_is_then_physical),
        place_test(what_is_no_directory_is_none),
        place_test(makes_what_is_missing_of_a_path),
        place_test(makes_nothing_through_a_link),
    };
    return cmocka_run_group_tests_name("bfs/dir", tests, NULL, NULL);
}
