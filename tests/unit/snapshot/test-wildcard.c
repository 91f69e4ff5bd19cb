#include "../unit.h"

#include <stdio.h>

#include "wildcard-priv.h"

static bool matches(const char *pattern, const char *path)
{
    struct wildcard_budget budget = {.steps = 100000};
    return wildcard_match(pattern, path, &budget);
}

/* FZ-2: the patterns of gitignore(5) */
static void patterns_match_as_git_says(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"a", "a", true},
        {"a", "b", false},
        {"a", "ab", false},
        {"*", "abc", true},
        {"*", "a/b", false},
        {"*.o", "x.o", true},
        {"*.o", ".o", true},
        {"*.o", "x.oo", false},
        {"a*c*e", "abcde", true},
        {"a?c", "abc", true},
        {"a?c", "a/c", false},
        {"?", "", false},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"a\\", "a", false},
        {"**", "a/b/c", true},
        {"**/x", "x", true},
        {"**/x", "a/b/x", true},
        {"**/x", "ax", false},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"a**b", "axxb", true},
        {"a**b", "ax/xb", false},
        {"***/x", "a/x", true},
        {"*/x", "a/x", true},
        {"*/x", "a/b/x", false},
        {"[ab]", "a", true},
        {"[ab]", "c", false},
        {"[!ab]", "c", true},
        {"[^ab]", "a", false},
        {"[!a]", "/", false},
        {"[a-c]", "b", true},
        {"[a-c]", "d", false},
        {"[a-]", "-", true},
        {"[]a]", "]", true},
        {"[!]a]", "]", false},
        {"[\\]]", "]", true},
        {"[[]", "[", true},
        {"[[:digit:]x]", "7", true},
        {"[[:digit:]x]", "x", true},
        {"[[:digit:]x]", "y", false},
        {"[[:nope:]x]", "x", false},
        {"[[:x]", ":", true},
        {"[a", "a", false},
        {"[", "[", false},
        {"[[:alpha:]-z]", "-", true},
        {"[[:alpha:]-z]", "1", false},
        {"\xff?", "\xff\xfe", true},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        if (matches(cases[i].pattern, cases[i].path) != cases[i].matches) {
            fail_msg("'%s' against '%s'", cases[i].pattern, cases[i].path);
        }
    }
}

static void classes_are_those_of_ascii(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *members; /* between 0x20 and 0x7e, as far as they are told apart here */
    } classes[] = {
        {"alnum", "aZ5F"},  {"alpha", "aZF"}, {"blank", " "},      {"digit", "5"},
        {"graph", "aZ5.F"}, {"lower", "a"},   {"print", "aZ5. F"}, {"punct", "."},
        {"space", " "},     {"upper", "ZF"},  {"xdigit", "a5F"},   {"cntrl", "\x7f"},
    };
    for (size_t i = 0; i < countof(classes); i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "[[:%s:]]", classes[i].name);
        for (const char *c = "aZ5. F\x7f"; *c != '\0'; c++) {
            char text[] = {*c, '\0'};
            bool member = strchr(classes[i].members, *c) != NULL;
            assert_int_equal(matches(pattern, text), member);
        }
    }
}

/* Many stars are a matter of time, which is bounded. */
static void a_pattern_that_takes_too_long_uses_its_budget_up(void **state)
{
    (void)state;
    struct wildcard_budget budget = {.steps = 10000};
    assert_false(wildcard_match("**/*a*a*a*a*a*a*a*a*a*a*a*b",
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                &budget));
    assert_int_equal(budget.steps, 0);
    assert_false(wildcard_match("a", "a", &budget));
}

static void what_is_literal_ends_before_the_first_wildcard(void **state)
{
    (void)state;
    assert_int_equal(wildcard_literal("abc"), 3);
    assert_int_equal(wildcard_literal("ab*"), 2);
    assert_int_equal(wildcard_literal("a\\b"), 1);
    assert_int_equal(wildcard_literal("[x]"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_as_git_says),
        cmocka_unit_test(classes_are_those_of_ascii),
        cmocka_unit_test(a_pattern_that_takes_too_long_uses_its_budget_up),
        cmocka_unit_test(what_is_literal_ends_before_the_first_wildcard),
    };
    return cmocka_run_group_tests_name("snapshot/wildcard", tests, NULL, NULL);
}
