#include "supervise-test.h"

#include <sys/mman.h>
#include <sys/resource.h>

static void an_exit_is_the_payloads_own(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "echo out; echo err >&2; exit 3");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->exit_code, 3);
    assert_true(ending->launched);
    assert_non_null(ending->tree_empty);
    assert_string_equal(trial_said(&trial, STREAM_STDOUT), "out\n");
    assert_string_equal(trial_said(&trial, STREAM_STDERR), "err\n");
    assert_int_equal(ending->stragglers, 0);
    assert_int_equal(ending->stop_signal_count, 0);
    assert_true(ending->sample_total >= 1);
    assert_true(ending->seen[LIMIT_MEMORY] >= ending->largest_rss_bytes);
    assert_true(ending->largest_rss_bytes > 0);
    assert_true(ending->created_ns <= ending->released_ns);
    assert_true(ending->released_ns <= ending->exited_ns);
    assert_true(ending->exited_ns <= ending->finished_ns);
    trial_done(&trial);
}

static void a_signal_that_berm_did_not_send_is_told(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "kill -SEGV $$");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_SIGNALLED);
    assert_int_equal(ending->exit_signal, SIGSEGV);
    trial_done(&trial);
}

static void a_timeout_ends_the_whole_tree(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "sleep 100 & sleep 100");
    trial.request.limits.timeout_ns = 1000 * NS_PER_MS;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->limit, LIMIT_TIMEOUT);
    assert_int_equal(ending->exit_signal, SIGTERM);
    assert_int_equal(ending->stop_signals[0], SIGTERM);
    assert_int_equal(ending->stop_signals[1], SIGCONT);
    assert_int_equal(ending->stop_signal_count, 2);
    assert_non_null(ending->tree_empty);
    assert_int_equal(ending->descendant_count, 3);
    trial_done(&trial);
}

/* T1: a daemon leaves the session and its parent, and is found all the same. */
static void a_daemon_is_a_straggler(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "(setsid sleep 100 >/dev/null 2>&1 &) ; exit 0");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->exit_code, 0);
    assert_int_equal(ending->stragglers, 1);
    assert_non_null(ending->tree_empty);
    trial_done(&trial);
}

/* MD-1: where nobody may outlive the command, how it exited itself does not matter. */
static void a_daemon_is_a_failure_where_the_request_says_so(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "(setsid sleep 100 >/dev/null 2>&1 &) ; exit 0");
    trial.request.detached_fails = true;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->limit, LIMIT_DETACHED);
    assert_int_equal(ending->limit_seen, 1);
    assert_int_equal(ending->exit_code, 0);
    assert_non_null(ending->tree_empty);
    trial_done(&trial);
}

/* Whose input ends with the command ends by itself: that is no daemon. */
static void who_is_about_to_end_is_none(void **state)
{
    struct trial trial = trial_of("/bin/bash", "-c", "exec 3> >(cat >/dev/null 2>&1); exit 4");
    trial.request.detached_fails = true;
    trial.request.limits.sample_ns = 20 * NS_PER_S;
    trial.request.limits.one_deadline = false;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->exit_code, 4);
    assert_int_equal(ending->stragglers, 0);
    assert_int_equal(ending->stop_signal_count, 0);
    trial_done(&trial);
}

/* T3, X1 */
static void who_ignores_sigterm_is_killed(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "trap '' TERM; echo; while :; do sleep 1; done");
    trial.request.limits.timeout_ns = 100 * NS_PER_MS;
    trial.request.limits.grace_ns = 100 * NS_PER_MS;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->exit_signal, SIGKILL);
    assert_non_null(ending->tree_empty);
    trial_done(&trial);
}

/* EX-2: what is no longer what was bound is never released. */
static void a_changed_program_is_not_executed(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "echo ran");
    trial.binding.changed = true;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_FAILED);
    assert_int_equal(ending->failure.code, ERR_CHANGED);
    assert_false(ending->launched);
    assert_non_null(ending->tree_empty);
    assert_string_equal(trial_said(&trial, STREAM_STDOUT), "");
    trial_done(&trial);
}

static int refuse_release(void *context, struct err *err)
{
    ++*(int *)context;
    return err_set(err, ERR_CHANGED, "'source' is another one");
}

