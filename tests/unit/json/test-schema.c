/* The schema is judged by what it accepts: a small validator that knows the keywords that
 * record_schema() uses, and no other, goes through every case of record_faults(). */
#include "sample-cases.h"

static bool accepts(const json_t *root, const json_t *schema, const json_t *json);

static bool has_type(const char *type, const json_t *json)
{
    static const struct {
        const char *type;
        json_type one;
        json_type other;
    } types[] = {
        {"object", JSON_OBJECT, JSON_OBJECT}, {"array", JSON_ARRAY, JSON_ARRAY},
        {"string", JSON_STRING, JSON_STRING}, {"integer", JSON_INTEGER, JSON_INTEGER},
        {"boolean", JSON_TRUE, JSON_FALSE},   {"null", JSON_NULL, JSON_NULL},
    };
    for (size_t i = 0; i < countof(types); i++) {
        if (strcmp(types[i].type, type) == 0) {
            return json_typeof(json) == types[i].one || json_typeof(json) == types[i].other;
        }
    }
    fail_msg("unknown type %s", type);
    return false;
}

static bool is_one_of(const json_t *list, const json_t *json)
{
    size_t i;
    json_t *element;
    json_array_foreach(list, i, element) {
        if (json_equal(element, json)) {
            return true;
        }
    }
    return false;
}

static bool any_accepts(const json_t *root, const json_t *schemas, const json_t *json)
{
    size_t i;
    json_t *schema;
    json_array_foreach(schemas, i, schema) {
        if (accepts(root, schema, json)) {
            return true;
        }
    }
    return false;
}

/* "#/$defs/NAME" with ~1 for the slash: what RFC 6901 makes of it. */
static const json_t *resolve(const json_t *root, const char *reference)
{
    if (strcmp(reference, "#") == 0) {
        return root;
    }
    assert_memory_equal(reference, "#/$defs/", 8);
    with_buf name = buf_new(200);
    for (const char *p = reference + 8; *p; p++) {
        assert_true(*p != '/');
        if (*p == '~') {
            p++;
            buf_add_char(&name, *p == '1' ? '/' : '~');
        } else {
            buf_add_char(&name, *p);
        }
    }
    const json_t *schema = json_object_get(json_object_get(root, "$defs"), buf_string(&name));
    assert_non_null(schema);
    return schema;
}

static size_t characters(const json_t *string)
{
    size_t n = 0;
    for (const char *p = json_string_value(string); *p; p++) {
        n += ((unsigned char)*p & 0xC0) != 0x80;
    }
    return n;
}

static bool accepts_members(const json_t *root, const json_t *schema, json_t *json)
{
    const json_t *properties = json_object_get(schema, "properties");
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(schema, "required"), i, name) {
        if (!json_object_get(json, json_string_value(name))) {
            return false;
        }
    }
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value) {
        const json_t *property = json_object_get(properties, key);
        if (!property || !accepts(root, property, value)) {
            return false;
        }
    }
    return true;
}

static bool accepts_elements(const json_t *root, const json_t *items, const json_t *json)
{
    size_t i;
    json_t *element;
    json_array_foreach(json, i, element) {
        if (!accepts(root, items, element)) {
            return false;
        }
    }
    return true;
}

static bool accepts_keyword(const json_t *root, const json_t *schema, const char *keyword,
                            const json_t *rule, const json_t *json)
{
    json_int_t number = json_integer_value(rule);
    static const char *const annotations[] = {"$schema",     "$defs",    "title",
                                              "description", "required", "additionalProperties"};
    for (size_t i = 0; i < countof(annotations); i++) {
        if (strcmp(keyword, annotations[i]) == 0) {
            return true; /* or looked at together with "properties" */
        }
    }
#define KEYWORD(name, applies, holds)                                                              \
    if (strcmp(keyword, name) == 0) {                                                              \
        return !(applies) || (holds);                                                              \
    }
    KEYWORD("type", true, has_type(json_string_value(rule), json))
    KEYWORD("const", true, json_equal(rule, json))
    KEYWORD("enum", true, is_one_of(rule, json))
    KEYWORD("anyOf", true, any_accepts(root, rule, json))
    KEYWORD("$ref", true, accepts(root, resolve(root, json_string_value(rule)), json))
    KEYWORD("minimum", json_is_integer(json), json_integer_value(json) >= number)
    KEYWORD("maximum", json_is_integer(json), json_integer_value(json) <= number)
    KEYWORD("minLength", json_is_string(json), (json_int_t)characters(json) >= number)
    KEYWORD("maxLength", json_is_string(json), (json_int_t)characters(json) <= number)
    KEYWORD("minItems", json_is_array(json), (json_int_t)json_array_size(json) >= number)
    KEYWORD("maxItems", json_is_array(json), (json_int_t)json_array_size(json) <= number)
    KEYWORD("items", json_is_array(json), accepts_elements(root, rule, json))
    KEYWORD("properties", json_is_object(json),
            accepts_members(root, schema, (json_t *)(uintptr_t)json))
#undef KEYWORD
    fail_msg("unknown keyword %s", keyword);
    return false;
}

