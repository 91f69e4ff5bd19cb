#include "../unit.h"

#include "guarantee.h"
#include "project.h"

static const struct form_field *find(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->field_count; i++) {
        if (strcmp(form->fields[i].name, name) == 0) {
            return &form->fields[i];
        }
    }
    fail_msg("no key %s", name);
    return NULL;
}

/* CT-2: what a project can require is what containment can promise, by the same names. */
static void every_guarantee_can_be_required(void **state)
{
    const char *const *words = find(&project_form, "require")->words;
    assert_string_equal(words[0], "managed");
    size_t count = 0;
    for (; words[count]; count++) {
        uint32_t set = 0;
        struct err err = {0};
        assert_int_equal(guarantee_parse_set(words[count], &set, &err), 0);
    }
    assert_int_equal(count, 1 + GUARANTEE_COUNT);
}

/* SI-3: no declaration raises the ceilings of sealed inputs. */
static void ceilings_of_sealed_inputs(void **state)
{
    const struct form *sealed = find(find(&project_form, "entrypoint")->part, "sealed")->part;
    const struct form_field *max_mib = find(sealed, "max_mib");
    assert_int_equal(max_mib->maximum, 256);
    assert_int_equal(max_mib->otherwise, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_guarantee_can_be_required),
        cmocka_unit_test(ceilings_of_sealed_inputs),
    };
    return cmocka_run_group_tests_name("preflight/project-form", tests, NULL, NULL);
}
