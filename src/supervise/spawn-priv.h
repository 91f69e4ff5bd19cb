/* spawn-priv.h
 *
 * The one place where berm creates a process (EX-6): pipes, the clone, the parent's half of the gate.
 *
 * Calling sequence
 *   spawn_prepare(&spawn, request, err)   pipes; a failure leaves nothing behind
 *   spawn_gate(&spawn, request, err)      the child is there and blocked
 *   spawn_release(&spawn)                 one byte: it goes on to execute the payload
 *   spawn_heard(&spawn, &failure)         when failure_fd is readable
 *   spawn_done(&spawn)
 */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "fd.h"
#include "gate-priv.h"
#include "proc.h"
#include "supervise.h"

struct spawn {
    struct fd output[STREAM_COUNT]; /* read ends */
    struct fd output_write[STREAM_COUNT];
    struct fd failure;
    struct fd failure_write;
    struct fd release;
    struct fd release_read;
    struct fd channel; /* with a sandbox: to its launcher (launch-message.h) */
    struct fd channel_far;
    struct fd diagnostics; /* and what bubblewrap says */
    struct fd diagnostics_write;
    bool raised_files;   /* berm raised its own soft limit of open files */
    struct rlimit files; /* what it was */
    struct fd pidfd;     /* of the gate, later the payload's first process */
    pid_t pid;
};

enum spawn_word { SPAWN_NOTHING_YET, SPAWN_EXECUTED, SPAWN_FAILED };

int spawn_prepare(struct spawn *spawn, const struct supervise_request *request,
                  struct err *err) must_check;
int spawn_gate(struct spawn *spawn, const struct supervise_request *request,
               struct err *err) must_check;
int spawn_release(struct spawn *spawn) must_check; /* -errno; -EPIPE: the gate is gone */
/* SPAWN_EXECUTED is end-of-file: it executed, or died without a word. */
enum spawn_word spawn_heard(struct spawn *spawn, struct gate_failure *ret_failure);
uint64_t spawn_files(const struct spawn *spawn); /* berm may have so many open */
void spawn_done(struct spawn *spawn);
