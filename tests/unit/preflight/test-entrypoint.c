#include "fake-files.h"

static const char declared[] = "schema: 1\n"
                               "entrypoint:\n"
                               "  plain:\n"
                               "    argv: [bench/plain, --fast]\n"
                               "  sized:\n"
                               "    argv: [bench/sized, \"--size={size}\", \"{mode}-{mode}x\"]\n"
                               "    parameters: { size: [10, 100], mode: [a, aa] }\n"
                               "  fetch:\n"
                               "    argv: [bench/fetch]\n"
                               "    network: required\n"
                               "    network_reason: it downloads\n"
                               "    scratch: out\n"
                               "    scratch_reason: it keeps what it downloads\n"
                               "  retrieval:\n"
                               "    argv: [bench/retrieval, --evaluate]\n"
                               "    sealed:\n"
                               "      worker:    { flag: --worker, executable: true, max_mib: 1 }\n"
                               "      model:     { flag: --model }\n"
                               "      digest:    { flag: --model-digest, of: model }\n"
                               "  twin1:\n"
                               "    argv: [bench/twin, \"{x}\"]\n"
                               "    parameters: { x: [1, 2] }\n"
                               "  twin2:\n"
                               "    argv: [bench/twin, \"{x}\"]\n"
                               "    parameters: { x: [2, 3] }\n"
                               "  linked:\n"
                               "    argv: [bench/linked]\n"
                               "workload:\n"
                               "  scan:\n"
                               "    argv: [python3, bench.py, --size, \"{size}\"]\n"
                               "    parameters: { size: [10, 100] }\n"
                               "  eval:\n"
                               "    argv: [python3, -c, \"print(1)\"]\n";

static const struct fake_file files[] = {
    {.path = "bench/plain"},
    {.path = "bench/sized"},
    {.path = "bench/fetch"},
    {.path = "bench/retrieval"},
    {.path = "bench/twin"},
    {.path = "bench/linked", .kind = LOOK_LINK},
    {.path = "bench.py", .text = "print(1)\n", .plain = true},
    {.path = "w"},
    {.path = "w-large", .size_bytes = (1 << 20) + 1},
    {.path = "w-plain", .plain = true},
    {.path = "w-link", .kind = LOOK_LINK},
    {.path = "w-hard", .links = 2},
    {.path = "w-shared", .shared = true},
    {.path = "w-folder", .kind = LOOK_OTHER},
    {.path = "m", .plain = true},
};

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void read_declared(struct project *ret_project)
{
    struct err err = {0};
    if (project_parse(span_of(declared, sizeof declared - 1), "f", ret_project, &err) < 0) {
        fail_msg("%s", err.msg);
    }
}

/* EP-1, SI-1, SB-6: word by word what is declared, and nothing besides it. */
static void only_what_is_declared_fits(void **state)
{
    static const struct {
        const char *argv[12];
        enum entrypoint_rule rule;
        const char *wanted; /* the entrypoint, or "WHERE: SAW" */
    } cases[] = {
        {{"bench/plain", "--fast"}, RULE_NONE, "plain"},
        {{"bench/plain"}, RULE_UNDECLARED, "argv: bench/plain"},
        {{"bench/plain", "--fast", "--fast"}, RULE_UNDECLARED, "argv"},
        {{"bench/plain", "--fas"}, RULE_UNDECLARED, "argv"},
        {{"bench/plain", "--faster"}, RULE_UNDECLARED, "argv"},
        {{"./bench/plain", "--fast"}, RULE_UNDECLARED, "argv"},
        {{"bench//plain", "--fast"}, RULE_UNDECLARED, "argv"},
        {{"bench/plain", "--", "--fast"}, RULE_UNDECLARED, "argv"},
        {{"/bin/sh", "-c", "bench/plain --fast"}, RULE_UNDECLARED, "argv: /bin/sh"},
        {{"bench/sized", "--size=10", "a-ax"}, RULE_NONE, "sized"},
        {{"bench/sized", "--size=100", "aa-ax"}, RULE_NONE, "sized"},
        {{"bench/sized", "--size=100", "a-aax"}, RULE_NONE, "sized"},
        {{"bench/sized", "--size=11", "a-ax"}, RULE_UNDECLARED, "argv"},
        {{"bench/sized", "--size=1000", "a-ax"}, RULE_UNDECLARED, "argv"},
        {{"bench/sized", "--size=", "a-ax"}, RULE_UNDECLARED, "argv"},
        {{"bench/sized", "--size={size}", "a-ax"}, RULE_UNDECLARED, "argv"},
        {{"bench/sized", "--size=10", "a-a"}, RULE_UNDECLARED, "argv"},
        {{"bench/fetch"}, RULE_NONE, "fetch"},
        {{"bench/fetch", "--worker", "w"}, RULE_UNDECLARED, "argv"},
        {{"bench/twin", "1"}, RULE_NONE, "twin1"},
        {{"bench/twin", "3"}, RULE_NONE, "twin2"},
        {{"bench/twin", "2"}, RULE_AMBIGUOUS, "argv: twin1 and twin2"},
        {{"bench/linked"}, RULE_LINK, "bench/linked: a symbolic link"},
#define SEALED "bench/retrieval", "--evaluate"
        {{SEALED, "--worker", "w", "--model", "m", "--model-digest", DIGEST},
         RULE_NONE,
         "retrieval"},
        {{SEALED, "--model-digest", DIGEST, "--model", "m", "--worker", "w"},
         RULE_NONE,
         "retrieval"},
        {{SEALED}, RULE_SEALED, "--worker: it is missing"},
        {{SEALED, "--worker", "w", "--model", "m"}, RULE_SEALED, "--model-digest: it is missing"},
        {{SEALED, "--worker", "w", "--worker", "w"}, RULE_SEALED, "--worker: given twice"},
        {{SEALED, "--worker=w"}, RULE_SEALED, "--worker=w: no such option"},
        {{SEALED, "w"}, RULE_SEALED, "w: no such option"},
        {{SEALED, "--worker", "w", "--model", "m", "--model-digest", DIGEST, "x"},
         RULE_SEALED,
         "x: no such option"},
        {{SEALED, "--worker"}, RULE_SEALED, "--worker: it has no value"},
        {{SEALED, "--worker", "/bin/w"}, RULE_SEALED, "--worker: /bin/w"},
        {{SEALED, "--worker", "../w"}, RULE_SEALED, "--worker: ../w"},
        {{SEALED, "--worker", "--model"}, RULE_SEALED, "--worker: --model"},
        {{SEALED, "--worker", "none"}, RULE_SEALED, "--worker: no regular file"},
        {{SEALED, "--worker", "w-folder"}, RULE_SEALED, "--worker: no regular file"},
        {{SEALED, "--worker", "w-plain"}, RULE_SEALED, "--worker: it is not executable"},
        {{SEALED, "--worker", "w-large"}, RULE_SEALED, "--worker: 1048577 bytes, more than 1 MiB"},
        {{SEALED, "--worker", "w-link"}, RULE_LINK, "--worker: w-link"},
        {{SEALED, "--worker", "w-hard"}, RULE_LINK, "--worker: w-hard"},
        {{SEALED, "--worker", "w-shared"}, RULE_SHARED, "--worker: w-shared"},
        {{SEALED, "--model-digest", "0123"}, RULE_SEALED, "--model-digest: no digest"},
        {{SEALED, "--model-digest",
          "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"},
         RULE_SEALED,
         "--model-digest: no digest"},
    };
    with_project project = {0};
    read_declared(&project);
    for (size_t i = 0; i < countof(cases); i++) {
        struct fake_files fake = {files, countof(files), 0};
        const struct entrypoint_files all = {fake_look, &fake};
        const struct project_entrypoint *found = NULL;
        struct entrypoint_verdict verdict = {0};
        struct err err = {0};
        char *const *argv = (char *const *)(uintptr_t)cases[i].argv;
        assert_int_equal(entrypoint_judge(&project, argv, &all, &found, &verdict, &err), 0);
        if (cases[i].rule == RULE_NONE) {
            assert_verdict(verdict, RULE_NONE, "");
            assert_string_equal(found->item.name, cases[i].wanted);
        } else {
            assert_verdict(verdict, cases[i].rule, cases[i].wanted);
            assert_null(found);
        }
    }
}

