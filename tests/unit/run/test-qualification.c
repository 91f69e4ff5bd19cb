/* With an adapter: tests/host/t/70-self-test.py. */
#include "../bfs/bfs-test.h"

#include "memory.h"
#include "qualification.h"

static const struct scope_offer delegated = {.adapter = SCOPE_DELEGATED, .place = "/nowhere"};

/* EN-1: nothing is made by asking. */
static void without_a_self_test_there_is_none(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_string variable = memory_format("XDG_STATE_HOME=%s", place->path);
    char *environment[] = {variable, NULL};
    with_qualification qualification = {0};
    assert_ok(qualification_read(environment, &delegated, &qualification, &err));
    assert_true(qualification.available);
    assert_false(qualification.valid);
    assert_non_null(strstr(qualification.reason, "berm self-test"));
    assert_int_equal(faccessat(place->fd, "berm", F_OK, 0), -1);
    with_json json = qualification_to_json(&qualification);
    assert_true(json_is_false(json_object_get(json, "valid")));
    assert_true(json_is_null(json_object_get(json, "value")));
}

/* ST-5 PT-1: and no host is looked at. */
static void without_an_adapter_nothing_is_computed(void **state)
{
    struct err err = {0};
    char *environment[] = {NULL};
    const struct scope_offer none = {.adapter = SCOPE_NONE};
    with_qualification qualification = {0};
    with_attestation_host host = {0};
    assert_ok(qualification_read(environment, &none, &qualification, &err));
    assert_false(qualification.available);
    assert_null(qualification.fingerprint);
    assert_string_equal(qualification.adapter, "portable-process-group-small-only");
    assert_fails(qualification_read_host(environment, &none, &host, &err), ERR_UNAVAILABLE);
}

/* A file that cannot be believed is an error, and never "none". */
static void a_broken_attestation_is_an_error(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_string variable = memory_format("XDG_STATE_HOME=%s", place->path);
    char *environment[] = {variable, NULL};
    assert_int_equal(mkdirat(place->fd, "berm", 0700), 0);
    put(place, "berm/" ATTESTATION_FILE, "{");
    assert_int_equal(fchmodat(place->fd, "berm/" ATTESTATION_FILE, 0600, 0), 0);
    with_qualification qualification = {0};
    assert_fails(qualification_read(environment, &delegated, &qualification, &err), ERR_CORRUPT);
    assert_false(qualification.valid);
    assert_non_null(strstr(qualification.reason, ATTESTATION_FILE));
}

static void fixtures_that_are_not_there_are_named(void **state)
{
    struct err err = {0};
    assert_null(qualification_fixture(&err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "berm-fixture"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(without_a_self_test_there_is_none),
        cmocka_unit_test(without_an_adapter_nothing_is_computed),
        place_test(a_broken_attestation_is_an_error),
        cmocka_unit_test(fixtures_that_are_not_there_are_named),
    };
    return cmocka_run_group_tests_name("run/qualification", tests, NULL, NULL);
}
