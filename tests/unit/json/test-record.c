#include "sample-cases.h"

static void assert_json(const json_t *json, const char *wanted)
{
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(json, JSON_CANONICAL, &text, NULL), 0);
    assert_string_equal(buf_string(&text), wanted);
}

/* encode(decode(text)) is the text again; the decoded struct needs nothing of the JSON. */
static void assert_round_trip(const struct record *record, void *object, const char *text,
                              const char *wanted)
{
    struct err err = {0};
    with_json json = sample_read(text);
    if (record_decode(record, json, object, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    json_drop(&json);
    with_json back = record_encode(record, object);
    record_done(record, object);
    assert_json(back, wanted);
}

static void every_type_goes_there_and_back(void **state)
{
    struct sample sample;
    assert_round_trip(&sample_record, &sample, SAMPLE_FULL, SAMPLE_FULL);
    assert_round_trip(&sample_record, &sample, SAMPLE_LEAST, SAMPLE_LEAST_BACK);
}

struct node {
    int64_t id;
    struct object_list children;
    struct node *next;
};
static const struct record node_record;
static const struct record_field node_fields[] = {
    FIELD(struct node, id, FIELD_INT, SENSITIVITY_PUBLIC),
    FIELD(struct node, children, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .record = &node_record),
    FIELD(struct node, next, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .record = &node_record,
          .optional = true),
};
static const struct record node_record = RECORD(struct node, "node", node_fields);

static void a_record_may_hold_itself(void **state)
{
#define NODE_TEXT                                                                                  \
    "{\"children\":[{\"children\":[],\"id\":2},"                                                   \
    "{\"children\":[{\"children\":[],\"id\":4}],\"id\":3}],"                                       \
    "\"id\":1,\"next\":{\"children\":[],\"id\":5}}"
    struct node node;
    assert_round_trip(&node_record, &node, NODE_TEXT, NODE_TEXT);

    with_json schema = record_schema(&node_record);
    assert_int_equal(json_object_size(json_object_get(schema, "$defs")), 0);
    const json_t *next = json_object_get(json_object_get(schema, "properties"), "next");
    assert_json(next, "{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}");
    with_buf text = buf_new(4096);
    record_document(&node_record, &text);
    assert_null(strstr(buf_string(&text) + 1, "## "));
}

/* What came to a format later is not asked of what was written before, and always written. */
static void a_later_field_may_be_missing_and_is_written(void **state)
{
    struct grown {
        int64_t first;
        char *then;
    };
    const struct record_field fields[] = {
        FIELD(struct grown, first, FIELD_INT, SENSITIVITY_PUBLIC),
        FIELD(struct grown, then, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, .later = true),
    };
    const struct record record = RECORD(struct grown, "grown/v1", fields);
    struct grown grown;
    with_json old = json_object();
    json_object_set_new(old, "first", json_integer(7));
    assert_int_equal(record_decode(&record, old, &grown, NULL), 0);
    assert_null(grown.then);
    with_json now = record_encode(&record, &grown);
    assert_true(json_is_null(json_object_get(now, "then")));
    with_json schema = record_schema(&record);
    assert_int_equal(json_array_size(json_object_get(schema, "required")), 1);
    with_buf text = buf_new(10000);
    record_document(&record, &text);
    assert_non_null(strstr(buf_string(&text), "a string or null, may be missing in old records"));
    record_done(&record, &grown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_goes_there_and_back),
        cmocka_unit_test(a_record_may_hold_itself),
        cmocka_unit_test(a_later_field_may_be_missing_and_is_written),
    };
    return cmocka_run_group_tests_name("json/record", tests, NULL, NULL);
}
