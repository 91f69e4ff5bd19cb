#include "../unit.h"

#include "run-priv.h"

static json_t *parse(const char *text)
{
    struct err err = {0};
    json_t *json = json_read(span_of_string(text), &json_budget_control, &err);
    assert_non_null(json);
    return json;
}

/* EX-4, EX-5: a request is data: an argument array and named, bounded fields. */
static void a_whole_request_is_decoded(void **state)
{
    with_json json =
        parse("{\"schema\":\"berm.request/v1\",\"argv\":[\"make\",\"-j2\"],\"cwd\":\"/srv\","
              "\"roots\":[\"/srv\"],\"environment\":[\"CC=clang\"],\"memory_bytes\":1073741824,"
              "\"tasks\":7,\"timeout_ms\":5000,\"output_bytes\":99,\"grace_ms\":0,\"sample_ms\":50,"
              "\"standard_input\":\"/dev/null\",\"label\":\"x\",\"scope\":\"a.b:c-1\","
              "\"keep_output\":true,\"measure_io\":true,\"require\":[\"memory\",\"network\"]}");
    struct run_request request;
    struct run_request_holder *holder = NULL;
    struct err err = {0};
    assert_int_equal(run_request_decode(json, AUTHORITY_DECLARED, &request, &holder, &err), 0);
    assert_int_equal(request.authority, AUTHORITY_DECLARED);
    assert_string_equal(request.argv[0], "make");
    assert_string_equal(request.argv[1], "-j2");
    assert_null(request.argv[2]);
    assert_string_equal(request.cwd, "/srv");
    assert_string_equal(request.roots[0], "/srv");
    assert_int_equal(request.memory_bytes, INT64_C(1) << 30);
    assert_int_equal(request.tasks, 7);
    assert_int_equal(request.timeout_ms, 5000);
    assert_int_equal(request.grace_ms, 0);
    assert_int_equal(request.stdin_mode, RUN_STDIN_FILE);
    assert_int_equal(request.require, 1u << GUARANTEE_MEMORY | 1u << GUARANTEE_NETWORK);
    assert_true(request.keep_output && request.measure_io);
    run_request_release(holder);
}

static void what_is_left_out_is_the_default(void **state)
{
    with_json json = parse("{\"schema\":\"berm.request/v1\",\"argv\":[\"true\"]}");
    struct run_request request;
    struct run_request_holder *holder = NULL;
    struct err err = {0};
    assert_int_equal(run_request_decode(json, AUTHORITY_DECLARED, &request, &holder, &err), 0);
    struct run_request plain = run_request_plain();
    assert_int_equal(request.memory_bytes, plain.memory_bytes);
    assert_int_equal(request.grace_ms, plain.grace_ms);
    assert_null(request.cwd);
    assert_null(request.roots);
    assert_int_equal(request.stdin_mode, RUN_STDIN_NULL);
    run_request_release(holder);
}

/* EX-5: unknown and out-of-range fields are refused by name. */
static void every_fault_is_refused_by_name(void **state)
{
    static const struct {
        const char *field;
        const char *named;
    } faults[] = {
        {"\"memroy_bytes\":1", "memroy_bytes"},
        {"\"memory_bytes\":1", "memory_bytes"},
        {"\"tasks\":0", "tasks"},
        {"\"tasks\":\"7\"", "tasks"},
        {"\"timeout_ms\":-5", "timeout_ms"},
        {"\"sample_ms\":9", "sample_ms"},
        {"\"memory_high_bytes\":0", "memory_high_bytes"},
        {"\"high_samples\":0", "high_samples"},
        {"\"grace_ms\":600001", "grace_ms"},
        {"\"require\":[\"magic\"]", "magic"},
        {"\"scope\":\"a b\"", "scope"},
        {"\"argv\":[]", "argv"},
        {"\"argv\":\"make all\"", "argv"},
    };
    for (size_t i = 0; i < countof(faults); i++) {
        with_buf text = buf_new(1000);
        bool has_argv = strncmp(faults[i].field, "\"argv", 5) == 0;
        buf_add_format(&text, "{\"schema\":\"berm.request/v1\",%s%s}",
                       has_argv ? "" : "\"argv\":[\"true\"],", faults[i].field);
        with_json json = parse(buf_string(&text));
        struct run_request request;
        struct run_request_holder *holder = NULL;
        struct err err = {0};
        assert_int_equal(run_request_decode(json, AUTHORITY_DECLARED, &request, &holder, &err), -1);
        assert_string_equal(err_code_family(err.code), "usage");
        if (!strstr(err.msg, faults[i].named)) {
            fail_msg("'%s' does not name '%s'", err.msg, faults[i].named);
        }
    }
}

