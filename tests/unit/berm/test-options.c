#include "../unit.h"

#include <stdio.h>

#include "options.h"

enum { ARGUMENT_COUNT = 10 };

#define ARGUMENTS(...) ((const char *[ARGUMENT_COUNT]){__VA_ARGS__})

/* What main() gets is not const, and nobody writes to it. */
static int parse(const char *const *arguments, struct options *options, struct err *err)
{
    return options_parse((char *const *)(uintptr_t)arguments, options, err);
}

static void accepts(const char *const *arguments, struct options *options)
{
    struct err err = {0};
    if (parse(arguments, options, &err) < 0) {
        fail_msg("%s", err.msg);
    }
}

/* Each number in each way of writing it, with the bounds of its range. */
static void reads_every_number(void **state)
{
    const struct {
        const char *argument;
        enum option_id id;
        int64_t number;
    } cases[] = {
        {"--memory=2G", OPTION_MEMORY, INT64_C(2) << 30},
        {"--memory=1M", OPTION_MEMORY, INT64_C(1) << 20},
        {"--memory=1P", OPTION_MEMORY, INT64_C(1) << 50},
        {"--memory-mib=64", OPTION_MEMORY, INT64_C(64) << 20},
        {"--tasks=1", OPTION_TASKS, 1},
        {"--pids=64", OPTION_TASKS, 64},
        {"--timeout=30s", OPTION_TIMEOUT, 30000},
        {"--timeout=1ms", OPTION_TIMEOUT, 1},
        {"--timeout=366d", OPTION_TIMEOUT, INT64_C(366) * 86400000},
        {"--timeout=none", OPTION_TIMEOUT, OPTION_NONE},
        {"--timeout-ms=1500", OPTION_TIMEOUT, 1500},
        {"--output-max=32M", OPTION_OUTPUT_MAX, INT64_C(32) << 20},
        {"--output-max=1", OPTION_OUTPUT_MAX, 1},
        {"--output-mib=32", OPTION_OUTPUT_MAX, INT64_C(32) << 20},
        {"--grace-ms=0", OPTION_GRACE, 0},
        {"--grace-ms=600000", OPTION_GRACE, 600000},
        {"--sample-ms=10", OPTION_SAMPLE, 10},
        {"--exit-mode=plain", OPTION_EXIT_MODE, 0},
        {"--exit-mode=outcome", OPTION_EXIT_MODE, 1},
        {"--exit-mode=bisect", OPTION_EXIT_MODE, 2},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_options joined = {0};
        accepts(ARGUMENTS("run", cases[i].argument, "true"), &joined);
        assert_true(options_given(&joined, cases[i].id));
        assert_int_equal(joined.values[cases[i].id].number, cases[i].number);

        char name[32] = "";
        const char *value = strchr(cases[i].argument, '=');
        memcpy(name, cases[i].argument, (size_t)(value - cases[i].argument));
        with_options apart = {0};
        accepts(ARGUMENTS("run", name, value + 1, "true"), &apart);
        assert_int_equal(apart.values[cases[i].id].number, cases[i].number);
        /* R42: a limit carries the option that it came from. */
        assert_string_equal(apart.values[cases[i].id].spelled, name);
        assert_string_equal(apart.command[0], "true");
    }
}