/* TR-2: what is named as a workload is that workload. */
static void work_is_what_its_name_says(void **state)
{
    with_project project = {0};
    read_declared(&project);
    struct fake_files fake = {files, countof(files), 0};
    const struct entrypoint_files all = {fake_look, &fake};
    const struct project_workload *scan = form_find(&project.workload, sizeof *scan, "scan");
    const struct project_workload *eval = form_find(&project.workload, sizeof *eval, "eval");
    const struct {
        const struct project_workload *workload;
        char *const *argv;
        enum entrypoint_rule rule;
    } cases[] = {
        {scan, ARGV("python3", "bench.py", "--size", "10"), RULE_NONE},
        {scan, ARGV("python3", "bench.py", "--size", "11"), RULE_UNDECLARED},
        {scan, ARGV("python3", "bench.py", "--size"), RULE_UNDECLARED},
        {scan, ARGV("python3", "bench.py", "--size", "10", "x"), RULE_UNDECLARED},
        {scan, ARGV("true"), RULE_UNDECLARED},
        {eval, ARGV("python3", "-c", "print(1)"),
         RULE_EVAL}, /* declared, and refused all the same */
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct entrypoint_verdict verdict = {0};
        struct err err = {0};
        assert_int_equal(workload_judge(cases[i].workload, cases[i].argv, &all, &verdict, &err), 0);
        assert_verdict(verdict, cases[i].rule, "");
    }
}

/* Every refusal says what it saw, why, and what to do instead. */
static void every_rule_has_its_words(void **state)
{
    with_buf page = buf_new(1 << 20);
    entrypoint_document(&page);
    for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const struct entrypoint_verdict verdict = {
            .rule = (enum entrypoint_rule)rule, .where = "f:1", .saw = "x"};
        with_buf text = buf_new(1000);
        entrypoint_explain(&verdict, &text);
        assert_true(buf_fits(&text));
        assert_non_null(strstr(buf_string(&text), "f:1: 'x': "));
        with_json json = entrypoint_to_json(&verdict);
        static const char *const members[] = {"rule", "promise", "where",  "saw",
                                              "what", "why",     "instead"};
        for (size_t i = 0; i < countof(members); i++) {
            assert_true(json_string_length(json_object_get(json, members[i])) > 0);
        }
        const char *instead = json_string_value(json_object_get(json, "instead"));
        assert_string_equal(instead, entrypoint_instead((enum entrypoint_rule)rule));
        with_buf row = buf_new(100);
        buf_add_format(&row, "| `%s` |", json_string_value(json_object_get(json, "rule")));
        assert_non_null(strstr(buf_string(&page), buf_string(&row)));
    }
    const struct entrypoint_verdict none = {0};
    with_json json = entrypoint_to_json(&none);
    assert_true(json_is_null(json));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_declared_fits),
        cmocka_unit_test(work_is_what_its_name_says),
        cmocka_unit_test(every_rule_has_its_words),
    };
    return cmocka_run_group_tests_name("preflight/entrypoint", tests, NULL, NULL);
}
