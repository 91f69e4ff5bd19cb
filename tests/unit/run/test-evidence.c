/* In real runs: tests/host/t/72-story.py. */
#include "../bfs/bfs-test.h"

#include <errno.h>

#include "../report/facts.h"
#include "archive.h"
#include "fence.h"
#include "promotion.h"
#include "run-priv.h"

static const char digest[] = "aaaaaaaaaaaa4444444444444444444444444444444444444444444444444444";
static const char other[] = "bbbbbbbbbbbb4444444444444444444444444444444444444444444444444444";
static char root[] = "/home/u/project";
static char variable[80];
static char *environment[] = {variable, NULL};
static struct run_request request;

static bool pread_fails;

ssize_t __real_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset)
{
    return pread_fails ? -EIO : __real_os_pread(fd, bytes, n, offset);
}

static void open_state(struct place *place, struct bfs_dir *folder)
{
    struct err err = {0};
    assert_ok(bfs_dir_open_beneath(&place->dir, "berm", folder, &err));
}

/* A run at a tier, frozen, of which nothing was decided. */
static void begin(struct place *place, struct run *run, enum context_tier tier)
{
    snprintf(variable, sizeof variable, "XDG_STATE_HOME=%s", place->path);
    (void)!mkdirat(place->fd, "berm", 0700); /* it may be there */
    request = run_request_plain();
    request.environment = environment;
    request.tier = tier;
    request.workload = "scan";
    *run = (struct run){.request = &request, .id = "k7f3aa", .facts = make_facts()};
    run->facts.checks = &run->preparation.checks;
    run->preparation.project.root = root;
    memcpy(run->tier.frozen, digest, sizeof digest);
    open_state(place, &run->tier.freeze.state);
    struct err err = {0};
    run->archive = archive_open(environment, &err);
    assert_non_null(run->archive);
}

static void end(struct run *run)
{
    archive_free(run->archive);
    run_evidence_done(run);
    bfs_dir_done(&run->tier.freeze.state);
    checks_done(&run->preparation.checks);
    strvec_done(&run->preparation.notes);
}

static const char *first_code(const struct run *run)
{
    const struct check *check = checks_first_failed(&run->preparation.checks);
    return check ? check->code : "";
}

/* As a run publishes it. */
static void file_record(struct place *place, const char *id, const json_t *record)
{
    char name[40];
    struct err err = {0};
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    snprintf(name, sizeof name, "berm/runs/%s.json", id);
    assert_ok(run_render(record, &text, &err));
    put(place, name, buf_string(&text));
}

/* A run of then, whose digest it returns. */
static void file_report(struct place *place, const char *id, char digest_of_it[HASH_HEX_SIZE])
{
    struct err err = {0};
    struct hash hash;
    struct report_facts facts = make_facts();
    facts.run_id = id;
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    with_json record = report_build(&facts, &err);
    assert_non_null(record);
    file_record(place, id, record);
    assert_ok(run_render(run_inner_report(record), &text, &err));
    hash_init(&hash);
    hash_add(&hash, buf_string(&text), buf_length(&text));
    hash_hex(&hash, digest_of_it);
}

static void promote(struct place *place, int tier, const char *work)
{
    static const struct promotion_facts all = {
#define X(member, missing) .member = true,
        PROMOTION_FACTS(X)
#undef X
    };
    struct err err = {0};
    char name[] = "scan";
    char run[] = "k7f2aa";
    char when[] = "2026-11-30T03:00:00.000Z";
    char of[HASH_HEX_SIZE];
    char report[HASH_HEX_SIZE];
    snprintf(of, sizeof of, "%s", work);
    file_report(place, run, report);
    const struct promotion one = {root, name, tier, of, report, run, when, of};
    with_bfs_dir folder = {0};
    open_state(place, &folder);
    assert_ok(promotion_add(&folder, &one, &all, &err));
}

static size_t count_fences(struct place *place, struct fence *ret_first)
{
    struct err err = {0};
    with_bfs_dir folder = {0};
    with_fences fences = {0};
    open_state(place, &folder);
    assert_true(fences_read(&folder, &fences, &err) >= 0);
    if (fences.standing.count > 0) {
        ret_first->state = ((const struct fence *)fences.standing.objects)->state;
    }
    return fences.standing.count;
}

