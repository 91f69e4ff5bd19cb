#include "../bfs/bfs-test.h"

#include "../report/facts.h"
#include "qualify-priv.h"
#include "validate.h"

static const struct qualify_case wanted = {.tasks = 30,
                                           .outcome = "safety_limit_exceeded",
                                           .limit = "pids",
                                           .signal = "SIGTERM",
                                           .least_pids = 2};

/* Of a run that was stopped at its tasks, in a scope, with nothing left. */
static json_t *make_report(void)
{
    return json_pack("{s:s, s:{s:i}, s:{s:i, s:i}, s:{s:s, s:s, s:[s], s:{s:i}}}", "outcome",
                     "safety_limit_exceeded", "limits", "pids_max", 30, "peaks", "pids", 30,
                     "aggregate_rss_bytes", 5000, "termination", "reason", "safety_limit_exceeded",
                     "limit", "pids", "requested_signals", "SIGTERM", "cgroup_events", "pids_max",
                     3);
}

static void done(struct attestation_case *one)
{
    record_done(&attestation_case_record, one);
}

/* The code of the first fault; NULL: none. */
static const char *judged(const struct qualify_case *row, const json_t *report)
{
    static char code[128];
    cleanup(done) struct attestation_case one = {.id = CASE_SPAWNING, .evidence = json_object()};
    qualify_take_report(&one, report);
    qualify_judge(row, report, &one);
    if (!one.error) {
        return NULL;
    }
    snprintf(code, sizeof code, "%s", one.error->code);
    return code;
}

static void change(json_t *report, const char *part, const char *name, json_t *value)
{
    json_t *object = part ? json_object_get(report, part) : report;
    json_object_set_new(object, name, value);
}

/* ST-3: outcome, limit, signals and tasks, each by itself. */
static void each_thing_that_is_otherwise_is_a_fault(void **state)
{
    const struct {
        const char *part, *name;
        json_t *value;
        const char *fault;
    } rows[] = {
        {NULL, "outcome", json_string("success"), "OUTCOME"},
        {"termination", "limit", json_string("memory"), "OUTCOME"},
        {"termination", "limit", json_null(), "OUTCOME"},
        {"termination", "requested_signals", json_array(), "SIGNAL"},
        {"limits", "pids_max", json_integer(64), "LIMIT"},
        {"peaks", "pids", json_integer(1), "TASKS"},
        {"peaks", "pids", json_integer(31), "TASKS"},
    };
    with_json right = make_report();
    assert_null(judged(&wanted, right));
    for (size_t i = 0; i < countof(rows); i++) {
        with_json report = make_report();
        change(report, rows[i].part, rows[i].name, rows[i].value);
        const char *code = judged(&wanted, report);
        assert_non_null(code);
        assert_non_null(strstr(code, rows[i].fault));
    }
}

static void a_case_about_memory_may_not_meet_the_limit_of_tasks(void **state)
{
    struct qualify_case row = wanted;
    row.spares_pids = true;
    with_json report = make_report();
    assert_string_equal(judged(&row, report), "LAMINA_SAFE_SELF_TEST_TASKS");
    change(json_object_get(report, "termination"), "cgroup_events", "pids_max", json_integer(0));
    assert_null(judged(&row, report));
}

static bool never(const json_t *report, json_t *evidence)
{
    return qualify_is_told(evidence, "never", false);
}

static void what_is_looked_at_besides_must_be_so(void **state)
{
    struct qualify_case row = wanted;
    row.look = never;
    with_json report = make_report();
    assert_string_equal(judged(&row, report), "LAMINA_SAFE_SELF_TEST_EVIDENCE");
}

static void the_first_fault_stands_and_is_text(void **state)
{
    cleanup(done) struct attestation_case one = {.id = CASE_FLOOD};
    qualify_fault(&one, "FIRST", "%s", "\xFF not UTF-8");
    qualify_fault(&one, "SECOND", "more");
    assert_string_equal(one.error->code, "LAMINA_SAFE_SELF_TEST_FIRST");
    assert_string_equal(one.error->message, "\xEF\xBF\xBD not UTF-8");
}

static bool clean(const char *name, json_t *value)
{
    struct err err = {0};
    struct report_facts facts = make_facts();
    with_made_ending ending = make_ending();
    with_checks checks = {0};
    add_check(&checks, true);
    facts.ending = ending;
    facts.checks = &checks;
    with_json record = report_build(&facts, &err);
    assert_non_null(record);
    json_t *report = json_object_get(record, "report");
    /* Of which the format asks for no proof. */
    change(report, NULL, "outcome", json_string("internal_error"));
    if (name) {
        change(report, "cleanup", name, value);
    }
    cleanup(done) struct attestation_case one = {.id = CASE_FLOOD};
    bool is_so = qualify_check_report(report, &one);
    assert_true(is_so == !one.error);
    return is_so;
}

/* ST-3: every proof of cleaning up, and the format. */
static void a_report_that_leaves_one_proof_out_is_not_clean(void **state)
{
    assert_true(clean(NULL, NULL));
    assert_false(clean("attempted", json_false()));
    assert_false(clean("descendants_remaining", json_pack("[i]", 5)));
    assert_false(clean("managed_paths_remaining", json_pack("[s]", "/tmp/x")));
    assert_false(clean("scope_removed", json_null()));
    assert_false(clean("temporary_directory_removed", json_false()));
    assert_false(clean("errors", json_pack("[s]", "it")));
    assert_false(clean("more", json_true()));
}

static void a_stored_report_is_bound_by_its_bytes(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct qualifying qualifying = {0};
    cleanup(done) struct attestation_case one = {.id = CASE_FLOOD};
    assert_ok(bfs_dir_open(AT_FDCWD, place->path, BFS_TRUST_OWN, &qualifying.reports, &err));
    assert_null(qualify_stored_report(&qualifying, "a.json", &one));
    assert_string_equal(one.error->code, "LAMINA_SAFE_SELF_TEST_REPORT_MISSING");
    put(place, "a.json", "{}");
    with_json first = qualify_stored_report(&qualifying, "a.json", &one);
    assert_non_null(first);
    assert_string_equal(one.report_digest,
                        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    put(place, "b.json", "{}");
    with_json second = qualify_stored_report(&qualifying, "b.json", &one);
    assert_non_null(second);
    assert_int_equal(one.reports.count, 2);
    assert_string_not_equal(one.report_digest,
                            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    bfs_dir_done(&qualifying.reports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thing_that_is_otherwise_is_a_fault),
        cmocka_unit_test(a_case_about_memory_may_not_meet_the_limit_of_tasks),
        cmocka_unit_test(what_is_looked_at_besides_must_be_so),
        cmocka_unit_test(the_first_fault_stands_and_is_text),
        cmocka_unit_test(a_report_that_leaves_one_proof_out_is_not_clean),
        place_test(a_stored_report_is_bound_by_its_bytes),
    };
    return cmocka_run_group_tests_name("qualify/judge", tests, NULL, NULL);
}
