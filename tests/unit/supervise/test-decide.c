#include "broker-test.h"

#include <fcntl.h>

#include "file.h"
#include "gate-priv.h"

static struct broker broker;
static struct supervise_request request;

static void what_was_seen_first_stays(void **state)
{
    decide_limit(&broker, LIMIT_MEMORY, 100, 150);
    decide_limit(&broker, LIMIT_TIMEOUT, 1, 2);
    decide_interrupt(&broker, SIGHUP);
    decide_failure(&broker, EIO, "late");
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_MEMORY);
    assert_int_equal(broker.ending->limit_value, 100);
    assert_int_equal(broker.ending->limit_seen, 150);
    assert_int_equal(broker.ending->interrupt_signal, 0);
    assert_int_equal(broker.ending->failure.code, ERR_NONE);
    assert_string_equal(broker.stopping, "memory");
    assert_int_equal(broker.state, STOP_TERMINATING);
}

/* How much of a stream is read before the end is berm's choice: the limit holds either way. */
static void an_exact_limit_holds_after_the_payloads_own_end(void **state)
{
    broker.own_end = broker.decided = true;
    broker.ending->how = ENDED_EXITED;
    broker.state = STOP_EMPTY;
    decide_limit(&broker, LIMIT_MEMORY, 100, 150);
    assert_int_equal(broker.ending->how, ENDED_EXITED); /* too late for what is sampled */
    decide_limit(&broker, LIMIT_OUTPUT, 10, 11);
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_OUTPUT);
    assert_int_equal(broker.state, STOP_EMPTY);
}

/* MD-6: so does what is judged then: who is left of a run with daemons, and who does not end when asked to. */
static void a_daemon_is_judged_after_the_payloads_own_end(void **state)
{
    static struct supervise_daemon told[DAEMON_COUNT];
    static const struct daemon_wish wish = {"graphd", NULL, "/tmp", "s", "l"};
    const struct daemons_request wanted = {.wishes = &wish, .count = 1, .told = told};
    broker.state = STOP_RUNNING;
    decide_payload_ended(&broker, 0, 0, true); /* a run that declares none is as it was */
    assert_int_equal(broker.ending->how, ENDED_EXITED);
    assert_int_equal(broker.state, STOP_TERMINATING);
    broker.state = STOP_RUNNING;
    broker.decided = false;
    daemons_init(&broker.daemons, &wanted);
    decide_payload_ended(&broker, 0, 0, true); /* who was about to end may do so */
    assert_int_equal(broker.state, STOP_RUNNING);
    test_now_ns += NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_TERMINATING);
    assert_int_equal(broker.ending->how, ENDED_EXITED);
    assert_true(broker.daemons_accepted); /* nobody else is in the tree */
    test_now_ns += 6 * NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_KILLING);
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_DAEMON);
    assert_non_null(broker.ending->detached_why);
}

/* A daemon that was bound and never sealed, at the end of the first process. */
static void leave_unsealed(struct supervise_daemon told[DAEMON_COUNT])
{
    static const struct daemon_wish wish = {"graphd", NULL, "/tmp", "s", "l"};
    const struct daemons_request wanted = {.wishes = &wish, .count = 1, .told = told};
    struct proc_stat stat;
    broker.state = STOP_RUNNING;
    daemons_init(&broker.daemons, &wanted);
    told[0].pid = getpid();
    struct daemon_process *process = &broker.daemons.list[0].process;
    process->dir = fd_adopt(os_openat(AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY, 0));
    with_fd file = fd_adopt(os_proc_stat_open(getpid()));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    process->who = (struct proc_identity){getpid(), stat.start_ticks};
    decide_payload_ended(&broker, 0, 0, true);
    assert_int_equal(broker.state, STOP_RUNNING); /* who was about to end may do so */
}

/* MD-6: whatever it is that ends who is left meanwhile. */
static void whoever_is_left_is_judged_before_anybody_is_asked_to_end(void **state)
{
    struct supervise_daemon told[DAEMON_COUNT] = {0};
    leave_unsealed(told);
    decide_limit(&broker, LIMIT_PIDS, 10, 11);
    assert_int_equal(broker.state, STOP_TERMINATING);
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_DETACHED);
    fd_close(&broker.daemons.list[0].process.dir);
}

static void nor_does_a_key_hide_who_is_left(void **state)
{
    struct supervise_daemon told[DAEMON_COUNT] = {0};
    leave_unsealed(told);
    decide_interrupt(&broker, SIGTERM);
    assert_int_equal(broker.state, STOP_KILLING);
    assert_int_equal(broker.ending->limit, LIMIT_DETACHED);
    fd_close(&broker.daemons.list[0].process.dir);
}