/* TR-4: the smallest tier needs neither attestation nor promotion; the next needs both. */
static void what_a_tier_rests_on_is_asked_for(void **state)
{
    struct place *place = *state;
    struct run run;
    begin(place, &run, CONTEXT_TIER_SMALL);
    run_evidence_judge(&run);
    assert_string_equal(first_code(&run), "");
    end(&run);
    begin(place, &run, CONTEXT_TIER_MEDIUM);
    run_evidence_judge(&run);
    assert_string_equal(first_code(&run), CHECK_ATTESTATION);
    assert_int_equal(run.preparation.checks.count, 2);
    assert_string_equal(run.preparation.checks.list[1].code, CHECK_PROMOTION);
    assert_string_equal(run.preparation.checks.list[1].saw,
                        "workload 'scan' was not promoted at tier small");
    end(&run);
    promote(place, PROMOTION_SMALL, digest);
    begin(place, &run, CONTEXT_TIER_MEDIUM);
    run_evidence_judge(&run);
    assert_int_equal(run.preparation.checks.count, 1); /* the attestation */
    const json_t *promotion = json_object_get(run.facts.admission, "promotion");
    assert_true(json_is_true(json_object_get(promotion, "ok")));
    assert_int_equal(json_array_size(json_object_get(promotion, "completed")), 1);
    end(&run);
    promote(place, PROMOTION_SMALL, other); /* TR-2 */
    begin(place, &run, CONTEXT_TIER_MEDIUM);
    run_evidence_judge(&run);
    assert_int_equal(run.preparation.checks.count, 2);
    end(&run);
}

/* TR-2 TR-4: a promotion holds as long as its report is what it was. */
static void a_promotion_whose_report_was_changed_opens_nothing(void **state)
{
    struct place *place = *state;
    struct run run;
    char ignored[HASH_HEX_SIZE];
    begin(place, &run, CONTEXT_TIER_SMALL);
    promote(place, PROMOTION_SMALL, digest);
    end(&run);
    for (int change = 0; change < 3; change++) {
        if (change == 0) {
            put(place, "berm/runs/k7f2aa.json", "{}");
        } else if (change == 1) { /* a whole one, of another command */
            struct err err = {0};
            struct report_facts facts = make_facts();
            facts.run_id = "k7f2aa";
            facts.duration_ns += INT64_C(1000000000);
            with_json record = report_build(&facts, &err);
            file_record(place, "k7f2aa", record);
        } else {
            assert_int_equal(unlinkat(place->fd, "berm/runs/k7f2aa.json", 0), 0);
        }
        begin(place, &run, CONTEXT_TIER_MEDIUM);
        run_evidence_judge(&run);
        assert_int_equal(run.preparation.checks.count, 2);
        const struct check *check = &run.preparation.checks.list[1];
        assert_string_equal(check->code, CHECK_PROMOTION);
        assert_non_null(strstr(check->saw, "the promotion of workload 'scan' at tier small"));
        assert_non_null(strstr(check->saw, "k7f2aa"));
        assert_non_null(strstr(check->remedy, "--promote"));
        const json_t *promotion = json_object_get(run.facts.admission, "promotion");
        assert_int_equal(json_array_size(json_object_get(promotion, "completed")), 0);
        end(&run);
    }
    file_report(place, "k7f2aa", ignored);
    begin(place, &run, CONTEXT_TIER_MEDIUM);
    run_evidence_judge(&run);
    assert_int_equal(run.preparation.checks.count, 1); /* the attestation */
    end(&run);
}

/* FZ-1 FZ-4 */
static void fenced_work_is_refused_and_the_remedy_named(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct run run;
    begin(place, &run, CONTEXT_TIER_SMALL);
    run_evidence_judge(&run);
    assert_ok(run_evidence_begin(&run, &err));
    end(&run); /* berm dies */
    begin(place, &run, CONTEXT_TIER_SMALL);
    memcpy(run.id, "k7f4aa", 7);
    run_evidence_judge(&run);
    assert_string_equal(first_code(&run), CHECK_FENCE);
    const struct check *check = checks_first_failed(&run.preparation.checks);
    assert_non_null(strstr(check->saw, "run k7f3aa at "));
    assert_non_null(strstr(check->remedy, "berm fence clear aaaaaaaaaaaa --reason TEXT"));
    checks_done(&run.preparation.checks); /* both looked before either put one up */
    assert_fails(run_evidence_begin(&run, &err), ERR_REFUSED);
    assert_string_equal(first_code(&run), CHECK_FENCE);
    end(&run);
    begin(place, &run, CONTEXT_TIER_SMALL);
    memcpy(run.tier.frozen, other, sizeof other);
    run_evidence_judge(&run);
    assert_string_equal(first_code(&run), "");
    end(&run);
}

