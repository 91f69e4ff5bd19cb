#include "../unit.h"

#include "qualify-priv.h"

/* ST-1: in all, with what stands in the leaf besides the payload. */
static void every_case_is_tiny(void **state)
{
    for (int id = 0; id < CASE_COUNT; id++) {
        const struct qualify_case *row = &qualify_cases[id];
        int64_t most = id == CASE_SPAWNING ? 24 : 32;
        assert_non_null(row->run);
        assert_non_null(row->outcome);
        assert_true(row->run == qualify_stale_record || row->tasks + 2 <= most);
        assert_true(row->memory_bytes <= INT64_C(192) << 20);
        assert_true(row->timeout_ms <= 10000);
        assert_true(row->output_bytes <= 256 << 10);
        assert_true(row->temporary_bytes <= 4 << 20);
        assert_true((row->mode != NULL) == (row->run != qualify_stale_record));
    }
}

/* ST-2: each stops at what it is about, and at nothing else. */
static void every_case_stops_at_its_own_limit(void **state)
{
    static const char *const limits[CASE_COUNT] = {
        [CASE_DIRECT_MEMORY] = "memory",
        [CASE_CHILD_MEMORY] = "memory",
        [CASE_IGNORED_TERM] = "timeout",
        [CASE_TIMEOUT] = "timeout",
        [CASE_SPAWNING] = "pids",
        [CASE_FLOOD] = "output",
        [CASE_DETACHED] = "detached_descendant",
        [CASE_TEMPORARY] = "temporary_disk",
        [CASE_PARENT_SIGNAL] = "signal",
    };
    for (int id = 0; id < CASE_COUNT; id++) {
        const char *limit = qualify_cases[id].limit;
        assert_true((limit == NULL) == (limits[id] == NULL));
        if (limit) {
            assert_string_equal(limit, limits[id]);
        }
    }
    assert_string_equal(qualify_cases[CASE_IGNORED_TERM].signal, "SIGKILL");
    assert_true(qualify_cases[CASE_CHILD_MEMORY].spares_pids);
}

static bool look_at(const char *line)
{
    with_json report = json_pack("{s:{s:s}}", "output", "stdout_tail", line);
    with_json evidence = json_object();
    bool is_so = qualify_cases[CASE_NORMAL].look(report, evidence);
    assert_int_equal(json_is_true(json_object_get(evidence, "scope_escape_refused")), is_so);
    return is_so;
}

/* ST-2: what the fixture says of its escape is read, and only its own word for it counts. */
static void an_escape_must_say_that_it_was_refused(void **state)
{
    assert_true(look_at("{\"scope_escape_refused\": true, \"sockets_reached\": []}\n"));
    assert_false(look_at("{\"scope_escape_refused\": false}\n"));
    assert_false(look_at("{\"scope_escape_refused\": 1}\n"));
    assert_false(look_at("{\"scope_escape_refused\": true"));
    assert_false(look_at(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_tiny),
        cmocka_unit_test(every_case_stops_at_its_own_limit),
        cmocka_unit_test(an_escape_must_say_that_it_was_refused),
    };
    return cmocka_run_group_tests_name("qualify/cases", tests, NULL, NULL);
}
