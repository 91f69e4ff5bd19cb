#include "../unit.h"

#include <string.h>

#include "encoding-priv.h"

static void digest(const char *const *strings, size_t count, char hex[HASH_HEX_SIZE])
{
    struct encoding encoding;
    encoding_init(&encoding, "test");
    for (size_t i = 0; i < count; i++) {
        encoding_string(&encoding, strings[i]);
    }
    encoding_hex(&encoding, hex);
}

/* FZ-2: no two lists are the same bytes (the digests of some runners join name and content without a length) */
static void fields_do_not_run_into_each_other(void **state)
{
    (void)state;
    static const char *const lists[][2] = {
        {"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"", "abc"}, {"abc", NULL}};
    char hex[countof(lists)][HASH_HEX_SIZE];
    for (size_t i = 0; i < countof(lists); i++) {
        digest(lists[i], 2, hex[i]);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(hex[i], hex[j]);
        }
    }
    char again[HASH_HEX_SIZE];
    digest(lists[0], 2, again);
    assert_string_equal(again, hex[0]);
    digest(lists[0], 1, again);
    assert_string_not_equal(again, hex[0]);
}

/* The encoding is a format: this digest is that of its bytes, written down by hand. */
static void the_bytes_are_lengths_and_least_significant_first(void **state)
{
    (void)state;
    static const unsigned char bytes[] = "\4\0\0\0\0\0\0\0test"
                                         "\2\1\0\0\0\0\0\0"
                                         "\2\0\0\0\0\0\0\0ab"
                                         "\377\377\377\377\377\377\377\377";
    char expected[HASH_HEX_SIZE];
    char seen[HASH_HEX_SIZE];
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, bytes, sizeof bytes - 1);
    hash_hex(&hash, expected);
    struct encoding encoding;
    encoding_init(&encoding, "test");
    encoding_number(&encoding, 258);
    encoding_span(&encoding, span_of_string("ab"));
    encoding_string(&encoding, NULL);
    encoding_hex(&encoding, seen);
    assert_string_equal(seen, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_do_not_run_into_each_other),
        cmocka_unit_test(the_bytes_are_lengths_and_least_significant_first),
    };
    return cmocka_run_group_tests_name("snapshot/encoding", tests, NULL, NULL);
}
