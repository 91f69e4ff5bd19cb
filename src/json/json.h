/* json.h
 *
 * Bounded strict JSON over jansson (https://jansson.readthedocs.io/en/2.14/).
 *
 * Calling sequence
 *   with_json value = json_read(text, &json_budget_control, err);     NULL on failure
 *   ... json_object_get() and the rest of jansson ...
 *   json_write(value, JSON_CANONICAL, &out, err);
 *
 * Ownership    with_json drops one reference at the end of its scope.
 * Memory       jansson allocates through base/memory.h in every program that links this (setup.c):
 *              out of memory aborts, and so does any use of JSON while memory is armed. What can
 *              still fail in its setters is a value that is NULL because its text was not UTF-8;
 *              json_text() never is.
 * Errors       json_read(): ERR_OVER_BUDGET names the budget, its value and the byte offset;
 *              ERR_CORRUPT the line and column. Duplicate keys, invalid UTF-8, U+0000 in strings,
 *              NaN, trailing bytes and numbers that do not fit are corrupt.
 *              json_write(): ERR_OVER_BUDGET when out is full, ERR_INTERNAL for a NULL or a cycle;
 *              what out held before stays, nothing is added.
 * Limitations  integers are 64 bit signed; a larger one is refused, never rounded. Fractions are
 *              doubles, written with 17 digits. Strings are written as they are but for C0
 *              controls: who prints JSON to a terminal neutralises it (text.h). For control records,
 *              not for artifacts: the tree takes ten to twenty times the text.
 */
#pragma once

#include <jansson.h>

#include "attributes.h"
#include "buf.h"
#include "err.h"
#include "span.h"

struct json_budget {
    size_t bytes;        /* of the whole text */
    size_t depth;        /* nested arrays and objects; at most 256 */
    size_t items;        /* array elements and object members in all */
    size_t string_bytes; /* of one string, escapes not resolved */
};

extern const struct json_budget json_budget_control; /* 1 MiB, 32, 65536, 64 KiB */
extern const struct json_budget json_budget_report;  /* 16 MiB, 32, 1 Mi, 8 MiB */

enum json_style {
    JSON_CANONICAL, /* members sorted, no blanks, one line without its newline: can be hashed */
    JSON_READABLE   /* members in the order they were set, two blanks indent, newline at the end */
};

json_t *json_read(struct span text, const struct json_budget *budget, struct err *err) must_check;
int json_write(const json_t *value, enum json_style style, struct buf *out,
               struct err *err) must_check;
/* A JSON string of bytes that need not be UTF-8: what is not, and NUL, becomes U+FFFD. */
json_t *json_text(struct span bytes) must_check;

static inline void json_drop(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}
#define with_json cleanup(json_drop) json_t *
