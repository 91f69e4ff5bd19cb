/* A form is a tree, so its schema is one too and needs no $defs. What JSON Schema cannot say exactly is said
 * as widely as needed: what decodes satisfies it. */
#include "form-priv.h"

static void set(json_t *object, const char *key, json_t *value)
{
    BUG_IF(!value || json_object_set_new(object, key, value) < 0);
}

static json_t *of_type(const char *type)
{
    json_t *schema = json_object();
    set(schema, "type", json_string(type));
    return schema;
}

static json_t *word_list(const char *const *words)
{
    json_t *list = json_array();
    for (size_t i = 0; words[i]; i++) {
        json_array_append_new(list, json_string(words[i]));
    }
    return list;
}

/* Editors type what is plain by itself: 1000 is a number to them, and a text here. */
static json_t *text_schema(const struct form_field *field)
{
    json_t *schema = json_object();
    if (field->words) {
        set(schema, "enum", word_list(field->words));
        return schema;
    }
    const char *pattern = form_shape_trait(field->shape)->pattern;
    json_t *types = json_array();
    static const char *const plain[] = {"string", "number", "boolean", "null"};
    for (size_t i = 0; i < countof(plain); i++) {
        json_array_append_new(types, json_string(plain[i]));
    }
    set(schema, "type", types);
    if (pattern) {
        set(schema, "pattern", json_string(pattern));
    }
    return schema;
}

static json_t *part_schema(const struct form *form);

static json_t *field_schema(const struct form_field *field)
{
    json_t *schema;
    switch (field->type) {
    case FORM_BOOL:
        return of_type("boolean");
    case FORM_NUMBER:
        schema = of_type("integer");
        set(schema, "minimum", json_integer(field->minimum));
        set(schema, "maximum", json_integer(form_maximum(field)));
        return schema;
    case FORM_TEXTS:
        schema = of_type("array");
        set(schema, "items", text_schema(field));
        set(schema, "minItems", json_integer(field->minimum));
        set(schema, "maxItems", json_integer(form_maximum(field)));
        return schema;
    case FORM_PART:
        return part_schema(field->part);
    case FORM_NAMED:
        schema = of_type("object");
        set(schema, "propertyNames",
            json_pack("{ss}", "pattern", form_shape_trait(SHAPE_NAME)->pattern));
        set(schema, "additionalProperties", part_schema(field->part));
        set(schema, "minProperties", json_integer(field->minimum));
        set(schema, "maxProperties", json_integer(form_maximum(field)));
        return schema;
    case FORM_TEXT:
        schema = text_schema(field);
        set(schema, "maxLength", json_integer(form_maximum(field)));
        return schema;
    case FORM_WORD:
    default:
        return text_schema(field);
    }
}

static json_t *part_schema(const struct form *form)
{
    if (form->bare) {
        return field_schema(&form->fields[0]);
    }
    json_t *properties = json_object();
    json_t *required = json_array();
    for (size_t i = 0; i < form->field_count; i++) {
        const struct form_field *field = &form->fields[i];
        json_t *schema = field_schema(field);
        set(schema, "description", json_string(field->doc));
        set(properties, field->name, schema);
        if (field->needed) {
            json_array_append_new(required, json_string(field->name));
        }
    }
    json_t *schema = of_type("object");
    set(schema, "additionalProperties", json_false());
    set(schema, "required", required);
    set(schema, "properties", properties);
    return schema;
}

json_t *form_schema(const struct form *form, const char *title)
{
    json_t *schema = part_schema(form);
    set(schema, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
    set(schema, "title", json_string(title));
    set(schema, "description", json_string(form->doc));
    return schema;
}