/* MD-6: only the end of its grace is an outliving. */
static void a_daemon_that_is_not_given_its_time_has_not_outlived_it(void **state)
{
    broker.own_end = broker.decided = broker.daemons_judged = broker.daemons_accepted = true;
    broker.daemons.count = 1;
    static struct supervise_daemon told;
    broker.daemons.list[0].told = &told;
    broker.ending->how = ENDED_EXITED;
    broker.state = STOP_TERMINATING;
    decide_interrupt(&broker, SIGINT);
    assert_int_equal(broker.state, STOP_KILLING);
    assert_int_equal(broker.ending->how, ENDED_EXITED);
    broker.daemons.count = 0;
}

static void an_accepted_daemon_that_ends_is_no_failure(void **state)
{
    broker.own_end = broker.decided = true;
    broker.ending->how = ENDED_EXITED;
    broker.state = STOP_TERMINATING;
    broker.daemons_accepted = true;
    decide_reap(&broker); /* no child: the tree is empty */
    assert_int_equal(broker.state, STOP_EMPTY);
    assert_int_equal(broker.ending->how, ENDED_EXITED);
}

static void an_exact_limit_does_not_undo_another_reason(void **state)
{
    decide_interrupt(&broker, SIGINT);
    decide_limit(&broker, LIMIT_OUTPUT, 10, 11);
    assert_int_equal(broker.ending->how, ENDED_INTERRUPTED);
}

/* R19 */
static void a_second_interrupt_kills(void **state)
{
    decide_interrupt(&broker, SIGINT);
    assert_int_equal(broker.ending->interrupt_signal, SIGINT);
    assert_string_equal(broker.stopping, "SIGINT");
    assert_int_equal(broker.state, STOP_TERMINATING);
    decide_interrupt(&broker, SIGHUP); /* no sign of impatience */
    assert_int_equal(broker.state, STOP_TERMINATING);
    decide_interrupt(&broker, SIGTERM);
    assert_int_equal(broker.state, STOP_KILLING);
    assert_int_equal(broker.ending->interrupt_signal, SIGINT);
}

static void without_a_grace_it_is_killed_at_once(void **state)
{
    request.limits.grace_ns = 0;
    decide_interrupt(&broker, 0);
    assert_int_equal(broker.state, STOP_KILLING);
    assert_string_equal(broker.stopping, "cancelled");
}

/* EX-8, X2 */
static void deadlines_are_for_their_own_part(void **state)
{
    int64_t start = test_now_ns;
    broker.state = STOP_GATED;
    broker.setup_until_ns = start + NS_PER_S;
    broker.payload_until_ns = INT64_MAX;
    request.limits.setup_timeout_ns = NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_GATED);
    test_now_ns = start + NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_SETUP);
    assert_int_equal(broker.state, STOP_KILLING); /* nothing of the payload ran: no grace */
}

static void set_up_is_over_when_the_gate_was_heard(void **state)
{
    broker.setup_until_ns = test_now_ns;
    broker.payload_until_ns = test_now_ns + 1;
    broker.failure_heard = true;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_RUNNING);
    test_now_ns++;
    decide_deadlines(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_TIMEOUT);
}

/* X7: a deadline that passes while the tree is being ended changes nothing. */
static void cleanup_may_end_after_the_deadline(void **state)
{
    broker.payload_until_ns = test_now_ns + NS_PER_S;
    broker.failure_heard = true;
    decide_interrupt(&broker, SIGTERM);
    test_now_ns += 2 * NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.ending->how, ENDED_INTERRUPTED);
    assert_int_equal(broker.state, STOP_TERMINATING);
    test_now_ns += 4 * NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_KILLING);
    test_now_ns += 10 * NS_PER_S;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_GIVEN_UP);
    assert_int_equal(broker.ending->finished_ns, test_now_ns);
}

static void shells_words_for_what_cannot_be_executed(void **state)
{
    struct gate_failure failure = {.execution = true};
    (void)err_sys(&failure.err, ENOENT, "cannot execute");
    decide_gate_failure(&broker, &failure);
    assert_int_equal(broker.ending->how, ENDED_NOT_EXECUTED);
    assert_int_equal(broker.ending->exit_code, 127);
    broker.decided = false;
    failure.err.sys = ENOEXEC;
    decide_gate_failure(&broker, &failure);
    assert_int_equal(broker.ending->exit_code, 126);
}

