/* record.h
 *
 * A record is declared once, as a table: field, type, bound, sensitivity, meaning. Decoding,
 * encoding, redaction, the schema file and the documentation all come from the table.
 *
 * Calling sequence
 *   static const struct record_field fields[] = {
 *       FIELD(struct sample, pids, FIELD_INT, SENSITIVITY_PUBLIC, .minimum = 0, .doc = "tasks"),
 *       ...
 *   };
 *   const struct record sample_record = RECORD(struct sample, "sample", fields);
 *
 *   record_encode(&sample_record, &sample)        a new JSON object, members in table order
 *   record_decode(&sample_record, json, &sample)  unknown, missing, ill-typed and out-of-range
 *                                                 fields are refused by their full path
 *   record_done(&sample_record, &sample)          frees what decode made
 *   record_schema(&sample_record)                 JSON Schema (draft 2020-12)
 *
 * Ownership    a decoded struct owns its strings, lists and parts until record_done(), and shares
 *              open objects with the JSON that it was decoded from.
 * Errors       record_decode(): ERR_USAGE, or ERR_RANGE for a value outside its bounds; who decodes
 *              stored bytes calls it ERR_CORRUPT. record_encode() does not fail and does not check
 *              bounds (record_faults() does): an all-zero struct is fine, a NULL string is "", a
 *              NULL open object is {}, a NULL array of them [], and text that is not UTF-8 is made so
 *              (json_text).
 * Limitations  one representation for each type, as listed at enum field_type; no fractions. The
 *              elements of a list of strings or integers have no bounds of their own. An optional
 *              field whose empty value lies outside its bounds is encoded as one that does not decode:
 *              make it a MAYBE. JSON Schema counts characters where the bounds of strings here are
 *              bytes, so it is a little wider.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "strvec.h"

struct maybe_int {
    bool known;
    int64_t value;
};
struct maybe_bool {
    bool known;
    bool value;
};
struct int_list {
    int64_t *values;
    size_t count;
};
struct object_list {
    void *objects; /* count structs of the field's own record, side by side */
    size_t count;
};

enum field_type {
    FIELD_BOOL = 1,     /* bool */
    FIELD_INT,          /* int64_t */
    FIELD_STRING,       /* char *, never NULL */
    FIELD_CONST,        /* no storage: the string in .text */
    FIELD_ENUM,         /* int: index into .names */
    FIELD_OBJECT,       /* the struct of .record, inline */
    FIELD_STRINGS,      /* struct strvec */
    FIELD_INTS,         /* struct int_list */
    FIELD_OBJECTS,      /* struct object_list of .record */
    FIELD_OPEN,         /* json_t *: any object */
    FIELD_OPENS,        /* json_t *: an array of any objects */
    FIELD_MAYBE_BOOL,   /* struct maybe_bool; null when not known */
    FIELD_MAYBE_INT,    /* struct maybe_int; null when not known */
    FIELD_MAYBE_STRING, /* char *, NULL is null */
    FIELD_MAYBE_ENUM,   /* int, -1 is null */
    FIELD_MAYBE_OPEN,   /* json_t *, NULL is null */
    FIELD_MAYBE_OBJECT, /* pointer to the struct of .record, NULL is null */
};

/* How a field may hurt when it is shared; redaction follows from it (report/redact.h). There is no
 * default: a field without a class does not compile. */
enum sensitivity {
    SENSITIVITY_PUBLIC = 1, /* numbers, enums, names of our own */
    SENSITIVITY_TEXT,       /* text from outside: credentials are redacted in it */
    SENSITIVITY_ARGV,       /* a command line: redacted as one */
    SENSITIVITY_PATH,       /* a path: shown, credentials in it redacted */
    SENSITIVITY_OUTPUT,     /* what a payload wrote, or where that is kept (LG-3): anything at all;
                             * credentials are redacted, never shared without being read */
};

