/* Whole self-tests: tests/host/t/70-self-test.py; a refused one: tests/contract/self-test.py. */
#include "state.h"

#include <sys/file.h>

/* ST-3: whatever comes afterwards, the old one is not valid any more. */
static void the_old_attestation_is_withdrawn_first(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct own_state own;
    own_state_make(place, &own);
    own.request.cgroup_parent = "/nowhere";
    with_qualify_result result = {0};
    /* This program has no fixtures beside it. */
    assert_fails(qualify_run(&own.request, &result, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "berm-fixture"));
    with_bfs_dir folder = {0};
    with_attestation left = {0};
    assert_ok(bfs_dir_open_beneath(&place->dir, "berm", &folder, &err));
    assert_int_equal(attestation_read(&folder, &left, &err), 1);
    assert_false(left.passed);
    assert_string_equal(left.refusal->code, "LAMINA_SAFE_SELF_TEST_IN_PROGRESS");
    own_state_done(&own);
}

static void two_at_once_are_one_too_many(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct own_state own;
    own_state_make(place, &own);
    with_bfs_dir reports = {0};
    with_qualify_result result = {0};
    assert_int_equal(mkdirat(place->fd, "berm", 0700), 0);
    assert_ok(bfs_dir_make_beneath(&place->dir, "berm/" ATTESTATION_REPORTS, 0700, &reports, &err));
    assert_int_equal(flock(bfs_dir_fd(&reports), LOCK_EX), 0);
    assert_fails(qualify_run(&own.request, &result, &err), ERR_CONFLICT);
    own_state_done(&own);
}

static void the_result_is_the_attestation_without_the_host(void **state)
{
    struct attestation_case *cases = memory_new(sizeof *cases);
    with_qualify_result result = {
        .path = memory_copy_string("/state/self-test.json"),
        .attestation = {.adapter = memory_copy_string("x"), .cases = {cases, 1}},
    };
    with_json json = qualify_to_json(&result);
    assert_string_equal(json_string_value(json_object_get(json, "schema")),
                        "lamina.safe-runner-self-test/v1");
    assert_int_equal(json_array_size(json_object_get(json, "cases")), 1);
    assert_null(json_object_get(json, "host"));
    assert_string_equal(json_string_value(json_object_get(json, "attestation")),
                        "/state/self-test.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(the_old_attestation_is_withdrawn_first),
        place_test(two_at_once_are_one_too_many),
        cmocka_unit_test(the_result_is_the_attestation_without_the_host),
    };
    return cmocka_run_group_tests_name("qualify/qualify", tests, NULL, NULL);
}
