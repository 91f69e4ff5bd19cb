#include "../unit.h"

#include "request.h"

enum { ARGUMENT_COUNT = 26 };
#define ARGUMENTS(...) ((const char *[ARGUMENT_COUNT]){__VA_ARGS__})

static int make(const char *const *arguments, struct options *options, struct run_request *request,
                struct err *err)
{
    assert_int_equal(options_parse((char *const *)(uintptr_t)arguments, options, err), 0);
    return request_from_options(options, request, err);
}

static void changes_nothing_that_was_not_given(void **state)
{
    with_options options = {0};
    with_request request = run_request_plain();
    const struct run_request plain = run_request_plain();
    assert_int_equal(make(ARGUMENTS("run", "ls", "-l"), &options, &request, NULL), 0);
    assert_string_equal(request.argv[0], "ls");
    assert_string_equal(request.argv[1], "-l");
    assert_null(request.argv[2]);
    request.argv = plain.argv;
    assert_memory_equal(&request, &plain, sizeof plain);
}

static void carries_every_option(void **state)
{
    with_options options = {0};
    with_request request = run_request_plain();
    assert_int_equal(
        make(ARGUMENTS("run", "--memory=2G", "--pids=64", "--timeout=30s", "--output-max=32M",
                       "--grace-ms=0", "--sample-ms=10", "--memory-high=1G", "--high-samples=9",
                       "--require=memory,pids", "--stdin=in.txt", "--cwd=/tmp", "--env=A=1",
                       "--env=B", "--env-all", "--report=r.json", "--keep-output", "--measure-io",
                       "--label=x", "--tier=large", "--promote", "--wait", "--exit-mode=bisect",
                       "--", "true"),
             &options, &request, NULL),
        0);
    assert_int_equal(request.memory_bytes, INT64_C(2) << 30);
    assert_int_equal(request.tasks, 64);
    assert_int_equal(request.timeout_ms, 30000);
    assert_int_equal(request.output_bytes, INT64_C(32) << 20);
    assert_int_equal(request.grace_ms, 0);
    assert_int_equal(request.sample_ms, 10);
    assert_int_equal(request.memory_high_bytes, INT64_C(1) << 30);
    assert_int_equal(request.high_samples, 9);
    assert_int_equal(request.require, UINT32_C(1) << GUARANTEE_MEMORY | UINT32_C(1)
                                                                            << GUARANTEE_PIDS);
    assert_int_equal(request.stdin_mode, RUN_STDIN_FILE);
    assert_string_equal(request.stdin_path, "in.txt");
    assert_string_equal(request.cwd, "/tmp");
    assert_int_equal(request.overrides.count, 2);
    assert_string_equal(request.overrides.strings[0], "A=1");
    assert_true(request.env_all && request.keep_output && request.measure_io);
    assert_string_equal(request.report, "r.json");
    assert_string_equal(request.label, "x");
    assert_int_equal(request.exit_mode, EXIT_MODE_BISECT);
    assert_int_equal(request.tier, CONTEXT_TIER_LARGE);
    assert_true(request.promote);
    assert_int_equal(request.wait_ms, -1);
    assert_int_equal(request.authority, AUTHORITY_PERSON); /* IF-2 */
}

/* TR-6: the names of limits, each a count of its unit; 0, signs, fractions and words are refused by name. */
static void the_published_names_of_limits_are_the_same_limits(void **state)
{
    const int64_t mib = 1 << 20;
    static const char *const nonsense[] = {"0", "-1", "1.5", "x", "", "1k", "99999999999999999999"};
    const struct {
        const char *name;
        size_t offset;
        int64_t unit;
        bool zero; /* has a meaning: no grace at all */
    } cases[] = {
        {"--memory-mib", offsetof(struct run_request, memory_bytes), mib, false},
        {"--memory-high-mib", offsetof(struct run_request, memory_high_bytes), mib, false},
        {"--pids", offsetof(struct run_request, tasks), 1, false},
        {"--timeout-ms", offsetof(struct run_request, timeout_ms), 1, false},
        {"--output-mib", offsetof(struct run_request, output_bytes), mib, false},
        {"--temporary-mib", offsetof(struct run_request, temporary_bytes), mib, false},
        {"--sample-ms", offsetof(struct run_request, sample_ms), 1, false},
        {"--high-samples", offsetof(struct run_request, high_samples), 1, false},
        {"--grace-ms", offsetof(struct run_request, grace_ms), 1, true},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_options options = {0};
        with_request request = run_request_plain();
        struct err err = {0};
        assert_int_equal(make(ARGUMENTS("run", cases[i].name, "20", "x"), &options, &request, &err),
                         0);
        int64_t value = *(const int64_t *)((const char *)&request + cases[i].offset);
        assert_int_equal(value, 20 * cases[i].unit);
        for (size_t j = cases[i].zero; j < countof(nonsense); j++) {
            with_options refused = {0};
            with_buf word = buf_new(100);
            buf_add_format(&word, "%s=%s", cases[i].name, nonsense[j]);
            const char *const arguments[] = {"run", buf_string(&word), "x", NULL};
            assert_int_equal(options_parse((char *const *)(uintptr_t)arguments, &refused, &err),
                             -1);
            assert_string_equal(err_code_family(err.code), "usage");
            assert_non_null(strstr(err.msg, cases[i].name));
        }
    }
}

static void tells_words_of_stdin_from_files(void **state)
{
    const struct {
        const char *option;
        enum run_stdin mode;
    } cases[] = {{"--stdin=null", RUN_STDIN_NULL},
                 {"--stdin=inherit", RUN_STDIN_INHERIT},
                 {"--stdin=./null", RUN_STDIN_FILE}};
    for (size_t i = 0; i < countof(cases); i++) {
        with_options options = {0};
        with_request request = run_request_plain();
        assert_int_equal(make(ARGUMENTS("run", cases[i].option, "x"), &options, &request, NULL), 0);
        assert_int_equal(request.stdin_mode, cases[i].mode);
    }
}

static void names_each_exit_mode(void **state)
{
    const char *const modes[] = {"--exit-mode=plain", "--exit-mode=outcome", "--exit-mode=bisect"};
    const enum run_exit_mode expected[] = {EXIT_MODE_PLAIN, EXIT_MODE_OUTCOME, EXIT_MODE_BISECT};
    for (size_t i = 0; i < countof(modes); i++) {
        with_options options = {0};
        with_request request = run_request_plain();
        assert_int_equal(make(ARGUMENTS("run", modes[i], "x"), &options, &request, NULL), 0);
        assert_int_equal(request.exit_mode, expected[i]);
    }
}

static void refuses_what_does_not_go_together(void **state)
{
    const struct {
        const char *options[3];
        const char *says;
    } cases[] = {
        {{"--json=a", "--report=a"}, "--json=FILE and --report name the same file"},
        {{"--require=memory,luck", "--quiet"}, "--require: "},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_options options = {0};
        with_request request = run_request_plain();
        struct err err = {0};
        assert_int_equal(make(ARGUMENTS("run", cases[i].options[0], cases[i].options[1], "x"),
                              &options, &request, &err),
                         -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.msg, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_nothing_that_was_not_given),
        cmocka_unit_test(carries_every_option),
        cmocka_unit_test(the_published_names_of_limits_are_the_same_limits),
        cmocka_unit_test(tells_words_of_stdin_from_files),
        cmocka_unit_test(names_each_exit_mode),
        cmocka_unit_test(refuses_what_does_not_go_together),
    };
    return cmocka_run_group_tests_name("berm/request", tests, NULL, NULL);
}
