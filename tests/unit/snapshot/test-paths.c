#include "../unit.h"

#include "paths-priv.h"

static void a_set_knows_its_paths_and_their_directories(void **state)
{
    (void)state;
    with_paths paths = {0};
    static const char *const all[] = {"a.b", "a/b/c", "a", "z/\xff\n", "ab/x", "a/b/c", "m\x01/y"};
    for (size_t i = 0; i < countof(all); i++) {
        paths_add(&paths, span_of_string(all[i]));
    }
    paths_sort(&paths);
    for (size_t i = 0; i < countof(all); i++) {
        assert_true(paths_has(&paths, all[i]));
    }
    assert_false(paths_has(&paths, "a/b"));
    assert_false(paths_has(&paths, ""));
    assert_true(paths_has_beneath(&paths, "a"));
    assert_true(paths_has_beneath(&paths, "a/b"));
    assert_true(paths_has_beneath(&paths, "m\x01"));
    assert_false(paths_has_beneath(&paths, "m"));
    assert_false(paths_has_beneath(&paths, "a/b/c"));
    assert_false(paths_has_beneath(&paths, "a.b"));
    assert_false(paths_has_beneath(&paths, "zz"));
}

static void an_empty_set_has_nothing(void **state)
{
    (void)state;
    with_paths paths = {0};
    paths_sort(&paths);
    assert_false(paths_has(&paths, "a"));
    assert_false(paths_has_beneath(&paths, "a"));
    paths_add(&paths, span_of(NULL, 0));
    assert_true(paths_has(&paths, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_knows_its_paths_and_their_directories),
        cmocka_unit_test(an_empty_set_has_nothing),
    };
    return cmocka_run_group_tests_name("snapshot/paths", tests, NULL, NULL);
}
