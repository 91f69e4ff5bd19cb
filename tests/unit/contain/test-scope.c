#include "../unit.h"

#include "scope-priv.h"

static void a_name_is_new_each_time(void **state)
{
    char first[SCOPE_NAME_SIZE];
    char second[SCOPE_NAME_SIZE];
    struct err err = {0};
    assert_int_equal(scope_name("20261129-a_b", first, &err), 0);
    assert_int_equal(scope_name("20261129-a_b", second, &err), 0);
    assert_string_not_equal(first, second);
    assert_true(strncmp(first, "berm-20261129-a_b-", 18) == 0);
    assert_int_equal(strlen(first), 18 + 16 + 6);
    assert_string_equal(first + 18 + 16, ".scope");

    char longest[82];
    memset(longest, 'a', 81);
    longest[81] = '\0';
    const char *const bad[] = {"", "a/b", "a.b", "a b", "\xc3\xa4", "..", longest};
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(scope_name(bad[i], first, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
    }
    longest[80] = '\0';
    assert_int_equal(scope_name(longest, first, &err), 0);
    assert_true(strlen(first) < SCOPE_NAME_SIZE - 1);
}

static void limits_that_are_none_are_refused_before_anything_is_made(void **state)
{
    const struct scope_offer offer = {.adapter = SCOPE_DELEGATED, .place = "/nowhere"};
    static const struct {
        int64_t memory, high, pids;
        enum err_code code;
    } cases[] = {
        {-1, 0, 0, ERR_RANGE},          {4095, 0, 0, ERR_RANGE}, {INT64_MAX, 0, 0, ERR_RANGE},
        {0, 1, 0, ERR_RANGE},           {0, 0, -1, ERR_RANGE},   {0, 0, INT64_MAX - 1, ERR_RANGE},
        {1 << 20, 1 << 19, 5, ERR_SYS}, /* fine, and there is no anchor */
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        struct scope *scope = NULL;
        const struct scope_request request = {.offer = &offer,
                                              .anchor_channel = -1,
                                              .name = "berm-test-0.scope",
                                              .memory_max_bytes = cases[i].memory,
                                              .memory_high_bytes = cases[i].high,
                                              .pids_max = cases[i].pids};
        assert_int_equal(scope_begin(&request, &scope, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_null(scope);
    }
}

static void both_managers_are_one_adapter(void **state)
{
    assert_null(scope_adapter_id(SCOPE_NONE));
    assert_string_equal(scope_adapter_id(SCOPE_SYSTEMD_USER), "linux-systemd-cgroup-v2");
    assert_string_equal(scope_adapter_id(SCOPE_SYSTEMD_SYSTEM), "linux-systemd-cgroup-v2");
    assert_string_equal(scope_adapter_id(SCOPE_DELEGATED), "linux-delegated-cgroup-v2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_new_each_time),
        cmocka_unit_test(limits_that_are_none_are_refused_before_anything_is_made),
        cmocka_unit_test(both_managers_are_one_adapter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
