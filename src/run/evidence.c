/* What a run at a tier rests on, and what it leaves for the next: attestation, promotions, fences. */
#include "run-priv.h"

#include <string.h>

#include "archive.h"
#include "clock.h"
#include "fence.h"
#include "memory.h"
#include "promotion.h"
#include "qualification.h"
#include "text.h"
#include "validate.h"

enum { WHY_BYTES = 1000 };

static void refuse(struct run *run, const char *code, const char *what, const char *saw,
                   const char *remedy)
{
    checks_add_take(&run->preparation.checks, code, false, memory_copy_string(what),
                    memory_copy_string(saw), memory_copy_string(remedy));
}

static enum promotion_tier tier_of(const struct run *run)
{
    _Static_assert((int)CONTEXT_TIER_SMALL - 1 == (int)PROMOTION_SMALL &&
                       (int)CONTEXT_TIER_LARGE - 1 == (int)PROMOTION_LARGE,
                   "the same tiers in the same order");
    return (enum promotion_tier)(run->request->tier - 1);
}

static struct promotion_work work_of(const struct run *run)
{
    return (struct promotion_work){run->preparation.project.root, run->request->workload,
                                   run->tier.frozen};
}

static int digest_of(const json_t *report, char hex[HASH_HEX_SIZE], struct err *err)
{
    struct hash hash;
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    if (run_render(report, &text, err) < 0) {
        return -1;
    }
    hash_init(&hash);
    hash_add(&hash, buf_string(&text), buf_length(&text));
    hash_hex(&hash, hex);
    return 0;
}

/* The state folder's record of that run holds the very report; the named one may be another run's by now. */
static int check_report(const struct run *run, const char *run_id, const char *digest,
                        struct err *err)
{
    char id[RUN_ID_SIZE];
    char seen[HASH_HEX_SIZE];
    if (!run->archive) {
        return err_set(err, ERR_UNAVAILABLE, "the records of the state folder cannot be had");
    }
    if (archive_find(run->archive, run_id, id, err) < 0) {
        return -1;
    }
    with_json record = archive_read(run->archive, id, err);
    if (!record || digest_of(run_inner_report(record), seen, err) < 0) {
        return -1;
    }
    return strcmp(id, run_id) == 0 && strcmp(seen, digest) == 0
               ? 0
               : err_set(err, ERR_CHANGED, "the report in '%s/%s.json' is not what it was",
                         archive_folder(run->archive), id);
}

/* --- before ------------------------------------------------------------------------------------- */

/* The smallest tier is what a host is tried with, and needs none. */
static void judge_attestation(struct run *run)
{
    struct err err = {0};
    with_qualification qualification = {0};
    if (tier_of(run) == PROMOTION_SMALL) {
        return;
    }
    if (qualification_read(run->request->environment, &run->offer, &qualification, &err) < 0 ||
        !qualification.valid) {
        refuse(run, CHECK_ATTESTATION, "this host, as it is, is not qualified for production tiers",
               qualification.reason ? qualification.reason : err.msg, "run `berm self-test`");
    }
    json_object_set_new(run->evidence.told, "attestation", qualification_to_json(&qualification));
}

static bool is_current(const struct run *run, const struct promotions *promotions,
                       enum promotion_tier tier, struct err *err)
{
    const struct promotion_work work = work_of(run);
    const struct promotion *one = promotions_find(promotions, &work, tier);
    return one && strcmp(one->frozen_digest, work.frozen_digest) == 0 &&
           check_report(run, one->run_id, one->report_digest, err) == 0;
}

/* What was promoted is this work, and its reports still say so. */
static bool may_follow(const struct run *run, const struct promotions *promotions, struct buf *why)
{
    const struct promotion_work work = work_of(run);
    if (!promotions_allow(promotions, &work, tier_of(run), why)) {
        return false;
    }
    for (enum promotion_tier below = PROMOTION_SMALL; below < tier_of(run); below++) {
        struct err err = {0};
        if (!is_current(run, promotions, below, &err)) {
            buf_add_format(why, "the promotion of workload '%s' at tier %s does not hold: ",
                           work.workload, promotion_tier_name(below));
            text_neutralise(why, span_of_string(err.msg));
            return false;
        }
    }
    return true;
}

static json_t *promotion_to_json(const struct run *run, const struct promotions *promotions,
                                 bool allowed)
{
    json_t *json = json_object();
    json_t *completed = json_array();
    json_t *required = json_array();
    for (enum promotion_tier tier = PROMOTION_SMALL; tier < PROMOTION_TIER_COUNT; tier++) {
        struct err ignored = {0};
        if (is_current(run, promotions, tier, &ignored)) {
            json_array_append_new(completed, json_string(promotion_tier_name(tier)));
        }
        if (tier < tier_of(run)) {
            json_array_append_new(required, json_string(promotion_tier_name(tier)));
        }
    }
    json_object_set_new(json, "ok", json_boolean(allowed));
    json_object_set_new(json, "required", required);
    json_object_set_new(json, "completed", completed);
    return json;
}

