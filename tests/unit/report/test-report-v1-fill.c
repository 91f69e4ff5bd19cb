#include "../unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "facts.h"

/* RP-1: what the report says of a run. */

static json_t *report_of(const struct report_facts *facts)
{
    struct err err = {0};
    with_json record = report_build(facts, &err);
    if (!record) {
        fail_msg("%s", err.msg);
    }
    return json_incref(json_object_get(record, "report"));
}

static const json_t *at(const json_t *json, const char *path)
{
    char name[64];
    while (*path) {
        size_t n = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        json = json_is_array(json) ? json_array_get(json, (size_t)strtoul(name, NULL, 10))
                                   : json_object_get(json, name);
        path += n + (path[n] == '.');
    }
    return json;
}

static void int_is(const json_t *report, const char *path, json_int_t wanted)
{
    if (!json_is_integer(at(report, path)) || json_integer_value(at(report, path)) != wanted) {
        fail_msg("%s is %lld", path, (long long)json_integer_value(at(report, path)));
    }
}

static void text_is(const json_t *report, const char *path, const char *wanted)
{
    assert_true(json_is_string(at(report, path)));
    assert_string_equal(json_string_value(at(report, path)), wanted);
}

static void a_plain_run(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    with_json envelope =
        json_pack("{s:s, s:i}", "inspected_at", "2026-11-29T16:00:00.000Z", "x", 1);
    facts.checks = &checks;
    facts.ending = ending;
    facts.envelope = envelope;
    facts.report_file = "/tmp/r.json";
    with_json report = report_of(&facts);
    text_is(report, "run_id", "k7f3aa");
    text_is(report, "report_file", "/tmp/r.json");
    text_is(report, "outcome", "success");
    assert_true(json_is_null(at(report, "tier")));
    text_is(report, "command.0", "sleep");
    text_is(report, "started_at", "2025-11-29T16:00:00.000Z");
    text_is(report, "finished_at", "2025-11-29T16:00:00.600Z");
    int_is(report, "duration_ms", 600);
    text_is(report, "adapter.id", "portable-process-group-small-only");
    assert_true(json_is_true(at(report, "preflight.ok")));
    assert_true(json_is_null(at(report, "preflight.tier")));
    text_is(report, "preflight.mode", "plain");
    text_is(report, "preflight.cwd", "/home/user");
    text_is(report, "preflight.inspected_at", "2026-11-29T16:00:00.000Z");
    int_is(report, "preflight.envelope.x", 1);
    assert_int_equal(json_array_size(at(report, "preflight.reasons")), 0);
    assert_int_equal(json_array_size(at(report, "preflight.checks")), 1);
    assert_true(json_is_null(at(report, "error")));
    int_is(report, "termination.child_exit_code", 0);
    assert_true(json_is_null(at(report, "termination.child_signal")));
    assert_int_equal(json_object_size(at(report, "termination.cgroup_events")), 0);
}

/* SB-8, FS-7 */
static void links_of_declared_work_are_told_before_all_else(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    with_json without = report_of(&facts);
    assert_null(at(without, "preflight.temporary_limit_diagnostic"));
    ending->links = (struct sandbox_links){
        .count = 17, .told = 2, .paths = {"tmp/a\xff\n", "dev/shm/b"}, .where = "not this"};
    with_json found = report_of(&facts);
    const json_t *told = at(found, "preflight.temporary_limit_diagnostic");
    int_is(told, "symlinks", 17);
    assert_int_equal(json_array_size(at(told, "paths")), 2);
    text_is(told, "paths.0", "tmp/a\\xff\\n");
    text_is(told, "paths.1", "dev/shm/b");
    assert_true(json_is_null(at(told, "obstacle")));
    assert_true(json_is_null(at(told, "obstacle_path")));
    assert_true(json_is_null(at(told, "obstacle_errno")));
    ending->links = (struct sandbox_links){.why = "why", .sys = EACCES, .where = "tmp/\x01"};
    with_json unknown = report_of(&facts);
    told = at(unknown, "preflight.temporary_limit_diagnostic");
    int_is(told, "symlinks", 0);
    text_is(told, "obstacle", "why");
    text_is(told, "obstacle_path", "tmp/\\x01");
    text_is(told, "obstacle_errno", "EACCES");
    ending->links = (struct sandbox_links){.why = "too many", .limit = 7, .unit = "entries"};
    with_json over = report_of(&facts);
    text_is(over, "preflight.temporary_limit_diagnostic.obstacle", "too many, at most 7 entries");
}

