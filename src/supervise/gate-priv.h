/* gate-priv.h
 *
 * The payload's first process between its creation and its execution.
 *
 * The gate makes itself what a payload should start as (own session, default signals, only the
 * agreed descriptors, the working folder), waits for one byte and becomes the payload, or
 * bubblewrap, which goes on to make a sandbox for it. It allocates
 * nothing and says nothing but, when a step fails, one struct gate_failure on a pipe that its
 * execution closes: end-of-file there means that it executed or died.
 *
 * End-of-file on the release pipe means that the controller gave up: the gate exits.
 * It dies with the controller (PR_SET_PDEATHSIG), by SIGKILL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "err.h"

enum { GATE_EXIT = 127 }; /* of a gate that did not become the payload */
enum { GATE_HANDED_MAX = 10 };

struct gate {
    int handed[GATE_HANDED_MAX]; /* what the executed program finds at 0, 1, 2 and so on */
    int handed_count;
    int exec_fd;
    char *const *argv;
    char *const *environment;
    int cwd_fd; /* -1: stay where berm is */
    int failure_fd;
    int release_fd;
    pid_t controller;
    uint64_t ignored;   /* signals to make default again, bit n-1 for signal n */
    bool restore_files; /* berm raised its own limit of open files: files is what it was */
    struct rlimit files;
    bool become; /* another user first, with no group but its own */
    uid_t uid;
    gid_t gid;
};

/* Sent once, in one write that fits in PIPE_BUF. */
struct gate_failure {
    bool execution; /* the payload itself could not be executed; else berm could not prepare it */
    struct err err;
};

no_return void gate_main(struct gate *gate);
