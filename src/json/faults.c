#include "json-priv.h"

#include <inttypes.h>
#include <string.h>

#include "memory.h"

enum {
    PATH_BYTES = 64 << 10,
    SHOWN_KEY_BYTES = 128, /* of a name that is not ours */
};

struct walk {
    const struct record *root;
    struct buf path;
    struct strvec *all; /* NULL: only the first fault is wanted */
    struct err *first;
    size_t count;
};

static const char *path_text(const struct walk *walk)
{
    return buf_length(&walk->path) > 0 ? buf_string(&walk->path) : walk->root->name;
}

/* A step down; the answer is what buf_cut() needs on the way back. */
static size_t enter_member(struct walk *walk, const char *name)
{
    size_t length = buf_length(&walk->path);
    if (length > 0) {
        buf_add_char(&walk->path, '.');
    }
    size_t n = strnlen(name, SHOWN_KEY_BYTES + 1);
    buf_add(&walk->path, name, n > SHOWN_KEY_BYTES ? SHOWN_KEY_BYTES : n);
    if (n > SHOWN_KEY_BYTES) {
        buf_add_string(&walk->path, "...");
    }
    return length;
}

static size_t enter_element(struct walk *walk, size_t index)
{
    size_t length = buf_length(&walk->path);
    buf_add_format(&walk->path, "[%zu]", index);
    return length;
}

/* The name itself is the fault: "unknown field 'a.b'", in a list "a.b: unknown field". */
static void fault_of_name(struct walk *walk, const char *what)
{
    if (walk->all) {
        strvec_push_format(walk->all, "%s: %s", path_text(walk), what);
    } else if (walk->count == 0) {
        (void)err_set(walk->first, ERR_USAGE, "%s '%s'", what, path_text(walk));
    }
    walk->count++;
}

/* The value is: "'a.b' must be a string, not null", in a list "a.b: must be a string, not null". */
static void fault_of_value(struct walk *walk, enum err_code code, const char *what)
{
    if (walk->all) {
        strvec_push_format(walk->all, "%s: %s", path_text(walk), what);
    } else if (walk->count == 0) {
        (void)err_set(walk->first, code, "'%s' %s", path_text(walk), what);
    }
    walk->count++;
}

static void wrong_type(struct walk *walk, const char *wanted, const json_t *json)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",  [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    const char *seen = json ? words[json_typeof(json)] : "nothing";
    with_string what = memory_format("must be %s, not %s", wanted, seen);
    fault_of_value(walk, ERR_USAGE, what);
}

/* verb and unit: "is", "" or "has", " bytes". */
static void check_range(struct walk *walk, const struct record_field *field, int64_t value,
                        const char *verb, const char *unit)
{
    bool low = value < field->minimum;
    if (low || value > field_maximum(field)) {
        with_string what =
            memory_format("%s %" PRId64 "%s, %s than %" PRId64, verb, value, unit,
                          low ? "less" : "more", low ? field->minimum : field->maximum);
        fault_of_value(walk, ERR_RANGE, what);
    }
}

static void check_record(struct walk *walk, const struct record *record, const json_t *json,
                         const char *wanted);

static void check_bool(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (!json_is_boolean(value)) {
        wrong_type(walk, field_kind(field)->words, value);
    }
}

static void check_int(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (!json_is_integer(value)) {
        wrong_type(walk, field_kind(field)->words, value);
        return;
    }
    check_range(walk, field, json_integer_value(value), "is", "");
}

/* A char * ends at its first NUL; json_read() lets none through, another maker of JSON might. */
static bool holds_nul(const json_t *string)
{
    return strlen(json_string_value(string)) != json_string_length(string);
}

static bool check_is_text(struct walk *walk, const char *wanted, const json_t *value)
{
    if (!json_is_string(value)) {
        wrong_type(walk, wanted, value);
        return false;
    }
    if (holds_nul(value)) {
        fault_of_value(walk, ERR_USAGE, "must not hold U+0000");
        return false;
    }
    return true;
}

static void check_text(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (check_is_text(walk, field_kind(field)->words, value)) {
        check_range(walk, field, (int64_t)json_string_length(value), "has", " bytes");
    }
}

