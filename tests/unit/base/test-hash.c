#include "../unit.h"

#include "hash.h"

/* The vectors are those of FIPS 180-2, appendix B. */
static void agrees_with_the_standard(void **state)
{
    char hex[HASH_HEX_SIZE];
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, "abc", 3);
    hash_hex(&hash, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash_init(&hash);
    hash_hex(&hash, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void fields_cannot_run_into_each_other(void **state)
{
    char one[HASH_HEX_SIZE];
    char two[HASH_HEX_SIZE];
    struct hash hash;
    hash_init(&hash);
    hash_add_field(&hash, "ab", 2);
    hash_add_field(&hash, "c", 1);
    hash_hex(&hash, one);
    hash_init(&hash);
    hash_add_field(&hash, "a", 1);
    hash_add_field(&hash, "bc", 2);
    hash_hex(&hash, two);
    assert_string_not_equal(one, two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_standard),
        cmocka_unit_test(fields_cannot_run_into_each_other),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
