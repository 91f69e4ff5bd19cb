/* launch-priv.h
 *
 * A run in a sandbox: what the broker says to the launcher, and what its words mean for the ending.
 *
 *   gate → bubblewrap (the leader of the tree) → launcher (pid 1 inside) → the payload
 *
 * The launcher's first word says that the sandbox is finished. It is verified then, the payload's
 * process is found, and only after that released. How the payload ended comes by word as well, since
 * bubblewrap folds exit codes and signals into one number; that nothing is left is proved as ever, by
 * waitid: bubblewrap and the launcher are berm's descendants, and the launcher cannot be reaped
 * before its whole pid namespace is empty (pid_namespaces(7)).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fd.h"
#include "launch-message.h"

struct broker;

enum { LAUNCH_DIAGNOSTICS_BYTES = 1024 };

struct launch {
    bool ready;    /* verified; the payload may be released */
    bool executed; /* the payload runs, or ran */
    bool ended;    /* its first process did, and told how */
    bool empty;    /* nothing is left inside, and usage is known */
    bool heard_all;
    struct launch_word usage;
};

/* The channel is readable, or the other end is gone. */
void launch_hear(struct broker *broker);
/* 0, or -errno. */
int launch_say(struct broker *broker, enum launch_order order) must_check;
/* bubblewrap is no more, and the payload never ran: why. */
void launch_explain_end(struct broker *broker);
