#include "supervise-test.h"

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
    assert_true(ending->peak_rss_bytes >= ending->largest_rss_bytes);
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
    trial.request.limits.timeout_ns = 200 * NS_PER_MS;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_is_the_payloads_own),
        cmocka_unit_test(a_signal_that_berm_did_not_send_is_told),
        cmocka_unit_test(a_timeout_ends_the_whole_tree),
        cmocka_unit_test(a_daemon_is_a_straggler),
        cmocka_unit_test(who_ignores_sigterm_is_killed),
        cmocka_unit_test(a_changed_program_is_not_executed),
        cmocka_unit_test(what_cannot_be_executed_is_told),
        cmocka_unit_test(output_is_kept_and_passed_up_to_its_limit),
        cmocka_unit_test(a_closed_way_onward_is_no_broken_pipe),
    };
    return cmocka_run_group_tests_name("supervise/supervise", tests, NULL, NULL);
}
