#include "sandbox-test.h"

static void a_plan_can_be_read(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS("."), .host_network = true}};
    assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
    trial_plan(&trial, place);
    with_json json = sandbox_to_json(trial.sandbox);
    assert_string_equal(json_string_value(json_object_get(json, "network")), "host");
    assert_int_equal(json_array_size(json_object_get(json, "namespaces")), 5);
    assert_true(json_is_false(json_object_get(json, "verified")));
    assert_int_equal(json_integer_value(json_object_get(json, "private_inodes")), 500);
    bool writable = false;
    size_t index;
    const json_t *one;
    json_array_foreach(json_object_get(json, "mounts"), index, one) {
        assert_null(json_object_get(one, "because"));
        writable =
            writable || (strcmp(json_string_value(json_object_get(one, "path")), trial.path) == 0 &&
                         strcmp(json_string_value(json_object_get(one, "is")), "writable") == 0);
    }
    assert_true(writable);
    assert_true(json_array_size(json_object_get(json, "closures")) == 2);
    with_json explained = sandbox_explain(trial.sandbox);
    assert_true(json_array_size(json_object_get(explained, "closed_calls")) > 30);
    json_array_foreach(json_object_get(explained, "mounts"), index, one) {
        assert_non_null(json_string_value(json_object_get(one, "because")));
    }
    trial_done(&trial);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_plan_can_be_read),
    };
    return cmocka_run_group_tests_name("contain/sandbox-json", tests, NULL, NULL);
}