/* FZ-1: who is asked last can still refuse; then nothing has run. */
static void what_is_refused_before_the_release_does_not_run(void **state)
{
    int asked = 0;
    struct trial trial = trial_of("/bin/echo", "run");
    trial.request.on_release = refuse_release;
    trial.request.on_release_context = &asked;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(asked, 1);
    assert_int_equal(ending->how, ENDED_FAILED);
    assert_int_equal(ending->failure.code, ERR_CHANGED);
    assert_false(ending->launched);
    assert_int_equal(ending->released_ns, 0);
    assert_non_null(ending->tree_empty);
    assert_string_equal(trial_said(&trial, STREAM_STDOUT), "");
    trial_done(&trial);
}

static void what_cannot_be_executed_is_told(void **state)
{
    struct trial trial = trial_of("/etc/passwd");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_NOT_EXECUTED);
    assert_int_equal(ending->exit_code, 126);
    assert_false(ending->launched);
    assert_int_equal(ending->failure.sys, EACCES);
    assert_non_null(ending->tree_empty);
    trial_done(&trial);
}

static void output_is_kept_and_passed_up_to_its_limit(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct trial trial = trial_of("/bin/sh", "-c", "printf 123456789");
    trial.request.limits.output_bytes = 5;
    trial.request.pass_fd[STREAM_STDOUT] = ends[1];
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->limit, LIMIT_OUTPUT);
    assert_int_equal(ending->stream[0].bytes, 9);
    assert_int_equal(ending->stream[0].passed_bytes, 5);
    char text[16];
    assert_int_equal(read(ends[0], text, sizeof text), 5);
    assert_memory_equal(text, "12345", 5);
    trial_done(&trial);
    close(ends[0]);
    close(ends[1]);
}

/* D12: a caller that closed its standard output wants nothing of it; the payload need not know. */
static void a_closed_way_onward_is_no_broken_pipe(void **state)
{
    int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct trial trial = trial_of("/bin/sh", "-c", "echo one; sleep 0.1; echo two; exit 3");
    trial.request.pass_fd[STREAM_STDOUT] = read_only;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->exit_code, 3);
    assert_string_equal(trial_said(&trial, STREAM_STDOUT), "one\ntwo\n");
    assert_int_equal(ending->stream[0].passed_bytes, 0);
    assert_int_equal(ending->stream[0].pass_error, EBADF);
    trial_done(&trial);
    close(read_only);
}

/* R3: who kills it from outside hits no limit of ours. */
static void kill_the_leader(void *context, int stream, char last)
{
    FILE *children = fopen("/proc/thread-self/children", "re");
    int leader;
    assert_int_equal(fscanf(children, "%d", &leader), 1);
    fclose(children);
    kill(leader, SIGKILL);
}

static void r3_a_kill_from_outside_is_no_limit(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "echo; while :; do sleep 1; done");
    trial_stop_when_ready(&trial, 1);
    trial.request.observer = (struct supervise_observer){.after_output = kill_the_leader};
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_SIGNALLED);
    assert_int_equal(ending->exit_signal, SIGKILL);
    assert_int_equal(ending->limit, LIMIT_NONE);
    trial_done(&trial);
}

/* R6: whatever one run opens, it closes. trial_done() counts. */
static void r6_two_hundred_runs_leave_no_descriptor(void **state)
{
    for (int i = 0; i < 200; i++) {
        struct trial trial = trial_of("/bin/true");
        const struct supervise_ending *ending = trial_ending(&trial);
        assert_int_equal(ending->how, ENDED_EXITED);
        assert_non_null(ending->tree_empty);
        trial_done(&trial);
    }
}

/* yes | head -1 */
static void a_reader_that_leaves_ends_the_payload_as_a_pipe_would(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    struct trial trial = trial_of("/usr/bin/yes");
    trial.request.pass_fd[STREAM_STDOUT] = ends[1];
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_SIGNALLED);
    assert_int_equal(ending->exit_signal, SIGPIPE);
    assert_int_equal(ending->stream[STREAM_STDOUT].pass_error, EPIPE);
    trial_done(&trial);
    close(ends[1]);
}

