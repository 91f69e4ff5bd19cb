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

/* WD-5: one that is there and could not be asked may have the unit; one that is not there has none. */
static void whoever_could_not_be_asked_may_have_it(void **state)
{
    static const struct {
        enum scope_obstacle_code code;
        enum scope_adapter adapter;
        int result;
    } rows[] = {{SCOPE_OBSTACLE_NO_MANAGER, SCOPE_SYSTEMD_USER, 0},
                {SCOPE_OBSTACLE_NO_ANSWER, SCOPE_SYSTEMD_USER, -1},
                {SCOPE_OBSTACLE_NO_LIBRARY, SCOPE_SYSTEMD_SYSTEM, -1},
                {SCOPE_OBSTACLE_CONTROLLER, SCOPE_SYSTEMD_USER, -1},
                {SCOPE_OBSTACLE_LAYOUT, SCOPE_NONE, -1},
                {SCOPE_OBSTACLE_NOT_WRITABLE, SCOPE_DELEGATED, 0}};
    for (size_t i = 0; i < countof(rows); i++) {
        struct err err = {0};
        struct scope_offer offer = {
            .adapter = i % 2 ? SCOPE_DELEGATED : SCOPE_NONE,
            .obstacles = {{.code = rows[i].code, .adapter = rows[i].adapter, .saw = "'/bus'"}},
            .obstacle_count = 1};
        assert_int_equal(scope_forget_unit(&offer, "berm-k7f3-1a2b.scope", INT64_MAX, &err),
                         rows[i].result);
        assert_int_equal(err.code, rows[i].result < 0 ? ERR_UNAVAILABLE : ERR_NONE);
        assert_true(rows[i].result == 0 || strstr(err.msg, "berm-k7f3-1a2b.scope: '/bus'"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_manager_there_is_nothing_to_tell),
        cmocka_unit_test(one_that_does_not_answer_is_an_error),
        cmocka_unit_test(only_a_unit_of_a_run_is_forgotten),
        cmocka_unit_test(whoever_could_not_be_asked_may_have_it),
    };
    return cmocka_run_group_tests_name("contain/scope-manager", tests, NULL, NULL);
}
