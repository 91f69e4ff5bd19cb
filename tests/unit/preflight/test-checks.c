#include "../unit.h"

#include "checks.h"
#include "memory.h"

static void collects_all_and_says_the_first_that_failed(void **state)
{
    with_checks checks = {0};
    assert_true(checks_ok(&checks));
    checks_add_take(&checks, "preflight.a", true, memory_copy_string("a"), memory_copy_string("b"),
                    memory_copy_string(""));
    assert_true(checks_ok(&checks));
    checks_add_take(&checks, "preflight.b", false, memory_copy_string("bad \xFF"),
                    memory_copy_string("seen"), memory_copy_string("do this"));
    checks_add_take(&checks, "preflight.c", false, memory_copy_string("c"), memory_copy_string("d"),
                    memory_copy_string(""));
    assert_string_equal(checks_first_failed(&checks)->code, "preflight.b");
    with_json json = checks_to_json(&checks);
    assert_int_equal(json_array_size(json), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 1), "what")),
                        "bad \xEF\xBF\xBD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_all_and_says_the_first_that_failed)};
    return cmocka_run_group_tests_name("preflight/checks", tests, NULL, NULL);
}
