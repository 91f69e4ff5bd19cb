/* The words of a launcher, without one; tests/contract and tests/adversary have real ones. */
#include "broker-test.h"

#include "event.h"
#include "file.h"

static struct broker broker;
static struct supervise_request request;
static struct fd far;

static void say(const struct launch_word *word)
{
    assert_int_equal(os_send(fd_num(&far), word, sizeof *word), sizeof *word);
    launch_hear(&broker);
}

static void an_unknown_word_is_a_failure(void **state)
{
    say(&(struct launch_word){.said = 77});
    assert_int_equal(broker.ending->how, ENDED_FAILED);
    assert_int_equal(broker.ending->failure.code, ERR_CORRUPT);
}

static void a_failed_step_is_a_refusal(void **state)
{
    say(&(struct launch_word){.said = LAUNCH_FAILED, .sys = EPERM, .text = "cannot mount: /tmp"});
    assert_int_equal(broker.ending->failure.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(broker.ending->failure.msg, "cannot mount: /tmp"));
    assert_false(broker.ending->launched);
}

static void another_file_is_a_change(void **state)
{
    say(&(struct launch_word){.said = LAUNCH_FAILED, .sys = ESTALE, .text = "cannot open: /x"});
    assert_int_equal(broker.ending->failure.code, ERR_CHANGED);
}

static void what_cannot_be_executed_is_told_as_ever(void **state)
{
    say(&(struct launch_word){.said = LAUNCH_NOT_EXECUTED, .sys = ENOENT});
    assert_int_equal(broker.ending->how, ENDED_NOT_EXECUTED);
    assert_int_equal(broker.ending->exit_code, 127);
}

static void the_exit_is_the_launchers_word(void **state)
{
    broker.state = STOP_RUNNING;
    say(&(struct launch_word){.said = LAUNCH_EXECUTED});
    assert_true(broker.ending->launched);
    say(&(struct launch_word){.said = LAUNCH_ENDED, .value = 137});
    assert_int_equal(broker.ending->how, ENDED_EXITED);
    assert_int_equal(broker.ending->exit_code, 137);
    assert_int_equal(broker.ending->exit_signal, 0);
    say(&(struct launch_word){.said = LAUNCH_ENDED, .extra = SIGKILL}); /* only once */
    assert_int_equal(broker.ending->how, ENDED_EXITED);
    say(&(struct launch_word){.said = LAUNCH_EMPTY, .user_ns = 5});
    assert_int_equal(broker.launch.usage.user_ns, 5);
}

/* bubblewrap's end as the controller meets it: with a last word that was not heard yet, or none. */
static void end_bubblewrap(int exit_code, const struct launch_word *last)
{
    siginfo_t info;
    broker.state = STOP_RUNNING;
    say(&(struct launch_word){.said = LAUNCH_EXECUTED});
    if (last) {
        assert_int_equal(os_send(fd_num(&far), last, sizeof *last), sizeof *last);
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(exit_code);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    broker.tree.leader.pid = pid;
    decide_reap(&broker);
    assert_true(broker.leader_ended);
}

/* T12: a word that came after the channel was looked at, but before the end was. */
static void the_last_word_comes_before_the_end(void **state)
{
    end_bubblewrap(137, &(struct launch_word){.said = LAUNCH_ENDED, .value = 137});
    assert_int_equal(broker.ending->how, ENDED_EXITED);
    assert_int_equal(broker.ending->exit_code, 137);
    assert_int_equal(broker.ending->exit_signal, 0);
}

/* T12: a launcher that could not tell how the payload ended is no success. */
static void an_end_without_a_word_is_no_success(void **state)
{
    end_bubblewrap(0, NULL);
    assert_int_equal(broker.ending->how, ENDED_FAILED);
    assert_non_null(strstr(broker.ending->failure.msg, "without a word"));
}

/* But one that was killed took the payload with it. */
static void a_killed_launcher_took_the_payload_with_it(void **state)
{
    end_bubblewrap(128 + SIGKILL, NULL);
    assert_int_equal(broker.ending->how, ENDED_SIGNALLED);
    assert_int_equal(broker.ending->exit_signal, SIGKILL);
}

/* R20 R21: who failed with a full quota between two looks has met the limit. */
static void end_with_a_full_quota(int exit_code)
{
    sandbox_use = (struct sandbox_use){4096, 4096, 3, 500};
    request.limits.temporary_bytes = 4096;
    request.limits.temporary_files = 500;
    broker.state = STOP_RUNNING;
    say(&(struct launch_word){.said = LAUNCH_EXECUTED});
    say(&(struct launch_word){.said = LAUNCH_ENDED, .value = exit_code});
    assert_int_equal(broker.ending->seen[LIMIT_TEMPORARY], 4096);
    assert_int_equal(broker.ending->exit_code, exit_code);
    sandbox_use = (struct sandbox_use){0};
}

static void a_failure_with_a_full_quota_is_the_limit(void **state)
{
    end_with_a_full_quota(1);
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_TEMPORARY);
}

static void a_success_with_a_full_quota_is_none(void **state)
{
    end_with_a_full_quota(0);
    assert_int_equal(broker.ending->how, ENDED_EXITED);
}

static void nobody_to_say_anything_to(void **state)
{
    fd_close(&far);
    launch_hear(&broker);
    assert_true(broker.launch.heard_all);
    assert_int_equal(launch_say(&broker, LAUNCH_KILL), -EPIPE);
}

static int begin(void **state)
{
    request = broker_request();
    broker_start(&broker, &request);
    broker.epoll = fd_adopt(os_epoll_new());
    broker.state = STOP_GATED;
    (void)broker_adopt_child(&broker);
    request.sandbox = (struct sandbox *)&broker; /* never looked into */
    assert_int_equal(os_socket_pair(&broker.spawn.channel, &far), 0);
    return 0;
}

static int end(void **state)
{
    fd_close(&far);
    terminate_kill(&broker);
    int result = 0;
    while (!proof_reap(&broker.reaper, 0, &result)) {
        assert_int_equal(result, 0);
    }
    broker_end(&broker);
    fd_close(&broker.epoll);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* The socket that programs ask at comes before the sandbox is ready, and is kept until then. */
static void a_socket_that_comes_is_kept(void **state)
{
    const struct launch_word word = {.said = LAUNCH_CONTEXT};
    int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(os_send_fds(fd_num(&far), &word, sizeof word, &number, 1), sizeof word);
    close(number);
    launch_hear(&broker);
    assert_true(fd_is_open(&broker.context_listener));
    assert_int_equal(broker.state, STOP_GATED);
    say(&word); /* without one: there is none any more */
    assert_false(fd_is_open(&broker.context_listener));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_unknown_word_is_a_failure),
        CASE(a_failed_step_is_a_refusal),
        CASE(another_file_is_a_change),
        CASE(what_cannot_be_executed_is_told_as_ever),
        CASE(the_exit_is_the_launchers_word),
        CASE(the_last_word_comes_before_the_end),
        CASE(an_end_without_a_word_is_no_success),
        CASE(a_killed_launcher_took_the_payload_with_it),
        CASE(a_failure_with_a_full_quota_is_the_limit),
        CASE(a_success_with_a_full_quota_is_none),
        CASE(a_socket_that_comes_is_kept),
        CASE(nobody_to_say_anything_to),
    };
    return cmocka_run_group_tests_name("supervise/launch", tests, NULL, NULL);
}
