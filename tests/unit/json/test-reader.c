#include "../unit.h"

#include "json.h"

/* One text of each shape in which exactly one budget is used n times. */
typedef void make_text(struct buf *out, size_t n);

static void repeat(struct buf *out, const char *text, size_t times)
{
    with_buf block = buf_new(1 << 16);
    for (size_t i = 0; i < 1000 && i < times; i++) {
        buf_add_string(&block, text);
    }
    for (; times > 1000; times -= 1000) {
        buf_add_span(out, buf_span(&block));
    }
    buf_add(out, buf_string(&block), times * strlen(text));
}

static void make_bytes(struct buf *out, size_t n)
{
    buf_add_char(out, '[');
    repeat(out, " ", n - 2);
    buf_add_char(out, ']');
}

static void make_arrays(struct buf *out, size_t n)
{
    repeat(out, "[", n);
    repeat(out, "]", n);
}

static void make_objects(struct buf *out, size_t n)
{
    repeat(out, "{\"a\":", n);
    buf_add_string(out, "0");
    repeat(out, "}", n);
}

static void make_elements(struct buf *out, size_t n)
{
    buf_add_string(out, "[0");
    repeat(out, ",0", n - 1);
    buf_add_char(out, ']');
}

static void make_members(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_add_format(out, "%c\"%zu\":0", i > 0 ? ',' : '{', i);
    }
    buf_add_char(out, '}');
}

/* Half of the items outside, half inside; an empty array has none. */
static void make_nested_items(struct buf *out, size_t n)
{
    buf_add_string(out, "[");
    repeat(out, "[0],", n / 2 - 1);
    buf_add_string(out, n % 2 == 0 ? "[ 0 ]]" : "[0],[ ]]");
}

static void make_string(struct buf *out, size_t n)
{
    buf_add_string(out, "[\"");
    repeat(out, "a", n);
    buf_add_string(out, "\"]");
}

static void make_key(struct buf *out, size_t n)
{
    buf_add_string(out, "{\"");
    repeat(out, "a", n);
    buf_add_string(out, "\":0}");
}

/* Escapes count as they are written. */
static void make_escapes(struct buf *out, size_t n)
{
    buf_add_char(out, '"');
    repeat(out, "\\\"", n / 2);
    repeat(out, "a", n % 2);
    buf_add_char(out, '"');
}

static void check_edge(const struct json_budget *budget, make_text *make, size_t value,
                       const char *unit)
{
    for (size_t n = value - 1; n <= value + 1; n++) {
        with_buf text = buf_new(32 << 20);
        make(&text, n);
        assert_true(buf_fits(&text));
        struct err err = {0};
        with_json json = json_read(buf_span(&text), budget, &err);
        if (n <= value) {
            assert_non_null(json);
            assert_int_equal(err.code, ERR_NONE);
        } else {
            assert_null(json);
            assert_int_equal(err.code, ERR_OVER_BUDGET);
            with_buf message = buf_new(200);
            buf_add_format(&message, "its budget of %zu %s at byte ", value, unit);
            assert_non_null(strstr(err.msg, buf_string(&message)));
        }
    }
}

/* One shape for each budget, and for small budgets every shape. */
static void check_edges(const struct json_budget *budget)
{
    check_edge(budget, make_bytes, budget->bytes, "bytes");
    check_edge(budget, make_arrays, budget->depth, "nested levels");
    check_edge(budget, make_elements, budget->items, "items");
    check_edge(budget, make_string, budget->string_bytes, "bytes in a string");
}

static void check_other_edges(const struct json_budget *budget)
{
    check_edge(budget, make_objects, budget->depth, "nested levels");
    check_edge(budget, make_members, budget->items, "items");
    check_edge(budget, make_nested_items, budget->items, "items");
    check_edge(budget, make_key, budget->string_bytes, "bytes in a string");
    check_edge(budget, make_escapes, budget->string_bytes, "bytes in a string");
}

