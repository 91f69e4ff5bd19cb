/* schema.c
 *
 * The schema of the record at the top, its parts under $defs by their names. What JSON Schema
 * cannot say exactly (bounds in bytes) is said as widely as needed: what decodes satisfies it.
 */
#include "json-priv.h"

static void set(json_t *object, const char *key, json_t *value)
{
    BUG_IF(!value || json_object_set_new(object, key, value) < 0);
}

static void set_string(json_t *object, const char *key, const char *text)
{
    set(object, key, json_string(text));
}

static json_t *type_schema(const char *type)
{
    json_t *schema = json_object();
    set_string(schema, "type", type);
    return schema;
}

/* "#" is the top itself; in the pointer to a part, '/' of its name is written ~1. */
static json_t *reference_schema(const struct record *root, const struct record *record)
{
    with_buf pointer = buf_new(1024);
    buf_add_string(&pointer, record == root ? "#" : "#/$defs/");
    for (const char *p = record == root ? "" : record->name; *p; p++) {
        if (*p == '/') {
            buf_add_string(&pointer, "~1");
        } else {
            buf_add_char(&pointer, *p);
        }
    }
    json_t *schema = json_object();
    set_string(schema, "$ref", buf_string(&pointer));
    return schema;
}

static void set_bounds(json_t *schema, const char *minimum_key, int64_t minimum,
                       const char *maximum_key, int64_t maximum)
{
    set(schema, minimum_key, json_integer(minimum));
    if (maximum != 0) {
        set(schema, maximum_key, json_integer(maximum));
    }
}

static json_t *list_schema(const struct record_field *field, json_t *items)
{
    json_t *schema = type_schema("array");
    set(schema, "items", items);
    set_bounds(schema, "minItems", field->minimum, "maxItems", field->maximum);
    return schema;
}

static json_t *bool_schema(const struct record *root, const struct record_field *field)
{
    return type_schema("boolean");
}

static json_t *int_schema(const struct record *root, const struct record_field *field)
{
    json_t *schema = type_schema("integer");
    set_bounds(schema, "minimum", field->minimum, "maximum", field->maximum);
    return schema;
}

static json_t *text_schema(const struct record *root, const struct record_field *field)
{
    json_t *schema = type_schema("string");
    /* n bytes are at least n/4 characters and at most n */
    set_bounds(schema, "minLength", (field->minimum + 3) / 4, "maxLength", field->maximum);
    return schema;
}

static json_t *const_schema(const struct record *root, const struct record_field *field)
{
    json_t *schema = json_object();
    set_string(schema, "const", field->text);
    return schema;
}

static json_t *enum_schema(const struct record *root, const struct record_field *field)
{
    json_t *names = json_array();
    for (size_t i = 0; field->names[i]; i++) {
        json_array_append_new(names, json_string(field->names[i]));
    }
    json_t *schema = json_object();
    set(schema, "enum", names);
    return schema;
}

static json_t *object_schema(const struct record *root, const struct record_field *field)
{
    return reference_schema(root, field->record);
}

static json_t *strings_schema(const struct record *root, const struct record_field *field)
{
    return list_schema(field, type_schema("string"));
}

static json_t *ints_schema(const struct record *root, const struct record_field *field)
{
    return list_schema(field, type_schema("integer"));
}

static json_t *objects_schema(const struct record *root, const struct record_field *field)
{
    return list_schema(field, reference_schema(root, field->record));
}

static json_t *open_schema(const struct record *root, const struct record_field *field)
{
    return type_schema("object");
}

static json_t *opens_schema(const struct record *root, const struct record_field *field)
{
    return list_schema(field, type_schema("object"));
}

static json_t *(*const schemas[])(const struct record *root, const struct record_field *field) = {
    [FIELD_BOOL] = bool_schema,       [FIELD_INT] = int_schema,
    [FIELD_STRING] = text_schema,     [FIELD_CONST] = const_schema,
    [FIELD_ENUM] = enum_schema,       [FIELD_OBJECT] = object_schema,
    [FIELD_STRINGS] = strings_schema, [FIELD_INTS] = ints_schema,
    [FIELD_OBJECTS] = objects_schema, [FIELD_OPEN] = open_schema,
    [FIELD_OPENS] = opens_schema,
};

static json_t *field_schema(const struct record *root, const struct record_field *field)
{
    const struct field_kind *kind = field_kind(field);
    json_t *schema = schemas[kind->base](root, field);
    if (kind->nullable) {
        json_t *either = json_array();
        json_array_append_new(either, schema);
        json_array_append_new(either, type_schema("null"));
        schema = json_object();
        set(schema, "anyOf", either);
    }
    if (field->doc) {
        set_string(schema, "description", field->doc);
    }
    return schema;
}

/* What the schema of a record has in itself, whether it is the top or a part. */
static void set_members(json_t *schema, const struct record *root, const struct record *record)
{
    json_t *properties = json_object();
    json_t *required = json_array();
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        set(properties, field->name, field_schema(root, field));
        if (!field_may_be_missing(field)) {
            json_array_append_new(required, json_string(field->name));
        }
    }
    if (record->doc) {
        set_string(schema, "description", record->doc);
    }
    set_string(schema, "type", "object");
    set(schema, "additionalProperties", json_false());
    set(schema, "required", required);
    set(schema, "properties", properties);
}

json_t *record_schema(const struct record *record)
{
    with_record_parts parts = record_parts(record);
    json_t *schema = json_object();
    set_string(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    set_string(schema, "title", record->name);
    set_members(schema, record, record);
    json_t *definitions = json_object();
    for (size_t i = 1; i < parts.count; i++) { /* the first is the record itself */
        const struct record *part = parts.records[i];
        BUG_IF(json_object_get(definitions, part->name)); /* two records of one name */
        json_t *definition = json_object();
        set_members(definition, record, part);
        set(definitions, part->name, definition);
    }
    set(schema, "$defs", definitions);
    return schema;
}
