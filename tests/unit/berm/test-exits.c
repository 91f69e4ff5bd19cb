#include "../unit.h"

#include <stdbool.h>
#include <stdio.h>

#include "exits.h"

/* Every code of the closed list has an exit code that is documented. */
static void maps_every_error(void **state)
{
#define X(code, meaning) code,
    const char *const documented[] = {VERB_EXITS(X)};
#undef X
    for (int code = 0; code < ERR_CODE_COUNT; code++) {
        char text[12];
        (void)snprintf(text, sizeof text, "%d", exit_of((enum err_code)code));
        bool found = false;
        for (size_t i = 0; i < countof(documented); i++) {
            found = found || strcmp(documented[i], text) == 0;
        }
        assert_true(found);
        assert_true((code == ERR_NONE) == (exit_of((enum err_code)code) == EXIT_OK));
    }
    assert_int_equal(exit_of(ERR_USAGE), EXIT_WRONG_USAGE);
    assert_int_equal(exit_of(ERR_RANGE), EXIT_WRONG_USAGE);
    assert_int_equal(exit_of(ERR_REFUSED), 9);
    assert_int_equal(exit_of(ERR_UNAVAILABLE), 3);
    assert_int_equal(exit_of(ERR_CORRUPT), 5);
    assert_int_equal(exit_of(ERR_CONFLICT), 7);
    assert_int_equal(exit_of(ERR_CANCELLED), 8);
    assert_int_equal(exit_of((enum err_code)99), EXIT_NEGATIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_every_error),
    };
    return cmocka_run_group_tests_name("berm/exits", tests, NULL, NULL);
}
