#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

struct buf buf_new(size_t maximum_bytes)
{
    BUG_IF(maximum_bytes >= SIZE_MAX / 4);
    return (struct buf){.maximum = maximum_bytes};
}

void buf_done(struct buf *buf)
{
    if (!buf) {
        return;
    }
    memory_free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->length = 0;
    buf->over = false;
    if (buf->data) {
        buf->data[0] = '\0';
    }
}

static void check(const struct buf *buf)
{
    BUG_IF(buf->length > buf->maximum || (buf->data && buf->length >= buf->capacity));
}

void buf_reserve(struct buf *buf, size_t n)
{
    check(buf);
    if (n > buf->maximum) {
        n = buf->maximum;
    }
    if (n + 1 <= buf->capacity) {
        return;
    }
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < n + 1) {
        capacity *= 2;
    }
    if (capacity > buf->maximum + 1) {
        capacity = buf->maximum + 1;
    }
    buf->data = memory_resize(buf->data, capacity);
    buf->capacity = capacity;
    buf->data[buf->length] = '\0';
}

void buf_add(struct buf *buf, const void *bytes, size_t n)
{
    check(buf);
    if (buf->over || n > buf->maximum - buf->length) {
        buf->over = true;
        return;
    }
    if (n == 0) {
        return;
    }
    if (buf->length + n >= buf->capacity) {
        buf_reserve(buf, buf->length + n);
    }
    memcpy(buf->data + buf->length, bytes, n);
    buf->length += n;
    buf->data[buf->length] = '\0';
}

void buf_add_string(struct buf *buf, const char *string)
{
    buf_add(buf, string, strlen(string));
}

void buf_add_span(struct buf *buf, struct span span)
{
    buf_add(buf, span.p, span.n);
}

void buf_add_char(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_add_format(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BUG_IF(length < 0);
    size_t n = (size_t)length;
    if (buf->over || n > buf->maximum - buf->length) {
        buf->over = true;
        return;
    }
    buf_reserve(buf, buf->length + n);
    va_start(args, format);
    (void)vsnprintf(buf->data + buf->length, n + 1, format, args);
    va_end(args);
    buf->length += n;
}

char *buf_room(struct buf *buf, size_t n, size_t *ret_bytes)
{
    size_t most = buf->over ? 0 : buf->maximum - buf->length;
    *ret_bytes = n < most ? n : most;
    buf_reserve(buf, buf->length + *ret_bytes);
    return buf->data + buf->length;
}

void buf_filled(struct buf *buf, size_t n)
{
    buf->over = buf->over || n > buf->maximum - buf->length;
    buf->length += buf->over ? 0 : n;
    check(buf);
    buf->data[buf->length] = '\0';
}

void buf_cut(struct buf *buf, size_t length)
{
    if (length < buf->length) {
        buf->length = length;
        buf->data[length] = '\0';
    }
}
