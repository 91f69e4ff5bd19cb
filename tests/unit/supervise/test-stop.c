#include "../unit.h"

#include <stdbool.h>

#include "stop-priv.h"

static enum stop_state after(enum stop_state state, enum stop_event event)
{
    return stop_next(state, event).next;
}

static void an_ordinary_end(void **state)
{
    assert_int_equal(after(STOP_GATED, EVENT_RELEASED), STOP_RUNNING);
    struct stop_step step = stop_next(STOP_RUNNING, EVENT_EMPTY);
    assert_int_equal(step.next, STOP_EMPTY);
    assert_int_equal(step.action, ACTION_CONCLUDE);
}

static void a_stop_goes_by_way_of_the_grace(void **state)
{
    struct stop_step step = stop_next(STOP_RUNNING, EVENT_STOP);
    assert_int_equal(step.next, STOP_TERMINATING);
    assert_int_equal(step.action, ACTION_TERMINATE);
    step = stop_next(STOP_TERMINATING, EVENT_GRACE_OVER);
    assert_int_equal(step.next, STOP_KILLING);
    assert_int_equal(step.action, ACTION_KILL);
    step = stop_next(STOP_KILLING, EVENT_BUDGET_OVER);
    assert_int_equal(step.next, STOP_GIVEN_UP);
    assert_int_equal(step.action, ACTION_GIVE_UP);
}

/* T17: what is left when the first process has ended by itself is asked first, too. */
static void stragglers_get_the_grace(void **state)
{
    assert_int_equal(stop_next(STOP_RUNNING, EVENT_LEADER_GONE).action, ACTION_TERMINATE);
}

static void a_gate_gets_no_grace(void **state)
{
    assert_int_equal(after(STOP_GATED, EVENT_STOP), STOP_KILLING);
    assert_int_equal(after(STOP_GATED, EVENT_LEADER_GONE), STOP_KILLING);
}

/* R19: whoever asks twice waits no longer. */
static void a_kill_skips_the_grace(void **state)
{
    assert_int_equal(after(STOP_RUNNING, EVENT_KILL), STOP_KILLING);
    assert_int_equal(after(STOP_TERMINATING, EVENT_KILL), STOP_KILLING);
    assert_int_equal(stop_next(STOP_KILLING, EVENT_KILL).action, ACTION_NONE);
}

static void a_second_stop_starts_nothing_anew(void **state)
{
    assert_int_equal(stop_next(STOP_TERMINATING, EVENT_STOP).action, ACTION_NONE);
    assert_int_equal(stop_next(STOP_TERMINATING, EVENT_LEADER_GONE).action, ACTION_NONE);
    assert_int_equal(after(STOP_KILLING, EVENT_STOP), STOP_KILLING);
}

static void empty_is_the_end_of_everything(void **state)
{
    for (int event = 0; event < STOP_EVENT_COUNT; event++) {
        struct stop_step step = stop_next(STOP_EMPTY, (enum stop_event)event);
        assert_int_equal(step.next, STOP_EMPTY);
        assert_int_equal(step.action, ACTION_NONE);
    }
    for (int state_now = 0; state_now < STOP_EMPTY; state_now++) {
        assert_int_equal(after((enum stop_state)state_now, EVENT_EMPTY), STOP_EMPTY);
    }
    assert_int_equal(after(STOP_GIVEN_UP, EVENT_EMPTY), STOP_EMPTY);
}

/* From every state the end is reached by time alone: nothing that waits can wait for ever. */
static void time_alone_ends_every_run(void **state)
{
    for (int start = STOP_GATED; start < STOP_STATE_COUNT; start++) {
        enum stop_state now = (enum stop_state)start;
        now = after(now, EVENT_STOP);
        now = after(now, EVENT_GRACE_OVER);
        now = after(now, EVENT_BUDGET_OVER);
        assert_true(now == STOP_EMPTY || now == STOP_GIVEN_UP);
    }
}

/* No event leads back: the order of the states is the order of a run. */
static void no_step_leads_back(void **state)
{
    for (int from = 0; from < STOP_STATE_COUNT; from++) {
        for (int event = 0; event < STOP_EVENT_COUNT; event++) {
            enum stop_state to = after((enum stop_state)from, (enum stop_event)event);
            bool recovered = from == STOP_GIVEN_UP && to == STOP_EMPTY;
            assert_true((int)to >= from || recovered);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_end),
        cmocka_unit_test(a_stop_goes_by_way_of_the_grace),
        cmocka_unit_test(stragglers_get_the_grace),
        cmocka_unit_test(a_gate_gets_no_grace),
        cmocka_unit_test(a_kill_skips_the_grace),
        cmocka_unit_test(a_second_stop_starts_nothing_anew),
        cmocka_unit_test(empty_is_the_end_of_everything),
        cmocka_unit_test(time_alone_ends_every_run),
        cmocka_unit_test(no_step_leads_back),
    };
    return cmocka_run_group_tests_name("supervise/stop", tests, NULL, NULL);
}
