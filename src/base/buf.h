/* buf.h
 *
 * A byte buffer that grows up to a required maximum and no further.
 *
 * Calling sequence
 *   with_buf text = buf_new(4096);          the maximum, in bytes
 *   buf_add_string(&text, "a"); ...         never fails outright:
 *   if (!buf_fits(&text)) { ... }           going over the maximum is sticky and asked for once
 *   buf_string(&text)                       always NUL-terminated
 *
 * Ownership    the buf owns its bytes; buf_span() and buf_string() lend them until the next add.
 * Errors       over the maximum: nothing of the addition is kept, buf_fits() is false from then on.
 * Limitations  the NUL behind the bytes is not counted; bytes may themselves hold NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"
#include "span.h"

struct buf {
    char *data;
    size_t length;
    size_t capacity;
    size_t maximum;
    bool over;
};

struct buf buf_new(size_t maximum_bytes);
void buf_done(struct buf *buf);
void buf_clear(struct buf *buf);             /* empty again; maximum and memory stay */
void buf_reserve(struct buf *buf, size_t n); /* room for n bytes in all, as far as the maximum */

void buf_add(struct buf *buf, const void *bytes, size_t n);
void buf_add_string(struct buf *buf, const char *string);
void buf_add_span(struct buf *buf, struct span span);
void buf_add_char(struct buf *buf, char c);
void buf_add_format(struct buf *buf, const char *format, ...) printf_like(2, 3);
/* Room behind what is there, to be filled by others: n bytes, or as many as fit; and how many they made of it.
 * More than there was room for is over the maximum, and nothing of it is kept. */
char *buf_room(struct buf *buf, size_t n, size_t *ret_bytes);
void buf_filled(struct buf *buf, size_t n);
void buf_cut(struct buf *buf, size_t length); /* drop what lies behind length */

static inline bool buf_fits(const struct buf *buf)
{
    return !buf->over;
}
static inline size_t buf_length(const struct buf *buf)
{
    return buf->length;
}
static inline const char *buf_string(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}
static inline struct span buf_span(const struct buf *buf)
{
    return span_of(buf_string(buf), buf->length);
}

#define with_buf cleanup(buf_done) struct buf
