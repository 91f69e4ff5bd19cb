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

/* R23: what the kernel has no file for is not limited, whoever was asked for it. */
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

static const char *const limit_files[] = {"cgroup.max.descendants",
                                          "memory.oom.group",
                                          "memory.swap.max",
                                          "memory.zswap.max",
                                          "memory.high",
                                          "memory.max",
                                          "pids.max"};

static struct scope leaf_of(const struct place *place)
{
    for (size_t i = 0; i < countof(limit_files); i++) {
        put(place, limit_files[i], "");
    }
    return (struct scope){
        .leaf = fd_adopt(dup(place->fd)),
        .path = "/sys/fs/cgroup/test",
        .limits = {.memory_max_bytes = 8192, .memory_high_bytes = CGROUP_NO_LIMIT, .pids_max = 7}};
}

/* R8: each was right when it was set, and one undid another. */
static void all_limits_are_read_back_when_all_are_set(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct scope scope = leaf_of(place);
    assert_ok(scope_set_limits(&scope, &err));
    assert_content(place, "memory.max", "8192");
    assert_content(place, "memory.high", "max");
    assert_content(place, "memory.swap.max", "0");
    assert_content(place, "pids.max", "7");
    assert_int_equal(unlinkat(place->fd, "memory.high", 0), 0);
    assert_int_equal(linkat(place->fd, "memory.max", place->fd, "memory.high", 0), 0);
    put(place, "memory.max", "");
    assert_fails(scope_set_limits(&scope, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "'memory.high'"));
    fd_close(&scope.leaf);
}

/* R24: a kernel that swaps and does not account for it limits nothing, and that is said. */
static void swap_that_cannot_be_limited_is_no_limit(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct scope scope = leaf_of(place);
    assert_ok(scope_judge_swap(&scope, &err));
    assert_int_equal(scope.limits.swap_max_bytes, 0);
    assert_int_equal(unlinkat(place->fd, "memory.swap.max", 0), 0);
    assert_ok(scope_judge_swap(&scope, &err));
    bool swaps = access("/proc/swaps", F_OK) == 0;
    assert_int_equal(scope.limits.swap_max_bytes, swaps ? CGROUP_NO_LIMIT : 0);
    assert_int_equal(mkdirat(place->fd, "memory.swap.max", 0700), 0);
    assert_fails(scope_judge_swap(&scope, &err), ERR_SYS);
    fd_close(&scope.leaf);
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
        place_test(all_limits_are_read_back_when_all_are_set),
        place_test(swap_that_cannot_be_limited_is_no_limit),
        cmocka_unit_test(bytes_are_rounded_down_to_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
