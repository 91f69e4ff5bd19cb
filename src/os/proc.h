/* proc.h
 *
 * What /proc says of a process. The pid with the start time, in clock ticks since boot, names a process
 * for good within one boot; the pid alone does not.
 *
 * Errors       -ESRCH when the process is gone (a zombie that nobody reaped is still there)
 * Source       proc_pid_stat(5).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"

struct proc_identity {
    pid_t pid;
    uint64_t start_ticks;
};
/* Open /proc/PID, O_PATH, of that very process: -ESRCH when it is gone, also when another has its pid.
 * What is opened beneath the descriptor never becomes another's. */
int os_proc_open(struct proc_identity who) must_check;

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
/* Of a file with one "name: number" a line: the number of a name, -1: it is not there. */
int64_t proc_number(const char *text, const char *name) must_check;
int64_t proc_kib(const char *text, const char *name) must_check; /* in bytes, of one in kB */