/* FS-5 */
static void every_budget_holds_at_its_edge(void **state)
{
    static const struct json_budget small = {
        .bytes = 100, .depth = 4, .items = 6, .string_bytes = 20};
    check_edges(&small);
    check_other_edges(&small);
    check_edges(&json_budget_control);
    check_other_edges(&json_budget_control);
    check_edges(&json_budget_report);
}

static void an_error_over_budget_names_the_byte(void **state)
{
    static const struct json_budget budget = {
        .bytes = 30, .depth = 2, .items = 3, .string_bytes = 4};
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[                              ]", "JSON goes over its budget of 30 bytes at byte 30"},
        {"[ [ [", "JSON goes over its budget of 2 nested levels at byte 4"},
        {"[1,2,3,4]", "JSON goes over its budget of 3 items at byte 6"},
        {"[\"abcde\"]", "JSON goes over its budget of 4 bytes in a string at byte 6"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        assert_null(json_read(span_of_string(cases[i].text), &budget, &err));
        assert_int_equal(err.code, ERR_OVER_BUDGET);
        assert_string_equal(err.msg, cases[i].message);
    }
}

/* What looks like structure inside a string is none. */
static void strings_hide_what_they_hold(void **state)
{
    static const struct json_budget budget = {
        .bytes = 100, .depth = 1, .items = 2, .string_bytes = 20};
    with_json json = json_read(span_of_string("[\"[{,\\\"[{,\\\\\",\"]},\"]"), &budget, NULL);
    assert_int_equal(json_array_size(json), 2);
    assert_string_equal(json_string_value(json_array_get(json, 0)), "[{,\"[{,\\");
}

static void a_closed_level_is_left_and_an_empty_one_has_no_item(void **state)
{
    static const struct json_budget budget = {
        .bytes = 100, .depth = 3, .items = 11, .string_bytes = 20};
    with_json json = json_read(span_of_string("[{},{},[],[[]],{\"a\":{},\"b\":{},\"c\":[]},[{}]]"),
                               &budget, NULL);
    assert_int_equal(json_array_size(json), 6);
}

