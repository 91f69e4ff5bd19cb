#include "../unit.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts.h"
#include "owner-priv.h"

/* What berm's own record says of a run beyond its report. */

static int owner_reads;

void __real_owner_read_self(struct owner *ret_owner);
void __wrap_owner_read_self(struct owner *ret_owner);
void __wrap_owner_read_self(struct owner *ret_owner)
{
    owner_reads++;
    __real_owner_read_self(ret_owner);
}

static json_t *record_of(const struct report_facts *facts)
{
    struct err err = {0};
    json_t *record = report_build(facts, &err);
    if (!record) {
        fail_msg("%s", err.msg);
    }
    return record;
}

static void is(const json_t *record, const char *member, const char *wanted)
{
    const json_t *value = json_object_get(record, member);
    assert_non_null(value);
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(value, JSON_CANONICAL, &text, NULL), 0);
    assert_string_equal(buf_string(&text), wanted);
}

static void who_and_when(void **state)
{
    struct report_facts facts = make_facts();
    facts.label = "nightly";
    facts.scope = "build:main";
    facts.places_ns = 11;
    facts.prepare_ns = 12;
    facts.in_progress = true;
    with_json record = record_of(&facts);
    is(record, "schema", "\"berm.run/v1\"");
    is(record, "run_id", "\"k7f3aa\"");
    is(record, "label", "\"nightly\"");
    is(record, "scope", "\"build:main\"");
    is(record, "in_progress", "true");
    is(record, "started_at", "\"2025-11-29T16:00:00.000Z\"");
    const json_t *controller = json_object_get(record, "controller");
    assert_int_equal(json_integer_value(json_object_get(controller, "pid")), getpid());
    is(record, "timing",
       "{\"duration_ns\":600000000,\"own_ns\":100000000,\"payload_wall_ns\":null,\"places_ns\":11,"
       "\"prepare_ns\":12,\"sandbox\":null,\"setup_ns\":null,\"stop_ns\":null,\"suspended_ns\":"
       "null}");
    is(record, "cpu", "null");
    is(record, "memory", "null");
    is(record, "tasks", "null");
    is(record, "output", "null");
    is(record, "environment", "null");
    is(record, "executable", "null");
    is(record, "containment", "\"uncontained\"");
    is(record, "exit", "{\"code\":125,\"signal\":null}");
}

