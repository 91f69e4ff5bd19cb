#include "golden.h"

#include "explain.h"

/* R42: every effective limit with its source; what is bound, what is passed on, what was checked. */
static void prints_what_was_reviewed(void **state)
{
    const char *const names[] = {"explain", "explain-refused"};
    for (size_t i = 0; i < countof(names); i++) {
        with_json explained = golden_value(names[i]);
        with_buf out = buf_new(EXPLAIN_BYTES);
        explain_render(explained, &out);
        golden_expect(names[i], &out);
    }
}

/* FS-7: text of others is shown, not obeyed. */
static void neutralises_what_it_quotes(void **state)
{
    with_json explained = golden_value("explain-refused");
    with_buf out = buf_new(EXPLAIN_BYTES);
    explain_render(explained, &out);
    assert_null(strchr(buf_string(&out), '\x1b'));
    assert_non_null(strstr(buf_string(&out), "\\x1b[31m"));
}

static void survives_an_empty_object(void **state)
{
    with_json nothing = json_object();
    with_buf out = buf_new(EXPLAIN_BYTES);
    explain_render(nothing, &out);
    assert_non_null(strstr(buf_string(&out), "it would be refused"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_was_reviewed),
        cmocka_unit_test(neutralises_what_it_quotes),
        cmocka_unit_test(survives_an_empty_object),
    };
    return cmocka_run_group_tests_name("berm/explain", tests, NULL, NULL);
}
