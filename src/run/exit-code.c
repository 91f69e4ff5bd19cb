#include "run.h"

#include <string.h>

/* What git bisect takes for "cannot be tested": it stops for good on more than 127. */
enum { BISECT_SKIP = 125, LARGEST_OWN_VERDICT = 119 };

/* The table of the other commands, for callers that want an outcome and not a command's own code. */
static const int by_outcome[] = {
    [OUTCOME_SUCCESS] = 0,
    [OUTCOME_COMMAND_FAILED] = 4,
    [OUTCOME_SAFETY_LIMIT_EXCEEDED] = 4,
    [OUTCOME_PREFLIGHT_REFUSED] = 9,
    [OUTCOME_INTERRUPTED] = 8,
    [OUTCOME_INTERNAL_ERROR] = 5,
};

static int for_bisect(const struct verdict *verdict, int plain)
{
    bool own = verdict->outcome == OUTCOME_SUCCESS ||
               (verdict->outcome == OUTCOME_COMMAND_FAILED && plain <= LARGEST_OWN_VERDICT);
    return own ? plain : BISECT_SKIP;
}

static int for_outcome(const struct verdict *verdict, const struct report_facts *facts)
{
    bool timed_out = verdict->limit && strcmp(verdict->limit, "timeout") == 0;
    bool stopped_early = !facts->ending && report_interrupt(facts) != 0;
    return timed_out || stopped_early ? by_outcome[OUTCOME_INTERRUPTED]
                                      : by_outcome[verdict->outcome];
}

int run_exit_code(enum run_exit_mode mode, const struct verdict *verdict,
                  const struct report_facts *facts)
{
    switch (mode) {
    case EXIT_MODE_OUTCOME:
        return for_outcome(verdict, facts);
    case EXIT_MODE_BISECT:
        return for_bisect(verdict, report_exit_code(facts));
    case EXIT_MODE_PLAIN:
    default:
        return report_exit_code(facts);
    }
}
