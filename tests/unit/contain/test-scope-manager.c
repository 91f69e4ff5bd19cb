/* With a real manager: tests/host/t/70-self-test.py. */
#include "../unit.h"

#include <stdio.h>

#include "scope.h"

static void without_a_manager_there_is_nothing_to_tell(void **state)
{
    struct err err = {0};
    struct scope_manager manager = {.version = "x", .identity = "x", .library = "x"};
    const struct scope_offer offer = {.adapter = SCOPE_DELEGATED, .place = "/nowhere"};
    assert_int_equal(scope_manager_read(&offer, &manager, &err), 0);
    assert_string_equal(manager.version, "");
    assert_string_equal(manager.identity, "");
    assert_null(manager.library);
}

static void one_that_does_not_answer_is_an_error(void **state)
{
    struct err err = {0};
    struct scope_manager manager = {.version = "x"};
    const struct scope_offer offer = {.adapter = SCOPE_SYSTEMD_USER, .place = "/nowhere/bus"};
    assert_int_equal(scope_manager_read(&offer, &manager, &err), -1);
    assert_non_null(strstr(err.msg, "systemd"));
    assert_string_equal(manager.version, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_manager_there_is_nothing_to_tell),
        cmocka_unit_test(one_that_does_not_answer_is_an_error),
    };
    return cmocka_run_group_tests_name("contain/scope-manager", tests, NULL, NULL);
}
