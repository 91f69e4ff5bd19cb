/* hold-priv.h
 *
 * The run's scope, from the broker's side: made around the blocked gate, armed with the watchdog, watched,
 * emptied and taken away. A run without one (no offer) meets none of it.
 *
 * Calling sequence
 *   hold_prepare(broker, err)   the anchor: before berm is a subreaper, or it would become a child of berm's
 *   hold_begin(broker, err)     the scope is asked for; its manager works while the gate is made
 *   hold_finish(broker, err)    every limit was read back, the watchdog was told, the gate is in the
 *                               leaf: bubblewrap may go on
 *   hold_verify(broker, err)    its manager bears it out: only now may the payload be released
 *   hold_look(broker)           when the kernel tells of a change, and before an end is judged: a limit that
 *                               the kernel enforced is what ended the run, whatever the payload exited with
 *   hold_kill(broker)           SIGKILL to all of the leaf, in one call
 *   hold_conclude(broker)       after the loop: the leaf is empty, counters, nothing is left
 *
 * Errors       hold_prepare() to hold_verify(): as scope.h and watchdog.h; the broker then ends the gate, and
 *              hold_conclude() takes away whatever there is.
 */
#pragma once

#include <stdbool.h>

#include "detach-priv.h"
#include "err.h"
#include "scope.h"

struct broker;

enum { SANDBOX_TASKS = 2 }; /* bubblewrap and the launcher: in the leaf, and not the payload's */

struct hold {
    struct detached anchor;
    struct scope *scope;
    struct scope_events events; /* as of the last look */
    bool holds;                 /* the gate is in the leaf */
    bool watched;               /* the event files are in the broker's epoll */
    bool pressure_watched;
    int pressure_fd; /* and this; lent by the scope */
};

int hold_prepare(struct broker *broker, struct err *err) must_check;
int hold_begin(struct broker *broker, struct err *err) must_check;
int hold_finish(struct broker *broker, struct err *err) must_check;
int hold_verify(struct broker *broker, struct err *err) must_check;
void hold_look(struct broker *broker);
int hold_leaf_fd(const struct broker *broker); /* lent; -1: there is none */
int64_t
hold_memory(const struct broker *broker); /* memory.current; -1: there is no leaf, or unknown */
bool hold_kill(struct broker *broker);    /* somebody was there to be killed */
void hold_conclude(struct broker *broker);
void hold_done(struct hold *hold);
