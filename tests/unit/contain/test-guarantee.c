#include "../unit.h"

#include "guarantee.h"

static void parses_names_and_managed(void **state)
{
    uint32_t set = 0;
    struct err err = {0};
    assert_int_equal(guarantee_parse_set("network,memory", &set, &err), 0);
    assert_int_equal(set, 1u << GUARANTEE_NETWORK | 1u << GUARANTEE_MEMORY);
    assert_int_equal(guarantee_parse_set("managed", &set, &err), 0);
    assert_int_equal(set, GUARANTEE_ALL);
    const char *const bad[] = {"", "net", "memory,", ",memory", "memory,,pids", "Memory"};
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(guarantee_parse_set(bad[i], &set, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.msg, "control-sockets")); /* the known ones are listed */
    }
}

/* CT-1, CT-4: the label says what holds and nothing more. */
static void labels_follow_from_levels(void **state)
{
    struct guarantees held = {0};
    assert_int_equal(guarantees_label(&held), CONTAINMENT_UNCONTAINED);
    held.level[GUARANTEE_MEMORY] = LEVEL_OBSERVED;
    assert_int_equal(guarantees_label(&held), CONTAINMENT_UNCONTAINED);
    held.level[GUARANTEE_MEMORY] = LEVEL_LIMITED;
    assert_int_equal(guarantees_label(&held), CONTAINMENT_PARTIAL);
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        held.level[i] = LEVEL_ENFORCED;
    }
    assert_int_equal(guarantees_label(&held), CONTAINMENT_MANAGED);
    held.level[GUARANTEE_SWAP] = LEVEL_LIMITED;
    assert_int_equal(guarantees_label(&held), CONTAINMENT_PARTIAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_names_and_managed),
        cmocka_unit_test(labels_follow_from_levels),
    };
    return cmocka_run_group_tests_name("contain/guarantee", tests, NULL, NULL);
}
