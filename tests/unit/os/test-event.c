#include "../unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "event.h"
#include "file.h"

static const int patience_ms = 10000; /* never reached when things work */

static void epoll_tells_which_descriptor_is_ready(void **state)
{
    with_fd in = {0};
    with_fd out = {0};
    assert_int_equal(os_pipe(&in, &out), 0);
    with_fd epoll = fd_adopt(os_epoll_new());
    assert_int_equal(os_epoll_add(fd_num(&epoll), fd_num(&in), EPOLLIN, 42), 0);
    assert_int_equal(os_epoll_add(fd_num(&epoll), fd_num(&in), EPOLLIN, 43), -EEXIST);

    struct epoll_event event;
    assert_int_equal(os_epoll_wait(fd_num(&epoll), &event, 1, 0), 0);
    assert_int_equal(os_write_all(fd_num(&out), "x", 1), 0);
    assert_int_equal(os_epoll_wait(fd_num(&epoll), &event, 1, patience_ms), 1);
    assert_int_equal(event.data.u64, 42);
    assert_int_equal(event.events, EPOLLIN);

    assert_int_equal(os_epoll_remove(fd_num(&epoll), fd_num(&in)), 0);
    assert_int_equal(os_epoll_wait(fd_num(&epoll), &event, 1, 0), 0);
    assert_int_equal(os_epoll_remove(fd_num(&epoll), fd_num(&in)), -ENOENT);
}

static void signals_arrive_as_data(void **state)
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
    with_fd signals = fd_adopt(os_signalfd(&set));
    struct signalfd_siginfo info;
    assert_int_equal(os_signalfd_read(fd_num(&signals), &info), -EAGAIN);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(os_signalfd_read(fd_num(&signals), &info), 0);
    assert_int_equal(info.ssi_signo, SIGUSR1);
    assert_int_equal(info.ssi_pid, getpid());
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

static void poll_says_that_the_other_end_is_gone(void **state)
{
    with_fd in = {0};
    with_fd out = {0};
    assert_int_equal(os_pipe(&in, &out), 0);
    assert_int_equal(os_poll(fd_num(&in), POLLIN, 0), 0);
    fd_close(&out);
    assert_int_equal(os_poll(fd_num(&in), POLLIN, 0), POLLHUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epoll_tells_which_descriptor_is_ready),
        cmocka_unit_test(signals_arrive_as_data),
        cmocka_unit_test(poll_says_that_the_other_end_is_gone),
    };
    return cmocka_run_group_tests_name("os/event", tests, NULL, NULL);
}