static void a_request_of_the_library_is_checked_the_same(void **state)
{
    struct run_request request = run_request_plain();
    struct err err = {0};
    assert_int_equal(run_request_check(&request, &err), -1);
    char *const argv[] = {(char[]){"true"}, NULL};
    request.argv = argv;
    assert_int_equal(run_request_check(&request, &err), 0);
    request.sample_ms = 1;
    assert_int_equal(run_request_check(&request, &err), -1);
    assert_non_null(strstr(err.msg, "sample_ms"));
    request.sample_ms = 0;
    request.high_samples = 3; /* of what? */
    assert_int_equal(run_request_check(&request, &err), -1);
    assert_non_null(strstr(err.msg, "high_samples"));
    request.memory_high_bytes = 1 << 20;
    assert_int_equal(run_request_check(&request, &err), 0);
    request.memory_high_bytes = 0;
    request.authority = AUTHORITY_DECLARED; /* it has a mark unasked */
    assert_int_equal(run_request_check(&request, &err), 0);
}

/* TR-1: a tier is named with its workload and its report, and nothing may widen what its work is given. */
static void a_tier_is_asked_for_whole(void **state)
{
    static const struct {
        const char *fields;
        const char *named; /* NULL: it is right */
    } cases[] = {
        {"\"tier\":\"medium\",\"workload\":\"w\",\"report\":\"r\",\"promote\":true,"
         "\"wait_ms\":-1",
         NULL},
        {"\"workload\":\"w\",\"promote\":true", "promote"},
        {"\"tier\":\"huge\",\"workload\":\"w\",\"report\":\"r\"", "tier"},
        {"\"tier\":\"small\",\"report\":\"r\"", "workload"},
        {"\"tier\":\"small\",\"workload\":\"w\"", "report"},
        {"\"workload\":\"w\",\"wait_ms\":1", "wait"},
        {"\"tier\":\"small\",\"workload\":\"w\",\"report\":\"r\",\"wait_ms\":-2", "wait_ms"},
        {"\"writable\":[\"x\"]", "writable"},
        {"\"readable\":[\"x\"]", "readable"},
        {"\"host_network\":true", "network"},
        {"\"gpu\":true", "gpu"},
        {"\"daemons\":[\"d=/bin/true,/tmp/s,/tmp/l\"]", "daemons"},
        {"\"environment\":[\"CC\"]", "environment"},
        {"\"environment_all\":true", "environment_all"},
        {"\"standard_input\":\"/dev/null\"", "standard_input"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        bool whole = strstr(cases[i].fields, "workload") || strstr(cases[i].fields, "report");
        with_buf text = buf_new(1000);
        buf_add_format(&text, "{\"schema\":\"berm.request/v1\",\"argv\":[\"true\"],%s%s}",
                       whole ? "" : "\"tier\":\"small\",\"workload\":\"w\",\"report\":\"r\",",
                       cases[i].fields);
        with_json json = parse(buf_string(&text));
        struct run_request request;
        struct run_request_holder *holder = NULL;
        struct err err = {0};
        int result = run_request_decode(json, AUTHORITY_PERSON, &request, &holder, &err);
        assert_int_equal(result, cases[i].named ? -1 : 0);
        if (cases[i].named && !strstr(err.msg, cases[i].named)) {
            fail_msg("'%s' does not name '%s'", err.msg, cases[i].named);
        }
        if (!cases[i].named) {
            assert_int_equal(request.tier, CONTEXT_TIER_MEDIUM);
            assert_true(request.promote);
            assert_int_equal(request.wait_ms, -1);
            run_request_release(holder);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_request_is_decoded),
        cmocka_unit_test(what_is_left_out_is_the_default),
        cmocka_unit_test(every_fault_is_refused_by_name),
        cmocka_unit_test(a_request_of_the_library_is_checked_the_same),
        cmocka_unit_test(a_tier_is_asked_for_whole),
    };
    return cmocka_run_group_tests_name("run/request", tests, NULL, NULL);
}
