/* The JSON reader (FS-5): what it accepts keeps to its budgets and to no smaller ones, is written
 * canonically as text that reads back equal, and that text is written as the same bytes again. */
#include <stdint.h>
#include <string.h>

#include "json.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_budget budget = {
    .bytes = 1 << 16, .depth = 8, .items = 64, .string_bytes = 256};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* How deep the value is, and how many items are in it. */
static size_t measure(json_t *value, size_t *items)
{
    size_t depth = 0;
    size_t index;
    const char *key;
    json_t *child;
    *items += json_array_size(value) + json_object_size(value);
    json_array_foreach(value, index, child) {
        depth = larger(depth, measure(child, items));
    }
    json_object_foreach(value, key, child) {
        BUG_IF(strlen(key) > budget.string_bytes);
        depth = larger(depth, measure(child, items));
    }
    BUG_IF(json_string_length(value) > budget.string_bytes);
    return depth + (json_is_array(value) || json_is_object(value));
}

static void must_be_over(struct span text, struct json_budget smaller)
{
    struct err err = {0};
    BUG_IF(json_read(text, &smaller, &err) || err.code != ERR_OVER_BUDGET);
}

static void check_budgets(struct span text, json_t *value)
{
    struct json_budget exact = budget;
    exact.items = 0;
    exact.depth = measure(value, &exact.items);
    exact.bytes = text.n;
    BUG_IF(exact.items > budget.items || exact.depth > budget.depth);
    with_json again = json_read(text, &exact, NULL);
    BUG_IF(!again);

    struct json_budget smaller = exact;
    smaller.bytes--;
    must_be_over(text, smaller);
    if (exact.items > 0) {
        smaller = exact;
        smaller.items--;
        must_be_over(text, smaller);
    }
    if (exact.depth > 0) {
        smaller = exact;
        smaller.depth--;
        must_be_over(text, smaller);
    }
}

/* Write, read, compare, write: only a number may take more bytes than before. */
static void check_style(const json_t *value, enum json_style style, size_t size)
{
    struct json_budget wider = budget;
    wider.bytes = 100 * (size + 100);
    with_buf once = buf_new(wider.bytes);
    BUG_IF(json_write(value, style, &once, NULL) < 0);
    BUG_IF(!text_is_utf8(buf_span(&once)));
    with_json back = json_read(buf_span(&once), &wider, NULL);
    BUG_IF(!back || !json_equal(value, back));

    with_buf twice = buf_new(buf_length(&once));
    BUG_IF(json_write(back, style, &twice, NULL) < 0);
    BUG_IF(strcmp(buf_string(&once), buf_string(&twice)) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct err err = {0};
    with_json value = json_read(text, &budget, &err);
    if (!value) {
        BUG_IF(err.code != ERR_CORRUPT && err.code != ERR_OVER_BUDGET);
        return 0;
    }
    BUG_IF(err.code != ERR_NONE || !text_is_utf8(text));
    check_budgets(text, value);
    check_style(value, JSON_CANONICAL, size);
    check_style(value, JSON_READABLE, size);
    return 0;
}
