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

/* Nothing else of the caller's is stopped, whatever a manifest says. */
static void only_a_unit_of_a_run_is_forgotten(void **state)
{
    static const char *const others[] = {"",
                                         "berm-.scope",
                                         "ssh.service",
                                         "berm-k7f3.service",
                                         "session-1.scope",
                                         "berm-k7f3-1a.scope.x",
                                         "berm-k7f3/../1a.scope",
                                         "berm-K7F3-1A2B.scope",
                                         "-berm-k7f3-1a2b.scope"};
    const struct scope_offer offer = {.adapter = SCOPE_SYSTEMD_USER, .place = "/nowhere/bus"};
    const struct scope_offer none = {.adapter = SCOPE_DELEGATED, .place = "/nowhere"};
    for (size_t i = 0; i < countof(others); i++) {
        struct err err = {0};
        assert_int_equal(scope_forget_unit(&offer, others[i], INT64_MAX, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    struct err err = {0};
    assert_int_equal(scope_forget_unit(&none, "berm-k7f3-1a2b-watchdog.scope", INT64_MAX, &err), 0);
    assert_int_equal(scope_forget_unit(&offer, "berm-k7f3-1a2b-watchdog.scope", INT64_MAX, &err),
                     -1);
    assert_int_not_equal(err.code, ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_manager_there_is_nothing_to_tell),
        cmocka_unit_test(one_that_does_not_answer_is_an_error),
        cmocka_unit_test(only_a_unit_of_a_run_is_forgotten),
    };
    return cmocka_run_group_tests_name("contain/scope-manager", tests, NULL, NULL);
}
