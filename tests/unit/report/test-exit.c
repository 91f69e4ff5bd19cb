#include "../unit.h"

#include "facts.h"

/* What `berm run` answers; the codes are a shell's where it has one for the same thing. */

static void codes_of_endings(void **state)
{
    static const struct {
        enum supervise_how how;
        enum supervise_limit limit;
        int exit_code;
        int exit_signal;
        int interrupt_signal;
        bool proved;
        int wanted;
    } rows[] = {
        {ENDED_EXITED, LIMIT_NONE, 0, 0, 0, true, 0},
        {ENDED_EXITED, LIMIT_NONE, 1, 0, 0, true, 1},
        {ENDED_EXITED, LIMIT_NONE, 255, 0, 0, true, 255},
        {ENDED_SIGNALLED, LIMIT_NONE, 0, 11, 0, true, 139},
        {ENDED_NOT_EXECUTED, LIMIT_NONE, 127, 0, 0, true, 127},
        {ENDED_NOT_EXECUTED, LIMIT_NONE, 126, 0, 0, true, 126},
        {ENDED_NOT_EXECUTED, LIMIT_NONE, 0, 0, 0, true, 126},
        {ENDED_LIMIT, LIMIT_MEMORY, 0, 9, 0, true, 120},
        {ENDED_LIMIT, LIMIT_PIDS, 0, 9, 0, true, 120},
        {ENDED_LIMIT, LIMIT_OUTPUT, 0, 9, 0, true, 120},
        {ENDED_LIMIT, LIMIT_HOST_RESERVE, 0, 9, 0, true, 120},
        {ENDED_LIMIT, LIMIT_TIMEOUT, 0, 9, 0, true, 124},
        {ENDED_LIMIT, LIMIT_SETUP, 0, 9, 0, true, 124},
        {ENDED_INTERRUPTED, LIMIT_NONE, 0, 15, 2, true, 130},
        {ENDED_INTERRUPTED, LIMIT_NONE, 0, 15, 15, true, 143},
        {ENDED_INTERRUPTED, LIMIT_NONE, 0, 15, 0, true, 130},
        {ENDED_FAILED, LIMIT_NONE, 0, 0, 0, true, 125},
        /* Something is left: berm's failure, whatever the command's own code was; but who
         * interrupted it is answered with that. */
        {ENDED_EXITED, LIMIT_NONE, 0, 0, 0, false, 125},
        {ENDED_LIMIT, LIMIT_TIMEOUT, 0, 9, 0, false, 125},
        {ENDED_INTERRUPTED, LIMIT_NONE, 0, 15, 2, false, 130},
    };
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    for (size_t i = 0; i < countof(rows); i++) {
        ending->how = rows[i].how;
        ending->limit = rows[i].limit;
        ending->exit_code = rows[i].exit_code;
        ending->exit_signal = rows[i].exit_signal;
        ending->interrupt_signal = rows[i].interrupt_signal;
        ending->tree_empty = rows[i].proved ? claim_tree_empty() : NULL;
        if (report_exit_code(&facts) != rows[i].wanted) {
            fail_msg("row %zu: %d", i, report_exit_code(&facts));
        }
        assert_int_equal(report_interrupt(&facts), rows[i].interrupt_signal);
    }
}

static void codes_before_anything_was_started(void **state)
{
    static const struct {
        enum err_code failure;
        bool bound;
        int early_signal;
        int wanted;
    } rows[] = {
        {ERR_REFUSED, false, 0, 121},   {ERR_USAGE, false, 0, 121},
        {ERR_NOT_FOUND, false, 0, 127}, {ERR_NOT_EXECUTABLE, false, 0, 126},
        {ERR_NOT_FOUND, true, 0, 121},  {ERR_NOT_EXECUTABLE, true, 0, 121}, /* not the command */
        {ERR_SYS, false, 0, 125},       {ERR_NONE, false, 0, 125},
        {ERR_NONE, false, 2, 130},      {ERR_NONE, false, 1, 129},
        {ERR_CANCELLED, false, 0, 130},
    };
    struct report_facts facts = make_facts();
    struct err failure;
    static const char bound;
    facts.failure = &failure;
    for (size_t i = 0; i < countof(rows); i++) {
        failure = (struct err){0};
        if (rows[i].failure != ERR_NONE) {
            err_set(&failure, rows[i].failure, "why");
        }
        facts.early_signal = rows[i].early_signal;
        facts.binding = rows[i].bound ? (const struct binding *)(const void *)&bound : NULL;
        if (report_exit_code(&facts) != rows[i].wanted) {
            fail_msg("row %zu: %d", i, report_exit_code(&facts));
        }
    }
    /* A provisional record knows no answer yet. */
    facts.in_progress = true;
    facts.early_signal = 2;
    assert_int_equal(report_exit_code(&facts), 125);
    assert_int_equal(report_interrupt(&facts), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_of_endings),
        cmocka_unit_test(codes_before_anything_was_started),
    };
    return cmocka_run_group_tests_name("report/exit", tests, NULL, NULL);
}
