#include "../unit.h"

#include <regex.h>

#include "form-priv.h"

/* EP-1: what a shape takes; the pattern of the schema takes no less. */
static void shapes(void **state)
{
    static const struct {
        enum form_shape shape;
        const char *text;
        bool fits;
    } cases[] = {
        {SHAPE_NAME, "a", true},
        {SHAPE_NAME, "a-b_c.D9", true},
        {SHAPE_NAME, "9", true},
        {SHAPE_NAME, "", false},
        {SHAPE_NAME, "-a", false},
        {SHAPE_NAME, ".a", false},
        {SHAPE_NAME, "a/b", false},
        {SHAPE_NAME, "a b", false},
        {SHAPE_NAME, "\xc3\xa4", false},
        {SHAPE_PATH, "a", true},
        {SHAPE_PATH, "a/b.c/.d", true},
        {SHAPE_PATH, "...", true},
        {SHAPE_PATH, "..a/b", true},
        {SHAPE_PATH, "a b/c", true},
        {SHAPE_PATH, "", false},
        {SHAPE_PATH, ".", false},
        {SHAPE_PATH, "..", false},
        {SHAPE_PATH, "a/..", false},
        {SHAPE_PATH, "a/./b", false},
        {SHAPE_PATH, "/a", false},
        {SHAPE_PATH, "a/", false},
        {SHAPE_PATH, "a//b", false},
        {SHAPE_PATH, "-a", false},
        {SHAPE_FLAG, "-a", true},
        {SHAPE_FLAG, "--model-digest", true},
        {SHAPE_FLAG, "a", false},
        {SHAPE_FLAG, "-", false},
        {SHAPE_FLAG, "--", false},
        {SHAPE_FLAG, "---a", false},
        {SHAPE_FLAG, "--a=b", false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        const struct form_shape_trait *trait = form_shape_trait(cases[i].shape);
        if (trait->fits(cases[i].text) != cases[i].fits) {
            fail_msg("'%s' is not judged rightly", cases[i].text);
        }
        regex_t regex;
        if (cases[i].shape != SHAPE_PATH) { /* POSIX knows no lookahead */
            assert_int_equal(regcomp(&regex, trait->pattern, REG_EXTENDED | REG_NOSUB), 0);
            assert_int_equal(regexec(&regex, cases[i].text, 0, NULL, 0) == 0, cases[i].fits);
            regfree(&regex);
        }
    }
    char longest[66] = {0};
    memset(longest, 'a', 64);
    assert_true(form_shape_trait(SHAPE_NAME)->fits(longest));
    longest[64] = 'a';
    assert_false(form_shape_trait(SHAPE_NAME)->fits(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests_name("form/form-trait", tests, NULL, NULL);
}