struct record;
struct record_field {
    const char *name;
    enum field_type type;
    enum sensitivity sensitivity;
    size_t offset;
    int64_t minimum;          /* of an integer; of the length of a string (bytes) or list (items) */
    int64_t maximum;          /* 0: INT64_MAX */
    const char *const *names; /* FIELD_ENUM: NULL-terminated */
    const struct record *record; /* FIELD_OBJECT, FIELD_OBJECTS, FIELD_MAYBE_OBJECT */
    const char *text;            /* FIELD_CONST */
    /* May be missing. A missing one decodes to its empty value: false, 0, "", the first name, {},
     * no items, null for MAYBE; a null MAYBE that is optional is left out by record_encode(). */
    bool optional;
    /* The format had it not from the first: it may be missing like an optional one when it is read, and
     * is always written. */
    bool later;
    const char *doc;
};
struct record {
    const char *name; /* the schema id, or the name of a part */
    const struct record_field *fields;
    size_t field_count;
    size_t size; /* of the struct */
    const char *doc;
};

/* What each type must be stored in: a member of another type does not compile. */
#define FIELD_IS(t, wanted)               __builtin_types_compatible_p(t, wanted)
#define FIELD_HOLDS_FIELD_BOOL(t)         FIELD_IS(t, bool)
#define FIELD_HOLDS_FIELD_INT(t)          FIELD_IS(t, int64_t)
#define FIELD_HOLDS_FIELD_STRING(t)       (FIELD_IS(t, char *) || FIELD_IS(t, const char *))
#define FIELD_HOLDS_FIELD_ENUM(t)         (sizeof(t) == sizeof(int))
#define FIELD_HOLDS_FIELD_OBJECT(t)       (sizeof(t) > 0)
#define FIELD_HOLDS_FIELD_STRINGS(t)      FIELD_IS(t, struct strvec)
#define FIELD_HOLDS_FIELD_INTS(t)         FIELD_IS(t, struct int_list)
#define FIELD_HOLDS_FIELD_OBJECTS(t)      FIELD_IS(t, struct object_list)
#define FIELD_HOLDS_FIELD_OPEN(t)         FIELD_IS(t, json_t *)
#define FIELD_HOLDS_FIELD_OPENS(t)        FIELD_IS(t, json_t *)
#define FIELD_HOLDS_FIELD_MAYBE_BOOL(t)   FIELD_IS(t, struct maybe_bool)
#define FIELD_HOLDS_FIELD_MAYBE_INT(t)    FIELD_IS(t, struct maybe_int)
#define FIELD_HOLDS_FIELD_MAYBE_STRING    FIELD_HOLDS_FIELD_STRING
#define FIELD_HOLDS_FIELD_MAYBE_ENUM      FIELD_HOLDS_FIELD_ENUM
#define FIELD_HOLDS_FIELD_MAYBE_OPEN      FIELD_HOLDS_FIELD_OPEN
#define FIELD_HOLDS_FIELD_MAYBE_OBJECT(t) (sizeof(t) == sizeof(void *))
#define FIELD_OFFSET(type_, member_, holds_)                                                       \
    offsetof(type_, member_) + 0 * sizeof(struct {                                                 \
                                   _Static_assert(holds_(__typeof__(((type_ *)0)->member_)),       \
                                                  "the member's type does not hold such a field"); \
                                   int unused_;                                                    \
                               })

#define FIELD(type_, member_, kind_, sensitivity_, ...)                                            \
    {                                                                                              \
        .name = #member_, .type = (kind_), .sensitivity = (sensitivity_),                          \
        .offset = FIELD_OFFSET(type_, member_, FIELD_HOLDS_##kind_), __VA_ARGS__                   \
    }
#define FIELD_FIXED(name_, text_, ...)                                                             \
    {                                                                                              \
        .name = (name_), .type = FIELD_CONST, .sensitivity = SENSITIVITY_PUBLIC, .text = (text_),  \
        __VA_ARGS__                                                                                \
    }
#define RECORD(type_, name_, fields_, ...)                                                         \
    {                                                                                              \
        .name = (name_), .fields = (fields_),                                                      \
        .field_count = sizeof(fields_) / sizeof((fields_)[0]), .size = sizeof(type_), __VA_ARGS__  \
    }

json_t *record_encode(const struct record *record, const void *object) must_check;
/* On failure *object is all-zero again and nothing leaks. */
int record_decode(const struct record *record, const json_t *json, void *object,
                  struct err *err) must_check;
void record_done(const struct record *record, void *object);
json_t *record_schema(const struct record *record) must_check;
/* A markdown table of the record and, below it, of its parts. */
void record_document(const struct record *record, struct buf *out);
/* All faults of json against the record, each "path: what" in one string; 0 when there is none. */
size_t record_faults(const struct record *record, const json_t *json, struct strvec *faults);
