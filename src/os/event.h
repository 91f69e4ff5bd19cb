/* event.h
 *
 * The kernel's waiting primitives: epoll, signalfd, poll. All non-blocking, close-on-exec.
 */
#pragma once

#include <poll.h>
#include <signal.h>
#include <stdint.h>

#include "attributes.h"
#include "fd.h"

struct epoll_event;      /* epoll_wait(2) */
struct signalfd_siginfo; /* signalfd(2) */

int os_epoll_new(void) must_check;
int os_epoll_add(int epoll_fd, int fd, uint32_t events, uint64_t data) must_check;
int os_epoll_remove(int epoll_fd, int fd) must_check;
/* timeout_ms < 0: for ever. -EINTR is passed on. */
int os_epoll_wait(int epoll_fd, struct epoll_event *events, int maximum, int timeout_ms) must_check;

int os_signalfd(const sigset_t *set) must_check;
int os_signalfd_read(int fd, struct signalfd_siginfo *ret_info) must_check; /* -EAGAIN: none */
/* From now on, and each ms milliseconds, a signal (SIGALRM, whose handler does nothing) ends a wait in the
 * kernel that has no other end; 0: no more. For calls that never should wait, and may: close(2) of what
 * somebody else made. Not for a process that has another use for SIGALRM. */
int os_waits_end(int ms) must_check;
/* One descriptor, poll(2) events; timeout_ms 0 asks and returns. The revents, or 0. */
int os_poll(int fd, short events, int timeout_ms) must_check;
/* Several; those below 0 are left out. How many have revents. */
int os_poll_all(struct pollfd *fds, int count, int timeout_ms) must_check;
