#include "../unit.h"

#include "json.h"

static void assert_writes(const json_t *json, enum json_style style, const char *wanted)
{
    struct err err = {0};
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(json, style, &text, &err), 0);
    assert_string_equal(buf_string(&text), wanted);
}

/* The same members in each order that they can be set in. */
static void canonical_bytes_do_not_depend_on_the_order(void **state)
{
    static const char *const texts[] = {
        "{\"b\":{\"y\":1,\"x\":[2,1]},\"a\":null,\"B\":0.5,\"\xC3\xA9\":\"\",\"aa\":1}",
        "{\"aa\":1,\"\xC3\xA9\":\"\",\"B\":0.5,\"a\":null,\"b\":{\"x\":[2,1],\"y\":1}}",
        "{ \"a\":null,\r\n\t\"b\":{\"x\":[2,1],\"y\":1},\"aa\":1,\"B\":5e-1,\"\xC3\xA9\":\"\"}",
    };
    for (size_t i = 0; i < countof(texts); i++) {
        with_json json = json_read(span_of_string(texts[i]), &json_budget_control, NULL);
        assert_non_null(json);
        assert_writes(
            json, JSON_CANONICAL,
            "{\"B\":0.5,\"a\":null,\"aa\":1,\"b\":{\"x\":[2,1],\"y\":1},\"\xC3\xA9\":\"\"}");
    }
}

static void readable_keeps_the_order_that_was_set(void **state)
{
    with_json json = json_object();
    json_object_set_new(json, "b", json_integer(1));
    json_object_set_new(json, "a", json_array());
    json_object_set_new(json, "c", json_pack("[i,{s:s}]", 7, "d", "e"));
    assert_writes(json, JSON_READABLE,
                  "{\n"
                  "  \"b\": 1,\n"
                  "  \"a\": [],\n"
                  "  \"c\": [\n"
                  "    7,\n"
                  "    {\n"
                  "      \"d\": \"e\"\n"
                  "    }\n"
                  "  ]\n"
                  "}\n");
}

static void writes_any_value_behind_what_was_there(void **state)
{
    with_buf text = buf_new(100);
    buf_add_string(&text, "x=");
    with_json json = json_string("a\"\\\x01\n");
    assert_int_equal(json_write(json, JSON_CANONICAL, &text, NULL), 0);
    assert_string_equal(buf_string(&text), "x=\"a\\\"\\\\\\u0001\\n\"");
}

static void a_full_buf_keeps_what_it_held(void **state)
{
    with_json json = json_pack("{s:s}", "name", "value"); /* 16 bytes, readable 22 */
    static const struct {
        enum json_style style;
        size_t bytes;
    } cases[] = {{JSON_CANONICAL, 16}, {JSON_READABLE, 22}};
    for (size_t i = 0; i < countof(cases); i++) {
        for (size_t maximum = 0; maximum < cases[i].bytes; maximum++) {
            struct err err = {0};
            with_buf text = buf_new(3 + maximum);
            buf_add_string(&text, "abc");
            assert_int_equal(json_write(json, cases[i].style, &text, &err), -1);
            assert_int_equal(err.code, ERR_OVER_BUDGET);
            assert_string_equal(buf_string(&text), "abc");
        }
        with_buf text = buf_new(cases[i].bytes);
        assert_int_equal(json_write(json, cases[i].style, &text, NULL), 0);
        assert_int_equal(buf_length(&text), cases[i].bytes);
    }
}

static void what_has_no_text_is_an_internal_error(void **state)
{
    struct err err = {0};
    with_buf text = buf_new(100);
    assert_int_equal(json_write(NULL, JSON_CANONICAL, &text, &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL);

    with_json outer = json_array();
    json_t *inner = json_array();
    json_array_append_new(outer, inner);
    json_array_append(inner, outer);
    err = (struct err){0};
    assert_int_equal(json_write(outer, JSON_READABLE, &text, &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL);
    assert_int_equal(buf_length(&text), 0);
    json_array_clear(inner);

    with_json bad = json_string_nocheck("\xFF");
    assert_int_equal(json_write(bad, JSON_CANONICAL, &text, &err), -1);
    assert_true(buf_fits(&text));
}

/* Whatever bytes came, what is written of them can be read back. */
static void text_of_any_bytes_becomes_a_string_that_reads_back(void **state)
{
#define FFFD "\xEF\xBF\xBD"
    static const struct {
        struct span bytes;
        const char *wanted;
    } cases[] = {
        {{NULL, 0}, ""},
        {{"", 0}, ""},
        {{"plain", 5}, "plain"},
        {{"\xC3\xA9", 2}, "\xC3\xA9"},
        {{"a\xFFz", 3}, "a" FFFD "z"},
        {{"\xC3", 1}, FFFD},
        {{"\xED\xA0\x80", 3}, FFFD FFFD FFFD},
        {{"\0", 1}, FFFD},
        {{"a\0\0b\0", 5}, "a" FFFD FFFD "b" FFFD},
        {{"\x1B[31m\r\n", 7}, "\x1B[31m\r\n"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_json json = json_text(cases[i].bytes);
        assert_string_equal(json_string_value(json), cases[i].wanted);
        assert_int_equal(json_string_length(json), strlen(cases[i].wanted));
        with_buf text = buf_new(100);
        assert_int_equal(json_write(json, JSON_CANONICAL, &text, NULL), 0);
        with_json back = json_read(buf_span(&text), &json_budget_control, NULL);
        assert_true(json_equal(json, back));
    }
}

/* The largest tail that a report may hold, at its worst. */
static void a_tail_of_one_mebibyte_fits_the_report_budget(void **state)
{
    static char tail[1 << 20];
    memset(tail, 0x01, sizeof tail);
    with_json json = json_text(span_of(tail, sizeof tail));
    with_buf text = buf_new(json_budget_report.bytes);
    assert_int_equal(json_write(json, JSON_READABLE, &text, NULL), 0);
    with_json back = json_read(buf_span(&text), &json_budget_report, NULL);
    assert_true(json_equal(json, back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_bytes_do_not_depend_on_the_order),
        cmocka_unit_test(readable_keeps_the_order_that_was_set),
        cmocka_unit_test(writes_any_value_behind_what_was_there),
        cmocka_unit_test(a_full_buf_keeps_what_it_held),
        cmocka_unit_test(what_has_no_text_is_an_internal_error),
        cmocka_unit_test(text_of_any_bytes_becomes_a_string_that_reads_back),
        cmocka_unit_test(a_tail_of_one_mebibyte_fits_the_report_budget),
    };
    return cmocka_run_group_tests_name("json/writer", tests, NULL, NULL);
}