static bool accepts(const json_t *root, const json_t *schema, const json_t *json)
{
    const char *keyword;
    json_t *rule;
    json_object_foreach((json_t *)(uintptr_t)schema, keyword, rule) {
        if (!accepts_keyword(root, schema, keyword, rule, json)) {
            return false;
        }
    }
    return true;
}

static void the_schema_accepts_what_decodes_and_nothing_else(void **state)
{
    with_json schema = record_schema(&sample_record);
    for (size_t i = 0; i < countof(sample_cases); i++) {
        const struct sample_case *row = &sample_cases[i];
        with_json json = sample_case_json(row);
        if (accepts(schema, schema, json) != !row->path) {
            fail_msg("%s = %s", row->member, row->value ? row->value : "(missing)");
        }
    }
    with_json full = sample_read(SAMPLE_FULL);
    assert_true(accepts(schema, schema, full));
    with_json list = json_array();
    assert_false(accepts(schema, schema, list));
}

/* Of 5 to 8 bytes there are 2 to 8 characters. */
static void bounds_in_bytes_never_refuse_what_decodes(void **state)
{
    struct word {
        char *text;
    };
    static const struct record_field fields[] = {
        FIELD(struct word, text, FIELD_STRING, SENSITIVITY_TEXT, .minimum = 5, .maximum = 8),
    };
    static const struct record word_record = RECORD(struct word, "word", fields);
    static const char *const texts[] = {"abcde",
                                        "abcdefgh",
                                        "\xC3\xA9\xC3\xA9\xC3\xA9",
                                        "\xE2\x82\xAC\xE2\x82\xAC",
                                        "a\xF0\x9F\x98\x80",
                                        "\xF0\x9F\x98\x80\xF0\x9F\x98\x80"};
    with_json schema = record_schema(&word_record);
    for (size_t i = 0; i < countof(texts); i++) {
        with_json json = json_pack("{s:s}", "text", texts[i]);
        struct word word;
        assert_int_equal(record_decode(&word_record, json, &word, NULL), 0);
        record_done(&word_record, &word);
        assert_true(accepts(schema, schema, json));
    }
    with_json one = json_pack("{s:s}", "text", "a");
    assert_false(accepts(schema, schema, one));
}

static void the_parts_of_a_schema_are_where_they_belong(void **state)
{
    with_json schema = record_schema(&sample_record);
    assert_string_equal(json_string_value(json_object_get(schema, "$schema")),
                        "https://json-schema.org/draft/2020-12/schema");
    assert_string_equal(json_string_value(json_object_get(schema, "title")), "sample/v1");
    assert_string_equal(json_string_value(json_object_get(schema, "description")),
                        "A field of every type.");
    const json_t *definitions = json_object_get(schema, "$defs");
    assert_int_equal(json_object_size(definitions), 1);

    /* Closed, and every field required that is not optional. */
    const json_t *part = json_object_get(definitions, "sample/part");
    with_buf text = buf_new(4096);
    assert_int_equal(json_write(part, JSON_CANONICAL, &text, NULL), 0);
    assert_string_equal(buf_string(&text),
                        "{\"additionalProperties\":false,\"properties\":{"
                        "\"id\":{\"maximum\":9,\"minimum\":1,\"type\":\"integer\"},"
                        "\"label\":{\"minLength\":0,\"type\":\"string\"}},"
                        "\"required\":[\"id\"],\"type\":\"object\"}");
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    assert_int_equal(json_array_size(json_object_get(schema, "required")),
                     sample_record.field_count - 2);
    const json_t *properties = json_object_get(schema, "properties");
    assert_int_equal(json_object_size(properties), sample_record.field_count);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(properties, "count"), "description")),
        "how many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_accepts_what_decodes_and_nothing_else),
        cmocka_unit_test(bounds_in_bytes_never_refuse_what_decodes),
        cmocka_unit_test(the_parts_of_a_schema_are_where_they_belong),
    };
    return cmocka_run_group_tests_name("json/schema", tests, NULL, NULL);
}
