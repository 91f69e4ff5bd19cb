#include "../unit.h"

#include <errno.h>
#include <stdio.h>

#include "facts.h"
#include "validate.h"

/* RP-2, RP-3: whatever the facts are, there is one report, and it is valid. The whole product of what
 * facts can say is decided. What is built from them depends on less than all of it, so each different
 * combination of what it does depend on is built once, asked of the validator, and of what must never
 * be claimed. */

static const enum err_code failures[] = {ERR_NONE,        ERR_SYS,      ERR_USAGE,
                                         ERR_REFUSED,     ERR_CHANGED,  ERR_NOT_FOUND,
                                         ERR_OVER_BUDGET, ERR_CANCELLED};
enum { PROVED, NOT_PROVED, SURVIVORS, PROVED_WITH_SURVIVOR, PROOF_COUNT };
enum { CHECKS_NONE, CHECKS_OK, CHECKS_FAILED, CHECKS_COUNT };
enum { NO_ENDING = ENDED_FAILED + 1, HOW_COUNT };
static const struct {
    int exit_code;
    int exit_signal;
    bool launched;
} exits[] = {{0, 0, true}, {1, 0, false}, {0, 9, true}, {255, 64, false}, {-1, 99, true}};
static const int early_signals[] = {0, 2};
static const int sample_counts[] = {0, 1, SAMPLE_COUNT};

struct point { /* of the product */
    int how;
    int limit;
    int proof;
    int checks;
    int exit;
    int samples;
    int early;
    int failure;
    bool in_progress;
    bool fallback;
    bool contained;
    int crash;
};

enum { SEEN_SIZE = 1 << 16 };
/* Each record of a sanitized build costs five times as much; every one is built in the others. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { BUILT_OF = 8 };
#define IS_BUILT_OF
#endif
#endif
#ifndef IS_BUILT_OF
enum { BUILT_OF = 1 };
#endif

struct product {
    long decided;
    long different;
    long built;
    long outcomes[OUTCOME_INTERNAL_ERROR + 1];
    struct checks ok;
    struct checks failed;
    struct supervise_ending *ending;
    struct err failure;
    uint64_t *seen; /* hashes of what was built, 0: free */
};

static struct report_facts facts_at(struct product *product, const struct point *point)
{
    const struct checks *checks[] = {NULL, &product->ok, &product->failed};
    struct report_facts facts = make_facts();
    struct supervise_ending *ending = product->ending;
    product->failure = (struct err){0};
    if (failures[point->failure] != ERR_NONE) {
        err_set(&product->failure, failures[point->failure], "why, with \xff and \x1b[31m");
    }
    ending->how = (enum supervise_how)point->how;
    ending->limit = (enum supervise_limit)point->limit;
    ending->tree_empty =
        point->proof == PROVED || point->proof == PROVED_WITH_SURVIVOR ? claim_tree_empty() : NULL;
    ending->survivor_count = 0;
    for (int i = 0;
         i < (point->proof == SURVIVORS ? SURVIVOR_COUNT : 1) && point->proof >= SURVIVORS; i++) {
        add_survivor(ending, 5 + i, i % 2 ? EPERM : 0, "sleep\n\xff longer than fits");
    }
    ending->exit_code = exits[point->exit].exit_code;
    ending->exit_signal = point->how == ENDED_EXITED ? 0 : exits[point->exit].exit_signal;
    ending->interrupt_signal = exits[point->exit].exit_signal;
    ending->launched = exits[point->exit].launched;
    ending->exited_ns = exits[point->exit].launched ? INT64_C(1501000000) : 0;
    ending->sample_count = sample_counts[point->samples];
    ending->failure = point->how == ENDED_FAILED ? product->failure : (struct err){0};
    facts.ending = point->how == NO_ENDING ? NULL : ending;
    facts.failure = point->how == ENDED_FAILED ? NULL : &product->failure;
    facts.checks = checks[point->checks];
    facts.early_signal = early_signals[point->early];
    facts.in_progress = point->in_progress;
    facts.fallback = point->fallback;
    facts.contain = point->contained ? facts.contain : NULL;
    facts.crash = (enum report_crash)point->crash;
    return facts;
}

