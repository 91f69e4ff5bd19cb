#include "json.h"

#include <string.h>

#include "text.h"

static const size_t flags[] = {
    [JSON_CANONICAL] = JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT,
    [JSON_READABLE] = JSON_ENCODE_ANY | JSON_INDENT(2),
};

static int add(const char *bytes, size_t n, void *context)
{
    struct buf *out = context;
    buf_add(out, bytes, n);
    return buf_fits(out) ? 0 : -1;
}

int json_write(const json_t *value, enum json_style style, struct buf *out, struct err *err)
{
    size_t before = buf_length(out);
    int result = json_dump_callback(value, add, out, flags[style]);
    if (result == 0 && style == JSON_READABLE) {
        buf_add_char(out, '\n');
    }
    if (!buf_fits(out)) {
        buf_cut(out, before);
        return err_set(err, ERR_OVER_BUDGET, "JSON takes more than %zu bytes", out->maximum);
    }
    if (result < 0) {
        buf_cut(out, before);
        return err_set(err, ERR_INTERNAL, "a value that JSON has no text for");
    }
    return 0;
}

json_t *json_text(struct span bytes)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    if (bytes.n > 0 && !memchr(bytes.p, '\0', bytes.n) &&
        text_is_utf8(bytes)) { /* as nearly every text */
        json_t *whole = json_stringn_nocheck(bytes.p, bytes.n);
        BUG_IF(!whole);
        return whole;
    }
    with_buf text = buf_new(bytes.n * (sizeof replacement - 1));
    for (size_t start = 0; start < bytes.n;) {
        /* NUL is UTF-8, but a string that holds one is refused by json_read(). */
        const char *nul = memchr(bytes.p + start, '\0', bytes.n - start);
        size_t n = nul ? (size_t)(nul - bytes.p) - start : bytes.n - start;
        text_to_utf8(&text, span_of(bytes.p + start, n));
        if (nul) {
            buf_add_string(&text, replacement);
        }
        start += n + 1;
    }
    json_t *value = json_stringn_nocheck(buf_string(&text), buf_length(&text));
    BUG_IF(!value);
    return value;
}