static void limits_by_their_published_names(void **state)
{
    struct report_facts facts = make_facts();
    with_json report = report_of(&facts);
    int_is(report, "limits.memory_max_bytes", 1 << 30);
    int_is(report, "limits.pids_max", 1024);
    assert_true(json_is_null(at(report, "limits.timeout_ms"))); /* none */
    int_is(report, "limits.stdout_tail_max_bytes", 8192);
    int_is(report, "limits.stderr_tail_max_bytes", 8192);
    static const char *const names[] = {"memory_max_bytes",
                                        "memory_high_bytes",
                                        "memory_page_bytes",
                                        "os_reserve_bytes",
                                        "pids_max",
                                        "timeout_ms",
                                        "output_max_bytes",
                                        "temporary_max_bytes",
                                        "temporary_max_inodes",
                                        "minimum_free_disk_bytes",
                                        "sample_interval_ms",
                                        "sustained_high_samples",
                                        "graceful_stop_ms",
                                        "concurrency"};
    for (size_t i = 0; i < countof(names); i++) {
        assert_non_null(json_object_get(at(report, "limits"), names[i]));
    }
    assert_int_equal(json_object_size(at(report, "limits")), countof(names) + 2);
}

/* An argument is whole or not there: half of one could be half of a secret. */
static void a_long_command(void **state)
{
    with_string large = memory_new(REPORT_COMMAND_BYTES + 2);
    memset(large, 'x', REPORT_COMMAND_BYTES + 1);
    char tool[] = "tool";
    char flag[] = "-v";
    char *const command[] = {tool, large, flag, NULL};
    struct report_facts facts = make_facts();
    facts.command = command;
    with_json report = report_of(&facts);
    assert_int_equal(json_array_size(at(report, "command")), 2);
    text_is(report, "command.0", "tool");
    text_is(report, "command.1", "[2 more of 65539 bytes]");
    large[REPORT_COMMAND_BYTES - 4] = '\0'; /* exactly all that there is room for */
    with_json full = report_of(&facts);
    assert_int_equal(json_array_size(at(full, "command")), 3);
    text_is(full, "command.2", "[1 more of 2 bytes]");
}

static void samples_and_peaks(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->sample_count = 2;
    ending->samples[1] =
        (struct supervise_sample){20, 9000, 8, 2, 4096, 3, 0}; /* above its peaks */
    ending->seen[LIMIT_TEMPORARY] = 8192;
    ending->seen[LIMIT_TEMPORARY_FILES] = 2;
    with_json report = report_of(&facts);
    assert_int_equal(json_array_size(at(report, "samples")), 2);
    int_is(report, "samples.0.elapsed_ms", 10);
    int_is(report, "samples.1.aggregate_rss_bytes", 9000);
    int_is(report, "samples.1.pids", 8);
    int_is(report, "samples.1.cgroup_memory_bytes", 0);
    int_is(report, "peaks.aggregate_rss_bytes", 9000);
    int_is(report, "peaks.pids", 8);
    int_is(report, "samples.0.temporary_bytes", 0);
    int_is(report, "samples.1.temporary_bytes", 4096);
    int_is(report, "samples.1.temporary_inodes", 3);
    int_is(report, "peaks.temporary_bytes", 8192);
    int_is(report, "peaks.temporary_inodes", 3);
    ending->largest_rss_bytes = 10000;
    with_json other = report_of(&facts);
    int_is(other, "peaks.aggregate_rss_bytes", 10000);

    /* No look fell into its life: the one that is certain. */
    ending->sample_count = 0;
    with_json brief = report_of(&facts);
    assert_int_equal(json_array_size(at(brief, "samples")), 1);
    int_is(brief, "samples.0.elapsed_ms", 502);
    int_is(brief, "samples.0.pids", 0);
    ending->tree_empty = NULL; /* and nothing is certain */
    with_json unproved = report_of(&facts);
    assert_int_equal(json_array_size(at(unproved, "samples")), 0);
}

