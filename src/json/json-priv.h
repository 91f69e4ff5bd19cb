/* json-priv.h
 *
 * What the files of json/ share: the traits of the field types and the walk over a record's parts.
 */
#pragma once

#include "record.h"

struct field_kind {
    const char *words;    /* "an integer": what a value must be */
    enum field_type base; /* the type without its MAYBE */
    bool nullable;
};
const struct field_kind *field_kind(const struct record_field *field);

static inline int64_t field_maximum(const struct record_field *field)
{
    return field->maximum ? field->maximum : INT64_MAX;
}
static inline bool field_may_be_missing(const struct record_field *field)
{
    return field->optional || field->later;
}
/* The place of the field in an object that was declared with it. */
static inline void *field_place(const struct record_field *field, void *object)
{
    return (char *)object + field->offset;
}
/* Index into .names, -1: none of them. */
int field_name_index(const struct record_field *field, const char *name);

/* 0 when json is such a record; else -1, and err has the first fault. */
int record_check(const struct record *record, const json_t *json, struct err *err) must_check;

/* A record and all records that it is made of, each once, in the order of their first mention. */
struct record_parts {
    const struct record **records;
    size_t count;
};
struct record_parts record_parts(const struct record *record);
void record_parts_done(struct record_parts *parts);
#define with_record_parts cleanup(record_parts_done) struct record_parts
