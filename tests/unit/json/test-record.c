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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_goes_there_and_back),
        cmocka_unit_test(a_record_may_hold_itself),
    };
    return cmocka_run_group_tests_name("json/record", tests, NULL, NULL);
}
