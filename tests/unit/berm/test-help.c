#include "../unit.h"

#include "help.h"

static void fits(const struct buf *text)
{
    assert_true(buf_fits(text));
    const char *line = buf_string(text);
    while (*line != '\0') {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(end - line <= HELP_COLUMNS);
        assert_true(end == line || end[-1] != ' ');
        line = end + 1;
    }
}

static void fits_a_terminal(void **state)
{
    with_buf all = buf_new(HELP_BYTES);
    help_all(&all);
    fits(&all);
}

static void shows_every_option_and_alias(void **state)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        with_buf text = buf_new(HELP_BYTES);
        help_verb(&verbs[i], &text);
        assert_non_null(strstr(buf_string(&text), verbs[i].operands));
        for (size_t j = 0; j < verbs[i].option_count; j++) {
            const struct option *option = &verbs[i].options[j];
            assert_non_null(strstr(buf_string(&text), option->name));
            assert_true(!option->alias || strstr(buf_string(&text), option->alias));
            assert_true(!option->value || strstr(buf_string(&text), option->value));
        }
    }
}

static void names_every_verb(void **state)
{
    with_buf text = buf_new(HELP_BYTES);
    help_overview(&text);
    fits(&text);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        assert_non_null(strstr(buf_string(&text), verbs[i].name));
        assert_non_null(strstr(buf_string(&text), verbs[i].summary));
    }
}

/* What people read first is looked at as it is. */
static void shows_an_option_with_its_value_and_range_of_names(void **state)
{
    with_buf text = buf_new(HELP_BYTES);
    help_verb(&verbs[VERB_RUN], &text);
    assert_non_null(strstr(buf_string(&text), "usage: berm run [options] [--] COMMAND [ARG...]\n"));
    assert_non_null(strstr(buf_string(&text),
                           "\nlimits\n  --memory 2G                 memory of all its processes "
                           "together (also\n                              --memory-mib)\n"));
    assert_non_null(strstr(buf_string(&text), "\n  --json[=FILE] "));
    assert_non_null(strstr(buf_string(&text), "120 limit, 124 time, 121 refused"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_a_terminal),
        cmocka_unit_test(shows_every_option_and_alias),
        cmocka_unit_test(names_every_verb),
        cmocka_unit_test(shows_an_option_with_its_value_and_range_of_names),
    };
    return cmocka_run_group_tests_name("berm/help", tests, NULL, NULL);
}
