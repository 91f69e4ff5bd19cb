#include "binding-test.h"

#include "environment.h"

static const char *string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* EX-1: everything that it promises to hold */
static void a_binding_is_recorded_whole(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put_program(place, "real", "#!/usr/bin/env sh\n");
    assert_int_equal(symlinkat("real", place->fd, "alias"), 0);
    struct binding_request request =
        request_for(place, WORDS("./alias", "x"), WORDS("PATH=/usr/bin"));
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    with_json record = binding_to_json(binding);
    char expected[128];
    assert_string_equal(string(record, "requested_name"), "./alias");
    snprintf(expected, sizeof expected, "%s/alias", place->path);
    assert_string_equal(string(record, "invocation_path"), expected);
    snprintf(expected, sizeof expected, "%s/real", place->path);
    assert_string_equal(string(record, "canonical_target"), expected);
    assert_string_equal(string(record, "origin"), "explicit_path");
    assert_true(json_is_null(json_object_get(record, "matched_path_entry")));
    const json_t *decision = json_object_get(record, "policy_decision");
    assert_string_equal(string(decision, "policy"), "trusted_host_tool");
    assert_true(json_is_true(json_object_get(decision, "allowed")));
    assert_true(json_is_null(json_object_get(decision, "matched_root")));
    assert_non_null(string(decision, "reason"));
    assert_true(json_is_array(json_object_get(decision, "weaknesses")));
    const json_t *identity = json_object_get(record, "identity");
    const char *numbers[] = {"device", "inode",      "mode",     "owner",
                             "group",  "size_bytes", "mtime_ns", "ctime_ns"};
    for (size_t i = 0; i < countof(numbers); i++) {
        assert_true(json_is_integer(json_object_get(identity, numbers[i])));
    }
    assert_int_equal(json_integer_value(json_object_get(identity, "size_bytes")), 18);
    assert_string_equal(string(identity, "sha256"), binding->files[0].identity.sha256);

    const json_t *interpreters = json_object_get(record, "interpreters");
    assert_int_equal(json_array_size(interpreters), 1);
    const json_t *shell = json_array_get(interpreters, 0);
    assert_string_equal(string(shell, "requested_name"),
                        "sh"); /* and not env, which only found it */
    assert_string_equal(string(shell, "origin"), "path_search");
    assert_string_equal(string(shell, "matched_path_entry"), "/usr/bin");
    assert_string_equal(string(shell, "invocation_path"), "/usr/bin/sh");
    assert_int_equal(strlen(string(json_object_get(shell, "identity"), "sha256")), 64);
}

static void names_that_are_no_utf8_can_be_recorded(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    copy_program(place, "/bin/true", "a\xff\n");
    struct binding_request request = request_for(place, WORDS("./a\xff\n"), WORDS("PATH=/bin"));
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    with_json record = binding_to_json(binding);
    assert_string_equal(string(record, "requested_name"), "./a\xEF\xBF\xBD\n");
    with_buf out = buf_new(10000);
    assert_ok(json_write(record, JSON_CANONICAL, &out, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_binding_is_recorded_whole),
        place_test(names_that_are_no_utf8_can_be_recorded),
    };
    return cmocka_run_group_tests_name("binding/record", tests, NULL, NULL);
}