/* FZ-5 TR-2: neither is empty because it is broken. */
static void files_that_cannot_be_believed_refuse(void **state)
{
    struct place *place = *state;
    struct run run;
    begin(place, &run, CONTEXT_TIER_SMALL);
    put(place, "berm/" FENCES_FILE, "{");
    put(place, "berm/" PROMOTIONS_FILE, "{");
    run_evidence_judge(&run);
    assert_int_equal(run.preparation.checks.count, 2);
    assert_string_equal(run.preparation.checks.list[0].code, CHECK_PROMOTION);
    assert_string_equal(run.preparation.checks.list[1].code, CHECK_FENCE);
    assert_non_null(strstr(run.preparation.checks.list[0].remedy, PROMOTIONS_FILE));
    assert_non_null(strstr(run.preparation.checks.list[1].remedy, FENCES_FILE));
    end(&run);
}

/* FZ-5 TR-2: what cannot be read is not to be moved away: it may be as good as ever. */
static void files_that_cannot_be_read_stay_where_they_are(void **state)
{
    struct place *place = *state;
    struct run run;
    begin(place, &run, CONTEXT_TIER_SMALL);
    put(place, "berm/" FENCES_FILE, "{");
    put(place, "berm/" PROMOTIONS_FILE, "{");
    pread_fails = true;
    run_evidence_judge(&run);
    pread_fails = false;
    assert_int_equal(run.preparation.checks.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct check *check = &run.preparation.checks.list[i];
        assert_non_null(strstr(check->saw, "Input/output error"));
        assert_non_null(strstr(check->remedy, i == 0 ? PROMOTIONS_FILE : FENCES_FILE));
        assert_non_null(strstr(check->remedy, "where it is"));
        assert_null(strstr(check->saw, "move it"));
        assert_null(strstr(check->remedy, "move"));
    }
    end(&run);
}

enum way { EXITS, FAILS, IS_LIMITED, IS_INTERRUPTED, IS_NOT_RELEASED, LEAVES_SOMEBODY };

static void set_ending(struct supervise_ending *ending, enum way way)
{
    ending->scope.adapter = SCOPE_DELEGATED;
    ending->scope.held = true;
    const void *proof = claim_tree_empty();
    ending->scope.leaf_empty = proof;
    ending->scope.removed.gone = proof;
    ending->exit_code = way == FAILS ? 3 : 0;
    ending->how = way == IS_LIMITED       ? ENDED_LIMIT
                  : way == IS_INTERRUPTED ? ENDED_INTERRUPTED
                                          : ENDED_EXITED;
    ending->limit = way == IS_LIMITED ? LIMIT_MEMORY : LIMIT_NONE;
    if (way == IS_NOT_RELEASED) {
        ending->how = ENDED_INTERRUPTED;
        ending->released_ns = 0;
        ending->launched = false;
    }
    if (way == LEAVES_SOMEBODY) {
        add_survivor(ending, 4711, 0, "stays");
    }
}

/* One attempt, that promotes when it may. The number of fences behind it; *ret_state of the one. */
static size_t attempt(struct place *place, enum way way, bool disarmed, bool *ret_promoted,
                      int *ret_state)
{
    struct err err = {0};
    struct run run;
    with_made_ending ending = make_ending();
    struct fence fence = {0};
    begin(place, &run, CONTEXT_TIER_SMALL);
    request.promote = true;
    run_evidence_judge(&run);
    assert_ok(run_evidence_begin(&run, &err));
    assert_int_equal(count_fences(place, &fence), 1);
    assert_int_equal(fence.state, FENCE_ACTIVE);
    set_ending(ending, way);
    run.ending = ending;
    run.facts.ending = ending;
    run.tier.kept = true;
    run.report_slot = (struct slot *)(void *)&run; /* it is only asked whether there is one */
    run_evidence_note(&run);
    with_json record = report_build(&run.facts, &err);
    assert_non_null(record);
    file_record(place, run.id, record);
    (void)!run_evidence_conclude(&run, record, disarmed);
    *ret_promoted = run.evidence.promoted;
    size_t left = count_fences(place, &fence);
    *ret_state = fence.state;
    bool noted = run.preparation.notes.count > 0;
    assert_int_equal(noted, left > 0 && disarmed);
    end(&run);
    (void)!unlinkat(place->fd, "berm/" FENCES_FILE, 0);
    return left;
}