static void budgets_stop_what_would_exhaust_a_parser(void **state)
{
    static const struct {
        const char *text;
        const char *budget;
    } cases[] = {
        {"[", "32 nested levels"},        {"{\"a\":", "32 nested levels"},
        {"[{\"a\":", "32 nested levels"}, {"[[],", "32 nested levels"},
        {"[],", "65536 items"},           {"{},", "65536 items"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_buf text = buf_new(1 << 20);
        buf_add_char(&text, '[');
        repeat(&text, cases[i].text, 100000);
        struct err err = {0};
        assert_null(json_read(buf_span(&text), &json_budget_control, &err));
        assert_int_equal(err.code, ERR_OVER_BUDGET);
        assert_non_null(strstr(err.msg, cases[i].budget));
    }
}

#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static const struct span hostile[] = {
    /* no value, or no end */
    BYTES(""),
    BYTES(" \t\r\n"),
    BYTES("["),
    BYTES("{"),
    BYTES("[1"),
    BYTES("[1,"),
    BYTES("{\"a\""),
    BYTES("{\"a\":"),
    BYTES("{\"a\":1"),
    BYTES("{\"a\":1,"),
    BYTES("\"abc"),
    BYTES("\"abc\\"),
    BYTES("\"abc\\\""),
    BYTES("\"\\u00"),
    BYTES("\""),
    BYTES("-"),
    BYTES("tru"),
    BYTES("nul"),
    /* more than one value */
    BYTES("[]x"),
    BYTES("[][]"),
    BYTES("{}{}"),
    BYTES("1 2"),
    BYTES("[]]"),
    BYTES("{}}"),
    BYTES("[] // no"),
    BYTES("[],"),
    BYTES("[]\0"),
    BYTES("[]\n\0"),
    BYTES("{}\xEF\xBB\xBF"),
    /* not the grammar */
    BYTES("[1,]"),
    BYTES("[,1]"),
    BYTES("[1,,2]"),
    BYTES("[1 2]"),
    BYTES("{,}"),
    BYTES("{\"a\"}"),
    BYTES("{\"a\":}"),
    BYTES("{\"a\":1,}"),
    BYTES("{\"a\" 1}"),
    BYTES("{a:1}"),
    BYTES("{1:1}"),
    BYTES("{'a':1}"),
    BYTES("['a']"),
    BYTES("[1}"),
    BYTES("{\"a\":1]"),
    BYTES("]"),
    BYTES("}"),
    BYTES(":"),
    BYTES(","),
    BYTES("/* a */[]"),
    BYTES("[\v1]"),
    BYTES("[\f1]"),
    BYTES("[\xC2\xA0]"),
    BYTES("True"),
    BYTES("NULL"),
    BYTES("undefined"),
    BYTES("truefalse"),
    BYTES("nullx"),
    /* numbers that are none, or do not fit */
    BYTES("NaN"),
    BYTES("-NaN"),
    BYTES("Infinity"),
    BYTES("-Infinity"),
    BYTES("inf"),
    BYTES("01"),
    BYTES("-01"),
    BYTES("00"),
    BYTES("1."),
    BYTES(".5"),
    BYTES("-.5"),
    BYTES("+1"),
    BYTES("--1"),
    BYTES("1e"),
    BYTES("1e+"),
    BYTES("1.e1"),
    BYTES("0x10"),
    BYTES("1_000"),
    BYTES("1,5"),
    BYTES("1e400"),
    BYTES("-1e400"),
    BYTES("9223372036854775808"),
    BYTES("-9223372036854775809"),
    BYTES("18446744073709551615"),
    BYTES("99999999999999999999999999999999"),
    /* not UTF-8: stray and missing tails, overlong, surrogates, beyond U+10FFFF, a mark in front */
    BYTES("\"\x80\""),
    BYTES("\"\xFF\""),
    BYTES("\"\xFE\""),
    BYTES("\"\xC3\""),
    BYTES("\"\xC3"),
    BYTES("\"\xE2\x82\""),
    BYTES("\"\xF0\x9F\x98\""),
    BYTES("\"\xC3\x28\""),
    BYTES("\"\xC0\x80\""),
    BYTES("\"\xC0\xAF\""),
    BYTES("\"\xC1\xBF\""),
    BYTES("\"\xE0\x80\xAF\""),
    BYTES("\"\xF0\x80\x80\xAF\""),
    BYTES("\"\xED\xA0\x80\""),
    BYTES("\"\xED\xBF\xBF\""),
    BYTES("\"\xF4\x90\x80\x80\""),
    BYTES("\"\xF5\x80\x80\x80\""),
    BYTES("\"\xF8\x88\x80\x80\x80\""),
    BYTES("\xEF\xBB\xBF[]"),
    BYTES("\xFF\xFE[\0]\0"),
    BYTES("{\"\xFF\":1}"),
    BYTES("[\xFF]"),
    BYTES("[\x00]"),
    BYTES("\x00[]"),
    /* strings: escapes that are none, half pairs, NUL, bare controls */
    BYTES("\"\\x41\""),
    BYTES("\"\\a\""),
    BYTES("\"\\'\""),
    BYTES("\"\\u12G4\""),
    BYTES("\"\\u\""),
    BYTES("\"\\U0041\""),
    BYTES("\"\\ud800\""),
    BYTES("\"\\udc00\""),
    BYTES("\"\\ud800\\ud800\""),
    BYTES("\"\\ud800x\""),
    BYTES("\"\\ud800\\u0041\""),
    BYTES("\"\\udc00\\ud800\""),
    BYTES("\"\\u0000\""),
    BYTES("{\"\\u0000\":1}"),
    BYTES("{\"a\\u0000b\":1}"),
    BYTES("\"a\0b\""),
    BYTES("{\"a\0\":1}"),
    BYTES("\"\n\""),
    BYTES("\"\t\""),
    BYTES("\"\x1F\""),
    BYTES("\"\x01\""),
    /* one name twice, at the top, deep, and written in two ways */
    BYTES("{\"a\":1,\"a\":1}"),
    BYTES("{\"\":1,\"\":2}"),
    BYTES("{\"a\":1,\"\\u0061\":2}"),
    BYTES("[[{\"b\":[{\"a\":1,\"c\":0,\"a\":2}]}]]"),
    BYTES("{\"a\":{\"a\":{\"a\":{\"x\":1,\"x\":2}}}}"),
};