static void reads_every_text_and_flag(void **state)
{
    const struct {
        const char *argument;
        enum option_id id;
        const char *text;
    } cases[] = {
        {"--require=managed", OPTION_REQUIRE, "managed"},
        {"--stdin=FILE", OPTION_STDIN, "FILE"},
        {"--cwd=/tmp", OPTION_CWD, "/tmp"},
        {"--env=A=b=c", OPTION_ENV, "A=b=c"},
        {"--env-all", OPTION_ENV_ALL, NULL},
        {"--report=r.json", OPTION_REPORT, "r.json"},
        {"--keep-output", OPTION_KEEP_OUTPUT, NULL},
        {"--label=--x", OPTION_LABEL, "--x"},
        {"--json", OPTION_JSON, NULL},
        {"--json=out.json", OPTION_JSON, "out.json"},
        {"--quiet", OPTION_QUIET, NULL},
        {"--explain", OPTION_EXPLAIN, NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_options options = {0};
        accepts(ARGUMENTS("run", cases[i].argument, "true"), &options);
        assert_true(options_given(&options, cases[i].id));
        const char *text = options.values[cases[i].id].text;
        assert_true(text == cases[i].text || strcmp(text, cases[i].text) == 0);
        assert_string_equal(options.command[0], "true");
    }
}

static void reads_the_other_verbs(void **state)
{
    with_options show = {0};
    accepts(ARGUMENTS("show", "k7f3", "--json"), &show);
    assert_int_equal(show.verb->id, VERB_SHOW);
    assert_string_equal(show.operands.strings[0], "k7f3");
    assert_true(options_given(&show, OPTION_JSON));

    with_options dashed = {0};
    accepts(ARGUMENTS("show", "--", "--json"), &dashed);
    assert_string_equal(dashed.operands.strings[0], "--json");
    assert_false(options_given(&dashed, OPTION_JSON));

    with_options validate = {0};
    accepts(ARGUMENTS("validate-report", "--file", "-"), &validate);
    assert_string_equal(validate.values[OPTION_FILE].text, "-");

    with_options gc = {0};
    accepts(ARGUMENTS("gc", "--state", "--dry-run"), &gc);
    assert_true(options_given(&gc, OPTION_STATE) && options_given(&gc, OPTION_DRY_RUN));

    with_options help = {0};
    accepts(ARGUMENTS("help", "-a"), &help);
    assert_true(options_given(&help, OPTION_ALL));

    with_options version = {0};
    accepts(ARGUMENTS("--version", "--json"), &version);
    assert_int_equal(version.verb->id, VERB_VERSION);
    assert_true(options_given(&version, OPTION_JSON));

    const char *const help_words[] = {"--help", "-h", "help"};
    for (size_t i = 0; i < countof(help_words); i++) {
        with_options options = {0};
        accepts(ARGUMENTS(help_words[i]), &options);
        assert_int_equal(options.verb->id, VERB_HELP);
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        with_options options = {0};
        char name[32];
        (void)snprintf(name, sizeof name, "%s", verbs[i].name);
        accepts(ARGUMENTS(name, "--help"), &options);
        assert_true(options.help);
    }
}

static void keeps_every_repetition(void **state)
{
    with_options options = {0};
    accepts(ARGUMENTS("run", "--env", "A=1", "--env=B", "true"), &options);
    assert_int_equal(options.values[OPTION_ENV].texts.count, 2);
    assert_string_equal(options.values[OPTION_ENV].texts.strings[0], "A=1");
    assert_string_equal(options.values[OPTION_ENV].texts.strings[1], "B");
}

/* I5: what belongs to the command is never read as an option of berm, and never the other way. */
static void ends_options_where_the_command_starts(void **state)
{
    with_options plain = {0};
    accepts(ARGUMENTS("run", "ls", "-l", "--json", "--", "-h"), &plain);
    assert_string_equal(plain.command[0], "ls");
    assert_string_equal(plain.command[3], "--");
    assert_string_equal(plain.command[4], "-h");
    assert_null(plain.command[5]);
    assert_false(options_given(&plain, OPTION_JSON) || plain.help);

    with_options marked = {0};
    accepts(ARGUMENTS("run", "--quiet", "--", "--json", "--quiet"), &marked);
    assert_string_equal(marked.command[0], "--json");
    assert_string_equal(marked.command[1], "--quiet");

    with_options twice = {0};
    accepts(ARGUMENTS("run", "--", "--", "x"), &twice);
    assert_string_equal(twice.command[0], "--"); /* only the first ends the options */
    assert_string_equal(twice.command[1], "x");

    with_options optional = {0};
    accepts(ARGUMENTS("run", "--json", "out.json"), &optional);
    assert_null(optional.values[OPTION_JSON].text);
    assert_string_equal(optional.command[0], "out.json");

    with_options empty = {0};
    accepts(ARGUMENTS("run", ""), &empty); /* a command of no letters: not an option */
    assert_string_equal(empty.command[0], "");

    with_options dash = {0};
    accepts(ARGUMENTS("run", "-"), &dash);
    assert_string_equal(dash.command[0], "-");
}

static void refuses_each_mistake_by_name(void **state)
{
    const struct {
        const char *arguments[ARGUMENT_COUNT];
        enum err_code code;
        const char *says;
    } cases[] = {
        {{NULL}, ERR_USAGE, "no command given; 'berm help' lists them"},
        {{""}, ERR_USAGE, "unknown command ''; to run it: berm run -- "},
        {{"rnu"}, ERR_USAGE, "unknown command 'rnu'; did you mean 'berm run'?"},
        {{"make", "all"}, ERR_USAGE, "unknown command 'make'; to run it: berm run -- make"},
        {{"--quiet", "run"}, ERR_USAGE, "'--quiet' comes before the command"},
        {{"--", "run"}, ERR_USAGE, "'--' comes before the command"},
        {{"run"}, ERR_USAGE, "run: no command to run; e.g. berm run -- make"},
        {{"run", "--"}, ERR_USAGE, "run: no command to run"},
        {{"run", "--memroy", "2G", "x"},
         ERR_USAGE,
         "run: unknown option '--memroy'; did you mean --memory?; 'berm help run' lists all"},
        {{"run", "--mem=2G", "x"}, ERR_USAGE, "unknown option '--mem'; did you mean --memory?"},
        {{"run", "--zzzzzzzz", "x"},
         ERR_USAGE,
         "unknown option '--zzzzzzzz'; 'berm help run' lists all"},
        {{"run", "-q", "x"}, ERR_USAGE, "unknown option '-q'"},
        {{"run", "--memory", "512K", "x"},
         ERR_RANGE,
         "run: --memory: 512K is outside its range, 1M to 1P"},
        {{"run", "--memory=2P", "x"}, ERR_RANGE, "2P is outside its range"},
        {{"run", "--memory-mib=0", "x"},
         ERR_RANGE,
         "--memory-mib: 0 is outside its range, 1 to 1073741824"},
        {{"run", "--memory-mib=99999999999999999", "x"}, ERR_RANGE, "--memory-mib: 99999"},
        {{"run", "--output-mib=0", "x"},
         ERR_RANGE,
         "--output-mib: 0 is outside its range, 1 to 1073741824"},
        {{"run", "--memory=2GB", "x"}, ERR_USAGE, "--memory: '2GB' is ambiguous"},
        {{"run", "--memory-mib=2G", "x"}, ERR_USAGE, "--memory-mib: '2G' is no whole number"},
        {{"run", "--tasks=0", "x"}, ERR_RANGE, "--tasks: 0 is outside its range, 1 to 4194304"},
        {{"run", "--pids=4194305", "x"}, ERR_RANGE, "--pids: 4194305 is outside"},
        {{"run", "--timeout=30", "x"}, ERR_USAGE, "--timeout: '30' has no unit; write 30s"},
        {{"run", "--timeout=0ms", "x"},
         ERR_RANGE,
         "--timeout: 0ms is outside its range, 1ms to 366d"},
        {{"run", "--timeout=367d", "x"}, ERR_RANGE, "--timeout: 367d is outside"},
        {{"run", "--timeout-ms=none", "x"}, ERR_USAGE, "--timeout-ms: 'none' is no whole number"},
        {{"run", "--grace-ms=600001", "x"},
         ERR_RANGE,
         "--grace-ms: 600001 is outside its range, 0 to 600000"},
        {{"run", "--sample-ms=9", "x"}, ERR_RANGE, "--sample-ms: 9 is outside its range, 10 to"},
        {{"run", "--exit-mode=loud", "x"},
         ERR_USAGE,
         "--exit-mode: 'loud' is none of plain, outcome, bisect"},
        {{"run", "--memory"}, ERR_USAGE, "--memory: its value is missing; e.g. --memory 2G"},
        {{"run", "--pids"}, ERR_USAGE, "--pids: its value is missing; e.g. --pids N"},
        {{"run", "--label", "--", "rm"},
         ERR_USAGE,
         "--label: its value is missing before '--'; if that is the value, write --label=--"},
        {{"run", "--cwd", "--quiet", "x"}, ERR_USAGE, "--cwd: its value is missing before"},
        {{"run", "--label=", "x"}, ERR_USAGE, "--label: its value is empty"},
        {{"run", "--label", "", "x"}, ERR_USAGE, "--label: its value is empty"},
        {{"run", "--json=", "x"}, ERR_USAGE, "--json: its value is empty"},
        {{"run", "--quiet=yes", "x"}, ERR_USAGE, "--quiet: it takes no value"},
        {{"run", "--quiet", "--quiet", "x"}, ERR_USAGE, "run: --quiet is given twice"},
        {{"run", "--memory=2G", "--memory-mib=5", "x"},
         ERR_USAGE,
         "--memory-mib is given as well as --memory"},
        {{"show", "a", "b"}, ERR_USAGE, "show: 'b' is one word too many; usage: berm show"},
        {{"show", "--quiet"}, ERR_USAGE, "show: unknown option '--quiet'"},
        {{"show", "--json=FILE"}, ERR_USAGE, "show: --json: it takes no value"},
        {{"envelope", "x"}, ERR_USAGE, "envelope: 'x' is one word too many"},
        {{"validate-report"}, ERR_USAGE, "validate-report: --file is missing"},
        {{"gc"}, ERR_USAGE, "gc: --state is missing; usage: berm gc --state [--dry-run]"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_options options = {0};
        struct err err = {0};
        assert_int_equal(parse(cases[i].arguments, &options, &err), -1);
        if (!strstr(err.msg, cases[i].says)) {
            fail_msg("%zu: %s", i, err.msg);
        }
        assert_int_equal(err.code, cases[i].code);
        assert_true(!options.verb || strcmp(options.verb->name, cases[i].arguments[0]) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_number),
        cmocka_unit_test(reads_every_text_and_flag),
        cmocka_unit_test(reads_the_other_verbs),
        cmocka_unit_test(keeps_every_repetition),
        cmocka_unit_test(ends_options_where_the_command_starts),
        cmocka_unit_test(refuses_each_mistake_by_name),
    };
    return cmocka_run_group_tests_name("berm/options", tests, NULL, NULL);
}
