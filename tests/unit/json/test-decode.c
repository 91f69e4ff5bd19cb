#include "sample-cases.h"

static void assert_all_zero(const struct sample *sample)
{
    static const struct sample zero; /* padding too: static memory is zero throughout */
    assert_memory_equal(sample, &zero, sizeof zero);
}

static void every_field_lands_in_its_member(void **state)
{
    struct sample sample;
    struct err err = {0};
    with_json json = sample_read(SAMPLE_FULL);
    assert_int_equal(record_decode(&sample_record, json, &sample, &err), 0);
    assert_int_equal(err.code, ERR_NONE);
    assert_true(sample.flag);
    assert_int_equal(sample.count, 5);
    assert_string_equal(sample.text, "h\xC3\xA9!");
    assert_int_equal(sample.colour, 2);
    assert_int_equal(sample.part.id, 1);
    assert_string_equal(sample.part.label, "");
    assert_int_equal(sample.strings.count, 2);
    assert_string_equal(sample.strings.strings[1], "\a");
    assert_null(sample.strings.strings[2]);
    assert_int_equal(sample.ints.count, 2);
    assert_true(sample.ints.values[0] == INT64_MAX && sample.ints.values[1] == INT64_MIN);
    assert_int_equal(sample.parts.count, 2);
    const struct part *parts = sample.parts.objects;
    assert_int_equal(parts[1].id, 3);
    assert_string_equal(parts[1].label, "y");
    assert_int_equal(json_object_size(sample.extra), 1);
    assert_int_equal(json_array_size(sample.extras), 2);
    assert_true(sample.maybe_flag.known && !sample.maybe_flag.value);
    assert_true(sample.maybe_count.known && sample.maybe_count.value == 0);
    assert_string_equal(sample.maybe_text, "");
    assert_int_equal(sample.maybe_colour, 1);
    assert_true(json_is_object(sample.maybe_extra));
    assert_int_equal(sample.maybe_part->id, 9);
    assert_string_equal(sample.maybe_part->label, "z");
    assert_true(json_is_object(sample.oracle));
    assert_int_equal(sample.spare, 7);
    record_done(&sample_record, &sample);
    assert_all_zero(&sample);
    record_done(&sample_record, &sample); /* of an empty one: nothing */
}

static void null_and_missing_have_their_empty_values(void **state)
{
    struct sample sample;
    with_json json = sample_read(SAMPLE_LEAST);
    assert_int_equal(record_decode(&sample_record, json, &sample, NULL), 0);
    assert_string_equal(sample.part.label, ""); /* missing, and never NULL */
    assert_int_equal(sample.spare, 0);
    assert_null(sample.oracle);
    assert_null(sample.ints.values);
    assert_null(sample.parts.objects);
    assert_false(sample.maybe_flag.known);
    assert_false(sample.maybe_count.known);
    assert_null(sample.maybe_text);
    assert_int_equal(sample.maybe_colour, -1);
    assert_null(sample.maybe_extra);
    assert_null(sample.maybe_part);
    record_done(&sample_record, &sample);
}

/* Optional fields of every type, all of them missing. */
struct lax {
    bool flag;
    char *text;
    int colour;
    struct part part;
    struct strvec strings;
    struct object_list parts;
    json_t *extra;
    json_t *extras;
    int maybe_colour;
};
static const struct record_field lax_fields[] = {
    FIELD_FIXED("schema", "lax/v1", .optional = true),
    FIELD(struct lax, flag, FIELD_BOOL, SENSITIVITY_PUBLIC, .optional = true),
    FIELD(struct lax, text, FIELD_STRING, SENSITIVITY_TEXT, .optional = true, .minimum = 1),
    FIELD(struct lax, colour, FIELD_ENUM, SENSITIVITY_PUBLIC, .optional = true, .names = colours),
    FIELD(struct lax, part, FIELD_OBJECT, SENSITIVITY_PUBLIC, .optional = true,
          .record = &part_record),
    FIELD(struct lax, strings, FIELD_STRINGS, SENSITIVITY_TEXT, .optional = true),
    FIELD(struct lax, parts, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .optional = true,
          .record = &part_record),
    FIELD(struct lax, extra, FIELD_OPEN, SENSITIVITY_TEXT, .optional = true),
    FIELD(struct lax, extras, FIELD_OPENS, SENSITIVITY_TEXT, .optional = true),
    FIELD(struct lax, maybe_colour, FIELD_MAYBE_ENUM, SENSITIVITY_PUBLIC, .optional = true,
          .names = colours),
};
static const struct record lax_record = RECORD(struct lax, "lax/v1", lax_fields);

static void no_missing_field_leaves_a_null_behind(void **state)
{
    struct lax lax;
    with_json json = sample_read("{}");
    assert_int_equal(record_decode(&lax_record, json, &lax, NULL), 0);
    assert_string_equal(lax.text, "");
    assert_string_equal(lax.part.label, "");
    assert_true(json_is_object(lax.extra));
    assert_true(json_is_array(lax.extras));
    assert_int_equal(lax.maybe_colour, -1);
    assert_int_equal(lax.colour, 0);
    record_done(&lax_record, &lax);
}

/* EX-5. What leaked would be seen by the address sanitizer. */
static void a_refused_record_leaves_all_zero(void **state)
{
    size_t refused = 0;
    for (size_t i = 0; i < countof(sample_cases); i++) {
        struct sample sample;
        memset(&sample, 0xA5, sizeof sample);
        struct err err = {0};
        with_json json = sample_case_json(&sample_cases[i]);
        int result = record_decode(&sample_record, json, &sample, &err);
        assert_int_equal(err.code, sample_cases[i].code);
        if (sample_cases[i].code == ERR_NONE) {
            assert_int_equal(result, 0);
            record_done(&sample_record, &sample);
        } else {
            assert_int_equal(result, -1);
            assert_all_zero(&sample);
            refused++;
        }
    }
    assert_true(refused > 60);
    struct sample sample;
    struct err err = {0};
    assert_int_equal(record_decode(&sample_record, NULL, &sample, &err), -1);
    assert_string_equal(err.msg, "'sample/v1' must be an object, not nothing");
    assert_all_zero(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_lands_in_its_member),
        cmocka_unit_test(null_and_missing_have_their_empty_values),
        cmocka_unit_test(no_missing_field_leaves_a_null_behind),
        cmocka_unit_test(a_refused_record_leaves_all_zero),
    };
    return cmocka_run_group_tests_name("json/decode", tests, NULL, NULL);
}