/* FZ-5 TR-3: what an attempt came to decides both. */
static void what_an_attempt_leaves(void **state)
{
    static const struct {
        enum way way;
        bool disarmed;
        bool promoted;
        size_t fences;
        int state;
    } rows[] = {
        {EXITS, true, true, 0, 0},
        {FAILS, true, false, 0, 0},
        {IS_NOT_RELEASED, true, false, 0, 0},
        {IS_LIMITED, true, false, 1, FENCE_LIMIT},
        {IS_INTERRUPTED, true, false, 1, FENCE_INTERRUPTED},
        {LEAVES_SOMEBODY, true, false, 1, FENCE_FAILED},
        {EXITS, false, false, 1, FENCE_FAILED},
    };
    struct place *place = *state;
    for (size_t i = 0; i < countof(rows); i++) {
        bool promoted = false;
        int left = 0;
        size_t fences = attempt(place, rows[i].way, rows[i].disarmed, &promoted, &left);
        assert_int_equal(promoted, rows[i].promoted);
        assert_int_equal(fences, rows[i].fences);
        assert_true(fences == 0 || left == rows[i].state);
    }
}

/* TR-3: a promotion that cannot be written is a failure, and makes the work no less safe. */
static void what_cannot_be_recorded_is_told(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct run run;
    struct verdict verdict;
    struct fence fence = {0};
    with_made_ending ending = make_ending();
    begin(place, &run, CONTEXT_TIER_SMALL);
    request.promote = true;
    run_evidence_judge(&run);
    assert_ok(run_evidence_begin(&run, &err));
    set_ending(ending, EXITS);
    run.ending = ending;
    run.facts.ending = ending;
    with_json record = report_build(&run.facts, &err);
    assert_int_equal(run_evidence_conclude(&run, record, true), -1); /* the source was not kept */
    assert_false(run.evidence.promoted);
    assert_non_null(strstr(run.failure.msg, "its source is not what was frozen"));
    report_decide(&run.facts, &verdict);
    assert_int_equal(verdict.outcome, OUTCOME_INTERNAL_ERROR);
    assert_string_equal(verdict.reason, "promotion_failed");
    assert_string_equal(verdict.error_code, "LAMINA_SAFE_PROMOTION");
    assert_int_equal(count_fences(place, &fence), 0);
    end(&run);
}

/* TR-3 FZ-5: the fence goes first; where it cannot, nothing is promoted. */
static void work_whose_fence_is_not_settled_is_not_promoted(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct run run;
    struct verdict verdict;
    with_made_ending ending = make_ending();
    begin(place, &run, CONTEXT_TIER_SMALL);
    request.promote = true;
    run_evidence_judge(&run);
    assert_ok(run_evidence_begin(&run, &err));
    set_ending(ending, EXITS);
    run.ending = ending;
    run.facts.ending = ending;
    run.tier.kept = true;
    run.report_slot = (struct slot *)(void *)&run;
    with_json record = report_build(&run.facts, &err);
    file_record(place, run.id, record);
    put(place, "berm/" FENCES_FILE, "{");
    assert_int_equal(run_evidence_conclude(&run, record, true), -1);
    assert_false(run.evidence.promoted);
    assert_int_equal(faccessat(place->fd, "berm/" PROMOTIONS_FILE, F_OK, 0), -1);
    report_decide(&run.facts, &verdict);
    assert_string_equal(verdict.error_code, "LAMINA_SAFE_RETRY_LEDGER");
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(what_a_tier_rests_on_is_asked_for),
        place_test(a_promotion_whose_report_was_changed_opens_nothing),
        place_test(fenced_work_is_refused_and_the_remedy_named),
        place_test(files_that_cannot_be_believed_refuse),
        place_test(files_that_cannot_be_read_stay_where_they_are),
        place_test(what_an_attempt_leaves),
        place_test(what_cannot_be_recorded_is_told),
        place_test(work_whose_fence_is_not_settled_is_not_promoted),
    };
    return cmocka_run_group_tests_name("run/evidence", tests, NULL, NULL);
}
