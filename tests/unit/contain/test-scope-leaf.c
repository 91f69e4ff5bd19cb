#include "../bfs/bfs-test.h"

#include "scope-priv.h"

/* CT-3: what was set is not what is. Here the folder is an ordinary one, whose files the test made. */
static void a_limit_is_what_the_kernel_has(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct scope_setting setting = {.file = "memory.max", .wanted = "4096"};
    put(place, "memory.max", "    ");
    assert_ok(scope_set(place->fd, "the leaf", &setting, false, &err));
    assert_content(place, "memory.max", "4096");
    put(place, "memory.max", "4096\n");
    assert_ok(scope_set(place->fd, "the leaf", &setting, true, &err));

    /* Written in full, and nothing came of it. */
    assert_int_equal(unlinkat(place->fd, "memory.max", 0), 0);
    assert_int_equal(symlinkat("/dev/null", place->fd, "memory.max"), 0);
    assert_fails(scope_set(place->fd, "the leaf", &setting, false, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "'memory.max' of the leaf"));
    assert_non_null(strstr(err.msg, "wanted 4096, the kernel has "));

    const char *const others[] = {"max\n", "8192\n", "40960\n", "409\n", "", " 4096\n", "4096 \n"};
    for (size_t i = 0; i < countof(others); i++) {
        (void)unlinkat(place->fd, "memory.max", 0);
        put(place, "memory.max", others[i]);
        assert_fails(scope_set(place->fd, "the leaf", &setting, true, &err), ERR_UNAVAILABLE);
    }
}

static void only_what_is_optional_may_be_missing(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct scope_setting setting = {.file = "memory.zswap.max", .wanted = "0", .optional = true};
    assert_ok(scope_set(place->fd, "the leaf", &setting, false, &err));
    assert_ok(scope_set(place->fd, "the leaf", &setting, true, &err));
    setting.optional = false;
    assert_fails(scope_set(place->fd, "the leaf", &setting, false, &err), ERR_UNAVAILABLE);
    assert_fails(scope_set(place->fd, "the leaf", &setting, true, &err), ERR_UNAVAILABLE);
    setting.optional = true; /* there, and it cannot be set: that is no missing file */
    assert_int_equal(mkdirat(place->fd, "memory.zswap.max", 0700), 0);
    assert_fails(scope_set(place->fd, "the leaf", &setting, false, &err), ERR_UNAVAILABLE);
}

static void bytes_are_rounded_down_to_a_page(void **state)
{
    long page = sysconf(_SC_PAGESIZE);
    assert_int_equal(scope_round_down(page), page);
    assert_int_equal(scope_round_down(page - 1), 0);
    assert_int_equal(scope_round_down(16384 * page + 136), 16384 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_limit_is_what_the_kernel_has),
        place_test(only_what_is_optional_may_be_missing),
        cmocka_unit_test(bytes_are_rounded_down_to_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
