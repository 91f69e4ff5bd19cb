#include "sandbox-test.h"

static char *words_of(const struct strvec *paths, const char *top)
{
    char *words = memory_copy_string("");
    for (size_t i = 0; i < paths->count; i++) {
        assert_true(path_is_beneath(paths->strings[i], top));
        char *longer = memory_format("%s %s", words, paths->strings[i] + strlen(top));
        memory_free(words);
        words = longer;
    }
    return words;
}

/* I10: all that could be changed on the way is known, and where it ends. */
static void a_way_is_what_the_kernel_passes(void **state)
{
    struct place *place = *state;
    char top[4096];
    assert_non_null(realpath(place->path, top));
    static const char *const folders[] = {"a", "a/b", "c"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "c/file", "");
    with_string whole = memory_format("%s/a/b", top);
    assert_int_equal(symlinkat("../c", place->fd, "a/link"), 0);
    assert_int_equal(symlinkat(whole, place->fd, "c/whole"), 0);
    assert_int_equal(symlinkat("gone/x", place->fd, "c/dangling"), 0);
    assert_int_equal(symlinkat("loop", place->fd, "loop"), 0);
    const struct {
        const char *name;
        const char *folders;
        const char *links;
        const char *missing; /* NULL: it leads to something */
        const char *nearest;
    } rows[] = {
        {"a/b", " /a", "", NULL, NULL},
        {"a//b/", " /a /a/b", "", NULL, NULL},
        {"a/b/../../c/file", " /a /a/b /a  /c", "", NULL, NULL},
        {"a/link/file", " /a  /c", " /a/link", NULL, NULL},
        {"a/x/y", " /a", "", "/a/x", "/a"},
        {"x/../c", "", "", "/x", ""},
        {"c/file/x", " /c /c/file", "", "/c/file/x", "/c/file"},
        {"a/link/dangling", " /a  /c", " /a/link /c/dangling", "/c/gone", "/c"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        with_way way = {0};
        way_follow(place->fd, rows[i].name, &way);
        with_string passed = words_of(&way.folders, top);
        with_string links = words_of(&way.links, top);
        assert_string_equal(passed, rows[i].folders);
        assert_string_equal(links, rows[i].links);
        assert_int_equal(way.missing != NULL, rows[i].missing != NULL);
        if (way.missing) {
            assert_string_equal(way.missing + strlen(top), rows[i].missing);
            assert_string_equal(way.nearest + strlen(top), rows[i].nearest);
        }
    }
    with_way whole_way = {0};
    way_follow(place->fd, "c/whole/x", &whole_way);
    assert_string_equal(whole_way.nearest, whole);
    with_way from_the_top = {0};
    way_follow(place->fd, whole, &from_the_top);
    assert_null(from_the_top.missing);
    with_way loop = {0};
    way_follow(place->fd, "loop", &loop);
    assert_string_equal(loop.nearest, top);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_way_is_what_the_kernel_passes),
    };
    return cmocka_run_group_tests_name("contain/sandbox-way", tests, NULL, NULL);
}
