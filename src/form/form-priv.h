/* form-priv.h
 *
 * What the files of form/ share: the traits of types and shapes.
 */
#pragma once

#include "form.h"

struct form_trait {
    const char *words; /* "a number": what a value must be */
    int64_t maximum;   /* where a field says nothing */
    const char *unit;  /* of the bounds; NULL: they have none */
};
const struct form_trait *form_trait(enum form_type type);

struct form_shape_trait {
    const char *words;   /* NULL: anything goes */
    const char *pattern; /* the same for a JSON Schema */
    bool (*fits)(const char *text);
};
const struct form_shape_trait *form_shape_trait(enum form_shape shape);

static inline int64_t form_maximum(const struct form_field *field)
{
    return field->maximum ? field->maximum : form_trait(field->type)->maximum;
}
static inline void *form_place(const struct form_field *field, void *object)
{
    return (char *)object + field->offset;
}
