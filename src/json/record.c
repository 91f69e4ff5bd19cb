#include "json-priv.h"

#include <string.h>

#include "memory.h"

static const struct field_kind kinds[] = {
    [FIELD_BOOL] = {"true or false", FIELD_BOOL, false},
    [FIELD_INT] = {"an integer", FIELD_INT, false},
    [FIELD_STRING] = {"a string", FIELD_STRING, false},
    [FIELD_CONST] = {"a fixed string", FIELD_CONST, false},
    [FIELD_ENUM] = {"a name", FIELD_ENUM, false},
    [FIELD_OBJECT] = {"an object", FIELD_OBJECT, false},
    [FIELD_STRINGS] = {"an array of strings", FIELD_STRINGS, false},
    [FIELD_INTS] = {"an array of integers", FIELD_INTS, false},
    [FIELD_OBJECTS] = {"an array of objects", FIELD_OBJECTS, false},
    [FIELD_OPEN] = {"an object", FIELD_OPEN, false},
    [FIELD_OPENS] = {"an array of objects", FIELD_OPENS, false},
    [FIELD_MAYBE_BOOL] = {"true, false or null", FIELD_BOOL, true},
    [FIELD_MAYBE_INT] = {"an integer or null", FIELD_INT, true},
    [FIELD_MAYBE_STRING] = {"a string or null", FIELD_STRING, true},
    [FIELD_MAYBE_ENUM] = {"a name or null", FIELD_ENUM, true},
    [FIELD_MAYBE_OPEN] = {"an object or null", FIELD_OPEN, true},
    [FIELD_MAYBE_OBJECT] = {"an object or null", FIELD_OBJECT, true},
};

const struct field_kind *field_kind(const struct record_field *field)
{
    BUG_IF(field->type < FIELD_BOOL || field->type >= countof(kinds));
    return &kinds[field->type];
}

int field_name_index(const struct record_field *field, const char *name)
{
    for (int i = 0; field->names[i]; i++) {
        if (strcmp(field->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool holds(const struct record_parts *parts, const struct record *record)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->records[i] == record) {
            return true;
        }
    }
    return false;
}

static void collect(struct record_parts *parts, const struct record *record)
{
    if (holds(parts, record)) {
        return;
    }
    size_t size = (parts->count + 1) * sizeof(struct record *);
    parts->records = memory_resize(parts->records, size);
    parts->records[parts->count++] = record;
    for (size_t i = 0; i < record->field_count; i++) {
        if (record->fields[i].record) {
            collect(parts, record->fields[i].record);
        }
    }
}

struct record_parts record_parts(const struct record *record)
{
    struct record_parts parts = {0};
    collect(&parts, record);
    return parts;
}

void record_parts_done(struct record_parts *parts)
{
    memory_free(parts->records);
    *parts = (struct record_parts){0};
}
