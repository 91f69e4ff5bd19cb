#include "../unit.h"

#include "strvec.h"

static void is_always_null_terminated(void **state)
{
    with_strvec vec = {0};
    assert_null(strvec_argv(&vec)[0]);
    for (int i = 0; i < 20; i++) {
        strvec_push_format(&vec, "%c", 'z' - i);
        assert_null(strvec_argv(&vec)[vec.count]);
    }
    strvec_sort(&vec);
    assert_string_equal(vec.strings[0], "g");
    assert_string_equal(vec.strings[19], "z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_always_null_terminated)};
    return cmocka_run_group_tests_name("base/strvec", tests, NULL, NULL);
}
