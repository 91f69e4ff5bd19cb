/* broker-priv.h
 *
 * One run, while it lives: what the files of this folder share.
 *
 *   supervise.c   supervise_run(): prepare, create, release, run the loop, conclude
 *   loop.c        waits and dispatches; decides nothing
 *   decide.c      what an event means for the ending; feeds the stop table
 *   terminate.c   the table's actions that end processes; chase.c for those that are too quick
 *   observe.c     one look at the tree: samples, peaks, limits that are sampled
 *   launch.c      the words of the launcher, when there is a sandbox
 *   hold.c        the scope, when there is one
 *   high.c        the high mark of memory
 *   context.c     what programs of the payload may ask
 *   daemon.c      descendants that may outlive the first process
 *
 * Rule of endings: what was seen first wins and stays, with exceptions. The output limit and the
 * kept output are exact, and how much of a stream is read at which moment is berm's choice, not the
 * payload's: they hold also when the first process had already exited by itself. And a descendant that
 * outlived it is a failure, where the request says so, however it exited; so is whoever is left of a run
 * that declares daemons, and is none, and a link that it left where none may be.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "context-priv.h"
#include "daemon-priv.h"
#include "hold-priv.h"
#include "launch-priv.h"
#include "pace-priv.h"
#include "proof-priv.h"
#include "spawn-priv.h"
#include "stop-priv.h"
#include "streams-priv.h"
#include "supervise.h"
#include "sustain-priv.h"
#include "tree-priv.h"
#include "watch-priv.h"

struct broker {
    const struct supervise_request *request;
    struct supervise_ending *ending;
    const struct os_clock *clock;
    struct err *err;

    struct fd epoll;
    struct spawn spawn;
    struct tree tree;
    struct streams streams;
    struct reaper reaper;
    struct pace pace;
    struct launch launch; /* with a sandbox */
    struct hold hold;     /* with a scope */
    struct sustain high;  /* memory is above its high mark */
    struct context context;
    struct daemons daemons;
    bool daemons_judged;
    bool daemons_accepted;      /* whoever is left is a daemon, or a descendant of one */
    struct fd context_listener; /* made in the sandbox by the launcher */

    enum stop_state state;
    bool decided;         /* the ending says how; only an exact limit may change it */
    bool own_end;         /* the first process ended by itself before anybody asked */
    const char *stopping; /* why, in a word, for a live display */
    bool leader_ended;    /* and was seen to */
    bool failure_heard;   /* the gate has executed, or said why not */
    bool cancel_watched;
    bool watchdog_watched;
    int wait_failures; /* in a row */

    int64_t setup_until_ns; /* INT64_MAX: none, like all of these */
    int64_t payload_until_ns;
    int64_t grace_until_ns;
    int64_t kill_until_ns;
    int64_t round_at_ns; /* the next round of SIGKILL */
    int64_t look_at_ns;  /* the next look at the tree */
    int64_t links_at_ns; /* for links not before this */
    int64_t
        leave_until_ns; /* whoever outlives the first process may end by itself; 0: nobody does */
    int64_t drain_until_ns; /* a slow reader onward is waited for no longer than this */
    bool launcher_kills;    /* it was told to: no round from outside before round_at_ns */
    int detail_cursor;
    int64_t suspended_at_start_ns;
};

int64_t broker_now(const struct broker *broker);
int64_t broker_elapsed_ms(const struct broker *broker);
/* supervise.c: the payload goes on to be executed, unless something speaks against it by now. */
void broker_release(struct broker *broker);

/* decide.c */
void decide_limit(struct broker *broker, enum supervise_limit limit, int64_t value, int64_t seen);
void decide_interrupt(struct broker *broker, int signal); /* 0: the caller's cancel_fd */
/* berm could not do its work: sys is an errno of either sign. */
void decide_failure(struct broker *broker, int sys, const char *what);
void decide_broken(struct broker *broker, const struct err *failure); /* the same, already said */
void decide_watchdog_lost(struct broker *broker);
void decide_gate_failure(struct broker *broker, const struct gate_failure *failure);
void decide_heard(struct broker *broker); /* the gate's pipe is readable, or the gate is gone */
void decide_released(struct broker *broker);
void decide_executed(struct broker *broker);
/* The payload's first process in a sandbox ended; left: others are still there. */
void decide_payload_ended(struct broker *broker, int exit_code, int exit_signal, bool left);
void decide_reap(struct broker *broker);      /* after anything that may have ended a process */
void decide_deadlines(struct broker *broker); /* whatever is due by now */
void decide_streams(struct broker *broker);   /* after reading: the exact limits */
void decide_stop_tree(struct broker *broker, int signal); /* SIGSTOP or SIGCONT to the tree */
void decide_kill(struct broker *broker);
void decide_give_up(struct broker *broker);
bool decide_is_over(const struct broker *broker);

/* terminate.c */
void terminate_ask(struct broker *broker);   /* SIGTERM, then SIGCONT, to all; the grace begins */
void terminate_kill(struct broker *broker);  /* SIGKILL to all; the budget begins */
void terminate_again(struct broker *broker); /* and whoever has come since, in every turn */

/* observe.c */
void observe_look(struct broker *broker); /* sample now, plan the next look */
/* Only the private file system: its peaks, and when the payload failed its limits. */
void observe_private(struct broker *broker, bool failed);
/* The links in there; when nobody is left, for the last time. */
void observe_links(struct broker *broker);

/* high.c */
void high_notice(struct broker *broker); /* the kernel says that memory may be above the mark */
int64_t high_moment_ns(const struct broker *broker); /* of the next high_weigh(); INT64_MAX: none */
void high_weigh(struct broker *broker);              /* nothing, before that moment */
void high_look(struct broker *broker, int64_t rss_bytes); /* a look at the tree; without a leaf */

/* loop.c */
int loop_watch(struct broker *broker, struct err *err) must_check;
void loop_run(struct broker *broker);