static void check_const(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (!json_is_string(value) || holds_nul(value) ||
        strcmp(json_string_value(value), field->text) != 0) {
        with_string what = memory_format("must be '%s'", field->text);
        fault_of_value(walk, ERR_USAGE, what);
    }
}

static void check_enum(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (json_is_string(value) && !holds_nul(value) &&
        field_name_index(field, json_string_value(value)) >= 0) {
        return;
    }
    with_buf what = buf_new(4096);
    buf_add_string(&what, "must be one of ");
    for (size_t i = 0; field->names[i]; i++) {
        buf_add_format(&what, "%s%s", i > 0 ? ", " : "", field->names[i]);
    }
    if (field_kind(field)->nullable) {
        buf_add_string(&what, " or null");
    }
    fault_of_value(walk, ERR_USAGE, buf_string(&what));
}

static void check_object(struct walk *walk, const struct record_field *field, const json_t *value)
{
    check_record(walk, field->record, value, field_kind(field)->words);
}

static void check_open(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (!json_is_object(value)) {
        wrong_type(walk, field_kind(field)->words, value);
    }
}

static void check_list(struct walk *walk, const struct record_field *field, const json_t *value)
{
    if (!json_is_array(value)) {
        wrong_type(walk, field_kind(field)->words, value);
        return;
    }
    check_range(walk, field, (int64_t)json_array_size(value), "has", " items");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *element = json_array_get(value, i);
        size_t mark = enter_element(walk, i);
        if (field->type == FIELD_OBJECTS) {
            check_record(walk, field->record, element, "an object");
        } else if (field->type == FIELD_STRINGS) {
            (void)check_is_text(walk, "a string", element); /* what it says is the fault */
        } else if (field->type == FIELD_OPENS) {
            if (!json_is_object(element)) {
                wrong_type(walk, "an object", element);
            }
        } else if (!json_is_integer(element)) {
            wrong_type(walk, "an integer", element);
        }
        buf_cut(&walk->path, mark);
    }
}

static void (*const checks[])(struct walk *walk, const struct record_field *field,
                              const json_t *value) = {
    [FIELD_BOOL] = check_bool,    [FIELD_INT] = check_int,    [FIELD_STRING] = check_text,
    [FIELD_CONST] = check_const,  [FIELD_ENUM] = check_enum,  [FIELD_OBJECT] = check_object,
    [FIELD_STRINGS] = check_list, [FIELD_INTS] = check_list,  [FIELD_OBJECTS] = check_list,
    [FIELD_OPEN] = check_open,    [FIELD_OPENS] = check_list,
};

static void check_names(struct walk *walk, const struct record *record, const json_t *json)
{
    json_t *object = (json_t *)(uintptr_t)json; /* only read: jansson's iterators know no const */
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        bool known = false;
        for (size_t i = 0; i < record->field_count && !known; i++) {
            known = strcmp(record->fields[i].name, name) == 0;
        }
        if (!known) {
            size_t mark = enter_member(walk, name);
            fault_of_name(walk, "unknown field");
            buf_cut(&walk->path, mark);
        }
    }
}

static void check_record(struct walk *walk, const struct record *record, const json_t *json,
                         const char *wanted)
{
    if (!json_is_object(json)) {
        wrong_type(walk, wanted, json);
        return;
    }
    /* First, because a misspelt name is behind most missing ones. */
    check_names(walk, record, json);
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        const struct field_kind *kind = field_kind(field);
        const json_t *value = json_object_get(json, field->name);
        size_t mark = enter_member(walk, field->name);
        if (!value && !field_may_be_missing(field)) {
            fault_of_name(walk, "missing field");
        } else if (value && !(kind->nullable && json_is_null(value))) {
            checks[kind->base](walk, field, value);
        }
        buf_cut(&walk->path, mark);
    }
}

static size_t walk_all(struct walk *walk, const json_t *json)
{
    walk->path = buf_new(PATH_BYTES);
    check_record(walk, walk->root, json, "an object");
    buf_done(&walk->path);
    return walk->count;
}

int record_check(const struct record *record, const json_t *json, struct err *err)
{
    struct walk walk = {.root = record, .first = err};
    return walk_all(&walk, json) > 0 ? -1 : 0;
}

size_t record_faults(const struct record *record, const json_t *json, struct strvec *faults)
{
    struct walk walk = {.root = record, .all = faults};
    return walk_all(&walk, json);
}
