#include "../unit.h"

#include "options.h"

/* The parser trusts the tables: this is what it trusts. */
static void tables_are_sound(void **state)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        const struct verb *verb = &verbs[i];
        assert_int_equal(verb->id, i);
        assert_true(verb->name && verb->operands && verb->summary);
        for (size_t j = 0; j < verb->option_count; j++) {
            const struct option *option = &verb->options[j];
            assert_true(strncmp(option->name, "--", 2) == 0 && option->help && option->group);
            assert_true(option->id < OPTION_COUNT);
            assert_true((option->kind == KIND_FLAG) == (option->value == NULL));
            assert_true(option->kind != KIND_WORD || option->words);
            bool number = option->kind == KIND_SIZE || option->kind == KIND_COUNT ||
                          option->kind == KIND_DURATION;
            assert_true(number == (option->maximum > option->minimum));
            assert_true(!(number && option->alias) || option->alias_scale >= 1);
            assert_true(!option->optional_value || number || option->kind == KIND_TEXT);
            assert_true(!option->repeatable || option->kind == KIND_TEXT);
            bool words =
                option->completion == COMPLETE_WORDS || option->completion == COMPLETE_LIST;
            assert_true(!words || option->words);
            for (size_t k = 0; k < j; k++) {
                const struct option *other = &verb->options[k];
                assert_true(other->id != option->id);
                assert_string_not_equal(other->name, option->name);
                assert_true(!other->alias || !option->alias ||
                            strcmp(other->alias, option->alias) != 0);
            }
        }
    }
}

/* IF-1: the command line's ranges are the request's. */
static void ranges_come_from_the_request(void **state)
{
    const struct option *memory = &verbs[VERB_RUN].options[0];
    assert_string_equal(memory->name, "--memory");
    assert_int_equal(memory->minimum, INT64_C(1) << 20);
    assert_int_equal(memory->maximum, INT64_C(1) << 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(ranges_come_from_the_request),
    };
    return cmocka_run_group_tests_name("berm/verbs", tests, NULL, NULL);
}
