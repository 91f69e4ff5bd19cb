/* What a run at a tier has besides (TR, FZ). The plain run knows nothing of it. */
#include "run-priv.h"

static bool is_at_tier(const struct run *run)
{
    return run->request->tier != CONTEXT_TIER_NONE;
}

struct run_request run_tier_widen(const struct run_request *request)
{
    struct run_request wanted = *request;
    if (wanted.tier != CONTEXT_TIER_NONE) {
        wanted.authority = AUTHORITY_DECLARED;
        wanted.require = GUARANTEE_ALL;
        wanted.sandbox = true;
    }
    return wanted;
}

int run_tier_prepare(struct run *run, struct err *err)
{
    if (!is_at_tier(run)) {
        return 0;
    }
    run_turn_judge(run);
    if (run->turn.code) {
        return 0; /* not its turn, or given up: nothing is read and copied beside whose turn it is */
    }
    run_outside_judge(run);
    if (run_freeze(run, err) < 0) {
        return -1;
    }
    if (run->tier.frozen[0]) {
        run_evidence_judge(run);
    }
    return 0;
}

int run_tier_release(struct run *run, struct err *err)
{
    return !is_at_tier(run)                 ? 0
           : run_freeze_check(run, err) < 0 ? -1
                                            : run_evidence_begin(run, err);
}

void run_tier_ended(struct run *run)
{
    struct err err = {0};
    if (!is_at_tier(run)) {
        return;
    }
    run->tier.kept = run_freeze_ended(run, &err) == 0;
    if (!run->tier.kept) {
        run_fail(run, &err);
    }
}

int run_tier_conclude(struct run *run, const json_t *record, bool disarmed)
{
    if (!is_at_tier(run)) {
        return 0;
    }
    int result = record ? run_evidence_conclude(run, record, disarmed) : 0;
    run_turn_end(run, disarmed);
    run_freeze_prune(run);
    return result;
}

void run_tier_done(struct run *run)
{
    run_evidence_done(run);
    run_freeze_done(&run->tier.freeze);
    production_lock_done(&run->turn.lock);
}
