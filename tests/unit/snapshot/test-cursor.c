#include "../bfs/bfs-test.h"

#include "cursor-priv.h"

static void a_cursor_goes_from_directory_to_directory(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct bfs_dir *dir = NULL;
    const char *name = NULL;
    struct bfs_facts facts;
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "a/b", 0755), 0);
    put(place, "x", "1");
    put(place, "a/x", "22");
    put(place, "a/b/x", "333");
    with_cursor cursor = {.root = &place->dir};
    static const char *const paths[] = {"x", "a/x", "a/b/x", "a/b/x", "a/x", "x"};
    static const int sizes[] = {1, 2, 3, 3, 2, 1};
    for (size_t i = 0; i < countof(paths); i++) {
        assert_ok(cursor_at(&cursor, paths[i], &dir, &name, &err));
        assert_string_equal(name, "x");
        assert_ok(bfs_stat(dir, name, &facts, &err));
        assert_int_equal(facts.size_bytes, sizes[i]);
    }
}

/* I2 */
static void a_cursor_follows_no_link(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct bfs_dir *dir = NULL;
    const char *name = NULL;
    assert_int_equal(symlinkat("/etc", place->fd, "etc"), 0);
    with_cursor cursor = {.root = &place->dir};
    assert_fails(cursor_at(&cursor, "etc/passwd", &dir, &name, &err), ERR_REFUSED);
    assert_fails(cursor_at(&cursor, "../passwd", &dir, &name, &err), ERR_REFUSED);
    assert_fails(cursor_at(&cursor, "none/passwd", &dir, &name, &err), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_cursor_goes_from_directory_to_directory),
        place_test(a_cursor_follows_no_link),
    };
    return cmocka_run_group_tests_name("snapshot/cursor", tests, NULL, NULL);
}
