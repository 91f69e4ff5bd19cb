#include "streams-priv.h"

#include <string.h>

#include "memory.h"

static size_t window_of(const struct supervise_stream *facts)
{
    return (size_t)facts->tail_bytes + TAIL_MARGIN_BYTES;
}

void tail_open(struct supervise_stream *facts, uint32_t bytes)
{
    facts->tail_bytes = bytes;
    facts->tail = memory_new(window_of(facts));
}

/* Byte number k of the stream stands at k modulo the window. */
void tail_add(struct supervise_stream *facts, const char *bytes, size_t n)
{
    size_t window = window_of(facts);
    int64_t first = facts->bytes;
    if (n > window) {
        bytes += n - window;
        first += (int64_t)(n - window);
        n = window;
    }
    size_t at = (size_t)first % window;
    size_t until_end = window - at;
    size_t head = n < until_end ? n : until_end;
    memcpy(facts->tail + at, bytes, head);
    memcpy(facts->tail, bytes + head, n - head);
}

static void reverse(char *bytes, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        char byte = bytes[i];
        bytes[i] = bytes[n - 1 - i];
        bytes[n - 1 - i] = byte;
    }
}

void tail_straighten(struct supervise_stream *facts)
{
    size_t window = window_of(facts);
    if (facts->bytes <= (int64_t)window) {
        facts->tail_start = 0;
        facts->tail_length = (uint32_t)facts->bytes;
        return;
    }
    size_t at = (size_t)facts->bytes % window; /* the oldest byte */
    reverse(facts->tail, at);
    reverse(facts->tail + at, window - at);
    reverse(facts->tail, window);
    facts->tail_start = facts->bytes - (int64_t)window;
    facts->tail_length = (uint32_t)window;
}

void tail_done(struct supervise_stream *facts)
{
    memory_free(facts->tail);
    facts->tail = NULL;
}
