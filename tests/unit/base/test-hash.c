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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_standard),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
