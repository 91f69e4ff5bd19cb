/* sample.h
 *
 * A record with a field of every type, for the tests of what is made from a record.
 */
#pragma once

#include "record.h"

struct part {
    int64_t id;
    char *label;
};

static const struct record_field part_fields[] = {
    FIELD(struct part, id, FIELD_INT, SENSITIVITY_PUBLIC, .minimum = 1, .maximum = 9),
    FIELD(struct part, label, FIELD_STRING, SENSITIVITY_TEXT, .optional = true),
};
static const struct record part_record = RECORD(struct part, "sample/part", part_fields);

static const char *const colours[] = {"red", "green", "blue", NULL};

struct sample {
    bool flag;
    int64_t count;
    char *text;
    int colour;
    struct part part;
    struct strvec strings;
    struct int_list ints;
    struct object_list parts;
    json_t *extra;
    json_t *extras;
    struct maybe_bool maybe_flag;
    struct maybe_int maybe_count;
    char *maybe_text;
    int maybe_colour;
    json_t *maybe_extra;
    struct part *maybe_part;
    json_t *oracle;
    int64_t spare;
};

static const struct record_field sample_fields[] = {
    FIELD_FIXED("schema", "sample/v1", .doc = "what this is"),
    FIELD(struct sample, flag, FIELD_BOOL, SENSITIVITY_PUBLIC),
    FIELD(struct sample, count, FIELD_INT, SENSITIVITY_PUBLIC, .minimum = -2, .maximum = 5,
          .doc = "how many"),
    FIELD(struct sample, text, FIELD_STRING, SENSITIVITY_TEXT, .minimum = 1, .maximum = 4),
    FIELD(struct sample, colour, FIELD_ENUM, SENSITIVITY_PUBLIC, .names = colours),
    FIELD(struct sample, part, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &part_record),
    FIELD(struct sample, strings, FIELD_STRINGS, SENSITIVITY_ARGV, .minimum = 1, .maximum = 3),
    FIELD(struct sample, ints, FIELD_INTS, SENSITIVITY_PUBLIC, .maximum = 3),
    FIELD(struct sample, parts, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .record = &part_record,
          .maximum = 2),
    FIELD(struct sample, extra, FIELD_OPEN, SENSITIVITY_TEXT),
    FIELD(struct sample, extras, FIELD_OPENS, SENSITIVITY_OUTPUT, .maximum = 2),
    FIELD(struct sample, maybe_flag, FIELD_MAYBE_BOOL, SENSITIVITY_PUBLIC),
    FIELD(struct sample, maybe_count, FIELD_MAYBE_INT, SENSITIVITY_PUBLIC),
    FIELD(struct sample, maybe_text, FIELD_MAYBE_STRING, SENSITIVITY_PATH),
    FIELD(struct sample, maybe_colour, FIELD_MAYBE_ENUM, SENSITIVITY_PUBLIC, .names = colours),
    FIELD(struct sample, maybe_extra, FIELD_MAYBE_OPEN, SENSITIVITY_TEXT),
    FIELD(struct sample, maybe_part, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC,
          .record = &part_record),
    FIELD(struct sample, oracle, FIELD_MAYBE_OPEN, SENSITIVITY_TEXT, .optional = true),
    FIELD(struct sample, spare, FIELD_INT, SENSITIVITY_PUBLIC, .optional = true),
};
static const struct record sample_record =
    RECORD(struct sample, "sample/v1", sample_fields, .doc = "A field of every type.");

/* Every field, none of them empty, in canonical order. */
#define SAMPLE_FULL                                                                                \
    "{\"colour\":\"blue\",\"count\":5,\"extra\":{\"a\":[1.5]},"                                    \
    "\"extras\":[{\"c\":1},{}],\"flag\":true,"                                                     \
    "\"ints\":[9223372036854775807,-9223372036854775808],\"maybe_colour\":\"green\","              \
    "\"maybe_count\":0,\"maybe_extra\":{},\"maybe_flag\":false,"                                   \
    "\"maybe_part\":{\"id\":9,\"label\":\"z\"},\"maybe_text\":\"\",\"oracle\":{\"b\":null},"       \
    "\"part\":{\"id\":1,\"label\":\"\"},\"parts\":[{\"id\":2,\"label\":\"x\"},"                    \
    "{\"id\":3,\"label\":\"y\"}],\"schema\":\"sample/v1\",\"spare\":7,"                            \
    "\"strings\":[\"\",\"\\u0007\"],\"text\":\"h\xC3\xA9!\"}"

/* The least that decodes, and what comes back of it. */
#define SAMPLE_LEAST_(label, spare)                                                                \
    "{\"colour\":\"red\",\"count\":-2,\"extra\":{},\"extras\":[],\"flag\":false,\"ints\":[],"      \
    "\"maybe_colour\":null,\"maybe_count\":null,\"maybe_extra\":null,\"maybe_flag\":null,"         \
    "\"maybe_part\":null,\"maybe_text\":null,\"part\":{\"id\":1" label "},\"parts\":[],"           \
    "\"schema\":\"sample/v1\"," spare "\"strings\":[\"a\"],\"text\":\"ab\"}"
#define SAMPLE_LEAST      SAMPLE_LEAST_("", "")
#define SAMPLE_LEAST_BACK SAMPLE_LEAST_(",\"label\":\"\"", "\"spare\":0,")
