#include "../unit.h"

#include "sample.h"

static json_t *read_text(const char *text)
{
    struct err err = {0};
    json_t *json = json_read(span_of_string(text), &json_budget_control, &err);
    if (!json) {
        fail_msg("%s", err.msg);
    }
    return json;
}

static void assert_json(const json_t *json, const char *wanted)
{
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(json, JSON_CANONICAL, &text, NULL), 0);
    assert_string_equal(buf_string(&text), wanted);
}

static void assert_round_trip(const char *text, const char *wanted)
{
    struct err err = {0};
    with_json json = read_text(text);
    struct sample sample;
    if (record_decode(&sample_record, json, &sample, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    json_drop(&json); /* the sample stands on its own */
    with_json back = record_encode(&sample_record, &sample);
    record_done(&sample_record, &sample);
    assert_json(back, wanted);
}

static void every_type_goes_there_and_back(void **state)
{
    assert_round_trip(SAMPLE_FULL, SAMPLE_FULL);
    assert_round_trip(SAMPLE_LEAST, SAMPLE_LEAST_BACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_goes_there_and_back),
    };
    return cmocka_run_group_tests_name("json/record", tests, NULL, NULL);
}