/* FNV-1a over what the built record depends on, as far as a rule could be broken by it: nothing asks
 * how a command that proves nothing ended. */
static uint64_t hash_of(const struct point *point, const struct verdict *verdict)
{
    bool launched =
        verdict->outcome != OUTCOME_INTERNAL_ERROR && verdict->outcome != OUTCOME_PREFLIGHT_REFUSED;
    with_string text = memory_format(
        "%d %s %s %s %d %d %d %d %d %d %d %d %d", (int)verdict->outcome, verdict->reason,
        verdict->limit ? verdict->limit : "", verdict->error_code ? verdict->error_code : "",
        launched ? point->how : point->how == NO_ENDING, point->proof, point->checks,
        launched ? point->exit : 0, point->samples, point->in_progress, point->fallback,
        point->contained, point->crash);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *p = text; *p; p++) {
        hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
    }
    return hash | 1;
}

static bool is_new(struct product *product, uint64_t hash)
{
    size_t i = hash % SEEN_SIZE;
    while (product->seen[i] != 0 && product->seen[i] != hash) {
        i = (i + 1) % SEEN_SIZE;
    }
    bool fresh = product->seen[i] == 0;
    product->seen[i] = hash;
    return fresh;
}

static void claims_are_covered(const struct report_facts *facts, const struct verdict *verdict)
{
    bool proved = facts->ending && facts->ending->tree_empty && facts->ending->survivor_count == 0;
    bool launched =
        verdict->outcome != OUTCOME_INTERNAL_ERROR && verdict->outcome != OUTCOME_PREFLIGHT_REFUSED;
    if (launched) {
        bool crashed = facts->crash == CRASH_IN_PAYLOAD || facts->crash == CRASH_AFTER_PAYLOAD;
        assert_true((proved || crashed) && facts->checks && checks_ok(facts->checks) &&
                    facts->contain);
        assert_false(facts->in_progress || (facts->fallback && facts->crash == CRASH_NONE));
    }
    if (facts->crash !=
        CRASH_NONE) { /* WD-5: whatever else is known, it is no success and no limit */
        assert_true(verdict->outcome == OUTCOME_INTERRUPTED ||
                    verdict->outcome == OUTCOME_INTERNAL_ERROR);
    } else if (facts->ending && !proved && !facts->in_progress) {
        assert_string_equal(verdict->reason, "cleanup_incomplete");
    }
    if (verdict->outcome == OUTCOME_SUCCESS) {
        assert_true(facts->ending->how == ENDED_EXITED && facts->ending->exit_code == 0);
        assert_int_equal(report_exit_code(facts), 0);
    } else {
        assert_int_not_equal(report_exit_code(facts), 0);
    }
}

static void build(struct product *product, const struct report_facts *facts)
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
    product->built++;
}

static void visit(struct product *product, const struct point *point)
{
    struct report_facts facts = facts_at(product, point);
    struct verdict verdict;
    report_decide(&facts, &verdict);
    claims_are_covered(&facts, &verdict);
    product->decided++;
    product->outcomes[verdict.outcome]++;
    if (is_new(product, hash_of(point, &verdict)) && product->different++ % BUILT_OF == 0) {
        build(product, &facts);
    }
}

/* The next point of the product, as an odometer counts; false after the last. */
static bool advance(int *digits, const int *bases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (++digits[i] < bases[i]) {
            return true;
        }
        digits[i] = 0;
    }
    return false;
}