/* Of a file that is there: what is in it may be as good as ever, and is not to be lost. */
static const char *remedy_of(const struct err *err, const char *unreadable, const char *unbelieved)
{
    return err->code == ERR_SYS       ? unreadable
           : err->code == ERR_CHANGED ? "try again: another berm was at it"
                                      : unbelieved;
}

static void judge_promotions(struct run *run)
{
    struct err err = {0};
    with_promotions promotions = {0};
    with_buf why = buf_new(WHY_BYTES);
    if (promotions_read(&run->tier.freeze.state, &promotions, &err) < 0) {
        refuse(run, CHECK_PROMOTION, "the promotions cannot be believed", err.msg,
               remedy_of(&err,
                         "leave " PROMOTIONS_FILE
                         " in berm's state folder where it is, and see why it cannot be read",
                         "move " PROMOTIONS_FILE
                         " in berm's state folder away, and run the smaller tiers with "
                         "--promote again"));
        return;
    }
    bool allowed = may_follow(run, &promotions, &why);
    if (!allowed) {
        refuse(run, CHECK_PROMOTION, "a smaller tier comes first", buf_string(&why),
               "run it with --promote at each smaller tier, in their order");
    }
    json_object_set_new(run->evidence.told, "promotion",
                        promotion_to_json(run, &promotions, allowed));
}

static void refuse_fenced(struct run *run, const struct fence *fence)
{
    with_buf words = buf_new(WHY_BYTES);
    fence_explain(fence, &words);
    with_string remedy = memory_format(
        "change what made it unsafe; or look into it, and `berm fence clear %.*s --reason TEXT`",
        FENCE_ID_LENGTH, fence->frozen_digest);
    refuse(run, CHECK_FENCE, "this very work was attempted, and is not tried again as it is",
           buf_string(&words), remedy);
}

static void judge_fence(struct run *run)
{
    struct err err = {0};
    with_fences fences = {0};
    if (fences_read(&run->tier.freeze.state, &fences, &err) < 0) {
        refuse(run, CHECK_FENCE, "the fences cannot be believed", err.msg,
               remedy_of(&err,
                         "leave " FENCES_FILE
                         " in berm's state folder where it is, and see why it cannot be read",
                         "look into " FENCES_FILE
                         " in berm's state folder: what it fenced was unsafe; move it "
                         "away only when you know what that was"));
        return;
    }
    const struct fence *fence = fences_find(&fences, run->tier.frozen);
    if (fence) {
        refuse_fenced(run, fence);
    }
    json_t *retry = json_object();
    json_object_set_new(retry, "ok", json_boolean(!fence));
    json_object_set_new(retry, "signature", json_string(run->tier.frozen));
    json_object_set_new(retry, "previous",
                        fence ? json_text(span_of_string(fence->run_id)) : json_null());
    json_object_set_new(run->evidence.told, "retry", retry);
}

void run_evidence_judge(struct run *run)
{
    struct run_evidence *evidence = &run->evidence;
    evidence->told = json_object();
    judge_attestation(run);
    judge_promotions(run);
    judge_fence(run);
    run->facts.admission = evidence->told;
}

/* --- the attempt -------------------------------------------------------------------------------- */

/* What it borrows: the tier's name and the limit's are copies of the caller's. */
static struct fence fence_of(const struct run *run, enum fence_state state, char *tier, char *limit)
{
    return (struct fence){.frozen_digest = (char *)(uintptr_t)run->tier.frozen,
                          .state = (int)state,
                          .limit = limit,
                          .tier = tier,
                          .repository = run->preparation.project.root,
                          .workload = (char *)(uintptr_t)run->request->workload,
                          .run_id = (char *)(uintptr_t)run->id,
                          .since = (char *)(uintptr_t)run->evidence.since};
}

int run_evidence_begin(struct run *run, struct err *err)
{
    struct err seen = {0};
    clock_format_utc(run->request->clock->realtime_ns(), run->evidence.since);
    with_string tier = memory_copy_string(promotion_tier_name(tier_of(run)));
    const struct fence fence = fence_of(run, FENCE_ACTIVE, tier, NULL);
    if (fence_raise(&run->tier.freeze.state, &fence, &seen) == 0) {
        run->evidence.fenced = true;
        return 0;
    }
    if (seen.code == ERR_CONFLICT) { /* somebody was first: late, and a refusal like an early one */
        refuse(run, CHECK_FENCE, "this very work is being attempted", seen.msg,
               "`berm fence list` shows it");
        seen.code = ERR_REFUSED;
    }
    return err_set(err, seen.code, "no fence, so nothing is released: %s", seen.msg);
}

