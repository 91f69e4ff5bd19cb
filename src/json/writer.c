#include "json.h"

#include <string.h>

#include "text.h"

static const size_t flags[] = {
    [JSON_CANONICAL] = JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT,
    [JSON_READABLE] = JSON_ENCODE_ANY | JSON_INDENT(2),
};

enum { FIRST_ROOM_BYTES = 16 << 10 }; /* most records fit */

/* Into the room that is there. The library goes on counting where it ends; 0: it has no text for the value. */
static size_t dump(const json_t *value, enum json_style style, struct buf *out, size_t *room)
{
    char *place = buf_room(out, *room, room);
    return json_dumpb(value, place, *room, flags[style]);
}

int json_write(const json_t *value, enum json_style style, struct buf *out, struct err *err)
{
    size_t before = buf_length(out);
    size_t room = FIRST_ROOM_BYTES;
    size_t n = dump(value, style, out, &room);
    if (n > room) {
        room = n;
        n = dump(value, style, out, &room);
    }
    buf_filled(out, n);
    if (n > 0 && style == JSON_READABLE) {
        buf_add_char(out, '\n');
    }
    if (!buf_fits(out)) {
        buf_cut(out, before);
        return err_set(err, ERR_OVER_BUDGET, "JSON takes more than %zu bytes", out->maximum);
    }
    return n > 0 ? 0 : err_set(err, ERR_INTERNAL, "a value that JSON has no text for");
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