/* It stays the same process: that is asked for once, and again by a child. */
static void whose_it_is_is_read_once(void **state)
{
    const struct report_facts facts = make_facts();
    json_decref(record_of(&facts));
    json_decref(record_of(&facts));
    assert_int_equal(owner_reads, 1);
    pid_t pid = fork();
    if (pid == 0) {
        with_json record = record_of(&facts);
        const json_t *controller = json_object_get(record, "controller");
        _exit(json_integer_value(json_object_get(controller, "pid")) != getpid());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void where_the_time_went(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    ending->suspended_ns = -5; /* two clocks read one after the other */
    with_json record = record_of(&facts);
    is(record, "timing",
       "{\"duration_ns\":600000000,\"own_ns\":100000000,\"payload_wall_ns\":500000000,"
       "\"places_ns\":0,\"prepare_ns\":0,\"sandbox\":null,\"setup_ns\":1000000,\"stop_ns\":1000000,"
       "\"suspended_ns\":0}");
    is(record, "cpu", "{\"system_ns\":0,\"user_ns\":7}");
    is(record, "memory",
       "{\"host_available_low_bytes\":null,\"largest_process_rss_bytes\":5000,"
       "\"peak_tree_rss_bytes\":6000}");
    is(record, "tasks", "{\"peak_processes\":2,\"peak_tasks\":3,\"stragglers\":0}");
}

/* R42: every limit with its value, what met it, and where it came from. */
static void limits(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    ending->seen[LIMIT_TIMEOUT] = -1;
    with_json record = record_of(&facts);
    is(record, "limits",
       "[{\"name\":\"memory\",\"seen\":6000,\"source\":\"--memory\",\"unit\":\"bytes\","
       "\"value\":1073741824},{\"name\":\"tasks\",\"seen\":3,\"source\":\"default\","
       "\"unit\":\"count\",\"value\":1024},{\"name\":\"timeout\",\"seen\":null,"
       "\"source\":\"default\",\"unit\":\"ms\",\"value\":null}]");
}

static void streams(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    facts.kept_stdout = "/state/k7f3aa.stdout";
    ending->stream[STREAM_STDOUT].bytes = 100;
    ending->stream[STREAM_STDOUT].passed_bytes = 60;
    ending->stream[STREAM_STDOUT].kept_bytes = 80;
    ending->stream[STREAM_STDOUT].pass_error = EPIPE;
    ending->stream[STREAM_STDERR].held_open = true;
    with_json record = record_of(&facts);
    is(record, "output",
       "{\"stderr\":{\"bytes\":0,\"held_open\":true,\"kept_bytes\":0,\"kept_file\":null,"
       "\"pass_error\":null,\"passed_bytes\":0},\"stdout\":{\"bytes\":100,\"held_open\":false,"
       "\"kept_bytes\":80,\"kept_file\":\"/state/k7f3aa.stdout\",\"pass_error\":\"EPIPE\","
       "\"passed_bytes\":60}}");
}

/* EV-1, EV-3: names of what was passed, names and reasons of what was not, no value of either. */
static void variables(void **state)
{
    char path[] = "PATH=/usr/bin";
    char preload[] = "LD_PRELOAD=/evil.so";
    char token[] = "GITHUB_TOKEN=abc";
    char other[] = "SOMETHING=else";
    char *const inherited[] = {path, preload, token, other, NULL};
    const struct environment_request request = {.inherited = inherited};
    struct err err = {0};
    with_environment environment = {0};
    assert_int_equal(environment_build(&request, &environment, &err), 0);
    struct report_facts facts = make_facts();
    facts.environment = &environment;
    with_json record = record_of(&facts);
    const json_t *made = json_object_get(record, "environment");
    is(made, "passed", "[\"PATH\"]");
    const json_t *held = json_object_get(made, "held_back");
    assert_int_equal(json_array_size(held), 3);
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(made, JSON_CANONICAL, &text, NULL), 0);
    assert_non_null(strstr(buf_string(&text), "{\"name\":\"LD_PRELOAD\",\"reason\":\"refused\"}"));
    assert_null(strstr(buf_string(&text), "evil"));
    assert_null(strstr(buf_string(&text), "abc"));
    assert_null(strstr(buf_string(&text), "else"));
}

/* A record with everything in it that there can be fits into what a slot sets aside (D7). */
static void everything_at_once(void **state)
{
    struct strvec words = {0};
    for (int i = 0; i < 3000; i++) {
        strvec_push_format(&words, "--argument-%d=%s", i, "a value that is neither short nor long");
    }
    struct strvec variables = {0};
    for (int i = 0; i < 3000; i++) {
        strvec_push_format(&variables, "%s_%d=x", i % 2 ? "LC" : "SOME_VARIABLE_NAMED", i);
    }
    const struct environment_request request = {.inherited = strvec_argv(&variables)};
    struct err err = {0};
    with_environment environment = {0};
    assert_int_equal(environment_build(&request, &environment, &err), 0);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    facts.command = strvec_argv(&words);
    facts.environment = &environment;
    ending->sample_count = SAMPLE_COUNT;
    ending->descendant_count = DESCENDANT_COUNT;
    for (int i = 0; i < DESCENDANT_COUNT; i++) {
        ending->descendants[i] = (struct supervise_descendant){.pid = 4194303,
                                                               .parent = 4194302,
                                                               .start_ticks = UINT64_C(99999999999),
                                                               .first_seen_ms = INT64_C(9999999999),
                                                               .last_seen_ms = INT64_C(9999999999),
                                                               .peak_rss_bytes = INT64_C(1) << 40,
                                                               .peak_pss_bytes = INT64_C(1) << 40,
                                                               .peak_threads = 9999,
                                                               .peak_fds = 99999,
                                                               .cpu_user_ms = INT64_C(9999999999),
                                                               .cpu_system_ms = INT64_C(9999999999),
                                                               .read_bytes = INT64_C(1) << 40,
                                                               .written_bytes = INT64_C(1) << 40,
                                                               .missed = 15};
    }
    for (int i = 0; i < STREAM_COUNT; i++) {
        ending->stream[i].tail_length = TAIL_BYTES + TAIL_MARGIN_BYTES;
        memset(ending->stream[i].tail, 1,
               ending->stream[i].tail_length); /* six bytes each in JSON */
    }
    ending->daemon_count = DAEMON_COUNT;
    for (int i = 0; i < DAEMON_COUNT; i++) {
        struct supervise_daemon *daemon = &ending->daemons[i];
        *daemon = (struct supervise_daemon){.name = "graphd",
                                            .state = DAEMON_SEALED,
                                            .pid = 4194303,
                                            .command_bytes = DAEMON_COMMAND_BYTES - 1,
                                            .socket.inode = UINT32_MAX,
                                            .lock.inode = UINT32_MAX};
        memset(daemon->command, '\x1b', DAEMON_COMMAND_BYTES - 1);
        memset(daemon->cwd, '\x1b', DAEMON_PATH_SIZE - 1);
        memset(daemon->folder, 'f', DAEMON_PATH_SIZE - 1);
    }
    for (int i = 0; i < SURVIVOR_COUNT; i++) {
        add_survivor(ending, 4194303, EPERM, "\x1b[31m\x1b[31m\x1b[31m");
    }
    with_json record = record_of(&facts);
    const json_t *made = json_object_get(record, "environment");
    assert_int_equal(json_array_size(json_object_get(made, "passed")) +
                         json_array_size(json_object_get(made, "held_back")),
                     2 * REPORT_VARIABLES);
    assert_int_equal(json_integer_value(json_object_get(made, "passed_count")) +
                         json_integer_value(json_object_get(made, "held_back_count")),
                     3000);
    const json_t *command = json_object_get(json_object_get(record, "report"), "command");
    const char *last = json_string_value(json_array_get(command, json_array_size(command) - 1));
    assert_non_null(strstr(last, " more of "));
    with_buf text = buf_new(8 << 20);
    assert_int_equal(json_write(record, JSON_READABLE, &text, &err), 0);
    print_message("# a record with everything in it takes %zu bytes\n", buf_length(&text));
    assert_true(buf_length(&text) <= REPORT_RESERVE_BYTES);
    /* TR-7 */
    ending->stream[STREAM_STDOUT].tail_length = TAIL_STRUCTURED_BYTES + TAIL_MARGIN_BYTES;
    memset(ending->stream[STREAM_STDOUT].tail, 1, ending->stream[STREAM_STDOUT].tail_length);
    facts.tail_bytes[STREAM_STDOUT] = TAIL_STRUCTURED_BYTES;
    with_json longest = record_of(&facts);
    with_buf more = buf_new(16 << 20);
    assert_int_equal(json_write(longest, JSON_READABLE, &more, &err), 0);
    print_message("# and with a result %zu bytes\n", buf_length(&more));
    assert_true(buf_length(&more) <= REPORT_STRUCTURED_RESERVE_BYTES);
    strvec_done(&words);
    strvec_done(&variables);
}

/* EV-4: what was seen of a process, and what could not be read of it. */
static void descendants_and_survivors(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    ending->descendant_total = 300;
    ending->descendant_count = 1;
    ending->descendants[0] = (struct supervise_descendant){.pid = 20,
                                                           .parent = 10,
                                                           .start_ticks = 8,
                                                           .first_seen_ms = 1,
                                                           .last_seen_ms = 2,
                                                           .peak_rss_bytes = 3,
                                                           .peak_pss_bytes = -1,
                                                           .peak_threads = 4,
                                                           .peak_fds = 5,
                                                           .cpu_user_ms = 6,
                                                           .cpu_system_ms = 7,
                                                           .read_bytes = -1,
                                                           .written_bytes = 8,
                                                           .state = 'S',
                                                           .missed = MISSED_PSS | MISSED_IO,
                                                           .before_stop = true};
    add_survivor(ending, 20, EPERM, "su");
    with_json record = record_of(&facts);
    is(record, "descendant_total", "300");
    is(record, "descendants",
       "[{\"alive_at_stop\":true,\"cpu_system_ms\":7,\"cpu_user_ms\":6,\"ended\":false,"
       "\"first_seen_ms\":1,\"last_seen_ms\":2,\"missed\":[\"pss\",\"io\"],\"parent\":10,"
       "\"peak_fds\":5,\"peak_pss_bytes\":null,\"peak_rss_bytes\":3,\"peak_threads\":4,\"pid\":20,"
       "\"read_bytes\":null,\"start_ticks\":8,\"state\":\"S\",\"written_bytes\":8}]");
    is(record, "survivors",
       "[{\"error\":\"EPERM\",\"name\":\"su\",\"pid\":20,\"start_ticks\":77}]");
    ending->descendants[0].state = '\x1b';
    with_json odd = record_of(&facts);
    const json_t *first = json_array_get(json_object_get(odd, "descendants"), 0);
    is(first, "state", "\"?\"");
}

/* MD-3 MD-4 MD-6: a daemon's identity, and what became of it. */
/* M11: the record tells that there is none; the report, whose format knows no such answer, has the highest sample. */
static void a_peak_that_the_kernel_does_not_keep(void **state)
{
    with_checks checks = {0};
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->samples[0].cgroup_memory_bytes = 4321;
    ending->scope.held = true;
    memset(&ending->scope.counters, -1, sizeof ending->scope.counters);
    ending->scope.counters.memory_current_bytes = 1234;
    with_json record = record_of(&facts);
    const json_t *cgroup = json_object_get(record, "cgroup");
    assert_true(json_is_null(json_object_get(cgroup, "memory_peak_bytes")));
    assert_int_equal(json_integer_value(json_object_get(cgroup, "memory_current_bytes")), 1234);
    const json_t *peaks = json_object_get(json_object_get(record, "report"), "peaks");
    assert_int_equal(json_integer_value(json_object_get(peaks, "cgroup_memory_bytes")), 4321);
}

static void daemons(void **state)
{
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    ending->daemon_count = 2;
    ending->daemons[0] = (struct supervise_daemon){.name = "graphd",
                                                   .folder = "/tmp/w",
                                                   .socket_name = "s",
                                                   .lock_name = "l",
                                                   .state = DAEMON_SEALED,
                                                   .fate = DAEMON_FATE_ENDED,
                                                   .refused = 2,
                                                   .pid = 20,
                                                   .namespace_pid = 3,
                                                   .start_ticks = 8,
                                                   .command = "graphd\0--token=hunter2\0",
                                                   .command_bytes = 23,
                                                   .cwd = "/tmp",
                                                   .socket = {1, 2, 0140600, 4, 0},
                                                   .lock = {1, 3, 0100600, 4, 90},
                                                   .lock_pid = 3};
    ending->daemons[1] = (struct supervise_daemon){.name = "two",
                                                   .folder = "/srv",
                                                   .socket_name = "s",
                                                   .lock_name = "l",
                                                   .state = DAEMON_RESERVED,
                                                   .socket_left = true};
    with_json record = record_of(&facts);
    is(record, "daemons",
       "[{\"command\":[\"graphd\",\"--token=[REDACTED]\"],\"command_cut\":false,\"cwd\":\"/tmp\","
       "\"fate\":\"ended\",\"lock\":\"/tmp/w/"
       "l\",\"lock_left\":false,\"lock_pid\":3,\"lock_sealed\":"
       "{\"device\":1,\"inode\":3,\"mode\":33152,\"owner\":4,\"size_bytes\":90},\"name\":"
       "\"graphd\","
       "\"namespace_pid\":3,\"pid\":20,\"refused\":2,\"socket\":\"/tmp/w/s\",\"socket_left\":false,"
       "\"socket_sealed\":{\"device\":1,\"inode\":2,\"mode\":49536,\"owner\":4,\"size_bytes\":0},"
       "\"start_ticks\":8,\"state\":\"sealed\",\"why\":null},"
       "{\"command\":[],\"command_cut\":false,\"cwd\":null,\"fate\":\"none\",\"lock\":\"/srv/l\","
       "\"lock_left\":false,\"lock_pid\":null,\"lock_sealed\":null,\"name\":\"two\","
       "\"namespace_pid\":null,\"pid\":null,\"refused\":0,\"socket\":\"/srv/"
       "s\",\"socket_left\":true,"
       "\"socket_sealed\":null,\"start_ticks\":null,\"state\":\"reserved\",\"why\":null}]");
    const json_t *cleanup = json_object_get(json_object_get(record, "report"), "cleanup");
    is(cleanup, "managed_paths_remaining", "[\"/srv/s\"]");
}

static void notes(void **state)
{
    struct strvec words = {0};
    strvec_push(&words, "one");
    strvec_push(&words, "two");
    struct report_facts facts = make_facts();
    facts.notes = &words;
    facts.early_signal = 15;
    with_json record = record_of(&facts);
    is(record, "notes", "[\"one\",\"two\"]");
    is(record, "exit", "{\"code\":143,\"signal\":\"SIGTERM\"}");
    strvec_done(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_and_when),
        cmocka_unit_test(whose_it_is_is_read_once),
        cmocka_unit_test(where_the_time_went),
        cmocka_unit_test(limits),
        cmocka_unit_test(streams),
        cmocka_unit_test(variables),
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(descendants_and_survivors),
        cmocka_unit_test(a_peak_that_the_kernel_does_not_keep),
        cmocka_unit_test(daemons),
        cmocka_unit_test(notes),
    };
    return cmocka_run_group_tests_name("report/run-v1-fill", tests, NULL, NULL);
}
