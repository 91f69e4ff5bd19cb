/* reader.c
 *
 * Two passes. The first keeps the budgets: it knows brackets, commas and strings, no grammar, and
 * allocates nothing. Up to the first fault of the grammar its counts are exact, and jansson, the
 * second pass, builds nothing behind that fault; so it never builds more than the budgets allow.
 * UTF-8 and everything else about the grammar is jansson's to refuse.
 */
#include "json.h"

enum { DEPTH_MAXIMUM = 256 }; /* jansson and whoever walks a tree recurse */

const struct json_budget json_budget_control = {
    .bytes = 1 << 20,
    .depth = 32,
    .items = 1 << 16,
    .string_bytes = 64 << 10,
};
const struct json_budget json_budget_report = {
    .bytes = 16 << 20,
    .depth = 32,
    .items = 1 << 20,
    .string_bytes = 8 << 20, /* a tail of 1 MiB that is escaped byte for byte takes six */
};

static int over(struct err *err, size_t budget, const char *unit, size_t offset)
{
    return err_set(err, ERR_OVER_BUDGET, "JSON goes over its budget of %zu %s at byte %zu", budget,
                   unit, offset);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Where the string that the quote opens is closed, or the end of the text. */
static size_t string_end(struct span text, size_t quote)
{
    size_t i = quote + 1;
    while (i < text.n && text.p[i] != '"') {
        i += text.p[i] == '\\' ? 2 : 1;
    }
    return i < text.n ? i : text.n;
}

static int check_budget(struct span text, const struct json_budget *budget, struct err *err)
{
    if (text.n > budget->bytes) {
        return over(err, budget->bytes, "bytes", budget->bytes);
    }
    size_t depth = 0;
    size_t items = 0;
    bool opened = false; /* nothing but blanks since an opening bracket */
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (is_blank(c)) {
            continue;
        }
        bool closes = c == ']' || c == '}';
        if ((c == ',' || (opened && !closes)) && ++items > budget->items) {
            return over(err, budget->items, "items", i);
        }
        opened = c == '[' || c == '{';
        if (opened && ++depth > budget->depth) {
            return over(err, budget->depth, "nested levels", i);
        }
        if (closes && depth > 0) {
            depth--;
        }
        if (c == '"') {
            size_t end = string_end(text, i);
            if (end - i - 1 > budget->string_bytes) {
                return over(err, budget->string_bytes, "bytes in a string",
                            i + 1 + budget->string_bytes);
            }
            i = end;
        }
    }
    return 0;
}

json_t *json_read(struct span text, const struct json_budget *budget, struct err *err)
{
    BUG_IF(budget->depth > DEPTH_MAXIMUM);
    if (check_budget(text, budget, err) < 0) {
        return NULL;
    }
    json_error_t error = {0};
    json_t *value = json_loadb(text.n > 0 ? text.p : "", text.n,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!value) {
        err_set(err, ERR_CORRUPT, "JSON line %d, column %d: %s", error.line, error.column,
                error.text);
    }
    return value;
}