/* O3: a payload that closes its output goes on. */
static void o3_a_closed_stream_is_not_the_end(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "exec >&-; sleep 0.1; echo late >&2; exit 4");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->exit_code, 4);
    assert_string_equal(trial_said(&trial, STREAM_STDERR), "late\n");
    trial_done(&trial);
}

/* O6 */
static void o6_ten_megabytes_are_counted_to_the_byte(void **state)
{
    struct trial trial = trial_of("/usr/bin/head", "-c", "10000000", "/dev/zero");
    int file = memfd_create("onward", MFD_CLOEXEC);
    trial.request.pass_fd[STREAM_STDOUT] = file;
    trial.request.keep_fd[STREAM_STDOUT] = memfd_create("kept", MFD_CLOEXEC);
    trial.request.keep_bytes = 1000;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->stream[STREAM_STDOUT].bytes, 10000000);
    assert_int_equal(ending->stream[STREAM_STDOUT].passed_bytes, 10000000);
    assert_int_equal(ending->stream[STREAM_STDOUT].kept_bytes, 1000);
    assert_int_equal(ending->stream[STREAM_STDOUT].tail_start,
                     10000000 - TAIL_BYTES - TAIL_MARGIN_BYTES);
    assert_int_equal(lseek(file, 0, SEEK_END), 10000000);
    close(file);
    close(trial.request.keep_fd[STREAM_STDOUT]);
    trial_done(&trial);
}

/* TR-7: of one stream more may be wanted. */
static void the_tail_is_as_long_as_it_is_wanted(void **state)
{
    struct trial trial =
        trial_of("/bin/sh", "-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2");
    trial.request.tail_bytes[STREAM_STDOUT] = TAIL_STRUCTURED_BYTES;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->stream[STREAM_STDOUT].tail_length,
                     TAIL_STRUCTURED_BYTES + TAIL_MARGIN_BYTES);
    assert_int_equal(ending->stream[STREAM_STDERR].tail_length, TAIL_BYTES + TAIL_MARGIN_BYTES);
    trial_done(&trial);
}

static void output_that_cannot_be_kept_stops_the_run(void **state)
{
    struct trial trial = trial_of("/usr/bin/yes");
    trial.request.keep_fd[STREAM_STDOUT] = open("/dev/full", O_WRONLY | O_CLOEXEC);
    trial.request.keep_bytes = 1000;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->limit, LIMIT_OUTPUT_IO);
    assert_int_equal(ending->failure.sys, ENOSPC);
    close(trial.request.keep_fd[STREAM_STDOUT]);
    trial_done(&trial);
}

/* D11, R60: with few descriptors for itself it finds and ends a tree of many. */
static void d11_few_descriptors_are_enough_for_a_big_tree(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit few = {48, 48};
        setrlimit(RLIMIT_NOFILE, &few);
        struct trial trial = trial_of("/bin/sh", "-c",
                                      "for i in 1 2 3 4 5 6 7 8 9 10; do "
                                      "(trap '' TERM; setsid sleep 100 & sleep 100) & "
                                      "(trap '' TERM; setsid sleep 100 & sleep 100) & done; "
                                      "echo; wait");
        trial.request.limits.grace_ns = 0;
        trial_stop_when_ready(&trial, 40);
        trial_run(&trial);
        bool fine = trial.result == 0 && trial.ending->tree_empty &&
                    trial.ending->seen[LIMIT_PIDS] >= 40 && waitpid(-1, NULL, WNOHANG) < 0;
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* T18 */
static void t18_a_real_time_signal_is_told_by_its_number(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "kill -40 $$");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_SIGNALLED);
    assert_int_equal(ending->exit_signal, 40);
    trial_done(&trial);
}

/* T12 */
static void t12_abort_is_a_signal(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "ulimit -c 0; kill -ABRT $$");
    assert_int_equal(trial_ending(&trial)->exit_signal, SIGABRT);
    trial_done(&trial);
}

/* T15 */
static void t15_a_caller_that_ignores_sigchld_changes_nothing(void **state)
{
    signal(SIGCHLD, SIG_IGN);
    struct trial trial = trial_of("/bin/sh", "-c", "true & wait; exit 5");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->exit_code, 5);
    assert_non_null(ending->tree_empty);
    signal(SIGCHLD, SIG_DFL);
    trial_done(&trial);
}

