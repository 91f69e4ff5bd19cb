#include "outcome-priv.h"

int report_child_exit_code(const struct supervise_ending *ending)
{
    if (ending->how == ENDED_NOT_EXECUTED) {
        return ending->exit_code ? ending->exit_code : 126;
    }
    return ending->exit_signal > 0 || ending->how == ENDED_SIGNALLED ? 128 + ending->exit_signal
                                                                     : ending->exit_code;
}

/* Exit codes of `berm run`; those of a shell where it has one for the same thing. */
enum {
    EXIT_LIMIT = 120,
    EXIT_REFUSED = 121,
    EXIT_TIME = 124,
    EXIT_BERM_FAILED = 125,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_OF_SIGNAL = 128,
    EXIT_CANCELLED = 130,
};

static int refused_exit_code(const struct report_facts *facts)
{
    const struct err *failure = outcome_failure(facts);
    if (failure && !facts->binding && failure->code == ERR_NOT_FOUND) {
        return EXIT_NOT_FOUND;
    }
    if (failure && !facts->binding && failure->code == ERR_NOT_EXECUTABLE) {
        return EXIT_NOT_EXECUTABLE;
    }
    return EXIT_REFUSED;
}

static bool was_asked_to_stop(const struct report_facts *facts)
{
    return !facts->in_progress && facts->crash == CRASH_NONE &&
           (outcome_was_stopped_early(facts) ||
            (facts->ending && facts->ending->how == ENDED_INTERRUPTED) || facts->late_signal != 0);
}

int report_interrupt(const struct report_facts *facts)
{
    if (!was_asked_to_stop(facts)) {
        return 0;
    }
    if (facts->ending && facts->ending->how == ENDED_INTERRUPTED) {
        return facts->ending->interrupt_signal;
    }
    return facts->late_signal ? facts->late_signal : facts->early_signal;
}

int report_exit_code(const struct report_facts *facts)
{
    /* Who asked berm to stop is answered with that, even when the stop left something behind. */
    if (was_asked_to_stop(facts)) {
        int signal = report_interrupt(facts);
        return signal > 0 ? EXIT_OF_SIGNAL + signal : EXIT_CANCELLED;
    }
    struct verdict verdict;
    report_decide(facts, &verdict);
    switch (verdict.outcome) {
    case OUTCOME_SUCCESS:
        return 0;
    case OUTCOME_COMMAND_FAILED:
        return report_child_exit_code(facts->ending);
    case OUTCOME_SAFETY_LIMIT_EXCEEDED:
        return supervise_limit(facts->ending->limit)->is_time ? EXIT_TIME : EXIT_LIMIT;
    case OUTCOME_PREFLIGHT_REFUSED:
        return refused_exit_code(facts);
    case OUTCOME_INTERRUPTED:
    case OUTCOME_INTERNAL_ERROR:
    default:
        return EXIT_BERM_FAILED;
    }
}
