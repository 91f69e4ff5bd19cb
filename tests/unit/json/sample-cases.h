/* sample-cases.h
 *
 * The ways to get a sample wrong, and what is to be said about each.
 */
#pragma once

#include "../unit.h"

#include "sample.h"

/* One member of SAMPLE_LEAST set to a value (NULL: taken away), and the fault that this makes. */
struct sample_case {
    const char *member;
    const char *value;
    const char *path; /* NULL: no fault */
    const char *what;
    enum err_code code;
};

#define FINE(member, value)                                                                        \
    {                                                                                              \
        member, value, NULL, NULL, ERR_NONE                                                        \
    }
#define WRONG(member, value, path, what)                                                           \
    {                                                                                              \
        member, value, path, what, ERR_USAGE                                                       \
    }
#define OUT_OF_RANGE(member, value, what)                                                          \
    {                                                                                              \
        member, value, member, what, ERR_RANGE                                                     \
    }
#define OUT_OF_RANGE_IN(member, value, path, what)                                                 \
    {                                                                                              \
        member, value, path, what, ERR_RANGE                                                       \
    }

static const struct sample_case sample_cases[] = {
    FINE("flag", "true"),
    /* EX-5: unknown fields, by their full path */
    WRONG("flagg", "true", "flagg", "unknown field"),
    WRONG("", "1", "", "unknown field"),
    WRONG("Flag", "true", "Flag", "unknown field"),
    WRONG("part", "{\"id\":1,\"labl\":\"x\"}", "part.labl", "unknown field"),
    WRONG("parts", "[{\"id\":1},{\"id\":2,\"memroy_bytes\":1}]", "parts[1].memroy_bytes",
          "unknown field"),
    WRONG("maybe_part", "{\"id\":1,\"x\":null}", "maybe_part.x", "unknown field"),
    FINE("extra", "{\"anything\":{\"goes\":[1,2.5,null]}}"),
    /* missing */
    WRONG("schema", NULL, "schema", "missing field"),
    WRONG("flag", NULL, "flag", "missing field"),
    WRONG("count", NULL, "count", "missing field"),
    WRONG("text", NULL, "text", "missing field"),
    WRONG("colour", NULL, "colour", "missing field"),
    WRONG("part", NULL, "part", "missing field"),
    WRONG("part", "{}", "part.id", "missing field"),
    WRONG("parts", "[{\"id\":1},{}]", "parts[1].id", "missing field"),
    WRONG("strings", NULL, "strings", "missing field"),
    WRONG("ints", NULL, "ints", "missing field"),
    WRONG("parts", NULL, "parts", "missing field"),
    WRONG("extra", NULL, "extra", "missing field"),
    WRONG("extras", NULL, "extras", "missing field"),
    WRONG("maybe_flag", NULL, "maybe_flag", "missing field"),
    WRONG("maybe_count", NULL, "maybe_count", "missing field"),
    WRONG("maybe_text", NULL, "maybe_text", "missing field"),
    WRONG("maybe_colour", NULL, "maybe_colour", "missing field"),
    WRONG("maybe_extra", NULL, "maybe_extra", "missing field"),
    WRONG("maybe_part", NULL, "maybe_part", "missing field"),
    FINE("oracle", NULL),
    FINE("oracle", "null"),
    FINE("oracle", "{\"a\":1}"),
    FINE("spare", "1"),
    /* ill-typed */
    WRONG("schema", "\"sample/v2\"", "schema", "must be 'sample/v1'"),
    WRONG("schema", "1", "schema", "must be 'sample/v1'"),
    WRONG("flag", "1", "flag", "must be true or false, not an integer"),
    WRONG("flag", "null", "flag", "must be true or false, not null"),
    WRONG("count", "\"1\"", "count", "must be an integer, not a string"),
    WRONG("count", "1.5", "count", "must be an integer, not a fraction"),
    WRONG("count", "1e2", "count", "must be an integer, not a fraction"),
    WRONG("count", "null", "count", "must be an integer, not null"),
    WRONG("text", "1", "text", "must be a string, not an integer"),
    WRONG("text", "null", "text", "must be a string, not null"),
    WRONG("text", "[\"ab\"]", "text", "must be a string, not an array"),
    FINE("colour", "\"blue\""),
    WRONG("colour", "\"Red\"", "colour", "must be one of red, green, blue"),
    WRONG("colour", "\"\"", "colour", "must be one of red, green, blue"),
    WRONG("colour", "0", "colour", "must be one of red, green, blue"),
    WRONG("colour", "null", "colour", "must be one of red, green, blue"),
    WRONG("part", "[]", "part", "must be an object, not an array"),
    WRONG("part", "null", "part", "must be an object, not null"),
    WRONG("part", "{\"id\":true}", "part.id", "must be an integer, not true"),
    WRONG("part", "{\"id\":1,\"label\":null}", "part.label", "must be a string, not null"),
    WRONG("strings", "\"a\"", "strings", "must be an array of strings, not a string"),
    WRONG("strings", "[\"a\",1]", "strings[1]", "must be a string, not an integer"),
    WRONG("strings", "[null]", "strings[0]", "must be a string, not null"),
    WRONG("ints", "{}", "ints", "must be an array of integers, not an object"),
    WRONG("ints", "[1,2,0.5]", "ints[2]", "must be an integer, not a fraction"),
    WRONG("parts", "{\"id\":1}", "parts", "must be an array of objects, not an object"),
    WRONG("parts", "[false]", "parts[0]", "must be an object, not false"),
    WRONG("extra", "[]", "extra", "must be an object, not an array"),
    WRONG("extra", "null", "extra", "must be an object, not null"),
    WRONG("extras", "{}", "extras", "must be an array of objects, not an object"),
    WRONG("extras", "[{},[]]", "extras[1]", "must be an object, not an array"),
    FINE("maybe_flag", "false"),
    WRONG("maybe_flag", "0", "maybe_flag", "must be true, false or null, not an integer"),
    FINE("maybe_count", "0"),
    WRONG("maybe_count", "\"\"", "maybe_count", "must be an integer or null, not a string"),
    FINE("maybe_text", "\"\""),
    WRONG("maybe_text", "{}", "maybe_text", "must be a string or null, not an object"),
    FINE("maybe_colour", "\"red\""),
    WRONG("maybe_colour", "\"black\"", "maybe_colour", "must be one of red, green, blue or null"),
    FINE("maybe_extra", "{\"a\":[]}"),
    WRONG("maybe_extra", "\"\"", "maybe_extra", "must be an object or null, not a string"),
    FINE("maybe_part", "{\"id\":5}"),
    WRONG("maybe_part", "5", "maybe_part", "must be an object or null, not an integer"),
    WRONG("maybe_part", "{\"id\":null}", "maybe_part.id", "must be an integer, not null"),
    WRONG("oracle", "[]", "oracle", "must be an object or null, not an array"),
    /* each bound at its edge */
    OUT_OF_RANGE("count", "-3", "is -3, less than -2"),
    FINE("count", "-2"),
    FINE("count", "5"),
    OUT_OF_RANGE("count", "6", "is 6, more than 5"),
    OUT_OF_RANGE("count", "9223372036854775807", "is 9223372036854775807, more than 5"),
    OUT_OF_RANGE("spare", "-1", "is -1, less than 0"),
    FINE("spare", "0"),
    FINE("spare", "9223372036854775807"),
    OUT_OF_RANGE("maybe_count", "-1", "is -1, less than 0"),
    OUT_OF_RANGE("text", "\"\"", "has 0 bytes, less than 1"),
    FINE("text", "\"a\""),
    FINE("text", "\"abcd\""),
    OUT_OF_RANGE("text", "\"abcde\"", "has 5 bytes, more than 4"),
    OUT_OF_RANGE("strings", "[]", "has 0 items, less than 1"),
    FINE("strings", "[\"a\"]"),
    FINE("strings", "[\"a\",\"\",\"a\"]"),
    OUT_OF_RANGE("strings", "[\"a\",\"\",\"a\",\"b\"]", "has 4 items, more than 3"),
    FINE("ints", "[1,2,3]"),
    FINE("ints", "[-9223372036854775808]"),
    OUT_OF_RANGE("ints", "[1,2,3,4]", "has 4 items, more than 3"),
    FINE("parts", "[{\"id\":1},{\"id\":9}]"),
    OUT_OF_RANGE("parts", "[{\"id\":1},{\"id\":1},{\"id\":1}]", "has 3 items, more than 2"),
    FINE("extras", "[{},{\"a\":[{}]}]"),
    OUT_OF_RANGE("extras", "[{},{},{}]", "has 3 items, more than 2"),
    OUT_OF_RANGE_IN("part", "{\"id\":0}", "part.id", "is 0, less than 1"),
    OUT_OF_RANGE_IN("parts", "[{\"id\":9},{\"id\":10}]", "parts[1].id", "is 10, more than 9"),
    OUT_OF_RANGE_IN("maybe_part", "{\"id\":10}", "maybe_part.id", "is 10, more than 9"),
};

static inline json_t *sample_read(const char *text)
{
    struct err err = {0};
    json_t *json = json_read(span_of_string(text), &json_budget_control, &err);
    if (!json) {
        fail_msg("%s: %s", text, err.msg);
    }
    return json;
}

static inline json_t *sample_case_json(const struct sample_case *row)
{
    json_t *json = sample_read(SAMPLE_LEAST);
    if (row->value) {
        json_object_set_new(json, row->member, sample_read(row->value));
    } else {
        (void)json_object_del(json, row->member); /* "oracle" is not there to begin with */
    }
    return json;
}
