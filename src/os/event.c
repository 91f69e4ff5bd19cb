#include "event.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "fault.h"

int os_epoll_new(void)
{
    return (int)OS_CALL(epoll_create1, epoll_create1(EPOLL_CLOEXEC));
}

static int control(int epoll_fd, int operation, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events, .data.u64 = data};
    return (int)OS_CALL(epoll_ctl, epoll_ctl(epoll_fd, operation, fd, &event));
}

int os_epoll_add(int epoll_fd, int fd, uint32_t events, uint64_t data)
{
    return control(epoll_fd, EPOLL_CTL_ADD, fd, events, data);
}

int os_epoll_remove(int epoll_fd, int fd)
{
    return control(epoll_fd, EPOLL_CTL_DEL, fd, 0, 0);
}

int os_epoll_wait(int epoll_fd, struct epoll_event *events, int maximum, int timeout_ms)
{
    return (int)OS_CALL(epoll_wait, epoll_wait(epoll_fd, events, maximum, timeout_ms));
}

int os_signalfd(const sigset_t *set)
{
    return (int)OS_CALL(signalfd4, signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int os_signalfd_read(int fd, struct signalfd_siginfo *ret_info)
{
    long got = OS_CALL(read, read(fd, ret_info, sizeof *ret_info));
    return got < 0 ? (int)got : got == (long)sizeof *ret_info ? 0 : -EIO;
}

static void on_alarm(int number)
{
    (void)number;
}

int os_waits_end(int ms)
{
    static bool prepared;
    const struct timeval each = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    const struct itimerval timer = {.it_interval = each, .it_value = each};
    if (!prepared && ms > 0) {
        const struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        int result = (int)OS_CALL(sigaction, sigaction(SIGALRM, &action, NULL));
        result =
            result < 0 ? result : (int)OS_CALL(sigprocmask, sigprocmask(SIG_UNBLOCK, &alarm, NULL));
        if (result < 0) {
            return result;
        }
        prepared = true;
    }
    return (int)OS_CALL(setitimer, setitimer(ITIMER_REAL, &timer, NULL));
}

int os_poll_all(struct pollfd *fds, int count, int timeout_ms)
{
    return (int)OS_CALL(poll, poll(fds, (nfds_t)count, timeout_ms));
}

int os_poll(int fd, short events, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    long ready = OS_CALL(poll, poll(&poll_fd, 1, timeout_ms));
    return ready < 0 ? (int)ready : ready == 0 ? 0 : poll_fd.revents;
}
