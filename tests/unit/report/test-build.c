#include "../unit.h"

#include <errno.h>
#include <stdio.h>

#include "facts.h"
#include "validate.h"

/* RP-2, RP-3: whatever the facts are, there is one report, and it is valid. The whole product of
 * what facts can say is built; each is asked of the validator, and of what must never be claimed. */

static const enum err_code failures[] = {ERR_NONE,        ERR_SYS,      ERR_USAGE,
                                         ERR_REFUSED,     ERR_CHANGED,  ERR_NOT_FOUND,
                                         ERR_OVER_BUDGET, ERR_CANCELLED};
enum { PROVED, NOT_PROVED, SURVIVORS, PROVED_WITH_SURVIVOR, PROOF_COUNT };
static const int exit_codes[] = {0, 1, 255, -1};
static const int exit_signals[] = {0, 9, 64, 99};
static const int early_signals[] = {0, 2};
static const int sample_counts[] = {0, 1, SAMPLE_COUNT};

struct product {
    long built;
    long outcomes[OUTCOME_INTERNAL_ERROR + 1];
    struct checks ok;
    struct checks failed;
    struct supervise_ending *ending;
};

static const char *text_at(const json_t *json, const char *a, const char *b)
{
    return json_string_value(json_object_get(json_object_get(json, a), b));
}

static void claims_are_covered(const struct report_facts *facts, const json_t *record)
{
    const json_t *report = json_object_get(record, "report");
    const char *outcome = json_string_value(json_object_get(report, "outcome"));
    bool proved = facts->ending && facts->ending->tree_empty && facts->ending->survivor_count == 0;
    bool launched =
        strcmp(outcome, "internal_error") != 0 && strcmp(outcome, "preflight_refused") != 0;
    if (launched) {
        assert_true(proved && facts->checks && checks_ok(facts->checks));
        assert_false(facts->in_progress || facts->fallback);
    }
    if (facts->ending && !proved && !facts->in_progress) {
        assert_string_equal(text_at(report, "termination", "reason"), "cleanup_incomplete");
    }
    if (strcmp(outcome, "success") == 0) {
        assert_true(facts->ending->how == ENDED_EXITED && facts->ending->exit_code == 0);
    }
}

static void build_one(struct product *product, const struct report_facts *facts)
{
    struct err err = {0};
    with_json record = report_build(facts, &err);
    if (!record) {
        fail_msg("%s", err.msg);
    }
    with_strvec faults = {0};
    if (validate_report(json_object_get(record, "report"), &faults) > 0) {
        fail_msg("%s", faults.strings[0]);
    }
    claims_are_covered(facts, record);
    struct verdict verdict;
    report_decide(facts, &verdict);
    product->built++;
    product->outcomes[verdict.outcome]++;
}

static void vary_flags(struct product *product, const struct report_facts *facts)
{
    static const struct {
        bool in_progress;
        bool fallback;
        bool contained;
    } flags[] = {{false, false, true},
                 {true, false, true},
                 {false, true, true},
                 {true, true, false},
                 {false, false, false}};
    for (size_t i = 0; i < countof(flags); i++) {
        struct report_facts varied = *facts;
        varied.in_progress = flags[i].in_progress;
        varied.fallback = flags[i].fallback;
        varied.contain = flags[i].contained ? facts->contain : NULL;
        build_one(product, &varied);
    }
}

static void vary_failure(struct product *product, struct report_facts *facts)
{
    for (size_t i = 0; i < countof(failures); i++) {
        struct err failure = {0};
        if (failures[i] != ERR_NONE) {
            err_set(&failure, failures[i], "something, with \xff and \x1b[31m");
        }
        facts->failure = &failure;
        if (facts->ending && facts->ending->how == ENDED_FAILED) {
            product->ending->failure = failure;
            facts->failure = NULL;
        }
        vary_flags(product, facts);
    }
}

static void vary_checks(struct product *product, struct report_facts *facts)
{
    const struct checks *checks[] = {NULL, &product->ok, &product->failed};
    for (size_t i = 0; i < countof(checks); i++) {
        facts->checks = checks[i];
        vary_failure(product, facts);
    }
}

static void vary_proof(struct product *product, struct report_facts *facts)
{
    struct supervise_ending *ending = product->ending;
    for (int proof = 0; proof < PROOF_COUNT; proof++) {
        ending->tree_empty =
            proof == PROVED || proof == PROVED_WITH_SURVIVOR ? claim_tree_empty() : NULL;
        ending->survivor_count = 0;
        for (int i = 0; i < (proof == SURVIVORS ? SURVIVOR_COUNT : 1) && proof >= SURVIVORS; i++) {
            add_survivor(ending, 5 + i, i % 2 ? EPERM : 0, "sleep\n\xff longer than fits");
        }
        vary_checks(product, facts);
    }
}

static void vary_exit(struct product *product, struct report_facts *facts)
{
    struct supervise_ending *ending = product->ending;
    for (size_t i = 0; i < countof(exit_codes); i++) {
        ending->exit_code = exit_codes[i];
        ending->exit_signal = ending->how == ENDED_EXITED ? 0 : exit_signals[i];
        ending->sample_count = sample_counts[i % countof(sample_counts)];
        ending->launched = i % 2 == 0;
        ending->exited_ns = i % 2 == 0 ? INT64_C(1501000000) : 0;
        ending->interrupt_signal = exit_signals[i];
        vary_proof(product, facts);
    }
}

static void vary_limit(struct product *product, struct report_facts *facts)
{
    struct supervise_ending *ending = product->ending;
    for (int limit = LIMIT_NONE; limit <= LIMIT_COUNT; limit++) {
        ending->limit = (enum supervise_limit)limit;
        ending->sample_count = limit % 2;
        vary_proof(product, facts);
    }
}

static void every_combination_of_facts_has_a_valid_report(void **state)
{
    struct product product = {.ending = make_ending()};
    add_check(&product.ok, true);
    add_check(&product.failed, true);
    add_check(&product.failed, false);
    struct report_facts facts = make_facts();
    for (size_t i = 0; i < countof(early_signals); i++) {
        facts.early_signal = early_signals[i];
        vary_checks(&product, &facts);
    }
    facts.ending = product.ending;
    for (int how = ENDED_EXITED; how <= ENDED_FAILED; how++) {
        product.ending->how = (enum supervise_how)how;
        vary_exit(&product, &facts);
    }
    product.ending->how = ENDED_LIMIT;
    vary_limit(&product, &facts);
    printf("# %ld reports built from facts, all valid\n", product.built);
    for (int i = 0; i <= OUTCOME_INTERNAL_ERROR; i++) {
        printf("#   %ld %s\n", product.outcomes[i], outcome_name((enum outcome)i));
        assert_true(product.outcomes[i] > 0);
    }
    memory_free(product.ending);
    checks_done(&product.ok);
    checks_done(&product.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_of_facts_has_a_valid_report),
    };
    return cmocka_run_group_tests_name("report/build", tests, NULL, NULL);
}
