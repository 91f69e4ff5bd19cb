/* form.h
 *
 * The form of a file that people write, declared once as tables: key, type, bounds, meaning. Decoding, the
 * JSON Schema for editors and the documentation come from them.
 *
 * Calling sequence
 *   static const struct form_field fields[] = {
 *       FORM_FIELD(struct work, argv, FORM_TEXTS, .needed = true, .minimum = 1, .doc = "the command"),
 *       ...
 *   };
 *   const struct form work_form = FORM(struct work, "work", fields);
 *
 *   form_decode(&work_form, tree, &work, err)    unknown, missing, ill-typed and out-of-range keys
 *                                                are refused by place, key, bound and remedy
 *   form_done(&work_form, &work)                 frees what decode made
 *   form_schema(&work_form, title)               JSON Schema (draft 2020-12)
 *   form_document(&work_form, &out)              markdown tables
 *
 * Names        FORM_NAMED is a mapping whose keys are names that the writer invents (SHAPE_NAME); each
 *              value is a struct of .part that begins with a struct form_item. A .bare part is no
 *              mapping: the value is that of its only field.
 * Errors       ERR_USAGE, and ERR_RANGE for bounds, as "NAME:LINE:COLUMN: KEY.KEY: what; what to do".
 * Ownership    a decoded struct owns its texts and lists, and needs nothing of the tree.
 * Limitations  one representation for each type, as listed at enum form_type. A text is whatever was
 *              written, so 1000 and "1000" are the same one, where a text is asked for; a number and a
 *              truth value are written without quotes. What holds between two keys is for the owner of
 *              the form to say. The schema is a little wider: it counts characters where the bounds of
 *              texts here are bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "strvec.h"
#include "yaml-tree.h"

enum form_type {
    FORM_BOOL = 1, /* bool: true or false */
    FORM_NUMBER,   /* int64_t, not negative */
    FORM_TEXT,     /* char *, NULL: not given */
    FORM_WORD,     /* int: index into .words; the first when it is not given */
    FORM_TEXTS,    /* struct strvec; with .words each is one of them */
    FORM_PART, /* the struct of .part, inline; begins with a struct form_item, whose line is 0 when it
                    * is not given */
    FORM_NAMED, /* struct form_named of .part */
};

/* What a text must look like. */
enum form_shape {
    SHAPE_ANY = 0,
    SHAPE_NAME, /* what names are like */
    SHAPE_PATH, /* relative, without empty, "." or ".." parts */
    SHAPE_FLAG, /* -x or --long-name */
};

struct form_item {
    char *name;
    unsigned line;
    unsigned column;
};
struct form_named {
    void *items; /* count structs of the field's part, side by side, in the order of the file */
    size_t count;
};

struct form;
struct form_field {
    const char *name;
    enum form_type type;
    size_t offset;
    int64_t minimum;   /* of a number; of the bytes of a text; of the count of a list or of names */
    int64_t maximum;   /* 0: what form_maximum says for the type */
    int64_t otherwise; /* a number that is not given */
    const char *const *words; /* FORM_WORD, FORM_TEXTS: NULL-terminated */
    enum form_shape shape;    /* of each text */
    const struct form *part;
    bool needed;
    const char *doc;
};
struct form {
    const char *name;
    const struct form_field *fields;
    size_t field_count;
    size_t size; /* of the struct */
    bool bare;
    const char *doc;
};

#define FORM_FIELD(type_, member_, kind_, ...)                                                     \
    {                                                                                              \
        .name = #member_, .type = (kind_), .offset = offsetof(type_, member_), __VA_ARGS__         \
    }
#define FORM(type_, name_, fields_, ...)                                                           \
    {                                                                                              \
        .name = (name_), .fields = (fields_),                                                      \
        .field_count = sizeof(fields_) / sizeof((fields_)[0]), .size = sizeof(type_), __VA_ARGS__  \
    }

/* On failure *object is all-zero again and nothing leaks. */
int form_decode(const struct form *form, const struct yaml_tree *tree, void *object,
                struct err *err) must_check;
void form_done(const struct form *form, void *object);
/* The item of that name; NULL: there is none. `size` is that of the part. */
const void *form_find(const struct form_named *named, size_t size, const char *name);
/* Does a text look like that? */
bool form_text_fits(enum form_shape shape, const char *text);
json_t *form_schema(const struct form *form, const char *title) must_check;
void form_document(const struct form *form, struct buf *out);
