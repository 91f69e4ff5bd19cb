#include "../unit.h"

#include "sustain-priv.h"

enum { INTERVAL = 250 };

static void it_counts_looks_that_are_an_interval_apart(void **state)
{
    struct sustain sustain = {0};
    assert_int_equal(sustain_moment(&sustain, INTERVAL), INT64_MAX);
    sustain_begin(&sustain, 1000);
    assert_int_equal(sustain_moment(&sustain, INTERVAL), 1250);
    assert_int_equal(sustain_look(&sustain, 1010, INTERVAL, true), 0);
    assert_int_equal(sustain_look(&sustain, 1249, INTERVAL, true), 0);
    assert_int_equal(sustain_look(&sustain, 1250, INTERVAL, true), 1);
    assert_int_equal(sustain_look(&sustain, 1499, INTERVAL, true), 1);
    sustain_begin(&sustain, 1499); /* it is noticed all the time, which begins nothing anew */
    assert_int_equal(sustain_moment(&sustain, INTERVAL), 1500);
    assert_int_equal(sustain_look(&sustain, 1600, INTERVAL, true), 2);
    assert_int_equal(sustain_moment(&sustain, INTERVAL), 1850);
}

static void a_moment_without_it_ends_it(void **state)
{
    struct sustain sustain = {0};
    sustain_begin(&sustain, 0);
    assert_int_equal(sustain_look(&sustain, 250, INTERVAL, true), 1);
    assert_int_equal(sustain_look(&sustain, 251, INTERVAL, false), 0);
    assert_int_equal(sustain_moment(&sustain, INTERVAL), INT64_MAX);
    assert_int_equal(sustain_look(&sustain, 2000, INTERVAL, true), 0); /* nobody noticed */
    sustain_begin(&sustain, 2000);
    assert_int_equal(sustain_look(&sustain, 2250, INTERVAL, true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_looks_that_are_an_interval_apart),
        cmocka_unit_test(a_moment_without_it_ends_it),
    };
    return cmocka_run_group_tests_name("supervise/sustain", tests, NULL, NULL);
}
