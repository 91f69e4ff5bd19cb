/* process.h
 *
 * Process creation and what a process may do to itself and its children. Only supervise/ creates
 * processes (a layering test checks it); the calls stand here because only os/ calls the kernel.
 *
 * Everything that runs between os_clone_child() and os_execveat() in the child is async-signal-safe
 * and allocates nothing.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "attributes.h"
#include "fd.h"

/* Fork with a pidfd of the child: clone3(CLONE_PIDFD), or fork and pidfd_open where the kernel has
 * no clone3. In the child 0; in the parent the pid and *ret_pidfd. */
pid_t os_clone_child(struct fd *ret_pidfd) must_check;

/* The same for a child that at once executes something or exits: it runs child_main, on a stack of its own, in the
 * memory of this process, which waits for that (CLONE_VM | CLONE_VFORK, clone(2)); so no page is copied, now or when it
 * is written to. child_main changes nothing that this process goes on using, and what it returns is its exit
 * status. There is no bound: while somebody stops the child, this process waits. */
pid_t os_clone_lent(int (*child_main)(const void *argument), const void *argument,
                    struct fd *ret_pidfd) must_check;
int os_pidfd_open(pid_t pid) must_check;
int os_pidfd_signal(int pidfd, int signal) must_check;
/* To the whole process group that the pidfd's process leads or led; -EINVAL before Linux 6.9. */
int os_pidfd_signal_group(int pidfd, int signal) must_check;
/* id_type P_PIDFD or P_ALL. *ret_info has si_pid 0 when nothing was there (WNOHANG). usage may be
 * NULL; the kernel fills it with the resources of the child that was reaped. */
int os_waitid(int id_type, int id, siginfo_t *ret_info, int options,
              struct rusage *usage) must_check;

/* What is set in here is read back: -EPERM when the kernel has it otherwise. */
int os_set_name(const char *name) must_check; /* at most 15 bytes of it */
int os_setsid(void) must_check;
/* All three user and group ids, and no supplementary group: for good. */
int os_become_user(uid_t uid, gid_t gid) must_check;
int os_fchdir(int fd) must_check;
int os_dup_to(int fd,
              int number) must_check; /* dup3 without close-on-exec; fd == number clears it */
int os_move_to(int fd,
               int number) must_check; /* dup3 with close-on-exec; fd == number is an error */
int os_dup_above(int fd, int lowest) must_check; /* F_DUPFD_CLOEXEC */
/* Close every descriptor from first on; close_range(2), or a walk of /proc/self/fd. */
int os_close_from(int first) must_check;
int os_execveat(int fd, char *const *argv, char *const *envp) must_check; /* returns on failure */
no_return void os_exit(int status); /* _exit: no handlers, no flushing */

int os_set_subreaper(bool on) must_check;
int os_is_subreaper(void) must_check; /* 1, 0 or -errno: what the kernel holds, not what was set */
int os_die_with_parent(void) must_check; /* PR_SET_PDEATHSIG SIGKILL */
int os_getrlimit(int resource, struct rlimit *ret_limit) must_check;
int os_setrlimit(int resource, const struct rlimit *limit) must_check;

int os_signal_mask(int how, const sigset_t *set, sigset_t *ret_old) must_check;
int os_signal_default(int signal) must_check;
int os_signal_ignore(int signal) must_check;
/* Signals that were ignored when the process started, bit n-1 for signal n (/proc/self/status). */
int os_signals_ignored(uint64_t *ret_mask) must_check;
/* Die of the signal, as a shell expects it of an interrupted command. */
no_return void os_die_of(int signal);
int os_stop_self(void) must_check; /* SIGSTOP; returns after SIGCONT */

pid_t os_getpid(void);
pid_t os_getppid(void);
uid_t os_geteuid(void);
gid_t os_getegid(void);
/* A variable of the process's own environment, or NULL. Only the front end may ask. */
const char *os_environment(const char *name);
char *const *os_environment_all(void);
int os_uname(struct utsname *ret_names) must_check;
const char *os_platform(void); /* "linux", "darwin" */
/* 16 bytes that nobody could foresee when the process began, without a call; NULL: there are none. */
const void *os_start_random(void);
long os_page_bytes(void);
long os_ticks_per_second(void);
long os_processors(void); /* usable by this process (sched_getaffinity) */