/* EV-4, EV-5: by pid, and no command line. */
static void descendants(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    ending->descendant_count = 3;
    ending->descendants[0] =
        (struct supervise_descendant){.pid = 30, .parent = 1, .start_ticks = 9};
    ending->descendants[1] = (struct supervise_descendant){.pid = 20,
                                                           .parent = 10,
                                                           .start_ticks = 8,
                                                           .first_seen_ms = 1,
                                                           .last_seen_ms = 2,
                                                           .peak_rss_bytes = 3,
                                                           .peak_threads = 4};
    ending->descendants[2] = (struct supervise_descendant){.pid = 30, .start_ticks = 5};
    with_json report = report_of(&facts);
    int_is(report, "descendants.0.pid", 20);
    int_is(report, "descendants.0.ppid", 10);
    text_is(report, "descendants.0.start_ticks", "8");
    int_is(report, "descendants.0.first_seen_ms", 1);
    int_is(report, "descendants.0.last_seen_ms", 2);
    int_is(report, "descendants.0.peak_rss_bytes", 3);
    int_is(report, "descendants.0.peak_threads", 4);
    assert_int_equal(json_object_size(at(report, "descendants.0")), 7);
    text_is(report, "descendants.1.start_ticks", "5");
    text_is(report, "descendants.2.start_ticks", "9");
}

static void put_tail(struct supervise_stream *stream, const char *text, int64_t before)
{
    size_t n = strlen(text);
    memcpy(stream->tail, text, n);
    stream->tail_length = (uint32_t)n;
    stream->tail_start = before;
    stream->bytes = before + (int64_t)n;
}

static void output(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    put_tail(&ending->stream[STREAM_STDOUT], "hello\n", 0);
    put_tail(&ending->stream[STREAM_STDERR], "TOKEN=abc\n", 0);
    with_json report = report_of(&facts);
    int_is(report, "output.stdout_bytes", 6);
    int_is(report, "output.stderr_bytes", 10);
    int_is(report, "output.total_bytes", 16);
    text_is(report, "output.stdout_tail", "hello\n");
    text_is(report, "output.stderr_tail", "TOKEN=[REDACTED]\n");
    assert_true(json_is_false(at(report, "output.truncated")));
    put_tail(&ending->stream[STREAM_STDOUT], "cut\nhello\n", 20000);
    with_json long_one = report_of(&facts);
    text_is(long_one, "output.stdout_tail", "hello\n");
    int_is(long_one, "output.stdout_bytes", 20010);
    assert_true(json_is_true(at(long_one, "output.truncated")));
}

/* TR-7: limits says how much may stand there, and no more does. */
static void a_result_has_a_longer_tail(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    facts.tail_bytes[STREAM_STDOUT] = TAIL_STRUCTURED_BYTES;
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct supervise_stream *stream = &ending->stream[i];
        stream->tail_length = TAIL_STRUCTURED_BYTES + TAIL_MARGIN_BYTES;
        memset(stream->tail, 'x', stream->tail_length);
        stream->tail[5] = '\n';
        stream->tail_start = 1;
        stream->bytes = 1 + stream->tail_length;
    }
    with_json report = report_of(&facts);
    int_is(report, "limits.stdout_tail_max_bytes", 1048576);
    int_is(report, "limits.stderr_tail_max_bytes", 8192);
    assert_int_equal(json_string_length(at(report, "output.stdout_tail")), 1048576);
    assert_int_equal(json_string_length(at(report, "output.stderr_tail")), 8192);
    assert_true(json_is_true(at(report, "output.truncated")));
}

static void termination(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_LIMIT;
    ending->limit = LIMIT_TIMEOUT;
    ending->exit_signal = SIGKILL;
    ending->stop_signals[0] = SIGTERM;
    ending->stop_signals[1] = SIGCONT;
    ending->stop_signals[2] = SIGKILL;
    ending->stop_signal_count = 3;
    with_json report = report_of(&facts);
    text_is(report, "termination.reason", "safety_limit_exceeded");
    text_is(report, "termination.limit", "timeout");
    text_is(report, "termination.requested_signals.0", "SIGTERM");
    text_is(report, "termination.requested_signals.2", "SIGKILL");
    int_is(report, "termination.child_exit_code", 137);
    text_is(report, "termination.child_signal", "SIGKILL");
    ending->exited_ns = 0; /* the end of the first process was never seen */
    ending->exit_signal = 0;
    with_json unseen = report_of(&facts);
    assert_true(json_is_null(at(unseen, "termination.child_exit_code")));
    text_is(unseen, "error.code", "LAMINA_SAFE_LIMIT_EXCEEDED");
}

