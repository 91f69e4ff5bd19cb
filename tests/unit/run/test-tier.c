#include "../unit.h"

#include "run-priv.h"

/* TR-1, TR-6: who asks for a tier asks for all that it means, whatever else was said. */
static void a_tier_is_declared_work_in_a_sandbox(void **state)
{
    struct run_request plain = run_request_plain();
    struct run_request same = run_tier_widen(&plain);
    assert_int_equal(same.authority, AUTHORITY_PERSON);
    assert_int_equal(same.require, 0);
    assert_false(same.sandbox);
    plain.tier = CONTEXT_TIER_SMALL;
    plain.require = 1;
    struct run_request wide = run_tier_widen(&plain);
    assert_int_equal(wide.authority, AUTHORITY_DECLARED);
    assert_int_equal(wide.require, GUARANTEE_ALL);
    assert_true(wide.sandbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tier_is_declared_work_in_a_sandbox),
    };
    return cmocka_run_group_tests_name("run/tier", tests, NULL, NULL);
}
