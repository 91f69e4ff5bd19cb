#include "golden.h"

#include "summary.h"

static const char *const cases[] = {
    "success",
    "command-failed",
    "not-executed",
    "killed",
    "limit-memory",
    "limit-memory-high",
    "limit-timeout",
    "limit-host-reserve",
    "limit-output-io",
    "refused",
    "refused-not-found",
    "interrupted",
    "interrupted-early",
    "cleanup-incomplete",
    "report-write-failed",
    "lost-output",
    "unfinished",
    "hostile",
    "bare-report",
    "nothing",
};

static void render(const char *name, struct buf *out)
{
    with_json record = golden_value(name);
    const struct summary_view view = {
        .place = "/home/u/.local/state/berm/runs/k7f3.json", .home = "/home/u", .exit_code = -1};
    summary_render(record, &view, out);
    assert_true(buf_fits(out));
}

static void prints_what_was_reviewed(void **state)
{
    for (size_t i = 0; i < countof(cases); i++) {
        with_buf out = buf_new(SUMMARY_BYTES);
        render(cases[i], &out);
        golden_expect(cases[i], &out);
    }
}

/* FS-7: nothing out of a record makes a line of its own or is obeyed by a terminal. */
static void every_line_is_berms_own(void **state)
{
    for (size_t i = 0; i < countof(cases); i++) {
        with_buf out = buf_new(SUMMARY_BYTES);
        render(cases[i], &out);
        const char *line = buf_string(&out);
        while (*line != '\0') {
            assert_memory_equal(line, "berm: ", 6);
            assert_true(line[6] == ' ' || strncmp(line, "berm: ok", 8) != 0 ||
                        strcmp(cases[i], "hostile") != 0);
            line += strcspn(line, "\n") + 1;
        }
        assert_null(strchr(buf_string(&out), '\x1b'));
        assert_null(strstr(buf_string(&out), "\xE2\x80\xAE"));
    }
}

static void colours_only_the_word_and_only_when_asked(void **state)
{
    with_json record = golden_value("success");
    with_buf out = buf_new(SUMMARY_BYTES);
    const struct summary_view view = {.exit_code = -1, .colour = true};
    summary_render(record, &view, &out);
    const char *expected = "berm: \x1b[1;32mok\x1b[0m     exit 0, wall";
    assert_memory_equal(buf_string(&out), expected, strlen(expected));
    assert_null(strchr(buf_string(&out) + strlen(expected), '\x1b'));
}

/* --exit-mode: what berm really answers is said where it differs. */
static void says_the_exit_code_that_is_given(void **state)
{
    with_json record = golden_value("command-failed");
    const struct summary_view same = {.exit_code = 7};
    with_buf plain = buf_new(SUMMARY_BYTES);
    summary_render(record, &same, &plain);
    assert_null(strstr(buf_string(&plain), "; exit"));

    const struct summary_view other = {.exit_code = 4};
    with_buf mapped = buf_new(SUMMARY_BYTES);
    summary_render(record, &other, &mapped);
    assert_non_null(strstr(buf_string(&mapped), "apart); exit 4\n"));
}

static void knows_success(void **state)
{
    for (size_t i = 0; i < countof(cases); i++) {
        with_json record = golden_value(cases[i]);
        bool expected = strcmp(cases[i], "success") == 0 || strcmp(cases[i], "bare-report") == 0;
        assert_int_equal(summary_is_success(record), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_was_reviewed),
        cmocka_unit_test(every_line_is_berms_own),
        cmocka_unit_test(colours_only_the_word_and_only_when_asked),
        cmocka_unit_test(says_the_exit_code_that_is_given),
        cmocka_unit_test(knows_success),
    };
    return cmocka_run_group_tests_name("berm/summary", tests, NULL, NULL);
}
