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

static int frozen;
int __wrap_run_freeze(struct run *run, struct err *err);
int __wrap_run_freeze(struct run *run, struct err *err)
{
    frozen++;
    return 0;
}

/* TR-4: beside whose turn it is nothing is read and copied. */
static void who_has_no_turn_freezes_nothing(void **state)
{
    struct err err = {0};
    struct run_request request = run_request_plain();
    request.tier = CONTEXT_TIER_SMALL;
    struct run run = {.request = &request, .turn = {.code = CHECK_LOCK}};
    assert_int_equal(interrupts_begin(&run.interrupts, &err), 0);
    assert_int_equal(run_tier_prepare(&run, &err), 0);
    assert_int_equal(frozen, 0);
    assert_false(checks_ok(&run.preparation.checks));
    checks_done(&run.preparation.checks);
    run.turn.code = NULL;
    assert_int_equal(run_tier_prepare(&run, &err), 0);
    assert_int_equal(frozen, 1);
    interrupts_end(&run.interrupts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tier_is_declared_work_in_a_sandbox),
        cmocka_unit_test(who_has_no_turn_freezes_nothing),
    };
    return cmocka_run_group_tests_name("run/tier", tests, NULL, NULL);
}
