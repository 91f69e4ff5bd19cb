#include "../unit.h"

#include <stdlib.h>

#include "streams-priv.h"

static char byte_at(int64_t offset)
{
    return (char)('a' + offset % 23);
}

/* Feed `total` bytes in pieces of the given sizes in turn; compare with what the end must be. */
static void check(int64_t total, const size_t *sizes, size_t count)
{
    static char piece[3 * TAIL_WINDOW_BYTES];
    struct supervise_stream *facts = calloc(1, sizeof *facts);
    size_t turn = 0;
    while (facts->bytes < total) {
        size_t n = sizes[turn++ % count];
        n = (int64_t)n > total - facts->bytes ? (size_t)(total - facts->bytes) : n;
        for (size_t i = 0; i < n; i++) {
            piece[i] = byte_at(facts->bytes + (int64_t)i);
        }
        tail_add(facts, piece, n);
        facts->bytes += (int64_t)n;
    }
    tail_straighten(facts);
    int64_t start = total > TAIL_WINDOW_BYTES ? total - TAIL_WINDOW_BYTES : 0;
    assert_int_equal(facts->tail_start, start);
    assert_int_equal(facts->tail_length, total - start);
    for (int64_t i = 0; i < total - start; i++) {
        assert_int_equal(facts->tail[i], byte_at(start + i));
    }
    free(facts);
}

/* O5, O6: a window of raw bytes, whatever pieces they came in. */
static void the_last_bytes_are_kept_in_order(void **state)
{
    static const size_t whole[] = {3 * TAIL_WINDOW_BYTES};
    static const size_t single[] = {1};
    static const size_t odd[] = {1, 4095, 7, 16384, 16385, 3, 33333};
    static const int64_t totals[] = {0,
                                     1,
                                     TAIL_WINDOW_BYTES - 1,
                                     TAIL_WINDOW_BYTES,
                                     TAIL_WINDOW_BYTES + 1,
                                     2 * TAIL_WINDOW_BYTES,
                                     100001};
    for (size_t i = 0; i < countof(totals); i++) {
        check(totals[i], whole, countof(whole));
        check(totals[i], single, countof(single));
        check(totals[i], odd, countof(odd));
    }
}

/* O4: bytes are bytes. */
static void any_byte_is_kept(void **state)
{
    struct supervise_stream *facts = calloc(1, sizeof *facts);
    const char bytes[] = {'\0', '\xff', '\x1b', '\n', '\0'};
    tail_add(facts, bytes, sizeof bytes);
    facts->bytes += (int64_t)sizeof bytes;
    tail_straighten(facts);
    assert_int_equal(facts->tail_length, sizeof bytes);
    assert_memory_equal(facts->tail, bytes, sizeof bytes);
    free(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_bytes_are_kept_in_order),
        cmocka_unit_test(any_byte_is_kept),
    };
    return cmocka_run_group_tests_name("supervise/tail", tests, NULL, NULL);
}
