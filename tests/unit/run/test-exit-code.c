#include "../unit.h"

#include "run-priv.h"

struct row {
    const char *what;
    enum supervise_how how;
    enum supervise_limit limit;
    int exit_code;
    int exit_signal;
    enum outcome outcome;
    int plain;
    int by_outcome;
    int bisect;
};

static const struct row rows[] = {
    {"success", ENDED_EXITED, LIMIT_NONE, 0, 0, OUTCOME_SUCCESS, 0, 0, 0},
    {"own code", ENDED_EXITED, LIMIT_NONE, 3, 0, OUTCOME_COMMAND_FAILED, 3, 4, 3},
    {"own 124", ENDED_EXITED, LIMIT_NONE, 124, 0, OUTCOME_COMMAND_FAILED, 124, 4, 125},
    {"signal", ENDED_SIGNALLED, LIMIT_NONE, 0, 11, OUTCOME_COMMAND_FAILED, 139, 4, 125},
    {"memory", ENDED_LIMIT, LIMIT_MEMORY, 0, 0, OUTCOME_SAFETY_LIMIT_EXCEEDED, 120, 4, 125},
    {"time", ENDED_LIMIT, LIMIT_TIMEOUT, 0, 0, OUTCOME_SAFETY_LIMIT_EXCEEDED, 124, 8, 125},
    {"not found", ENDED_NOT_EXECUTED, LIMIT_NONE, 127, 0, OUTCOME_COMMAND_FAILED, 127, 4, 125},
};

/* Stable exit codes in every mode; the payload's own answers stay its own. */
static void every_ending_has_its_code(void **state)
{
    struct checks checks = {0};
    struct contain contain;
    contain_choose(NULL, &contain);
    for (size_t i = 0; i < countof(rows); i++) {
        const struct row *row = &rows[i];
        struct supervise_ending ending = {
            .how = row->how,
            .limit = row->limit,
            .exit_code = row->exit_code,
            .exit_signal = row->exit_signal,
            .launched = row->how != ENDED_NOT_EXECUTED,
            .sample_count = 1,
            .tree_empty = (const struct proof_tree_empty *)&ending,
        };
        struct report_facts facts = {.ending = &ending, .checks = &checks, .contain = &contain};
        struct verdict verdict = {.outcome = row->outcome,
                                  .limit = row->limit == LIMIT_TIMEOUT ? "timeout" : NULL};
        assert_int_equal(run_exit_code(EXIT_MODE_PLAIN, &verdict, &facts), row->plain);
        assert_int_equal(run_exit_code(EXIT_MODE_OUTCOME, &verdict, &facts), row->by_outcome);
        assert_int_equal(run_exit_code(EXIT_MODE_BISECT, &verdict, &facts), row->bisect);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_ending_has_its_code)};
    return cmocka_run_group_tests_name("run/exit-code", tests, NULL, NULL);
}
