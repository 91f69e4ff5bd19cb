#include "../unit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupts.h"

static bool is_blocked(int signal)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, signal) == 1;
}

static bool is_ignored(int signal)
{
    struct sigaction action;
    sigaction(signal, NULL, &action);
    return action.sa_handler == SIG_IGN;
}

/* Each case in a process of its own: what it does to signals must not reach the next. */
static void in_a_process(void (*run)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        run();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void begin_and_end(void)
{
    struct interrupts interrupts;
    struct err err;
    CHECK(interrupts_begin(&interrupts, &err) == 0);
    CHECK(is_blocked(SIGINT) && is_blocked(SIGTERM) && is_blocked(SIGCHLD) && is_blocked(SIGTSTP));
    CHECK(is_ignored(SIGPIPE));
    CHECK(interrupts_pending(&interrupts) == 0);
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
    CHECK(interrupts_pending(&interrupts) == SIGINT); /* the lower number comes first */
    kill(getpid(), SIGHUP);
    CHECK(interrupts_pending(&interrupts) == SIGINT); /* and the first stays */
    interrupts_end(&interrupts);
    CHECK(interrupts.first == SIGINT);
    CHECK(!is_blocked(SIGINT) && !is_blocked(SIGCHLD));
    CHECK(!is_ignored(SIGPIPE));
    interrupts_end(&interrupts); /* once more does nothing */
}

/* nohup, and a background job of a plain shell */
static void ignored_before(void)
{
    struct interrupts interrupts;
    struct err err;
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    CHECK(interrupts_begin(&interrupts, &err) == 0);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGINT);
    CHECK(interrupts_pending(&interrupts) == 0);
    kill(getpid(), SIGTERM);
    CHECK(interrupts_pending(&interrupts) == SIGTERM);
    interrupts_end(&interrupts);
    CHECK(is_ignored(SIGHUP) && is_ignored(SIGINT));
}

/* T15: the kernel would reap children by itself. */
static void children_ignored_before(void)
{
    struct interrupts interrupts;
    struct err err;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    CHECK(interrupts_begin(&interrupts, &err) == 0);
    CHECK(!is_ignored(SIGCHLD));
    pid_t pid = fork();
    if (pid == 0) {
        _exit(3);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
    interrupts_end(&interrupts);
    CHECK(is_ignored(SIGCHLD) && is_ignored(SIGPIPE));
}

/* T16: signals that the caller had blocked stay blocked for it, and are received meanwhile. */
static void blocked_before(void)
{
    struct interrupts interrupts;
    struct err err;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    CHECK(interrupts_begin(&interrupts, &err) == 0);
    kill(getpid(), SIGTERM);
    CHECK(interrupts_pending(&interrupts) == SIGTERM);
    interrupts_end(&interrupts);
    CHECK(is_blocked(SIGTERM) && is_blocked(SIGUSR1) && !is_blocked(SIGINT));
}

static void others_are_no_interrupts(void)
{
    struct interrupts interrupts;
    struct err err;
    CHECK(interrupts_begin(&interrupts, &err) == 0);
    kill(getpid(), SIGCHLD);
    kill(getpid(), SIGCONT);
    CHECK(interrupts_next(&interrupts) == SIGCHLD);
    CHECK(interrupts_next(&interrupts) == SIGCONT);
    CHECK(interrupts_next(&interrupts) == 0);
    CHECK(interrupts.first == 0);
    interrupts_end(&interrupts);
}

static void signals_are_data_until_the_end(void **state)
{
    in_a_process(begin_and_end);
}
static void what_the_caller_ignored_stays_ignored(void **state)
{
    in_a_process(ignored_before);
}
static void t15_ignored_sigchld_is_made_default(void **state)
{
    in_a_process(children_ignored_before);
}
static void the_callers_mask_comes_back(void **state)
{
    in_a_process(blocked_before);
}
static void only_four_signals_interrupt(void **state)
{
    in_a_process(others_are_no_interrupts);
}

/* A signal that was never read is delivered when the mask is put back. */
static void a_late_signal_is_not_lost(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct interrupts interrupts;
        struct err err;
        CHECK(interrupts_begin(&interrupts, &err) == 0);
        kill(getpid(), SIGTERM);
        interrupts_end(&interrupts);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_are_data_until_the_end),
        cmocka_unit_test(what_the_caller_ignored_stays_ignored),
        cmocka_unit_test(t15_ignored_sigchld_is_made_default),
        cmocka_unit_test(the_callers_mask_comes_back),
        cmocka_unit_test(only_four_signals_interrupt),
        cmocka_unit_test(a_late_signal_is_not_lost),
    };
    return cmocka_run_group_tests_name("supervise/interrupts", tests, NULL, NULL);
}
