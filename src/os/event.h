/* event.h
 *
 * The kernel's waiting primitives: epoll, signalfd, timerfd, poll. All non-blocking, close-on-exec.
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "attributes.h"
#include "fd.h"

int os_epoll_new(void) must_check;
int os_epoll_add(int epoll_fd, int fd, uint32_t events, uint64_t data) must_check;
int os_epoll_change(int epoll_fd, int fd, uint32_t events, uint64_t data) must_check;
int os_epoll_remove(int epoll_fd, int fd) must_check;
/* timeout_ms < 0: for ever. -EINTR is passed on. */
int os_epoll_wait(int epoll_fd, struct epoll_event *events, int maximum, int timeout_ms) must_check;

int os_signalfd(const sigset_t *set) must_check;
int os_signalfd_read(int fd, struct signalfd_siginfo *ret_info) must_check; /* -EAGAIN: none */
int os_timerfd(void) must_check;                                            /* CLOCK_MONOTONIC */
/* Absolute monotonic time in ns; 0 disarms; period_ns 0 for once. */
int os_timerfd_set(int fd, int64_t at_ns, int64_t period_ns) must_check;
int os_timerfd_read(int fd, uint64_t *ret_expirations) must_check;
/* One descriptor, poll(2) events; timeout_ms 0 asks and returns. The revents, or 0. */
int os_poll(int fd, short events, int timeout_ms) must_check;