/* WD-5: the watchdog's kill ended a payload that ran; of one that had ended, or that may have, nothing is claimed. */
static void how_a_payload_ended_whose_berm_died(void **state)
{
    static const struct {
        enum report_crash crash;
        bool requested, signalled;
    } rows[] = {{CRASH_BEFORE_PAYLOAD, true, false},
                {CRASH_IN_PAYLOAD, true, true},
                {CRASH_AFTER_PAYLOAD, false, false},
                {CRASH_LEFT, true, false}};
    with_checks checks = {0};
    checks_add_take(&checks, CHECK_CWD, true, memory_copy_string(""), memory_copy_string(""),
                    memory_copy_string(""));
    for (size_t i = 0; i < countof(rows); i++) {
        struct report_facts facts = make_facts();
        facts.checks = &checks;
        facts.crash = rows[i].crash;
        with_json report = report_of(&facts);
        assert_int_equal(json_array_size(at(report, "termination.requested_signals")),
                         rows[i].requested);
        assert_int_equal(json_is_string(at(report, "termination.child_signal")), rows[i].signalled);
        assert_true(json_is_null(at(report, "termination.child_exit_code")));
    }
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    facts.crash = CRASH_AFTER_PAYLOAD;
    with_json known = report_of(&facts);
    int_is(known, "termination.child_exit_code", 0);
}

static void what_was_left(void **state)
{
    struct report_facts facts = make_facts();
    with_json nothing = report_of(&facts);
    assert_true(json_is_false(at(nothing, "cleanup.attempted")));
    assert_true(json_is_null(at(nothing, "cleanup.scope_removed")));
    assert_true(json_is_null(at(nothing, "cleanup.temporary_directory_removed")));
    assert_true(json_is_null(at(nothing, "preflight")));

    with_made_ending ending = make_ending();
    facts.ending = ending;
    with_json proved = report_of(&facts);
    assert_true(json_is_true(at(proved, "cleanup.attempted")));
    assert_true(json_is_true(at(proved, "cleanup.scope_removed")));
    assert_true(json_is_true(at(proved, "cleanup.temporary_directory_removed")));
    assert_true(json_is_null(at(proved, "cleanup.lock_released")));
    assert_null(at(proved, "cleanup.oracle_quota_abort"));

    ending->tree_empty = NULL;
    with_json unproved = report_of(&facts);
    assert_true(json_is_false(at(unproved, "cleanup.scope_removed")));
    assert_int_equal(json_array_size(at(unproved, "cleanup.errors")), 1);

    add_survivor(ending, 77, EPERM, "sudo");
    with_json left = report_of(&facts);
    int_is(left, "cleanup.descendants_remaining.0", 77);
    text_is(left, "cleanup.errors.0", "pid 77 (sudo): EPERM");

    struct err failure = {0};
    err_set(&failure, ERR_CONFLICT, "it belongs to another run");
    facts.failure = &failure;
    facts.fallback = true;
    with_json fallback = report_of(&facts);
    assert_int_equal(json_array_size(at(fallback, "cleanup.errors")), 2);
}

/* A refusal takes the yes of the checks back, and names every reason. */
static void refusals(void **state)
{
    with_checks checks = {0};
    add_check(&checks, false);
    add_check(&checks, true);
    add_check(&checks, false);
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    with_json refused = report_of(&facts);
    assert_true(json_is_false(at(refused, "preflight.ok")));
    assert_int_equal(json_array_size(at(refused, "preflight.reasons")), 2);
    assert_int_equal(json_array_size(at(refused, "preflight.checks")), 3);

    with_checks passed = {0};
    add_check(&passed, true);
    facts.checks = &passed;
    struct err failure = {0};
    err_set(&failure, ERR_CHANGED, "'/bin/x' is another file");
    facts.failure = &failure;
    with_json late = report_of(&facts);
    assert_true(json_is_false(at(late, "preflight.ok")));
    text_is(late, "preflight.reasons.0", "'/bin/x' is another file");
    text_is(late, "error.message", "'/bin/x' is another file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_run),
        cmocka_unit_test(links_of_declared_work_are_told_before_all_else),
        cmocka_unit_test(limits_by_their_published_names),
        cmocka_unit_test(a_long_command),
        cmocka_unit_test(samples_and_peaks),
        cmocka_unit_test(descendants),
        cmocka_unit_test(output),
        cmocka_unit_test(a_result_has_a_longer_tail),
        cmocka_unit_test(termination),
        cmocka_unit_test(how_a_payload_ended_whose_berm_died),
        cmocka_unit_test(what_was_left),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("report/report-v1-fill", tests, NULL, NULL);
}
