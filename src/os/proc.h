/* proc.h
 *
 * A process by identity: pid, start time in clock ticks since boot, and a pidfd. The pair (pid,
 * start ticks) within one boot names a process for good; the pid alone does not. Signals go
 * through the pidfd only.
 *
 * Calling sequence
 *   os_proc_open(pid, &proc)   pidfd_open, then the start ticks, then a check that the pidfd's
 *                              process is still the one that was read
 *   os_proc_signal(&proc, sig) never reaches another process, even when the pid was reused
 *   proc_done(&proc)           closes the pidfd; the process is not touched
 *
 * Errors       -ESRCH when the process is gone (a zombie that nobody reaped is still there)
 * Source       pidfd_open(2), proc_pid_stat(5) field 22.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fd.h"

struct proc {
    pid_t pid; /* 0: none */
    uint64_t start_ticks;
    struct fd pidfd;
};

int os_proc_open(pid_t pid, struct proc *ret_proc) must_check;
int os_proc_signal(const struct proc *proc, int signal) must_check;
void proc_done(struct proc *proc);
#define with_proc cleanup(proc_done) struct proc

/* What one read of /proc/PID/stat says. */
struct proc_stat {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    char state;          /* R S D Z T t X I */
    bool forked_only;    /* has executed nothing since it was forked (PF_FORKNOEXEC) */
    uint64_t user_ticks; /* own, clock ticks (100 a second) */
    uint64_t system_ticks;
    uint64_t threads;
    uint64_t start_ticks;
    uint64_t rss_pages;
    char name[16]; /* comm; untrusted text */
};
/* Parse the text of a stat file; -EINVAL when it is not one. */
int proc_stat_parse(const char *text, size_t length, struct proc_stat *ret_stat) must_check;
/* Open /proc/PID/stat (keeps naming that very process: a reused pid answers ESRCH). */
int os_proc_stat_open(pid_t pid) must_check;
/* One pread of an open stat file. */
int os_proc_stat_read(int stat_fd, struct proc_stat *ret_stat) must_check;