/* A subreaper only while it runs; and it was asked to be one before, it stays. */
static void berm_is_a_subreaper_for_the_time_of_the_run(void **state)
{
    int is_one = -1;
    for (int before = 0; before <= 1; before++) {
        prctl(PR_SET_CHILD_SUBREAPER, before);
        struct trial trial = trial_of("/bin/true");
        (void)trial_ending(&trial);
        prctl(PR_GET_CHILD_SUBREAPER, &is_one);
        assert_int_equal(is_one, before);
        trial_done(&trial);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* CX-1 CX-3: the run answers while it runs, from the payload's first instruction on. That nobody can ask is
 * told, and the run is the same. Here no process can be in a leaf, so the answer is CONTEXT_NOT_A_MEMBER. */
static void a_program_may_ask_about_its_run(void **state)
{
    static const char script[] = "import socket, struct, sys\n"
                                 "ask = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                                 "ask.settimeout(10)\n"
                                 "ask.connect(sys.argv[1].replace('@', chr(0)))\n"
                                 "sys.exit(struct.unpack_from('=IHH', ask.recv(100))[2] + 10)\n";
    char leaf[64];
    char address[CONTEXT_ADDRESS_SIZE];
    (void)snprintf(leaf, sizeof leaf, "/berm-unit%d.scope/payload", getpid());
    assert_true(context_address(leaf, address));
    struct context_facts facts = {.leaf = leaf, .run = "unit"};
    struct trial trial = trial_of("/usr/bin/python3", "-c", script, address);
    trial.request.context = &facts;
    trial_run(&trial);
    assert_int_equal(trial.ending->context_failure.code, ERR_NONE);
    assert_int_equal(trial.ending->how, ENDED_EXITED);
    assert_int_equal(trial.ending->exit_code, CONTEXT_NOT_A_MEMBER + 10);
    trial_done(&trial);

    facts.leaf = "/";
    trial = trial_of("/bin/sh", "-c", "exit 3");
    trial.request.context = &facts;
    trial_run(&trial);
    assert_int_equal(trial.ending->context_failure.code, ERR_UNAVAILABLE);
    assert_int_equal(trial.ending->exit_code, 3);
    trial_done(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_may_ask_about_its_run),
        cmocka_unit_test(an_exit_is_the_payloads_own),
        cmocka_unit_test(a_signal_that_berm_did_not_send_is_told),
        cmocka_unit_test(a_timeout_ends_the_whole_tree),
        cmocka_unit_test(a_daemon_is_a_straggler),
        cmocka_unit_test(a_daemon_is_a_failure_where_the_request_says_so),
        cmocka_unit_test(who_is_about_to_end_is_none),
        cmocka_unit_test(who_ignores_sigterm_is_killed),
        cmocka_unit_test(a_changed_program_is_not_executed),
        cmocka_unit_test(what_is_refused_before_the_release_does_not_run),
        cmocka_unit_test(what_cannot_be_executed_is_told),
        cmocka_unit_test(output_is_kept_and_passed_up_to_its_limit),
        cmocka_unit_test(a_closed_way_onward_is_no_broken_pipe),
        cmocka_unit_test(r3_a_kill_from_outside_is_no_limit),
        cmocka_unit_test(r6_two_hundred_runs_leave_no_descriptor),
        cmocka_unit_test(a_reader_that_leaves_ends_the_payload_as_a_pipe_would),
        cmocka_unit_test(o3_a_closed_stream_is_not_the_end),
        cmocka_unit_test(o6_ten_megabytes_are_counted_to_the_byte),
        cmocka_unit_test(the_tail_is_as_long_as_it_is_wanted),
        cmocka_unit_test(output_that_cannot_be_kept_stops_the_run),
        cmocka_unit_test(d11_few_descriptors_are_enough_for_a_big_tree),
        cmocka_unit_test(t18_a_real_time_signal_is_told_by_its_number),
        cmocka_unit_test(t12_abort_is_a_signal),
        cmocka_unit_test(t15_a_caller_that_ignores_sigchld_changes_nothing),
        cmocka_unit_test(berm_is_a_subreaper_for_the_time_of_the_run),
    };
    return cmocka_run_group_tests_name("supervise/supervise", tests, NULL, NULL);
}
