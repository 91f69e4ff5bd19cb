#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "facts.h"
#include "validate.h"

/* RP-3: every rule refuses what it is there for, and says so by its name; tests/contract/formats.py
 * compares the whole with another validator. */

static json_t *valid_record(enum outcome outcome)
{
    with_checks checks = {0};
    add_check(&checks, outcome != OUTCOME_PREFLIGHT_REFUSED);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = outcome == OUTCOME_PREFLIGHT_REFUSED ? NULL : ending;
    facts.in_progress = outcome == OUTCOME_INTERNAL_ERROR;
    ending->exit_code = outcome == OUTCOME_COMMAND_FAILED ? 3 : 0;
    ending->how = outcome == OUTCOME_SAFETY_LIMIT_EXCEEDED ? ENDED_LIMIT
                  : outcome == OUTCOME_INTERRUPTED         ? ENDED_INTERRUPTED
                                                           : ENDED_EXITED;
    ending->limit = LIMIT_MEMORY;
    struct err err = {0};
    json_t *record = report_build(&facts, &err);
    assert_non_null(record);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(record, "report"), "outcome")),
        outcome_name(outcome));
    return record;
}

/* Set "a.b" or "a.0.b" to the JSON text; without a text take it away. */
static void change(json_t *json, const char *path, const char *text)
{
    char name[64];
    size_t n;
    for (; path[n = strcspn(path, ".")]; path += n + 1) {
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        json = json_is_array(json) ? json_array_get(json, (size_t)strtoul(name, NULL, 10))
                                   : json_object_get(json, name);
        assert_non_null(json);
    }
    if (!text) {
        assert_int_equal(json_object_del(json, path), 0);
        return;
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    assert_int_equal(json_object_set_new(json, path, value), 0);
}

static bool says(const struct strvec *faults, const char *words)
{
    for (size_t i = 0; i < faults->count; i++) {
        if (strstr(faults->strings[i], words)) {
            return true;
        }
    }
    return false;
}

static const struct broken {
    enum outcome outcome;
    const char *path;
    const char *value;
    const char *rule;
} broken[] = {
    {OUTCOME_SUCCESS, "started_at", "\"yesterday\"", "started-date"},
    {OUTCOME_SUCCESS, "finished_at", "\"\"", "finished-date"},
    {OUTCOME_SUCCESS, "limits.stdout_tail_max_bytes", "8191", "stdout-tail"},
    {OUTCOME_SUCCESS, "limits.stderr_tail_max_bytes", "1048576", "stderr-tail"},
    {OUTCOME_SUCCESS, "adapter", "null", "adapter"},
    {OUTCOME_COMMAND_FAILED, "adapter.id", "\"\"", "adapter"},
    {OUTCOME_SAFETY_LIMIT_EXCEEDED, "adapter.id", "0", "adapter"},
    {OUTCOME_INTERRUPTED, "limits", "null", "limits"},
    {OUTCOME_SUCCESS, "preflight.ok", "1", "preflight-ok"},
    {OUTCOME_SUCCESS, "preflight", "null", "preflight-ok"},
    {OUTCOME_SUCCESS, "samples", "[]", "observed"},
    {OUTCOME_SUCCESS, "cleanup.attempted", "false", "cleanup-attempted"},
    {OUTCOME_SUCCESS, "cleanup.descendants_remaining", "[1]", "no-process-left"},
    {OUTCOME_SUCCESS, "cleanup.managed_paths_remaining", "[\"/a\"]", "no-path-left"},
    {OUTCOME_SUCCESS, "cleanup.scope_removed", "false", "scope-removed"},
    {OUTCOME_SUCCESS, "cleanup.scope_removed", "null", "scope-removed"},
    {OUTCOME_SUCCESS, "cleanup.temporary_directory_removed", "null", "directory-removed"},
    {OUTCOME_SUCCESS, "cleanup.errors", "[\"x\"]", "no-cleanup-error"},
    {OUTCOME_SUCCESS, "termination.reason", "\"command_failed\"", "success-reason"},
    {OUTCOME_COMMAND_FAILED, "termination.reason", "null", "failure-reason"},
    {OUTCOME_COMMAND_FAILED, "termination.child_exit_code", "0", "failure-code"},
    {OUTCOME_COMMAND_FAILED, "termination.child_exit_code", "null", "failure-code"},
    {OUTCOME_SAFETY_LIMIT_EXCEEDED, "termination.reason", "\"completed\"", "limit-reason"},
    {OUTCOME_SAFETY_LIMIT_EXCEEDED, "termination.limit", "\"\"", "limit-named"},
    {OUTCOME_INTERRUPTED, "termination.reason", "\"signal\"", "interrupt-reason"},
    {OUTCOME_INTERRUPTED, "termination.limit", "\"timeout\"", "interrupt-limit"},
    {OUTCOME_PREFLIGHT_REFUSED, "preflight.ok", "true", "refusal"},
    {OUTCOME_PREFLIGHT_REFUSED, "preflight", "null", "refusal"},
    {OUTCOME_INTERNAL_ERROR, "termination.reason", "\"internal_error\"", "provisional-reason"},
    {OUTCOME_COMMAND_FAILED, "error.code", "\"LAMINA_SAFE_RUN_IN_PROGRESS\"",
     "provisional-outcome"},
    {OUTCOME_SUCCESS, "output.total_bytes", "1", "output-sum"},
    {OUTCOME_SUCCESS, "peaks.aggregate_rss_bytes", "1", "peak-rss"},
    {OUTCOME_SUCCESS, "samples.0.cgroup_memory_bytes", "1", "peak-cgroup"},
    {OUTCOME_SUCCESS, "peaks.pids", "2", "peak-pids"},
    {OUTCOME_SUCCESS, "samples.0.temporary_bytes", "1", "peak-temporary-bytes"},
    {OUTCOME_SUCCESS, "samples.0.temporary_inodes", "1", "peak-temporary-inodes"},
};

static void every_rule_refuses(void **state)
{
    with_buf page = buf_new(1 << 16);
    validate_document_report(&page);
    for (size_t i = 0; i < countof(broken); i++) {
        with_json record = valid_record(broken[i].outcome);
        json_t *report = json_object_get(record, "report");
        with_strvec none = {0};
        assert_int_equal(validate_report(report, &none), 0);
        change(report, broken[i].path, broken[i].value);
        with_strvec faults = {0};
        size_t count = validate_report(report, &faults);
        assert_int_equal(count, faults.count);
        with_string rule = memory_format("[%s]", broken[i].rule);
        with_string where =
            memory_format("%.*s", (int)strcspn(broken[i].path, "."), broken[i].path);
        if (!says(&faults, rule)) {
            fail_msg("%s=%s: %s", broken[i].path, broken[i].value,
                     count ? faults.strings[0] : "valid");
        }
        with_string row = memory_format("| `%s` |", broken[i].rule);
        assert_non_null(strstr(buf_string(&page), row));
        /* The same within berm's record, with its path. */
        with_strvec inner = {0};
        assert_true(validate_run_record(record, &inner) >= count);
        assert_true(says(&inner, "report."));
    }
}

static void an_integer_overflow_is_no_sum(void **state)
{
    with_json record = valid_record(OUTCOME_SUCCESS);
    json_t *report = json_object_get(record, "report");
    change(report, "output.stdout_bytes", "9223372036854775807");
    change(report, "output.stderr_bytes", "9223372036854775807");
    change(report, "output.total_bytes", "0");
    with_strvec faults = {0};
    assert_int_equal(validate_report(report, &faults), 1);
    assert_true(says(&faults, "[output-sum]"));
}

/* The schema comes first: rules are asked of what has the right types only. */
static void types_first(void **state)
{
    with_json record = valid_record(OUTCOME_SUCCESS);
    json_t *report = json_object_get(record, "report");
    change(report, "samples", "[]");
    change(report, "cwd", "7");
    change(report, "surplus", "1");
    change(report, "run_id", NULL);
    with_strvec faults = {0};
    assert_int_equal(validate_report(report, &faults), 3);
    assert_true(says(&faults, "cwd: "));
    assert_true(says(&faults, "surplus: "));
    assert_true(says(&faults, "run_id: "));
    assert_false(says(&faults, "[observed]"));
}

/* What others may write passes. */
static void what_the_published_rules_accept(void **state)
{
    static const struct {
        const char *path;
        const char *value;
    } rows[] = {
        {"duration_ms", "5.0"},
        {"limits.stdout_tail_max_bytes", "1048576"},
        {"cleanup.oracle_quota_abort", "{\"a\": 1}"},
        {"cleanup.lock_released", "false"},
        {"adapter.id", "[]"},
        {"tier", "\"large\""},
        {"error", "{\"code\": \"x\", \"message\": \"\"}"},
        {"termination.child_exit_code", "-7"},
        {"descendants", "[{\"command\": \"make\"}]"},
        {"started_at", "\"2026-11-29t15:54:11+01:00\""},
        {"run_id", "\"any text\""},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        with_json record = valid_record(OUTCOME_SUCCESS);
        json_t *report = json_object_get(record, "report");
        change(report, rows[i].path, rows[i].value);
        with_strvec faults = {0};
        if (validate_report(report, &faults) > 0) {
            fail_msg("%s", faults.strings[0]);
        }
    }
    with_json record = valid_record(OUTCOME_SUCCESS);
    change(record, "report.cleanup.oracle_quota_abort", "null");
    with_strvec faults = {0};
    assert_int_equal(validate_report(json_object_get(record, "report"), &faults), 1);
    with_strvec no_object = {0};
    assert_true(validate_report(NULL, &no_object) > 0);
}

static void what_berm_holds_itself_to(void **state)
{
    static const struct broken own[] = {
        {OUTCOME_SUCCESS, "run_id", "\"other1\"", "run-id"},
        {OUTCOME_SUCCESS, "in_progress", "true", "progress"},
        {OUTCOME_INTERNAL_ERROR, "in_progress", "false", "progress"},
        {OUTCOME_SUCCESS, "exit.code", "1", "exit-code"},
        {OUTCOME_COMMAND_FAILED, "exit.code", "0", "exit-code"},
        {OUTCOME_SUCCESS, "exit.signal", "\"SIGINT\"", "exit-code"},
        {OUTCOME_SUCCESS, "report.error", "{\"code\": \"x\", \"message\": \"\"}", "success-error"},
        {OUTCOME_COMMAND_FAILED, "report.error", "null", "error"},
        {OUTCOME_SUCCESS, "report.termination.child_exit_code", "1", "success-code"},
        {OUTCOME_INTERNAL_ERROR, "report.cleanup.descendants_remaining", "[1]", "survivors"},
    };
    with_buf page = buf_new(1 << 16);
    validate_document_run(&page);
    for (size_t i = 0; i < countof(own); i++) {
        with_json record = valid_record(own[i].outcome);
        with_strvec none = {0};
        assert_int_equal(validate_run_record(record, &none), 0);
        change(record, own[i].path, own[i].value);
        with_strvec faults = {0};
        with_string rule = memory_format("[%s]", own[i].rule);
        assert_true(validate_run_record(record, &faults) > 0);
        assert_true(says(&faults, rule));
        with_string row = memory_format("| `%s` |", own[i].rule);
        assert_non_null(strstr(buf_string(&page), row));
        /* They are berm's own: the report passes. */
        with_strvec inner = {0};
        assert_int_equal(validate_report(json_object_get(record, "report"), &inner), 0);
    }
    with_strvec faults = {0};
    assert_true(validate_run_record(NULL, &faults) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_refuses),
        cmocka_unit_test(an_integer_overflow_is_no_sum),
        cmocka_unit_test(types_first),
        cmocka_unit_test(what_the_published_rules_accept),
        cmocka_unit_test(what_berm_holds_itself_to),
    };
    return cmocka_run_group_tests_name("report/validate", tests, NULL, NULL);
}
