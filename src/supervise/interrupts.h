/* interrupts.h
 *
 * Signals to berm itself, as data on a descriptor from the first moment of a run to its last.
 *
 * Calling sequence
 *   interrupts_begin(&interrupts, err)   block SIGINT SIGTERM SIGHUP SIGQUIT SIGTSTP SIGCONT SIGCHLD,
 *                                        ignore SIGPIPE, make SIGCHLD default, open the signalfd
 *   interrupts_pending(&interrupts)      between stages: the first interrupting signal, 0 for none
 *   supervise_run() reads the same descriptor while the payload lives
 *   interrupts_end(&interrupts)          the mask and dispositions as they were found
 *
 * A signal that the caller ignored (nohup, a background job of a plain shell) stays ignored.
 */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "err.h"
#include "fd.h"

struct interrupts {
    struct fd signal_fd;
    sigset_t caller_mask;
    uint64_t caller_ignored; /* bit n-1: signal n was ignored when berm started */
    int first;               /* the first interrupting signal that came, 0: none */
    int count;               /* how many of them came so far */
};

int interrupts_begin(struct interrupts *interrupts, struct err *err) must_check;
int interrupts_pending(struct interrupts *interrupts);
/* The next signal that has come, of whatever kind; 0: none; -errno. */
int interrupts_next(struct interrupts *interrupts) must_check;
void interrupts_end(struct interrupts *interrupts);
#define with_interrupts cleanup(interrupts_end) struct interrupts