/* FS-5 */
static void hostile_text_is_corrupt_and_says_where(void **state)
{
    assert_true(countof(hostile) > 100);
    for (size_t i = 0; i < countof(hostile); i++) {
        struct err err = {0};
        with_json json = json_read(hostile[i], &json_budget_control, &err);
        if (json || err.code != ERR_CORRUPT) {
            fail_msg("case %zu was not refused as corrupt: %s (%s)", i, hostile[i].p, err.msg);
        }
        assert_memory_equal(err.msg, "JSON line ", 10);
    }
    assert_null(json_read(span_of(NULL, 0), &json_budget_control, NULL));
}

static void the_line_and_the_column_are_right(void **state)
{
    struct err err = {0};
    assert_null(
        json_read(span_of_string("{\n \"a\": 1,\n \"b\" 2\n}"), &json_budget_control, &err));
    assert_string_equal(err.msg, "JSON line 3, column 6: ':' expected near '2'");
}

static void unusual_text_that_is_json_is_read(void **state)
{
    static const struct {
        const char *text;
        const char *canonical;
    } cases[] = {
        {" [ ] ", "[]"},
        {"\r\n\t{ }\n", "{}"},
        {"null", "null"},
        {"\"\"", "\"\""},
        {"[true,false]", "[true,false]"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"1E2", "100.0"},
        {"1.5e-3", "0.0015"},
        {"1.7976931348623157e308", "1.7976931348623157e308"},
        {"\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\""},
        {"\"\xF4\x8F\xBF\xBF\"", "\"\xF4\x8F\xBF\xBF\""},
        {"\"\\u00e9\\/\\b\\f\\n\\r\\t\\u001F\x7F\"", "\"\xC3\xA9/\\b\\f\\n\\r\\t\\u001F\x7F\""},
        {"{\"\":1,\" \":2}", "{\"\":1,\" \":2}"},
        {"[{\"a\":1},{\"a\":{\"a\":2}}]", "[{\"a\":1},{\"a\":{\"a\":2}}]"},
        {"{\"\xC3\xA9\":1,\"e\xCC\x81\":2}", "{\"e\xCC\x81\":2,\"\xC3\xA9\":1}"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        with_json json = json_read(span_of_string(cases[i].text), &json_budget_control, &err);
        assert_string_equal(err.msg, "");
        with_buf text = buf_new(1000);
        assert_int_equal(json_write(json, JSON_CANONICAL, &text, &err), 0);
        assert_string_equal(buf_string(&text), cases[i].canonical);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_budget_holds_at_its_edge),
        cmocka_unit_test(an_error_over_budget_names_the_byte),
        cmocka_unit_test(strings_hide_what_they_hold),
        cmocka_unit_test(a_closed_level_is_left_and_an_empty_one_has_no_item),
        cmocka_unit_test(budgets_stop_what_would_exhaust_a_parser),
        cmocka_unit_test(hostile_text_is_corrupt_and_says_where),
        cmocka_unit_test(the_line_and_the_column_are_right),
        cmocka_unit_test(unusual_text_that_is_json_is_read),
    };
    return cmocka_run_group_tests_name("json/reader", tests, NULL, NULL);
}
