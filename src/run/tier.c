/* What a run at a tier has besides (TR, FZ). The plain run knows nothing of it. */
#include "run-priv.h"

#include "memory.h"

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
    if (run_freeze(run, err) < 0) {
        return -1;
    }
    checks_add_take(&run->preparation.checks, CHECK_TIER, false,
                    memory_copy_string("this version of berm launches nothing at a tier"),
                    memory_copy_string("its attestation, promotions, fence and lock are not "
                                       "compared, and no evidence could come of it"),
                    memory_copy_string("run it without --tier and --promote"));
    return 0;
}

int run_tier_release(struct run *run, struct err *err)
{
    return is_at_tier(run) ? run_freeze_check(run, err) : 0;
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

void run_tier_conclude(struct run *run)
{
    if (is_at_tier(run)) {
        run_freeze_prune(run);
    }
}

void run_tier_done(struct run *run)
{
    run_freeze_done(&run->tier.freeze);
}
