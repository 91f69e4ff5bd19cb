/* decode.c
 *
 * A record is checked as a whole before anything is made of it (faults.c), so filling the struct
 * cannot fail and there is nothing to take back. A value is NULL where an optional field is
 * missing.
 */
#include "json-priv.h"

#include <string.h>

#include "memory.h"

static bool is_present(const json_t *value)
{
    return value && !json_is_null(value);
}

static void fill_record(const struct record *record, const json_t *json, void *object);

static void fill_bool(const struct record_field *field, json_t *value, void *place)
{
    *(bool *)place = json_is_true(value);
}

static void fill_int(const struct record_field *field, json_t *value, void *place)
{
    *(int64_t *)place = json_integer_value(value);
}

static void fill_text(const struct record_field *field, json_t *value, void *place)
{
    *(char **)place = memory_copy_string(value ? json_string_value(value) : "");
}

static void fill_const(const struct record_field *field, json_t *value, void *place)
{
}

static void fill_enum(const struct record_field *field, json_t *value, void *place)
{
    *(int *)place = value ? field_name_index(field, json_string_value(value)) : 0;
}

static void fill_object(const struct record_field *field, json_t *value, void *place)
{
    fill_record(field->record, value, place);
}

static void fill_strings(const struct record_field *field, json_t *value, void *place)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        strvec_push(place, json_string_value(json_array_get(value, i)));
    }
}

static void fill_ints(const struct record_field *field, json_t *value, void *place)
{
    struct int_list *list = place;
    list->count = json_array_size(value);
    list->values = list->count > 0 ? memory_new(list->count * sizeof(int64_t)) : NULL;
    for (size_t i = 0; i < list->count; i++) {
        list->values[i] = json_integer_value(json_array_get(value, i));
    }
}

static void fill_objects(const struct record_field *field, json_t *value, void *place)
{
    struct object_list *list = place;
    size_t size = field->record->size;
    list->count = json_array_size(value);
    list->objects = list->count > 0 ? memory_new(list->count * size) : NULL;
    for (size_t i = 0; i < list->count; i++) {
        fill_record(field->record, json_array_get(value, i), (char *)list->objects + i * size);
    }
}

static void fill_open(const struct record_field *field, json_t *value, void *place)
{
    *(json_t **)place = value ? json_incref(value) : json_object();
}

static void fill_opens(const struct record_field *field, json_t *value, void *place)
{
    *(json_t **)place = value ? json_incref(value) : json_array();
}

static void fill_maybe_bool(const struct record_field *field, json_t *value, void *place)
{
    *(struct maybe_bool *)place = (struct maybe_bool){is_present(value), json_is_true(value)};
}

static void fill_maybe_int(const struct record_field *field, json_t *value, void *place)
{
    *(struct maybe_int *)place = (struct maybe_int){is_present(value), json_integer_value(value)};
}

static void fill_maybe_text(const struct record_field *field, json_t *value, void *place)
{
    if (is_present(value)) {
        fill_text(field, value, place);
    }
}

static void fill_maybe_enum(const struct record_field *field, json_t *value, void *place)
{
    *(int *)place = -1;
    if (is_present(value)) {
        fill_enum(field, value, place);
    }
}

static void fill_maybe_open(const struct record_field *field, json_t *value, void *place)
{
    if (is_present(value)) {
        fill_open(field, value, place);
    }
}

static void fill_maybe_object(const struct record_field *field, json_t *value, void *place)
{
    if (is_present(value)) {
        void *object = memory_new(field->record->size);
        fill_record(field->record, value, object);
        *(void **)place = object;
    }
}

static void drop_string(const struct record_field *field, void *place)
{
    memory_free(*(char **)place);
}

static void drop_object(const struct record_field *field, void *place)
{
    record_done(field->record, place);
}

static void drop_strings(const struct record_field *field, void *place)
{
    strvec_done(place);
}

static void drop_ints(const struct record_field *field, void *place)
{
    memory_free(((struct int_list *)place)->values);
}

static void drop_objects(const struct record_field *field, void *place)
{
    struct object_list *list = place;
    for (size_t i = 0; i < list->count; i++) {
        record_done(field->record, (char *)list->objects + i * field->record->size);
    }
    memory_free(list->objects);
}

static void drop_open(const struct record_field *field, void *place)
{
    json_decref(*(json_t **)place);
}

static void drop_maybe_object(const struct record_field *field, void *place)
{
    void *object = *(void **)place;
    if (object) {
        record_done(field->record, object);
        memory_free(object);
    }
}

static const struct {
    void (*fill)(const struct record_field *field, json_t *value, void *place);
    void (*drop)(const struct record_field *field, void *place); /* NULL: owns nothing */
} decoders[] = {
    [FIELD_BOOL] = {fill_bool, NULL},
    [FIELD_INT] = {fill_int, NULL},
    [FIELD_STRING] = {fill_text, drop_string},
    [FIELD_CONST] = {fill_const, NULL},
    [FIELD_ENUM] = {fill_enum, NULL},
    [FIELD_OBJECT] = {fill_object, drop_object},
    [FIELD_STRINGS] = {fill_strings, drop_strings},
    [FIELD_INTS] = {fill_ints, drop_ints},
    [FIELD_OBJECTS] = {fill_objects, drop_objects},
    [FIELD_OPEN] = {fill_open, drop_open},
    [FIELD_OPENS] = {fill_opens, drop_open},
    [FIELD_MAYBE_BOOL] = {fill_maybe_bool, NULL},
    [FIELD_MAYBE_INT] = {fill_maybe_int, NULL},
    [FIELD_MAYBE_STRING] = {fill_maybe_text, drop_string},
    [FIELD_MAYBE_ENUM] = {fill_maybe_enum, NULL},
    [FIELD_MAYBE_OPEN] = {fill_maybe_open, drop_open},
    [FIELD_MAYBE_OBJECT] = {fill_maybe_object, drop_maybe_object},
};

static void fill_record(const struct record *record, const json_t *json, void *object)
{
    memset(object, 0, record->size);
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        json_t *value = json_object_get(json, field->name);
        decoders[field->type].fill(field, value, field_place(field, object));
    }
}

int record_decode(const struct record *record, const json_t *json, void *object, struct err *err)
{
    memset(object, 0, record->size);
    if (record_check(record, json, err) < 0) {
        return -1;
    }
    fill_record(record, json, object);
    return 0;
}

void record_done(const struct record *record, void *object)
{
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        if (decoders[field->type].drop) {
            decoders[field->type].drop(field, field_place(field, object));
        }
    }
    memset(object, 0, record->size);
}
