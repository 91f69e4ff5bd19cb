#include "../unit.h"

#include "run-priv.h"

/* R42, EV-3: everything that would hold is told, nothing is run, and no value of a variable shows. */
static void tells_everything_and_runs_nothing(void **state)
{
    char *const argv[] = {(char[]){"/bin/sh"},    (char[]){"-c"},      (char[]){"exit 9"},
                          (char[]){"--password"}, (char[]){"hunter2"}, NULL};
    char *const environment[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"LD_PRELOAD=evil.so"},
                                 (char[]){"MY_TOKEN=abc123"}, NULL};
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    struct err err = {0};
    with_json json = run_explain(&request, &err);
    assert_non_null(json);
    assert_true(json_is_true(json_object_get(json, "would_run")));
    assert_int_equal(json_array_size(json_object_get(json, "limits")), 9);
    const json_t *held = json_object_get(json_object_get(json, "environment"), "held_back");
    assert_int_equal(json_array_size(held), 2);
    with_buf text = buf_new(1 << 20);
    assert_int_equal(json_write(json, JSON_CANONICAL, &text, &err), 0);
    assert_null(strstr(buf_string(&text), "hunter2"));
    assert_null(strstr(buf_string(&text), "abc123"));
    assert_null(strstr(buf_string(&text), "evil.so"));
    assert_non_null(strstr(buf_string(&text), "LD_PRELOAD"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_everything_and_runs_nothing)};
    return cmocka_run_group_tests_name("run/explain", tests, NULL, NULL);
}
