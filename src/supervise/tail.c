#include "streams-priv.h"

#include <string.h>

/* Byte number k of the stream stands at k % TAIL_WINDOW_BYTES. */
void tail_add(struct supervise_stream *facts, const char *bytes, size_t n)
{
    int64_t first = facts->bytes;
    if (n > TAIL_WINDOW_BYTES) {
        bytes += n - TAIL_WINDOW_BYTES;
        first += (int64_t)(n - TAIL_WINDOW_BYTES);
        n = TAIL_WINDOW_BYTES;
    }
    size_t at = (size_t)(first % TAIL_WINDOW_BYTES);
    size_t until_end = TAIL_WINDOW_BYTES - at;
    size_t head = n < until_end ? n : until_end;
    memcpy(facts->tail + at, bytes, head);
    memcpy(facts->tail, bytes + head, n - head);
}

void tail_straighten(struct supervise_stream *facts)
{
    if (facts->bytes <= TAIL_WINDOW_BYTES) {
        facts->tail_start = 0;
        facts->tail_length = (uint32_t)facts->bytes;
        return;
    }
    char straight[TAIL_WINDOW_BYTES];
    size_t at = (size_t)(facts->bytes % TAIL_WINDOW_BYTES);
    memcpy(straight, facts->tail + at, TAIL_WINDOW_BYTES - at);
    memcpy(straight + TAIL_WINDOW_BYTES - at, facts->tail, at);
    memcpy(facts->tail, straight, TAIL_WINDOW_BYTES);
    facts->tail_start = facts->bytes - TAIL_WINDOW_BYTES;
    facts->tail_length = TAIL_WINDOW_BYTES;
}
