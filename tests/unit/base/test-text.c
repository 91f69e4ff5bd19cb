#include "../unit.h"

#include "text.h"

static void shows(struct span in, const char *expected)
{
    with_buf out = buf_new(4096);
    text_neutralise(&out, in);
    assert_string_equal(buf_string(&out), expected);
}

/* FS-7, O4: control sequences, bidi controls and bad bytes are shown, never obeyed. */
static void neutralises_what_a_terminal_would_obey(void **state)
{
    shows(span_of_string("plain \xC3\xA9 \xE2\x82\xAC"), "plain \xC3\xA9 \xE2\x82\xAC");
    shows(span_of_string("\x1B[31mred"), "\\x1b[31mred");
    shows(span_of_string("a\nb\rc\td"), "a\\nb\\rc\\td");
    shows(span_of("a\0b\x7F", 4), "a\\x00b\\x7f");
    shows(span_of_string("\xC2\x9B"
                         "31m"),
          "\\u009b31m");
    shows(span_of_string("\xE2\x80\xAE"), "\\u202e");
    shows(span_of_string("\xE2\x81\xA6"), "\\u2066");
    shows(span_of_string("\xEF\xBB\xBF"), "\\ufeff");
    shows(span_of_string("\xF3\xA0\x81\x81"), "\\U000e0041");
}

static void shows_invalid_utf8_byte_by_byte(void **state)
{
    shows(span_of_string("\xFF\xC0\x80"), "\\xff\\xc0\\x80");
    shows(span_of_string("\xE0\x80\xAF"), "\\xe0\\x80\\xaf"); /* overlong */
    shows(span_of_string("\xF0\x8F\xBF\xBF"), "\\xf0\\x8f\\xbf\\xbf");
    shows(span_of_string("\xED\xA0\x80"), "\\xed\\xa0\\x80"); /* a surrogate */
    shows(span_of_string("\xE2\x82"), "\\xe2\\x82");          /* cut short */
    shows(span_of_string("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

static void tells_utf8_from_other_bytes(void **state)
{
    assert_true(text_is_utf8(span_of_string("\xF0\x9F\x98\x80")));
    assert_false(text_is_utf8(span_of_string("\xC0\xAF")));
    with_buf out = buf_new(100);
    text_to_utf8(&out, span_of_string("a\xFFz"));
    assert_string_equal(buf_string(&out), "a\xEF\xBF\xBDz");
}

static void parses_whole_numbers_only(void **state)
{
    uint64_t value = 99;
    assert_true(text_parse_number(span_of_string("18446744073709551615"), UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    const char *bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "18446744073709551616", "11"};
    for (size_t i = 0; i < countof(bad); i++) {
        value = 7;
        assert_false(text_parse_number(span_of_string(bad[i]), i == 7 ? UINT64_MAX : 10, &value));
        assert_int_equal(value, 7);
    }
}

static void finds_the_first_variable_of_a_name(void **state)
{
    static const char *const words[] = {"AB=1", "A=", "B", "A=2", NULL};
    char *const *environment = (char *const *)(uintptr_t)words;
    assert_string_equal(text_variable(environment, "A"), "");
    assert_string_equal(text_variable(environment, "AB"), "1");
    assert_null(text_variable(environment, "B"));
    assert_null(text_variable(NULL, "A"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neutralises_what_a_terminal_would_obey),
        cmocka_unit_test(shows_invalid_utf8_byte_by_byte),
        cmocka_unit_test(tells_utf8_from_other_bytes),
        cmocka_unit_test(parses_whole_numbers_only),
        cmocka_unit_test(finds_the_first_variable_of_a_name),
    };
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
