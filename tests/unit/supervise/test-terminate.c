#include "broker-test.h"

static struct broker broker;
static struct supervise_request request;

static pid_t make_another_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        for (;;) {
            pause();
        }
    }
    return pid;
}

static void asking_sends_sigterm_and_sigcont(void **state)
{
    pid_t pid = broker_adopt_child(&broker);
    terminate_ask(&broker);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(broker.ending->stop_signal_count, 2);
    assert_int_equal(broker.ending->stop_signals[0], SIGTERM);
    assert_int_equal(broker.ending->stop_signals[1], SIGCONT);
    assert_true(broker.ending->descendants[0].before_stop);
    assert_int_equal(broker.grace_until_ns, test_now_ns + request.limits.grace_ns);
}

/* However long the asking takes, the grace counts from its beginning, and some of it comes behind its end. */
static void the_grace_counts_from_the_request(void **state)
{
    static const struct {
        int64_t grace_ms, tick_ms;
    } cases[] = {{5000, 10}, {50, 200}, {1000, 2000}, {1000, 475}};
    for (size_t i = 0; i < countof(cases); i++) {
        broker_end(&broker);
        broker_start(&broker, &request); /* one that asked nobody yet */
        pid_t pid = broker_adopt_child(&broker);
        request.limits.grace_ns = cases[i].grace_ms * NS_PER_MS;
        test_tick_ns = cases[i].tick_ms * NS_PER_MS;
        int64_t asked_ns = test_now_ns + test_tick_ns;
        terminate_ask(&broker);
        int64_t least_ns =
            test_now_ns + (cases[i].grace_ms < 100 ? cases[i].grace_ms : 100) * NS_PER_MS;
        int64_t wanted_ns = asked_ns + request.limits.grace_ns;
        assert_int_equal(broker.grace_until_ns, wanted_ns > least_ns ? wanted_ns : least_ns);
        assert_true(test_now_ns > asked_ns);
        test_tick_ns = 0;
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
}

/* T5: a stopped process gets its SIGTERM by the SIGCONT behind it. */
static void a_stopped_process_goes_on_to_end(void **state)
{
    pid_t pid = broker_adopt_child(&broker);
    kill(pid, SIGSTOP);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
    terminate_ask(&broker);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void killing_reaches_who_was_not_known(void **state)
{
    (void)broker_adopt_child(&broker);
    (void)make_another_child();
    terminate_kill(&broker);
    int result = 0;
    while (!proof_reap(&broker.reaper, 0, &result)) {
        assert_int_equal(result, 0);
    }
    assert_int_equal(broker.ending->stop_signal_count, 1);
    assert_int_equal(broker.ending->stop_signals[0], SIGKILL);
    assert_int_equal(broker.kill_until_ns, test_now_ns + request.limits.kill_budget_ns);
}

/* X1: who was born after a look at /proc does not live until the next one. */
static void a_child_is_killed_between_two_looks(void **state)
{
    (void)broker_adopt_child(&broker);
    if (!fd_is_open(&broker.tree.children_file)) {
        skip();
    }
    terminate_kill(&broker);
    (void)make_another_child();
    assert_true(broker.round_at_ns > test_now_ns);
    terminate_again(&broker);
    int status;
    while (waitpid(-1, &status, 0) > 0) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
    }
}

/* T17: who is left when the leader has ended by itself is counted once, before it is asked. */
static void stragglers_are_counted_before_the_first_signal(void **state)
{
    (void)broker_adopt_child(&broker);
    (void)make_another_child();
    broker.own_end = true;
    terminate_ask(&broker);
    assert_int_equal(broker.ending->stragglers, 2);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    terminate_kill(&broker);
    assert_int_equal(broker.ending->stragglers, 2);
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
        CASE(asking_sends_sigterm_and_sigcont),
        CASE(the_grace_counts_from_the_request),
        CASE(a_stopped_process_goes_on_to_end),
        CASE(killing_reaches_who_was_not_known),
        CASE(a_child_is_killed_between_two_looks),
        CASE(stragglers_are_counted_before_the_first_signal),
    };
    return cmocka_run_group_tests_name("supervise/terminate", tests, NULL, NULL);
}
