#include "json-priv.h"

#include <inttypes.h>

static const char *const sensitivities[] = {
    [SENSITIVITY_PUBLIC] = "public", [SENSITIVITY_TEXT] = "text",     [SENSITIVITY_ARGV] = "argv",
    [SENSITIVITY_PATH] = "path",     [SENSITIVITY_OUTPUT] = "output",
};

static void add_names(struct buf *out, const struct record_field *field)
{
    for (size_t i = 0; field->names[i]; i++) {
        buf_add_format(out, "%s`%s`", i > 0 ? ", " : "", field->names[i]);
    }
    buf_add_string(out, field_kind(field)->nullable ? " or null" : "");
}

static void add_type(struct buf *out, const struct record_field *field)
{
    const struct field_kind *kind = field_kind(field);
    if (kind->base == FIELD_CONST) {
        buf_add_format(out, "`%s`", field->text);
    } else if (kind->base == FIELD_ENUM) {
        add_names(out, field);
    } else if (field->record) {
        buf_add_format(out, "%s (`%s`)", kind->words, field->record->name);
    } else {
        buf_add_string(out, kind->words);
    }
    if (field_may_be_missing(field)) {
        buf_add_string(out, field->later ? ", may be missing in old records" : ", may be missing");
    }
}

/* Nothing where the bounds are those that every field has: at least 0. */
static void add_bounds(struct buf *out, const struct record_field *field)
{
    static const char *const units[] = {
        [FIELD_INT] = "",         [FIELD_STRING] = " bytes",  [FIELD_STRINGS] = " items",
        [FIELD_INTS] = " items",  [FIELD_OBJECTS] = " items", [FIELD_OPEN] = NULL,
        [FIELD_OPENS] = " items",
    };
    const char *unit = units[field_kind(field)->base];
    if (!unit) {
        return;
    }
    if (field->maximum != 0) {
        buf_add_format(out, "%" PRId64 " to %" PRId64 "%s", field->minimum, field->maximum, unit);
    } else if (field->minimum != 0 || field_kind(field)->base == FIELD_INT) {
        buf_add_format(out, "at least %" PRId64 "%s", field->minimum, unit);
    }
}

static void add_record(struct buf *out, const struct record *record)
{
    buf_add_format(out, "## `%s`\n\n", record->name);
    if (record->doc) {
        buf_add_format(out, "%s\n\n", record->doc);
    }
    buf_add_string(out, "| field | is | bounds | sensitivity | meaning |\n"
                        "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < record->field_count; i++) {
        const struct record_field *field = &record->fields[i];
        buf_add_format(out, "| `%s` | ", field->name);
        add_type(out, field);
        buf_add_string(out, " | ");
        add_bounds(out, field);
        buf_add_format(out, " | %s | %s |\n", sensitivities[field->sensitivity],
                       field->doc ? field->doc : "");
    }
}

void record_document(const struct record *record, struct buf *out)
{
    with_record_parts parts = record_parts(record);
    for (size_t i = 0; i < parts.count; i++) {
        buf_add_string(out, i > 0 ? "\n" : "");
        add_record(out, parts.records[i]);
    }
}
