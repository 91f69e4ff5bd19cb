#include "../unit.h"

#include "run-priv.h"

static const int64_t gib = INT64_C(1) << 30;

static struct envelope host(void)
{
    struct envelope envelope = {.total_memory_bytes = 16 * gib,
                                .available_memory_bytes = 12 * gib,
                                .processors = 4,
                                .memory_bound_by = "/proc/meminfo"};
    envelope_derive(&envelope);
    return envelope;
}

static const struct limit_fact *fact(const struct run_limits *limits, const char *name)
{
    for (int i = 0; i < limits->count; i++) {
        if (strcmp(supervise_limit(limits->facts[i].limit)->told, name) == 0) {
            return &limits->facts[i];
        }
    }
    fail_msg("no limit '%s'", name);
    __builtin_unreachable();
}

/* R42: a run without limits still lists every one of them, with its source. */
static void every_limit_names_its_source(void **state)
{
    struct run_request request = run_request_plain();
    struct envelope envelope = host();
    struct run_limits limits;
    with_checks checks = {0};
    run_limits_decide(&request, &envelope, &limits, &checks);
    assert_true(checks_ok(&checks));
    const char *const names[] = {"memory", "tasks",  "timeout",      "output",
                                 "grace",  "sample", "host reserve", "set-up"};
    assert_int_equal(limits.count, countof(names));
    for (size_t i = 0; i < countof(names); i++) {
        assert_non_null(strstr(fact(&limits, names[i])->source, "default"));
    }
    assert_int_equal(limits.values.memory_bytes, 10 * gib);
    assert_int_equal(limits.values.tasks, 1024);
    assert_int_equal(limits.values.timeout_ns, 0);
    assert_int_equal(limits.values.output_bytes, 0);
    assert_int_equal(limits.values.reserve_bytes, 2 * gib);
    assert_int_equal(limits.values.setup_timeout_ns, 10 * NS_PER_S);
    assert_true(limits.values.one_deadline);
}

static void an_option_is_its_source(void **state)
{
    struct run_request request = run_request_plain();
    request.memory_bytes = gib;
    request.tasks = 5;
    request.timeout_ms = 1500;
    request.output_bytes = 77;
    request.grace_ms = 0;
    request.sample_ms = 20;
    struct envelope envelope = host();
    struct run_limits limits;
    with_checks checks = {0};
    run_limits_decide(&request, &envelope, &limits, &checks);
    assert_string_equal(fact(&limits, "memory")->source, "--memory");
    assert_string_equal(fact(&limits, "tasks")->source, "--tasks");
    assert_string_equal(fact(&limits, "timeout")->source, "--timeout");
    assert_string_equal(fact(&limits, "output")->source, "--output-max");
    assert_string_equal(fact(&limits, "grace")->source, "--grace-ms");
    assert_string_equal(fact(&limits, "sample")->source, "--sample-ms");
    assert_int_equal(limits.values.timeout_ns, 1500 * NS_PER_MS);
    assert_int_equal(limits.values.grace_ns, 0);
    assert_int_equal(limits.values.sample_ns, 20 * NS_PER_MS);
}

/* IF-2: a person may raise limits as far as the reserve allows and no further. */
static void a_person_may_go_up_to_the_reserve(void **state)
{
    struct run_request request = run_request_plain();
    struct envelope envelope = host();
    struct run_limits limits;
    with_checks within = {0};
    request.memory_bytes = 10 * gib;
    request.tasks = 100000;
    run_limits_decide(&request, &envelope, &limits, &within);
    assert_true(checks_ok(&within));
    with_checks above = {0};
    request.memory_bytes = 10 * gib + 1;
    run_limits_decide(&request, &envelope, &limits, &above);
    assert_string_equal(checks_first_failed(&above)->code, "preflight.memory");
}

/* IF-2, TR-6: for declared work limits only go down; a higher one names its ceiling. */
static void declared_work_only_goes_down(void **state)
{
    struct run_request request = run_request_plain();
    request.authority = AUTHORITY_DECLARED;
    struct envelope envelope = host();
    struct run_limits limits;
    with_checks fine = {0};
    run_limits_decide(&request, &envelope, &limits, &fine);
    assert_true(checks_ok(&fine));
    assert_int_equal(limits.values.memory_bytes, 3 * gib);
    assert_int_equal(limits.values.tasks, 64);
    request.tasks = 65;
    request.memory_bytes = 4 * gib;
    with_checks above = {0};
    run_limits_decide(&request, &envelope, &limits, &above);
    size_t ceilings = 0;
    for (size_t i = 0; i < above.count; i++) {
        if (!above.list[i].ok) {
            assert_string_equal(above.list[i].code, "preflight.ceiling");
            ceilings++;
        }
    }
    assert_int_equal(ceilings, 2);
    assert_non_null(strstr(checks_first_failed(&above)->saw, "3221225472"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_names_its_source),
        cmocka_unit_test(an_option_is_its_source),
        cmocka_unit_test(a_person_may_go_up_to_the_reserve),
        cmocka_unit_test(declared_work_only_goes_down),
    };
    return cmocka_run_group_tests_name("run/limits", tests, NULL, NULL);
}
