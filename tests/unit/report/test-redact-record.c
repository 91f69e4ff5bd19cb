#include "../unit.h"

#include "memory.h"
#include "redact.h"
#include "text.h"

static void assert_json(const json_t *json, const char *wanted)
{
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(json, JSON_CANONICAL, &text, NULL), 0);
    assert_string_equal(buf_string(&text), wanted);
}

/* R59: argument lists. The value is the whole argument. */
static void arguments(void **state)
{
    static const struct {
        const char *argv[8];
        const char *wanted;
    } rows[] = {
        {{"tool", "--token", "a b", "-v"}, "[\"tool\",\"--token\",\"[REDACTED]\",\"-v\"]"},
        {{"tool", "--token=a b"}, "[\"tool\",\"--token=[REDACTED]\"]"},
        {{"env", "TOKEN=a b", "make"}, "[\"env\",\"TOKEN=[REDACTED]\",\"make\"]"},
        {{"tool", "--password", "--quiet"}, "[\"tool\",\"--password\",\"--quiet\"]"},
        {{"tool", "--password", "-starts-with-a-dash"}, "[\"tool\",\"--password\",\"[REDACTED]\"]"},
        {{"tool", "--password"}, "[\"tool\",\"--password\"]"},
        {{"tool", "--token="}, "[\"tool\",\"--token=\"]"},
        {{"tool", "--max-tokens", "12"}, "[\"tool\",\"--max-tokens\",\"12\"]"},
        {{"/usr/bin/mysql", "-psecret", "-p", "db"},
         "[\"/usr/bin/mysql\",\"-p[REDACTED]\",\"-p\",\"db\"]"},
        {{"make", "-pvalue", "-p", "x"}, "[\"make\",\"-pvalue\",\"-p\",\"x\"]"},
        {{"sshpass", "-p", "secret", "ssh", "host"},
         "[\"sshpass\",\"-p\",\"[REDACTED]\",\"ssh\",\"host\"]"},
        {{"sudo", "curl", "-u", "joe:x", "-u", "joe"},
         "[\"sudo\",\"curl\",\"-u\",\"[REDACTED]\",\"-u\",\"joe\"]"},
        {{"curl", "-ujoe:x", "--user=joe:x", "-ujoe"},
         "[\"curl\",\"-u[REDACTED]\",\"--user=[REDACTED]\",\"-ujoe\"]"},
        {{"sh", "-c", "cd a; TOKEN=abc make; echo done"},
         "[\"sh\",\"-c\",\"cd a; TOKEN=[REDACTED] make; echo done\"]"},
        {{"echo", "a; password=x y"}, "[\"echo\",\"a; password=[REDACTED] y\"]"},
        {{"curl", "-HAuthorization: Bearer a b"}, "[\"curl\",\"-HAuthorization: [REDACTED]\"]"},
        {{NULL}, "[]"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        with_json seen = redact_argv((char *const *)(uintptr_t)rows[i].argv);
        assert_json(seen, rows[i].wanted);
    }
}

static void open_json(void **state)
{
    struct err err = {0};
    static const struct {
        const char *in;
        const char *wanted;
    } rows[] = {
        {"{\"a\":\"TOKEN=x y\",\"b\":[1,1.5,true,null,\"Bearer x\"]}",
         "{\"a\":\"TOKEN=[REDACTED] y\",\"b\":[1,1.5,true,null,\"Bearer [REDACTED]\"]}"},
        {"{\"password\":\"x y\",\"port\":1,\"token\":7}",
         "{\"password\":\"[REDACTED]\",\"port\":1,\"token\":7}"},
        {"{\"secrets\":[\"a\",{\"b\":\"c\"},\"\"]}",
         "{\"secrets\":[\"[REDACTED]\",{\"b\":\"[REDACTED]\"},\"\"]}"},
        {"{\"https://joe:x@h\":{\"c\":\"d\"}}", "{\"https://[REDACTED]@h\":{\"c\":\"d\"}}"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        with_json in = json_read(span_of_string(rows[i].in), &json_budget_control, &err);
        assert_non_null(in);
        with_json seen = redact_json(in);
        assert_json(seen, rows[i].wanted);
        assert_json(in, rows[i].in); /* a copy */
    }
}

struct sample {
    char *name;
    char *text;
    struct strvec command;
    struct object_list parts;
    json_t *extra;
};
static const struct record_field part_fields[] = {
    FIELD(struct sample, name, FIELD_STRING, SENSITIVITY_PUBLIC),
    FIELD(struct sample, text, FIELD_STRING, SENSITIVITY_OUTPUT),
};
static const struct record part = RECORD(struct sample, "part", part_fields);
static const struct record_field sample_fields[] = {
    FIELD(struct sample, name, FIELD_STRING, SENSITIVITY_PUBLIC),
    FIELD(struct sample, text, FIELD_MAYBE_STRING, SENSITIVITY_TEXT),
    FIELD(struct sample, command, FIELD_STRINGS, SENSITIVITY_ARGV),
    FIELD(struct sample, parts, FIELD_OBJECTS, SENSITIVITY_TEXT, .record = &part),
    FIELD(struct sample, extra, FIELD_MAYBE_OPEN, SENSITIVITY_PATH),
};
static const struct record sample_record = RECORD(struct sample, "sample", sample_fields);

/* What is done to a field is what its class says, part by part. */
static void records(void **state)
{
    struct err err = {0};
    static const char in[] = "{\"command\":[\"x\",\"--token\",\"a\"],\"extra\":{\"p\":\"token=a\"},"
                             "\"name\":\"token=a\",\"parts\":[{\"name\":\"token=a\","
                             "\"text\":\"token=a\"}],\"text\":\"token=a\"}";
    static const char wanted[] =
        "{\"command\":[\"x\",\"--token\",\"[REDACTED]\"],\"extra\":{\"p\":\"token=[REDACTED]\"},"
        "\"name\":\"token=a\",\"parts\":[{\"name\":\"token=a\",\"text\":\"token=[REDACTED]\"}],"
        "\"text\":\"token=[REDACTED]\"}";
    with_json json = json_read(span_of_string(in), &json_budget_control, &err);
    with_json seen = redact_record(&sample_record, json);
    assert_json(seen, wanted);
    with_json nulls = json_read(span_of_string("{\"command\":[],\"extra\":null,\"text\":null}"),
                                &json_budget_control, &err);
    with_json same = redact_record(&sample_record, nulls);
    assert_json(same, "{\"command\":[],\"extra\":null,\"text\":null}");
    assert_ptr_equal(same, nulls); /* nothing to hide: shared */
    with_json odd = json_read(span_of_string("{\"odd\":\"a\",\"name\":\"b\",\"more\":[]}"),
                              &json_budget_control, &err);
    with_json known = redact_record(&sample_record, odd);
    assert_json(known, "{\"name\":\"b\"}");
    assert_int_equal(json_object_size(odd), 3); /* what was given is as it was */
}

static void tail_is(struct span window, bool cut, size_t keep_bytes, const char *wanted, bool whole)
{
    bool seen_whole;
    with_json tail = redact_tail(window, cut, keep_bytes, &seen_whole);
    assert_string_equal(json_string_value(tail), wanted);
    assert_int_equal(seen_whole, whole);
    assert_true(json_string_length(tail) <= keep_bytes);
}

static void short_tails(void **state)
{
    tail_is(span_of_string(""), false, 16, "", true);
    tail_is(span_of_string("hello\n"), false, 16, "hello\n", true);
    tail_is(span_of_string("0123456789abcdef"), false, 16, "0123456789abcdef", true);
    tail_is(span_of_string("0123456789abcdefg"), false, 16, "123456789abcdefg", false);
    tail_is(span_of_string("x TOKEN=abc"), false, 64, "x TOKEN=[REDACTED]", true);
}

/* O4: bytes that are no text, and the cut on a character. */
static void tails_are_valid_text(void **state)
{
    tail_is(span_of_string("ab\xE2\x82\xAC"), false, 3, "\xE2\x82\xAC", false);
    tail_is(span_of_string("ab\xE2\x82\xAC"), false, 2, "", false);
    tail_is(span_of("a\0\xff", 3), false, 16, "a\xEF\xBF\xBD\xEF\xBF\xBD", true);
    /* A byte that is no character grows; what is kept does not grow with it. */
    tail_is(span_of_string("\xff\xff\xff\xff"), false, 8, "\xEF\xBF\xBD\xEF\xBF\xBD", false);
}

/* O5: what the window's start cut is not shown, whatever was cut. */
static void a_secret_that_the_window_cuts(void **state)
{
    tail_is(span_of_string("CRET\nline\n"), true, 64, "line\n", false);
    tail_is(span_of_string("oken=S3CRET rest\nline\n"), true, 64, "line\n", false);
    tail_is(span_of_string("no line ends here"), true, 64, "", false);
    tail_is(span_of_string("bq2n\nm0c=\n-----END PRIVATE KEY-----\nline\n"), true, 64, "\nline\n",
            false);
    /* Without a cut the first line is the stream's own. */
    tail_is(span_of_string("CRET\nline\n"), false, 64, "CRET\nline\n", true);
}

/* O6: one line that is longer than the window. */
static void a_line_without_an_end(void **state)
{
    enum { WINDOW = 16384, KEPT = 8192 };
    with_string window = memory_new(WINDOW + 1);
    memset(window, 'x', WINDOW);
    memcpy(window + WINDOW - 30, " TOKEN=S3CRET in the end 123456", 30);
    bool whole;
    with_json tail = redact_tail(span_of(window, WINDOW), true, KEPT, &whole);
    const char *text = json_string_value(tail);
    assert_true(json_string_length(tail) > KEPT - 16);
    assert_non_null(strstr(text, " TOKEN=[REDACTED] in the end"));
    assert_null(strstr(text, "S3CRET"));
    /* A name at the very place of the cut still covers its value. */
    memset(window, 'x', WINDOW);
    memcpy(window + WINDOW - KEPT - 3, " TOKEN=S3CRET x", 15);
    with_json other = redact_tail(span_of(window, WINDOW), true, KEPT, &whole);
    assert_null(strstr(json_string_value(other), "S3CRET"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),
        cmocka_unit_test(open_json),
        cmocka_unit_test(records),
        cmocka_unit_test(short_tails),
        cmocka_unit_test(tails_are_valid_text),
        cmocka_unit_test(a_secret_that_the_window_cuts),
        cmocka_unit_test(a_line_without_an_end),
    };
    return cmocka_run_group_tests_name("report/redact-record", tests, NULL, NULL);
}
