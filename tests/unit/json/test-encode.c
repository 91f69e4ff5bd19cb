#include "../unit.h"

#include "sample.h"

static void an_all_zero_struct_is_a_record(void **state)
{
    static const struct sample zero;
    with_json json = record_encode(&sample_record, &zero);
    with_buf text = buf_new(4096);
    assert_int_equal(json_write(json, JSON_READABLE, &text, NULL), 0);
    /* Members come in the order of the table; a null that may be missing is. */
    assert_string_equal(buf_string(&text), "{\n"
                                           "  \"schema\": \"sample/v1\",\n"
                                           "  \"flag\": false,\n"
                                           "  \"count\": 0,\n"
                                           "  \"text\": \"\",\n"
                                           "  \"colour\": \"red\",\n"
                                           "  \"part\": {\n"
                                           "    \"id\": 0,\n"
                                           "    \"label\": \"\"\n"
                                           "  },\n"
                                           "  \"strings\": [],\n"
                                           "  \"ints\": [],\n"
                                           "  \"parts\": [],\n"
                                           "  \"extra\": {},\n"
                                           "  \"extras\": [],\n"
                                           "  \"maybe_flag\": null,\n"
                                           "  \"maybe_count\": null,\n"
                                           "  \"maybe_text\": null,\n"
                                           "  \"maybe_colour\": \"red\",\n"
                                           "  \"maybe_extra\": null,\n"
                                           "  \"maybe_part\": null,\n"
                                           "  \"spare\": 0\n"
                                           "}\n");
}

static void text_that_is_not_utf8_is_made_so(void **state)
{
    char bad[] = "a\xFF";
    with_strvec strings = {0};
    strvec_push(&strings, bad);
    const struct sample sample = {.text = bad, .maybe_text = bad, .strings = strings};
    with_json json = record_encode(&sample_record, &sample);
    static const char *const wanted = "a\xEF\xBF\xBD";
    assert_string_equal(json_string_value(json_object_get(json, "text")), wanted);
    assert_string_equal(json_string_value(json_object_get(json, "maybe_text")), wanted);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "strings"), 0)),
                        wanted);
}

static void a_value_out_of_bounds_is_written_and_found(void **state)
{
    const struct sample sample = {.count = 99};
    with_json json = record_encode(&sample_record, &sample);
    with_strvec faults = {0};
    assert_true(record_faults(&sample_record, json, &faults) > 0);
    assert_string_equal(faults.strings[0], "count: is 99, more than 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_zero_struct_is_a_record),
        cmocka_unit_test(text_that_is_not_utf8_is_made_so),
        cmocka_unit_test(a_value_out_of_bounds_is_written_and_found),
    };
    return cmocka_run_group_tests_name("json/encode", tests, NULL, NULL);
}
