#include "../unit.h"

#include "lookup.h"

static void finds_by_path_or_not_at_all(void **state)
{
    struct err err = {0};
    with_json value = json_read(span_of_string("{\"a\": {\"b\": 7, \"c\": \"x\", \"d\": null}}"),
                                &json_budget_control, &err);
    assert_non_null(value);
    assert_int_equal(lookup_number(value, "a.b"), 7);
    assert_string_equal(lookup_text(value, "a.c"), "x");
    assert_true(json_is_null(lookup(value, "a.d")));
    assert_ptr_equal(lookup(value, ""), value);

    assert_int_equal(lookup_number(value, "a.c"), -1);
    assert_null(lookup_text(value, "a.b"));
    assert_null(lookup(value, "a.b.c")); /* through a number */
    assert_null(lookup(value, "a.x"));
    assert_null(lookup(value, "x.b"));
    assert_null(lookup(value, "."));
    assert_null(lookup(NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_path_or_not_at_all),
    };
    return cmocka_run_group_tests_name("berm/lookup", tests, NULL, NULL);
}
