#include "../unit.h"

#include "nearest.h"

static const char *near(const char *word)
{
    struct nearest nearest = nearest_to(span_of_string(word));
    const char *const known[] = {"--memory", "--memory-mib", "--timeout", "--tasks", NULL, "--env"};
    for (size_t i = 0; i < countof(known); i++) {
        nearest_offer(&nearest, known[i]);
    }
    return nearest_found(&nearest);
}

static void finds_what_was_meant(void **state)
{
    assert_string_equal(near("--memroy"), "--memory"); /* two letters swapped */
    assert_string_equal(near("--memry"), "--memory");
    assert_string_equal(near("--memmory"), "--memory");
    assert_string_equal(near("--mem"), "--memory"); /* a beginning is no abbreviation, but a hint */
    assert_string_equal(near("-memory"), "--memory");
    assert_string_equal(near("--time-out"), "--timeout");
    assert_string_equal(near("--task"), "--tasks");
}

static void finds_nothing_far_away(void **state)
{
    const char *const strange[] = {"--network", "-x", "--x", "--", "-", "", "--zzzzzzzz"};
    for (size_t i = 0; i < countof(strange); i++) {
        assert_null(near(strange[i]));
    }
    char longest[200];
    memset(longest, '-', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(near(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_meant),
        cmocka_unit_test(finds_nothing_far_away),
    };
    return cmocka_run_group_tests_name("berm/nearest", tests, NULL, NULL);
}
