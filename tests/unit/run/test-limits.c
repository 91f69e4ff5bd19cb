#include "../unit.h"

#include <stdio.h>

#include "run-priv.h"

static const int64_t gib = INT64_C(1) << 30;

static struct envelope host(void)
{
    struct envelope envelope = {.total_memory_bytes = 16 * gib,
                                .host_available_bytes = 12 * gib,
                                .processors = 4,
                                .cgroup.memory_available_bytes = -1};
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
    const char *const names[] = {"memory", "memory high", "tasks",        "timeout", "output",
                                 "grace",  "sample",      "host reserve", "set-up"};
    assert_int_equal(limits.count, countof(names));
    for (size_t i = 0; i < countof(names); i++) {
        assert_non_null(strstr(fact(&limits, names[i])->source, "default"));
    }
    assert_int_equal(limits.values.memory_bytes, 10 * gib);
    assert_int_equal(limits.values.memory_high_bytes, 0);
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
    request.memory_high_bytes = gib / 2;
    request.high_samples = 7;
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
    assert_string_equal(fact(&limits, "memory high")->source, "--memory-high");
    assert_string_equal(fact(&limits, "high samples")->source, "--high-samples");
    assert_string_equal(fact(&limits, "tasks")->source, "--tasks");
    assert_string_equal(fact(&limits, "timeout")->source, "--timeout");
    assert_string_equal(fact(&limits, "output")->source, "--output-max");
    assert_string_equal(fact(&limits, "grace")->source, "--grace-ms");
    assert_string_equal(fact(&limits, "sample")->source, "--sample-ms");
    assert_int_equal(limits.values.timeout_ns, 1500 * NS_PER_MS);
    assert_int_equal(limits.values.grace_ns, 0);
    assert_int_equal(limits.values.memory_high_bytes, gib / 2);
    assert_int_equal(limits.values.high_samples, 7);
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

/* TR-6: a high mark that the limit comes before would never be met. */
static void a_high_mark_lies_below_the_limit(void **state)
{
    static const struct {
        int64_t memory, high;
        const char *source;
    } cases[] = {{gib, gib, "--memory"}, {0, 10 * gib, "default: "}};
    for (size_t i = 0; i < countof(cases); i++) {
        struct run_request request = run_request_plain();
        struct envelope envelope = host();
        struct run_limits limits;
        request.memory_bytes = cases[i].memory;
        request.memory_high_bytes = cases[i].high;
        with_checks at = {0};
        run_limits_decide(&request, &envelope, &limits, &at);
        const struct check *check = checks_first_failed(&at);
        assert_string_equal(check->code, "preflight.ceiling");
        assert_non_null(strstr(check->what, "--memory-high"));
        assert_non_null(strstr(check->saw, cases[i].source));
        request.memory_high_bytes--;
        with_checks below = {0};
        run_limits_decide(&request, &envelope, &limits, &below);
        assert_true(checks_ok(&below));
        assert_int_equal(limits.values.high_samples, 4);
    }
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
    assert_int_equal(limits.values.memory_high_bytes, 3 * gib / 5 * 4 / 4096 * 4096);
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

/* TR-6: each of them, at its ceiling and above it; the ceiling is named, and where it comes from. */
static void every_limit_of_declared_work_has_its_ceiling(void **state)
{
    const int64_t mib = 1 << 20;
    const struct {
        size_t offset;
        int64_t ceiling;
        const char *option, *origin;
    } cases[] = {
#define CEILING(member, ...) {offsetof(struct run_request, member), __VA_ARGS__}
        CEILING(memory_bytes, 3 * gib, "--memory ", "a quarter of this host's memory"),
        CEILING(memory_high_bytes, 3 * gib / 5 * 4 / 4096 * 4096, "--memory-high ",
                "four fifths of the memory limit"),
        CEILING(tasks, 64, "--tasks ", "the same for all declared work"),
        CEILING(timeout_ms, 1800000, "--timeout ", "the same for all declared work"),
        CEILING(output_bytes, 32 * mib, "--output-max ", "the same for all declared work"),
        CEILING(temporary_bytes, 2 * gib, "--temporary ", "the same for all declared work"),
        CEILING(temporary_files, 8192, "--temporary-files ", "the same for all declared work"),
        CEILING(sample_ms, 250, "--sample-ms ", "the same for all declared work"),
        CEILING(high_samples, 4, "--high-samples ", "the same for all declared work"),
        CEILING(grace_ms, 2000, "--grace-ms ", "the same for all declared work"),
#undef CEILING
    };
    struct envelope envelope = host();
    for (size_t i = 0; i < countof(cases); i++) {
        struct run_request request = run_request_plain();
        struct run_limits limits;
        request.authority = AUTHORITY_DECLARED;
        request.sandbox = true;
        int64_t *member = (int64_t *)((char *)&request + cases[i].offset);
        *member = cases[i].ceiling;
        with_checks at = {0};
        run_limits_decide(&request, &envelope, &limits, &at);
        assert_true(checks_ok(&at));
        ++*member;
        with_checks above = {0};
        run_limits_decide(&request, &envelope, &limits, &above);
        const struct check *check = checks_first_failed(&above);
        assert_non_null(check);
        assert_string_equal(check->code, "preflight.ceiling");
        char ceiling[32];
        (void)snprintf(ceiling, sizeof ceiling, " %lld", (long long)cases[i].ceiling);
        assert_true(strncmp(check->what, cases[i].option, strlen(cases[i].option)) == 0);
        assert_non_null(strstr(check->saw, ceiling));
        assert_non_null(strstr(check->saw, cases[i].origin));
    }
}

/* TR-7: more of a result is kept, and no more may be written. */
static void a_result_does_not_raise_the_limit_of_output(void **state)
{
    struct run_request request = run_request_plain();
    struct envelope envelope = host();
    struct run_limits limits;
    request.authority = AUTHORITY_DECLARED;
    request.workload_structured = true;
    with_checks at = {0};
    run_limits_decide(&request, &envelope, &limits, &at);
    assert_true(checks_ok(&at));
    assert_int_equal(limits.values.output_bytes, 32 << 20);
    request.output_bytes = (32 << 20) + 1;
    with_checks above = {0};
    run_limits_decide(&request, &envelope, &limits, &above);
    assert_string_equal(checks_first_failed(&above)->code, "preflight.ceiling");
}

/* The mark of declared work goes down with its limit. */
static void a_lower_limit_lowers_the_ceiling_of_its_mark(void **state)
{
    struct run_request request = run_request_plain();
    struct envelope envelope = host();
    struct run_limits limits;
    request.authority = AUTHORITY_DECLARED;
    request.memory_bytes = 100 * 4096;
    with_checks checks = {0};
    run_limits_decide(&request, &envelope, &limits, &checks);
    assert_int_equal(limits.values.memory_high_bytes, 80 * 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_names_its_source),
        cmocka_unit_test(an_option_is_its_source),
        cmocka_unit_test(a_person_may_go_up_to_the_reserve),
        cmocka_unit_test(a_high_mark_lies_below_the_limit),
        cmocka_unit_test(declared_work_only_goes_down),
        cmocka_unit_test(every_limit_of_declared_work_has_its_ceiling),
        cmocka_unit_test(a_result_does_not_raise_the_limit_of_output),
        cmocka_unit_test(a_lower_limit_lowers_the_ceiling_of_its_mark),
    };
    return cmocka_run_group_tests_name("run/limits", tests, NULL, NULL);
}
