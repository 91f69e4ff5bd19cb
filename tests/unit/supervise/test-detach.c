#include "../unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "detach-priv.h"
#include "event.h"
#include "file.h"
#include "process.h"

enum { WAIT_MS = 60000 };

static void it_is_no_child_of_the_one_who_started_it(void **state)
{
    const struct detach_request request = {.duty = "watchdog"};
    struct detached detached = {0};
    struct err err = {0};
    siginfo_t info;
    assert_int_equal(detach_helper(&request, &detached, &err), 0);
    assert_int_equal(os_poll(fd_num(&detached.pidfd), POLLIN, 0), 0);
    assert_int_equal(os_waitid(P_ALL, 0, &info, WEXITED | WNOHANG, NULL), -ECHILD);
    /* It has the only other end: whoever closes ours ends it. */
    fd_close(&detached.channel);
    assert_int_equal(os_poll(fd_num(&detached.pidfd), POLLIN, WAIT_MS), POLLIN);
    fd_close(&detached.pidfd);
}

static void one_that_knows_no_such_duty_is_gone(void **state)
{
    const struct detach_request request = {.duty = "no-such-duty"};
    struct detached detached = {0};
    struct err err = {0};
    char byte;
    assert_int_equal(detach_helper(&request, &detached, &err), 0);
    assert_int_equal(os_poll(fd_num(&detached.channel), POLLIN, WAIT_MS) & POLLHUP, POLLHUP);
    assert_int_equal(os_recv(fd_num(&detached.channel), &byte, 1), 0);
    assert_int_equal(os_poll(fd_num(&detached.pidfd), POLLIN, WAIT_MS), POLLIN);
    fd_close(&detached.channel);
    fd_close(&detached.pidfd);
}

/* Begun and finished: what comes between waits for nobody, and afterwards no child is left. */
static void it_starts_while_others_work(void **state)
{
    const struct detach_request request = {.duty = "watchdog"};
    struct detached detached = {0};
    struct err err = {0};
    siginfo_t info;
    assert_int_equal(detach_begin(&request, &detached, &err), 0);
    assert_false(detach_is_finished(&detached));
    assert_int_equal(os_waitid(P_PID, detached.between_pid, &info, WEXITED | WNOWAIT, NULL), 0);
    assert_int_equal(detach_finish(&detached, &err), 0);
    assert_true(detach_is_finished(&detached));
    assert_int_equal(os_poll(fd_num(&detached.pidfd), POLLIN, 0), 0);
    assert_int_equal(os_waitid(P_ALL, 0, &info, WEXITED | WNOHANG, NULL), -ECHILD);
    fd_close(&detached.channel);
    assert_int_equal(os_poll(fd_num(&detached.pidfd), POLLIN, WAIT_MS), POLLIN);
    fd_close(&detached.pidfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_no_child_of_the_one_who_started_it),
        cmocka_unit_test(one_that_knows_no_such_duty_is_gone),
        cmocka_unit_test(it_starts_while_others_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
