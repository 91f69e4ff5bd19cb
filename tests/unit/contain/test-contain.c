#include "../unit.h"

#include <unistd.h>

#include "contain.h"

/* CT-1: a plain run is possible and labelled for what it is. */
static void the_portable_adapter_claims_little(void **state)
{
    struct contain contain;
    contain_choose(NULL, &contain);
    assert_string_equal(contain.adapter_id, "portable-process-group-small-only");
    assert_int_equal(guarantees_label(&contain.guarantees), CONTAINMENT_UNCONTAINED);
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        assert_true(contain.guarantees.level[i] <= LEVEL_OBSERVED);
        assert_non_null(contain.guarantees.why[i]);
    }
}

/* CT-3, R12: what is required and cannot be had is refused with guarantee, probe and remedy. */
static void every_required_guarantee_is_refused_by_name(void **state)
{
    struct contain contain;
    const struct scope_offer offer = {
        .obstacles = {{.saw = "/a/b has only 'cpu memory'", .remedy = "delegate pids"}},
        .obstacle_count = 1};
    contain_choose(&offer, &contain);
    with_checks checks = {0};
    contain_require(&contain, GUARANTEE_ALL, &checks);
    assert_int_equal(checks.count, GUARANTEE_COUNT);
    for (size_t i = 0; i < checks.count; i++) {
        assert_false(checks.list[i].ok);
        assert_non_null(strstr(checks.list[i].what, guarantee_name((enum guarantee)i)));
        assert_non_null(strstr(checks.list[i].code, guarantee_name((enum guarantee)i)));
        assert_true(checks.list[i].saw[0] != '\0');
        assert_true(checks.list[i].remedy[0] != '\0');
    }
    assert_non_null(strstr(checks.list[GUARANTEE_PIDS].saw, "/a/b has only 'cpu memory'"));
}

static void nothing_required_is_nothing_refused(void **state)
{
    struct contain contain;
    contain_choose(NULL, &contain);
    with_checks checks = {0};
    contain_require(&contain, 0, &checks);
    assert_int_equal(checks.count, 0);
}

/* CT-4: a scope alone is no more than limited; without one nothing changes. */
static void a_scope_is_as_strong_as_what_is_around_it(void **state)
{
    const struct scope_offer offer = {.adapter = SCOPE_SYSTEMD_USER};
    struct contain contain;
    contain_choose(&offer, &contain);
    assert_string_equal(contain.adapter_id, "linux-systemd-cgroup-v2");
    assert_int_equal(contain.guarantees.level[GUARANTEE_MEMORY], LEVEL_OBSERVED); /* no claim yet */
    contain_hold(false, true, &contain.guarantees);
    assert_int_equal(contain.guarantees.level[GUARANTEE_SWAP], LEVEL_LIMITED);
    assert_non_null(contain.guarantees.why[GUARANTEE_PIDS]);
    contain_hold(true, true, &contain.guarantees);
    assert_int_equal(contain.guarantees.level[GUARANTEE_MEMORY], LEVEL_ENFORCED);
    assert_null(contain.guarantees.why[GUARANTEE_DESCENDANTS]);
    assert_int_equal(guarantees_label(&contain.guarantees), CONTAINMENT_PARTIAL);
    contain_hold(true, false, &contain.guarantees); /* a kernel that swaps and cannot limit it */
    assert_int_equal(contain.guarantees.level[GUARANTEE_SWAP], LEVEL_NONE);
    assert_non_null(strstr(contain.guarantees.why[GUARANTEE_SWAP], "swapaccount=1"));
    assert_int_equal(contain.guarantees.level[GUARANTEE_MEMORY], LEVEL_ENFORCED);
}

/* CT-4: the flags of a report say what the levels say. */
static void the_flags_follow_from_the_levels(void **state)
{
    struct contain contain;
    contain_choose(NULL, &contain);
    with_json weak = contain_to_json(&contain);
    assert_true(json_is_false(json_object_get(weak, "aggregate_pids")));
    assert_int_equal(json_array_size(json_object_get(weak, "reasons")), 2);
    contain.guarantees.level[GUARANTEE_PIDS] = LEVEL_ENFORCED;
    with_json better = contain_to_json(&contain);
    assert_true(json_is_true(json_object_get(better, "aggregate_pids")));
    assert_true(json_is_false(json_object_get(better, "aggregate_memory")));
    assert_true(json_is_false(json_object_get(better, "production_enforcement")));
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        contain.guarantees.level[i] = LEVEL_ENFORCED;
    }
    with_json strong = contain_to_json(&contain);
    assert_true(json_is_true(json_object_get(strong, "production_enforcement")));
    assert_int_equal(json_array_size(json_object_get(strong, "reasons")), 0);
}

static size_t could_enforce(char *const *environment, const char *option)
{
    with_json could = contain_with_sandbox(NULL, environment);
    size_t count = json_array_size(json_object_get(could, "enforced"));
    /* Nothing, or nothing for sure, has its reason. */
    assert_true(count > 0 || json_is_string(json_object_get(could, "saw")));
    assert_string_equal(json_string_value(json_object_get(could, "option")), option);
    return count;
}

/* EN-1, EN-2: what --sandbox would add, by what is there; the rest of the world is not asked. */
static void a_sandbox_is_foreseen(void **state)
{
    char *none[] = {NULL};
    char pin[] = "BERM_BWRAP_PATH=/nowhere";
    char *half_a_pin[] = {pin, NULL};
    char sudo[] = "SUDO_UID=1000";
    char *by_sudo[] = {sudo, NULL};
    const char *option = geteuid() == 0 ? "--sandbox --user NAME" : "--sandbox";
    size_t count = could_enforce(none, option);
    assert_true(count == 0 || count == 8);
    assert_int_equal(could_enforce(half_a_pin, option), 0);
    assert_int_equal(could_enforce(by_sudo, "--sandbox"), count);
    struct contain contain;
    contain_choose(NULL, &contain);
    with_json could = contain_with_sandbox(NULL, none);
    contain.could = could;
    with_json told = contain_to_json(&contain);
    assert_true(json_equal(json_object_get(told, "with_sandbox"), could));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_portable_adapter_claims_little),
        cmocka_unit_test(every_required_guarantee_is_refused_by_name),
        cmocka_unit_test(nothing_required_is_nothing_refused),
        cmocka_unit_test(the_flags_follow_from_the_levels),
        cmocka_unit_test(a_scope_is_as_strong_as_what_is_around_it),
        cmocka_unit_test(a_sandbox_is_foreseen),
    };
    return cmocka_run_group_tests_name("contain/contain", tests, NULL, NULL);
}
