#include "../unit.h"

#include "clock.h"
#include "limit.h"

static void every_limit_has_its_name(void **state)
{
    assert_string_equal(supervise_limit(LIMIT_NONE)->name, "");
    assert_string_equal(supervise_limit(LIMIT_PIDS)->name, "pids");
    assert_string_equal(supervise_limit(LIMIT_SETUP)->name, "setup_timeout");
    assert_string_equal(supervise_limit(LIMIT_OUTPUT_IO)->name, "output_io");
    assert_string_equal(supervise_limit(LIMIT_LINKS)->name, "temporary_symlink");
    assert_null(supervise_limit(LIMIT_GRACE)->name);
}

static void differ(const char *a, const char *b)
{
    assert_true(!a || !b || strcmp(a, b) != 0);
}

/* A name leads back to one row, in every place that has names of its own. */
static void no_two_share_a_name(void **state)
{
    for (int i = 0; i < LIMIT_COUNT; i++) {
        for (int j = 0; j < i; j++) {
            const struct limit *a = supervise_limit((enum supervise_limit)i);
            const struct limit *b = supervise_limit((enum supervise_limit)j);
            differ(a->name, b->name);
            differ(a->told, b->told);
            differ(a->key, b->key);
            differ(a->option, b->option);
        }
    }
}

static void what_has_a_value_keeps_it_apart_from_the_others(void **state)
{
    struct supervise_limits limits = {0};
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (supervise_limit((enum supervise_limit)i)->told) {
            supervise_limit_set(&limits, (enum supervise_limit)i, 100 + i);
        }
    }
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (supervise_limit((enum supervise_limit)i)->told) {
            assert_int_equal(supervise_limit_value(&limits, (enum supervise_limit)i), 100 + i);
        }
    }
    assert_int_equal(limits.memory_bytes, 100 + LIMIT_MEMORY);
    assert_int_equal(limits.timeout_ns, (100 + LIMIT_TIMEOUT) * NS_PER_MS);
    assert_int_equal(limits.kill_budget_ns, 0);
}

static void a_row_says_its_unit_and_its_direction(void **state)
{
    assert_string_equal(supervise_limit(LIMIT_MEMORY)->unit, "bytes");
    assert_string_equal(supervise_limit(LIMIT_SETUP)->unit, "ms");
    assert_true(supervise_limit(LIMIT_SETUP)->is_time);
    assert_false(supervise_limit(LIMIT_PIDS)->is_time);
    assert_true(supervise_limit(LIMIT_HOST_RESERVE)->least);
    assert_false(supervise_limit(LIMIT_MEMORY)->least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_has_its_name),
        cmocka_unit_test(no_two_share_a_name),
        cmocka_unit_test(what_has_a_value_keeps_it_apart_from_the_others),
        cmocka_unit_test(a_row_says_its_unit_and_its_direction),
    };
    return cmocka_run_group_tests_name("supervise/limit", tests, NULL, NULL);
}
