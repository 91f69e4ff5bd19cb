#include "../unit.h"

#include <stdlib.h>

#include "streams-priv.h"

static char byte_at(int64_t offset)
{
    return (char)('a' + offset % 23);
}

enum { WINDOW = TAIL_BYTES + TAIL_MARGIN_BYTES, LONG = TAIL_STRUCTURED_BYTES + TAIL_MARGIN_BYTES };

static struct supervise_stream *facts_with(uint32_t tail_bytes)
{
    struct supervise_stream *facts = calloc(1, sizeof *facts);
    tail_open(facts, tail_bytes);
    return facts;
}

static void end(struct supervise_stream *facts)
{
    tail_done(facts);
    free(facts);
}

/* Feed `total` bytes in pieces of the given sizes in turn; compare with what the end must be. */
static void check(uint32_t tail_bytes, int64_t total, const size_t *sizes, size_t count)
{
    static char piece[2 * LONG];
    const int64_t window = tail_bytes + TAIL_MARGIN_BYTES;
    struct supervise_stream *facts = facts_with(tail_bytes);
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
    int64_t start = total > window ? total - window : 0;
    assert_int_equal(facts->tail_start, start);
    assert_int_equal(facts->tail_length, total - start);
    for (int64_t i = 0; i < total - start; i++) {
        if (facts->tail[i] != byte_at(start + i)) {
            fail_msg("byte %ld of %ld", (long)i, (long)total);
        }
    }
    end(facts);
}

/* O5, O6: a window of raw bytes, whatever pieces they came in. */
static void the_last_bytes_are_kept_in_order(void **state)
{
    static const size_t whole[] = {3 * WINDOW};
    static const size_t single[] = {1};
    static const size_t odd[] = {1, 4095, 7, 16384, 16385, 3, 33333};
    static const int64_t totals[] = {0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, 100001};
    for (size_t i = 0; i < countof(totals); i++) {
        check(TAIL_BYTES, totals[i], whole, countof(whole));
        check(TAIL_BYTES, totals[i], single, countof(single));
        check(TAIL_BYTES, totals[i], odd, countof(odd));
    }
}

/* TR-7 */
static void a_longer_tail_is_kept_where_one_is_wanted(void **state)
{
    static const size_t reads[] = {262144, 65536, 4097, 1, 2 * LONG};
    static const int64_t totals[] = {5, LONG - 1, LONG, LONG + 1, 2 * LONG, 3 * LONG + 12345};
    for (size_t i = 0; i < countof(totals); i++) {
        check(TAIL_STRUCTURED_BYTES, totals[i], reads, countof(reads));
        check(TAIL_STRUCTURED_BYTES, totals[i], reads, countof(reads) - 1);
    }
}

/* O4: bytes are bytes. */
static void any_byte_is_kept(void **state)
{
    struct supervise_stream *facts = facts_with(TAIL_BYTES);
    const char bytes[] = {'\0', '\xff', '\x1b', '\n', '\0'};
    tail_add(facts, bytes, sizeof bytes);
    facts->bytes += (int64_t)sizeof bytes;
    tail_straighten(facts);
    assert_int_equal(facts->tail_length, sizeof bytes);
    assert_memory_equal(facts->tail, bytes, sizeof bytes);
    end(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_bytes_are_kept_in_order),
        cmocka_unit_test(a_longer_tail_is_kept_where_one_is_wanted),
        cmocka_unit_test(any_byte_is_kept),
    };
    return cmocka_run_group_tests_name("supervise/tail", tests, NULL, NULL);
}
