/* stop-priv.h
 *
 * How a run comes to its end, as a table: pure, without processes, descriptors or clocks. The loop
 * feeds it events and performs the action that it answers.
 *
 *                    LEADER_GONE, STOP            GRACE_OVER, KILL           BUDGET_OVER
 *   GATED -> RUNNING ----------------> TERMINATING ----------------> KILLING ----------> GIVEN_UP
 *     |         |                          |                            |                    |
 *     +---------+---- EMPTY (proved) ------+-----------> EMPTY <--------+--------------------+
 *
 *   GATED        the child is blocked before its execution; it is killed without a grace
 *   RUNNING      the payload was released
 *   TERMINATING  SIGTERM and SIGCONT were sent; the grace runs
 *   KILLING      SIGKILL rounds until nothing is left or the budget is spent
 *   EMPTY        nothing of the tree is left, with a proof; nothing leaves this state
 *   GIVEN_UP     survivors; a proof may still come while the streams are drained
 */
#pragma once

enum stop_state {
    STOP_GATED,
    STOP_RUNNING,
    STOP_TERMINATING,
    STOP_KILLING,
    STOP_EMPTY,
    STOP_GIVEN_UP,
    STOP_STATE_COUNT
};

enum stop_event {
    EVENT_RELEASED,    /* the gate was told to go on */
    EVENT_LEADER_GONE, /* the first process ended and something of the tree is left */
    EVENT_STOP,        /* a limit or an interrupt: end it with a grace */
    EVENT_KILL,        /* end it now */
    EVENT_GRACE_OVER,
    EVENT_BUDGET_OVER,
    EVENT_EMPTY, /* proved */
    STOP_EVENT_COUNT
};

enum stop_action {
    ACTION_NONE,
    ACTION_TERMINATE, /* SIGTERM, SIGCONT to all; arm the grace */
    ACTION_KILL,      /* a round of SIGKILL; arm the budget */
    ACTION_GIVE_UP,   /* name the survivors */
    ACTION_CONCLUDE,  /* nothing is left: read the rest of the streams */
};

struct stop_step {
    enum stop_state next;
    enum stop_action action;
};

struct stop_step stop_next(enum stop_state state, enum stop_event event);
