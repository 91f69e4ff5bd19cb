#include "json-priv.h"

#include <string.h>

static json_t *encode_string(const char *string)
{
    return json_text(span_of_string(string));
}

static json_t *encode_bool(const struct record_field *field, const void *place)
{
    return json_boolean(*(const bool *)place);
}

static json_t *encode_int(const struct record_field *field, const void *place)
{
    return json_integer(*(const int64_t *)place);
}

static json_t *encode_text(const struct record_field *field, const void *place)
{
    return encode_string(*(const char *const *)place);
}

static json_t *encode_const(const struct record_field *field, const void *place)
{
    return encode_string(field->text);
}

static json_t *encode_enum(const struct record_field *field, const void *place)
{
    int index = *(const int *)place;
    for (int i = 0; field->names[i]; i++) {
        if (i == index) {
            return encode_string(field->names[i]);
        }
    }
    BUG("an enum field holds a value without a name");
}

static json_t *encode_object(const struct record_field *field, const void *place)
{
    return record_encode(field->record, place);
}

static json_t *encode_strings(const struct record_field *field, const void *place)
{
    const struct strvec *vec = place;
    json_t *array = json_array();
    for (size_t i = 0; i < vec->count; i++) {
        json_array_append_new(array, encode_string(vec->strings[i]));
    }
    return array;
}

static json_t *encode_ints(const struct record_field *field, const void *place)
{
    const struct int_list *list = place;
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++) {
        json_array_append_new(array, json_integer(list->values[i]));
    }
    return array;
}

static json_t *encode_objects(const struct record_field *field, const void *place)
{
    const struct object_list *list = place;
    const char *object = list->objects;
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++, object += field->record->size) {
        json_array_append_new(array, record_encode(field->record, object));
    }
    return array;
}

static json_t *encode_open(const struct record_field *field, const void *place)
{
    json_t *object = *(json_t *const *)place;
    return object ? json_incref(object) : json_object();
}

static json_t *encode_opens(const struct record_field *field, const void *place)
{
    json_t *array = *(json_t *const *)place;
    return array ? json_incref(array) : json_array();
}

static json_t *encode_maybe_bool(const struct record_field *field, const void *place)
{
    const struct maybe_bool *maybe = place;
    return maybe->known ? json_boolean(maybe->value) : json_null();
}

static json_t *encode_maybe_int(const struct record_field *field, const void *place)
{
    const struct maybe_int *maybe = place;
    return maybe->known ? json_integer(maybe->value) : json_null();
}

static json_t *encode_maybe_text(const struct record_field *field, const void *place)
{
    return *(const char *const *)place ? encode_text(field, place) : json_null();
}

static json_t *encode_maybe_enum(const struct record_field *field, const void *place)
{
    return *(const int *)place == -1 ? json_null() : encode_enum(field, place);
}

static json_t *encode_maybe_open(const struct record_field *field, const void *place)
{
    return *(json_t *const *)place ? encode_open(field, place) : json_null();
}

static json_t *encode_maybe_object(const struct record_field *field, const void *place)
{
    const void *object = *(const void *const *)place;
    return object ? record_encode(field->record, object) : json_null();
}

typedef json_t *encode_field(const struct record_field *field, const void *place);

static encode_field *const encoders[] = {
    [FIELD_BOOL] = encode_bool,
    [FIELD_INT] = encode_int,
    [FIELD_STRING] = encode_text,
    [FIELD_CONST] = encode_const,
    [FIELD_ENUM] = encode_enum,
    [FIELD_OBJECT] = encode_object,
    [FIELD_STRINGS] = encode_strings,
    [FIELD_INTS] = encode_ints,
    [FIELD_OBJECTS] = encode_objects,
    [FIELD_OPEN] = encode_open,
    [FIELD_OPENS] = encode_opens,
    [FIELD_MAYBE_BOOL] = encode_maybe_bool,
    [FIELD_MAYBE_INT] = encode_maybe_int,
    [FIELD_MAYBE_STRING] = encode_maybe_text,
    [FIELD_MAYBE_ENUM] = encode_maybe_enum,
    [FIELD_MAYBE_OPEN] = encode_maybe_open,
    [FIELD_MAYBE_OBJECT] = encode_maybe_object,
};

json_t *record_encode(const struct record *record, const void *object)
{
    json_t *json = json_object();
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        const void *place = (const char *)object + field->offset;
        json_t *value = encoders[field->type](field, place);
        if (field->optional && json_is_null(value)) {
            continue; /* null is one of jansson's static values: there is nothing to drop */
        }
        json_object_set_new(json, field->name, value);
    }
    return json;
}