static struct fence_facts facts_of(const struct run *run, bool published, bool disarmed)
{
    struct verdict verdict;
    const struct supervise_ending *ending = run->ending;
    bool limited = ending && ending->limit > LIMIT_NONE;
    report_decide(&run->facts, &verdict);
    return (struct fence_facts){
        .released = ending && ending->released_ns > 0,
        .limit = limited ? supervise_limit(ending->limit)->name : NULL,
        .interrupted = ending && ending->how == ENDED_INTERRUPTED,
        .clean = verdict.outcome == OUTCOME_SUCCESS || verdict.outcome == OUTCOME_COMMAND_FAILED,
        .published = published,
        .disarmed = disarmed,
    };
}

void run_evidence_note(struct run *run)
{
    enum fence_state state = FENCE_ACTIVE;
    if (!run->evidence.fenced) {
        return;
    }
    const struct fence_facts facts = facts_of(run, true, true);
    if (!fence_judge(&facts, &state)) {
        strvec_push_format(&run->preparation.notes,
                           "this work is fenced (%.*s, %s): no tier tries it again as it is; `berm "
                           "fence list`",
                           FENCE_ID_LENGTH, run->tier.frozen, fence_state_name(state));
    }
}

/* --- behind it ---------------------------------------------------------------------------------- */

/* In both of its places: it is compared again when the promotion is used. */
static bool is_published(const struct run *run, const json_t *report, const char *digest)
{
    struct err ignored = {0}; /* that it is missing is told */
    with_strvec faults = {0};
    return run->report_slot && !run->facts.fallback && validate_report(report, &faults) == 0 &&
           check_report(run, run->id, digest, &ignored) == 0;
}

static struct promotion_facts proofs_of(const struct run *run, const json_t *report,
                                        const char *digest, bool disarmed)
{
    const struct supervise_ending *ending = run->ending;
    const struct supervise_scope *scope = &ending->scope;
    const json_t *cleanup = json_object_get(report, "cleanup");
    return (struct promotion_facts){
        .command_succeeded = ending->how == ENDED_EXITED && ending->exit_code == 0,
        .report_valid = is_published(run, report, digest),
        .descendants_gone = ending->tree_empty && ending->survivor_count == 0 && scope->leaf_empty,
        .scope_removed = scope->held && report_removed_scope(ending),
        .temporary_removed = json_is_true(json_object_get(cleanup, "temporary_directory_removed")),
        .cleanup_clean = json_is_array(json_object_get(cleanup, "errors")) &&
                         json_array_size(json_object_get(cleanup, "errors")) == 0,
        .watchdog_disarmed = disarmed,
        .source_unchanged = run->tier.kept,
    };
}

static int promote(struct run *run, const json_t *report, bool disarmed, struct err *err)
{
    char digest[HASH_HEX_SIZE];
    char now[CLOCK_TEXT_SIZE];
    with_string workload = memory_copy_string(run->request->workload);
    with_string build = qualification_build(err);
    if (!build || digest_of(report, digest, err) < 0) {
        return -1;
    }
    clock_format_utc(run->request->clock->realtime_ns(), now);
    const struct promotion_facts proofs = proofs_of(run, report, digest, disarmed);
    const struct promotion promotion = {.repository = run->preparation.project.root,
                                        .workload = workload,
                                        .tier = (int)tier_of(run),
                                        .frozen_digest = run->tier.frozen,
                                        .report_digest = digest,
                                        .run_id = run->id,
                                        .recorded_at = now,
                                        .build = build};
    return promotion_add(&run->tier.freeze.state, &promotion, &proofs, err);
}

static int settle_fence(struct run *run, const struct fence_facts *facts, struct err *err)
{
    enum fence_state state = FENCE_ACTIVE;
    const struct bfs_dir *folder = &run->tier.freeze.state;
    if (fence_judge(facts, &state)) {
        return fence_lower(folder, run->tier.frozen, run->id, err);
    }
    with_string tier = memory_copy_string(promotion_tier_name(tier_of(run)));
    with_string limit = memory_copy_or_null(facts->limit);
    const struct fence fence = fence_of(run, state, tier, limit);
    return fence_keep(folder, &fence, err);
}

int run_evidence_conclude(struct run *run, const json_t *record, bool disarmed)
{
    struct err seen = {0};
    struct verdict verdict;
    if (!run->evidence.fenced) {
        return 0;
    }
    report_decide(&run->facts, &verdict);
    const struct fence_facts facts = facts_of(run, !run->facts.fallback, disarmed);
    /* The fence first: work that may still stand fenced opens no tier. A promotion that cannot be written
     * afterwards makes the work no less safe. */
    if (settle_fence(run, &facts, &seen) < 0) {
        run->facts.fence_failed = true;
    } else if (run->request->promote && verdict.outcome == OUTCOME_SUCCESS) {
        run->evidence.promoted = promote(run, run_inner_report(record), disarmed, &seen) == 0;
        run->facts.promotion_failed = !run->evidence.promoted;
    }
    if (seen.code != ERR_NONE) {
        run_fail(run, &seen);
        return -1;
    }
    return 0;
}

void run_evidence_done(struct run *run)
{
    json_decref(run->evidence.told);
    run->evidence = (struct run_evidence){0};
}
