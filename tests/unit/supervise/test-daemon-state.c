#include "../unit.h"

#include "daemon-priv.h"

/* MD-2 MD-3 MD-4: five steps, each in its turn and once; everything else is refused by name. */
static void every_cell_of_the_table(void **state)
{
    static const enum daemon_event wanted[DAEMON_STATE_COUNT] = {
        [DAEMON_DECLARED] = DAEMON_RESERVE, [DAEMON_RESERVED] = DAEMON_BIND,
        [DAEMON_BOUND] = DAEMON_START,      [DAEMON_STARTED] = DAEMON_LOCK_READY,
        [DAEMON_CREATED] = DAEMON_SEAL,     [DAEMON_SEALED] = DAEMON_EVENT_COUNT};
    int granted = 0;
    for (int from = 0; from < DAEMON_STATE_COUNT; from++) {
        for (int event = 0; event < DAEMON_EVENT_COUNT; event++) {
            struct daemon_step step =
                daemon_next((enum daemon_state)from, (enum daemon_event)event);
            if (event == (int)wanted[from]) {
                assert_int_equal(step.refusal, DAEMON_REFUSED_NONE);
                assert_int_equal(step.next, from + 1);
                granted++;
            } else if (from == DAEMON_RESERVED && event == DAEMON_START) {
                assert_int_equal(step.refusal,
                                 DAEMON_REFUSED_NOT_YET); /* who waits may ask again */
                assert_int_equal(step.next, from);
            } else {
                assert_int_equal(step.refusal, DAEMON_REFUSED_ORDER);
                assert_int_equal(step.next, from);
            }
        }
    }
    assert_int_equal(granted, DAEMON_EVENT_COUNT);
}

static void everything_has_a_name(void **state)
{
    for (int i = 0; i < DAEMON_STATE_COUNT; i++) {
        assert_true(daemon_state_name((enum daemon_state)i)[0] != '\0');
    }
    for (int i = 0; i < DAEMON_EVENT_COUNT; i++) {
        assert_true(daemon_event_name((enum daemon_event)i)[0] != '\0');
    }
    for (int i = 0; i < DAEMON_FATE_COUNT; i++) {
        assert_true(daemon_fate_name((enum daemon_fate)i)[0] != '\0');
    }
    for (int i = 1; i < DAEMON_REFUSAL_COUNT; i++) {
        size_t length = strlen(daemon_refusal_text((enum daemon_refusal)i));
        assert_true(length > 0 && length < DAEMON_TEXT_SIZE - 120);
    }
    assert_string_equal(daemon_state_name(DAEMON_CREATED), "created");
    assert_string_equal(daemon_event_name(DAEMON_LOCK_READY), "lock-ready");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_table),
        cmocka_unit_test(everything_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
