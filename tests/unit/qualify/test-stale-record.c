#include "state.h"

#include "scope.h"

/* Whether there is a systemd to be asked depends on the host; it knows nothing of that unit. */
static int asked;
int __wrap_scope_forget_unit(const struct scope_offer *offer, const char *unit, int64_t deadline_ns,
                             struct err *err);
int __wrap_scope_forget_unit(const struct scope_offer *offer, const char *unit, int64_t deadline_ns,
                             struct err *err)
{
    asked++;
    return 0;
}

/* ST-2 T19: the record names this very process, which lives on; and the record is gone. */
static void a_record_with_the_pid_of_another_is_healed(void **state)
{
    struct place *place = *state;
    struct own_state own;
    own_state_make(place, &own);
    struct attestation_case one = {.id = CASE_STALE_RECORD, .evidence = json_object()};
    qualify_stale_record(&own.qualifying, &qualify_cases[CASE_STALE_RECORD], &one);
    if (one.error) {
        fail_msg("%s", one.error->message);
    }
    assert_int_equal(asked, 1);
    assert_true(one.cleanup_verified);
    assert_string_equal(one.outcome, "preflight_refused");
    assert_int_equal(one.reports.count, 1);
    const char *name;
    json_t *is_so;
    json_object_foreach(one.evidence, name, is_so) {
        assert_true(json_is_true(is_so));
    }
    record_done(&attestation_case_record, &one);
    own_state_done(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {place_test(a_record_with_the_pid_of_another_is_healed)};
    return cmocka_run_group_tests_name("qualify/stale-record", tests, NULL, NULL);
}