static void every_combination_of_facts_has_a_valid_report(void **state)
{
    struct product product = {.ending = make_ending(),
                              .seen = memory_new(SEEN_SIZE * sizeof(uint64_t))};
    add_check(&product.ok, true);
    add_check(&product.failed, true);
    add_check(&product.failed, false);
    const int bases[] = {HOW_COUNT,
                         LIMIT_COUNT + 1,
                         PROOF_COUNT,
                         CHECKS_COUNT,
                         countof(exits),
                         countof(sample_counts),
                         countof(early_signals),
                         countof(failures),
                         2,
                         2,
                         2,
                         CRASH_LEFT + 1};
    int digits[countof(bases)] = {0};
    do {
        struct point point = {digits[0], digits[1], digits[2], digits[3], digits[4],  digits[5],
                              digits[6], digits[7], digits[8], digits[9], digits[10], digits[11]};
        /* Where nothing looks at it, one value stands for all. */
        if ((point.how != ENDED_LIMIT && point.limit > 0) ||
            (point.how == NO_ENDING && (point.proof > 0 || point.exit > 0 || point.samples > 0)) ||
            (point.how != NO_ENDING && point.early > 0) ||
            (point.crash > 0 && (point.early > 0 || point.failure > 0 || point.limit > 0 ||
                                 point.in_progress || point.fallback))) {
            continue;
        }
        visit(&product, &point);
    } while (advance(digits, bases, countof(bases)));
    printf("# %ld combinations of facts decided, %ld of %ld different records built, all valid\n",
           product.decided, product.built, product.different);
    for (int i = 0; i <= OUTCOME_INTERNAL_ERROR; i++) {
        printf("#   %ld %s\n", product.outcomes[i], outcome_name((enum outcome)i));
        assert_true(product.outcomes[i] > 0);
    }
    free_ending(&product.ending);
    memory_free(product.seen);
    checks_done(&product.ok);
    checks_done(&product.failed);
}

/* RP-5, R59: no secret of the facts is in the record, wherever they hold it. */
static void secrets_of_the_facts_are_hidden(void **state)
{
    char curl[] = "curl";
    char user[] = "-u";
    char login[] = "joe:S3CR3T";
    char header[] = "-HAuthorization: Bearer S3CR3T";
    char token[] = "--token=S3CR3T with blanks S3CR3T";
    char url[] = "https://S3CR3T@example.org";
    char *const command[] = {curl, user, login, header, token, url, NULL};
    with_checks checks = {0};
    checks_add_take(&checks, "preflight.x", false, memory_copy_string("password: S3CR3T"),
                    memory_copy_string("TOKEN=S3CR3T"), memory_copy_string("use --token S3CR3T"));
    with_made_ending ending = make_ending();
    static const char output[] = "first\nAPI_KEY=S3CR3T\nlast\n";
    memcpy(ending->stream[STREAM_STDERR].tail, output, strlen(output));
    ending->stream[STREAM_STDERR].tail_length = (uint32_t)strlen(output);
    ending->stream[STREAM_STDERR].bytes = (int64_t)strlen(output);
    struct strvec notes = {0};
    strvec_push(&notes, "kept away ghp_S3CR3Tabcdefghijklmnop");
    struct report_facts facts = make_facts();
    facts.command = command;
    facts.checks = &checks;
    facts.ending = ending;
    facts.notes = &notes;
    facts.label = "Bearer S3CR3T";
    facts.cwd = "/srv/https://joe:S3CR3T@h";
    facts.report_file = "/tmp/token=S3CR3T";
    struct err err = {0};
    with_json record = report_build(&facts, &err);
    assert_non_null(record);
    with_buf text = buf_new(1 << 20);
    assert_int_equal(json_write(record, JSON_READABLE, &text, &err), 0);
    char *leak = strstr(buf_string(&text), "S3CR3T");
    if (leak) {
        fail_msg("...%.120s", leak > buf_string(&text) + 60 ? leak - 60 : buf_string(&text));
    }
    assert_non_null(strstr(buf_string(&text), "first\\nAPI_KEY=[REDACTED]\\nlast\\n"));
    strvec_done(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_of_facts_has_a_valid_report),
        cmocka_unit_test(secrets_of_the_facts_are_hidden),
    };
    return cmocka_run_group_tests_name("report/build", tests, NULL, NULL);
}
