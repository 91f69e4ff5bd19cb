#include "form-priv.h"

#include <inttypes.h>

enum { FORMS_MAX = 32 };

static void add_value(struct buf *out, const struct form_field *field)
{
    const char *shape = form_shape_trait(field->shape)->words;
    if (field->type == FORM_TEXTS && (field->words || shape)) {
        buf_add_string(out, "a list, each ");
    }
    if (field->words) {
        for (size_t i = 0; field->words[i]; i++) {
            buf_add_format(out, "%s`%s`", i > 0 ? ", " : "", field->words[i]);
        }
    } else if (field->type == FORM_PART) {
        buf_add_format(out, "`%s`", field->part->name);
    } else if (field->type == FORM_NAMED) {
        buf_add_format(out, "names, each with a `%s`", field->part->name);
    } else {
        buf_add_string(out, shape ? shape : form_trait(field->type)->words);
    }
}

static void add_field(struct buf *out, const struct form_field *field, bool bare)
{
    buf_add_format(out, "| `%s`%s | ", bare ? "(itself)" : field->name,
                   field->needed ? ", needed" : "");
    add_value(out, field);
    const char *unit = form_trait(field->type)->unit;
    if (unit) {
        buf_add_format(out, "; %" PRId64 " to %" PRId64 "%s%s", field->minimum, form_maximum(field),
                       *unit ? " " : "", unit);
    }
    buf_add_format(out, " | %s |\n", field->doc);
}

static void add_form(const struct form *form, struct buf *out)
{
    buf_add_format(out, "## `%s`\n\n%s\n\n| key | value | meaning |\n| --- | --- | --- |\n",
                   form->name, form->doc);
    for (size_t i = 0; i < form->field_count; i++) {
        add_field(out, &form->fields[i], form->bare);
    }
}

/* A form and those that it is made of, each once. */
static size_t collect(const struct form *form, const struct form **forms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (forms[i] == form) {
            return count;
        }
    }
    BUG_IF(count == FORMS_MAX);
    forms[count++] = form;
    for (size_t i = 0; i < form->field_count; i++) {
        if (form->fields[i].part) {
            count = collect(form->fields[i].part, forms, count);
        }
    }
    return count;
}

void form_document(const struct form *form, struct buf *out)
{
    const struct form *forms[FORMS_MAX];
    size_t count = collect(form, forms, 0);
    for (size_t i = 0; i < count; i++) {
        buf_add_string(out, i > 0 ? "\n" : "");
        add_form(forms[i], out);
    }
}