/* Whatever is decided, something stops the payload. */
static void a_gate_that_berm_could_not_prepare_is_stopped(void **state)
{
    struct gate_failure failure = {.execution = false};
    (void)err_sys(&failure.err, EIO, "cannot hear");
    decide_gate_failure(&broker, &failure);
    assert_int_equal(broker.ending->how, ENDED_FAILED);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

static void a_payload_that_goes_on_after_its_verdict_is_stopped_in_time(void **state)
{
    broker.decided = true; /* it could not be executed, it said */
    broker.ending->how = ENDED_NOT_EXECUTED;
    broker.failure_heard = true;
    broker.payload_until_ns = test_now_ns;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_TERMINATING);
    assert_int_equal(broker.ending->how, ENDED_NOT_EXECUTED);
}

/* A signal reaches who is there, once each in the list, in order. */
static void the_signals_of_a_stop_are_told(void **state)
{
    pid_t pid = broker_adopt_child(&broker);
    decide_interrupt(&broker, SIGTERM);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(broker.ending->stop_signal_count, 2);
    assert_int_equal(broker.ending->stop_signals[0], SIGTERM);
    assert_int_equal(broker.ending->stop_signals[1], SIGCONT);
    assert_true(broker.ending->descendants[0].before_stop);
    assert_int_equal(broker.ending->stragglers, 0); /* it was the leader, stopped by us */
}

static void survivors_are_named(void **state)
{
    pid_t pid = broker_adopt_child(&broker);
    broker.state = STOP_KILLING;
    broker.kill_until_ns = test_now_ns;
    broker.tree.members[0].signal_error = EPERM;
    decide_deadlines(&broker);
    assert_int_equal(broker.state, STOP_GIVEN_UP);
    assert_int_equal(broker.ending->survivor_count, 1);
    assert_int_equal(broker.ending->survivors[0].pid, pid);
    assert_int_equal(broker.ending->survivors[0].sys, EPERM);
    assert_string_equal(broker.ending->survivors[0].name, "test-supervise-");
    assert_null(broker.ending->tree_empty);
    /* And when it ends after all, while the streams are still read, that is the truth. */
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    decide_reap(&broker);
    assert_int_equal(broker.state, STOP_EMPTY);
    assert_int_equal(broker.ending->survivor_count, 0);
    assert_non_null(broker.ending->tree_empty);
}

static void how_long_a_slow_reader_is_waited_for(void **state)
{
    struct gate_failure none = {.execution = true};
    (void)none;
    broker.payload_until_ns = test_now_ns + 30 * NS_PER_S;
    broker.own_end = broker.decided = true;
    broker.ending->how = ENDED_EXITED;
    decide_reap(&broker); /* no child: the tree is empty */
    assert_int_equal(broker.state, STOP_EMPTY);
    assert_int_equal(broker.drain_until_ns, broker.payload_until_ns);
}

static void an_interrupted_run_waits_a_second_for_its_reader(void **state)
{
    broker.payload_until_ns = test_now_ns + 30 * NS_PER_S;
    decide_interrupt(&broker, SIGINT);
    decide_reap(&broker);
    assert_int_equal(broker.state, STOP_EMPTY);
    assert_int_equal(broker.drain_until_ns, test_now_ns + NS_PER_S);
}

static int start_over(void **state)
{
    request = broker_request();
    broker_start(&broker, &request);
    return 0;
}
static int end_up(void **state)
{
    broker_end(&broker);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_over, end_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_seen_first_stays),
        CASE(an_exact_limit_holds_after_the_payloads_own_end),
        CASE(a_daemon_is_judged_after_the_payloads_own_end),
        CASE(whoever_is_left_is_judged_before_anybody_is_asked_to_end),
        CASE(nor_does_a_key_hide_who_is_left),
        CASE(a_daemon_that_is_not_given_its_time_has_not_outlived_it),
        CASE(an_accepted_daemon_that_ends_is_no_failure),
        CASE(an_exact_limit_does_not_undo_another_reason),
        CASE(a_second_interrupt_kills),
        CASE(without_a_grace_it_is_killed_at_once),
        CASE(deadlines_are_for_their_own_part),
        CASE(set_up_is_over_when_the_gate_was_heard),
        CASE(cleanup_may_end_after_the_deadline),
        CASE(shells_words_for_what_cannot_be_executed),
        CASE(a_gate_that_berm_could_not_prepare_is_stopped),
        CASE(a_payload_that_goes_on_after_its_verdict_is_stopped_in_time),
        CASE(the_signals_of_a_stop_are_told),
        CASE(survivors_are_named),
        CASE(how_long_a_slow_reader_is_waited_for),
        CASE(an_interrupted_run_waits_a_second_for_its_reader),
    };
    return cmocka_run_group_tests_name("supervise/decide", tests, NULL, NULL);
}
