/* What events mean for the ending; the stop table is fed here. */
#include "broker-priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "boundary.h"
#include "event.h"
#include "process.h"

enum { DRAIN_AFTER_DEADLINE_MS = 1000 };

static const struct {
    int signal;
    const char *name;
} signal_names[] = {
    {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}};

static const char *interrupt_name(int signal)
{
    for (size_t i = 0; i < countof(signal_names); i++) {
        if (signal_names[i].signal == signal) {
            return signal_names[i].name;
        }
    }
    return "cancelled";
}

/* How long a slow reader onward is waited for, once the tree is no more. */
static void plan_drain(struct broker *broker)
{
    int64_t now_ns = broker_now(broker);
    bool hurry = broker->ending->how == ENDED_INTERRUPTED || broker->ending->how == ENDED_FAILED;
    if (hurry || broker->payload_until_ns < now_ns + DRAIN_AFTER_DEADLINE_MS * NS_PER_MS) {
        broker->drain_until_ns = now_ns + DRAIN_AFTER_DEADLINE_MS * NS_PER_MS;
    } else {
        broker->drain_until_ns = broker->payload_until_ns;
    }
}

/* MD-1: who was there when the wait for the first process's heirs was over. */
static void judge_detached(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    bool by_itself = ending->how == ENDED_EXITED || ending->how == ENDED_SIGNALLED;
    /* Of a run with daemons that was judged before they were asked to end. */
    if (broker->request->detached_fails && broker->daemons.count == 0 && broker->own_end &&
        by_itself && ending->stragglers > 0) {
        ending->how = ENDED_LIMIT;
        ending->limit = LIMIT_DETACHED;
        ending->limit_seen = ending->stragglers;
    }
}

static void conclude(struct broker *broker)
{
    judge_detached(broker);
    broker->ending->finished_ns = broker_now(broker);
    plan_drain(broker);
    int result = streams_conclude(&broker->streams);
    if (result < 0) {
        decide_failure(broker, result, "cannot learn what is left in a pipe");
    }
}

static void name_survivor(struct supervise_ending *ending, const struct proc_stat *stat, int sys,
                          bool unclaimed)
{
    if (ending->survivor_count < SURVIVOR_COUNT) {
        struct supervise_survivor *survivor = &ending->survivors[ending->survivor_count++];
        *survivor = (struct supervise_survivor){stat->pid, stat->start_ticks, sys, unclaimed, ""};
        memcpy(survivor->name, stat->name, sizeof survivor->name);
    }
}

static void name_survivors(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    struct tree_sums sums;
    (void)!tree_look(&broker->tree, broker_elapsed_ms(broker)); /* else by what was known */
    tree_read(&broker->tree, broker_elapsed_ms(broker),
              &sums); /* under the name that they have now */
    ending->survivor_count = 0;
    for (int i = 0; i < broker->tree.member_limit; i++) {
        const struct member *member = &broker->tree.members[i];
        if (member->pid > 0) {
            name_survivor(ending, &member->stat, member->signal_error, false);
        }
    }
    for (size_t i = 0; i < broker->tree.known_count; i++) {
        struct proc_stat stat;
        const struct known *known = &broker->tree.known[i];
        if (known->slot == SLOT_UNCLAIMED &&
            tree_read_stat(&broker->tree, known->pid, &stat, NULL) == 0) {
            name_survivor(ending, &stat, 0, true);
        }
    }
}

static bool settle_on(struct broker *broker, enum supervise_how how, const char *stopping)
{
    if (broker->decided) {
        return false;
    }
    broker->decided = true;
    broker->ending->how = how;
    broker->stopping = stopping;
    return true;
}

static void settle_limit(struct broker *broker, enum supervise_limit limit, int64_t value,
                         int64_t seen)
{
    struct supervise_ending *ending = broker->ending;
    bool exact = limit == LIMIT_OUTPUT || limit == LIMIT_OUTPUT_IO || limit == LIMIT_DETACHED ||
                 limit == LIMIT_DAEMON || limit == LIMIT_LINKS;
    if (exact && broker->own_end && ending->how != ENDED_LIMIT) {
        broker->decided = false;
    }
    if (settle_on(broker, ENDED_LIMIT, supervise_limit(limit)->name)) {
        ending->limit = limit;
        ending->limit_value = value;
        ending->limit_seen = seen;
        os_boundary(BOUNDARY_LIMIT_SEEN);
    }
}

/* MD-6: of a run with daemons, nobody else may be left, whatever it is that ends who is there. Once, before
 * anybody is asked to. */
static void judge_rest(struct broker *broker)
{
    struct tree_sums sums;
    const char *why = "the processes that are left cannot be listed";
    if (!broker->own_end || broker->daemons.count == 0 || broker->daemons_judged) {
        return;
    }
    broker->daemons_judged = true;
    bool listed = tree_look(&broker->tree, broker_elapsed_ms(broker)) == 0;
    tree_read(&broker->tree, broker_elapsed_ms(broker), &sums);
    broker->daemons_accepted = daemons_judge(&broker->daemons, &broker->tree, &why) && listed;
    if (!broker->daemons_accepted) {
        broker->ending->detached_why = why;
        settle_limit(broker, LIMIT_DETACHED, 0, 0);
    }
}

/* An accepted daemon has to end when it is asked to, in the time that it has for that. */
static void note_daemons(struct broker *broker, bool ended)
{
    if (!broker->own_end || broker->daemons.count == 0) {
        return;
    }
    daemons_note_ends(&broker->daemons, ended);
    if (!ended && broker->daemons_accepted) {
        broker->daemons_accepted = false;
        broker->ending->detached_why = "a daemon did not end when it was asked to";
        settle_limit(broker, LIMIT_DAEMON, 0, 0);
    }
}

static void feed(struct broker *broker, enum stop_event event)
{
    if (event == EVENT_STOP && broker->request->limits.grace_ns <= 0) {
        event = EVENT_KILL;
    }
    struct stop_step step = stop_next(broker->state, event);
    broker->state = step.next;
    switch (step.action) {
    case ACTION_TERMINATE:
        judge_rest(broker);
        terminate_ask(broker);
        break;
    case ACTION_KILL:
        judge_rest(broker);
        if (event == EVENT_GRACE_OVER) {
            note_daemons(broker, false);
        }
        terminate_kill(broker);
        break;
    case ACTION_GIVE_UP:
        name_survivors(broker);
        conclude(broker);
        break;
    case ACTION_CONCLUDE:
        note_daemons(broker, true);
        broker->ending->survivor_count = 0;
        conclude(broker);
        break;
    case ACTION_NONE:
    default:
        break;
    }
}

/* The first process has ended, and somebody is left. */
static void leave(struct broker *broker)
{
    bool matters = broker->request->detached_fails || broker->daemons.count > 0;
    if (!matters || !broker->own_end || broker->state != STOP_RUNNING) {
        feed(broker, EVENT_LEADER_GONE);
    } else if (broker->leave_until_ns == 0) {
        broker->leave_until_ns = broker_now(broker) + broker->request->limits.sample_ns;
    }
}

void decide_limit(struct broker *broker, enum supervise_limit limit, int64_t value, int64_t seen)
{
    settle_limit(broker, limit, value, seen);
    feed(broker, EVENT_STOP); /* also when something else was seen first and did not stop it */
}

void decide_interrupt(struct broker *broker, int signal)
{
    if (settle_on(broker, ENDED_INTERRUPTED, interrupt_name(signal))) {
        broker->ending->interrupt_signal = signal;
        feed(broker, EVENT_STOP);
        return;
    }
    if (broker->state == STOP_EMPTY || broker->state == STOP_GIVEN_UP) {
        /* The end stands already; what is left of the output does not matter to who presses a key. */
        streams_drop(&broker->streams, signal > 0 ? EINTR : ECANCELED);
    } else if (signal == SIGINT || signal == SIGTERM) {
        feed(broker, EVENT_KILL); /* it is being ended already, and somebody cannot wait */
    }
}

void decide_broken(struct broker *broker, const struct err *failure)
{
    if (settle_on(broker, ENDED_FAILED, "failure")) {
        broker->ending->failure = *failure;
    }
    feed(broker, EVENT_STOP);
}

void decide_failure(struct broker *broker, int sys, const char *what)
{
    struct err failure = {0};
    (void)err_sys(&failure, sys, "%s", what);
    decide_broken(broker, &failure);
}

/* A run that nobody would end if berm died now must not go on. */
void decide_watchdog_lost(struct broker *broker)
{
    struct err failure = {0};
    (void)err_set(&failure, ERR_INTERNAL, "the watchdog of the run died [watchdog_lost]");
    decide_broken(broker, &failure);
}

void decide_gate_failure(struct broker *broker, const struct gate_failure *failure)
{
    struct supervise_ending *ending = broker->ending;
    if (!failure->execution) {
        decide_broken(broker, &failure->err);
    } else if (settle_on(broker, ENDED_NOT_EXECUTED, "failure")) {
        ending->failure = failure->err;
        ending->exit_code = failure->err.sys == ENOENT ? 127 : 126; /* as shells have it */
    }
}

void decide_heard(struct broker *broker)
{
    struct gate_failure failure = {0};
    if (broker->failure_heard || !fd_is_open(&broker->spawn.failure)) {
        return;
    }
    switch (spawn_heard(&broker->spawn, &failure)) {
    case SPAWN_EXECUTED:
        if (broker->request->sandbox) {
            fd_close(&broker->spawn.failure); /* that was bubblewrap; the launcher tells the rest */
            return;
        }
        decide_executed(broker);
        break;
    case SPAWN_FAILED:
        failure.execution = failure.execution && !broker->request->sandbox;
        decide_gate_failure(broker, &failure);
        break;
    case SPAWN_NOTHING_YET:
    default:
        return;
    }
    broker->failure_heard = true;
    fd_close(&broker->spawn.failure);
}

void decide_executed(struct broker *broker)
{
    broker->ending->launched = true;
    broker->failure_heard = true;
}

static void settle_exit(struct broker *broker, int exit_code, int exit_signal)
{
    struct supervise_ending *ending = broker->ending;
    if (settle_on(broker, exit_signal != 0 ? ENDED_SIGNALLED : ENDED_EXITED, NULL)) {
        broker->own_end = true;
    }
    if (ending->how != ENDED_NOT_EXECUTED) {
        ending->exit_code = exit_code;
        ending->exit_signal = exit_signal;
    }
}

void decide_payload_ended(struct broker *broker, int exit_code, int exit_signal, bool left)
{
    broker->ending->exited_ns = broker_now(broker);
    hold_look(broker); /* the kernel may have ended it for want of memory */
    /* Between two looks it may have failed for want of space. */
    observe_private(broker, exit_code != 0 || exit_signal != 0);
    settle_exit(broker, exit_code, exit_signal);
    if (left) {
        leave(broker);
    }
}

/* bubblewrap is no more. It folds a signal into its exit code, as shells do: a launcher that was
 * killed took the payload with it. One that left of itself without a word hides how the payload ended,
 * and its own exit must not be taken for that. */
static void sandbox_ended(struct broker *broker)
{
    const struct reaper *reaper = &broker->reaper;
    launch_hear(broker); /* what was said since the last time; now it is all */
    if (broker->launch.ended) {
        return; /* how, was told */
    }
    if (!broker->launch.executed && !broker->decided) {
        launch_explain_end(broker);
    }
    bool folded = reaper->exit_signal == 0 && reaper->exit_code > 128;
    if (broker->launch.executed && !broker->decided && !folded && reaper->exit_signal == 0) {
        struct err failure = {0};
        (void)err_set(&failure, ERR_INTERNAL,
                      "the launcher ended without a word of how the payload did (exit %d)",
                      reaper->exit_code);
        decide_broken(broker, &failure);
    }
    settle_exit(broker, folded ? 0 : reaper->exit_code,
                folded ? reaper->exit_code - 128 : reaper->exit_signal);
}

static void leader_ended(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    if (ending->exited_ns == 0) {
        ending->exited_ns = broker_now(broker);
    }
    hold_look(broker);
    decide_heard(broker);
    if (fd_is_open(&broker->spawn.pidfd)) { /* and stays: it still names the group that it led */
        (void)!os_epoll_remove(fd_num(&broker->epoll), fd_num(&broker->spawn.pidfd));
    }
    if (broker->request->sandbox) {
        sandbox_ended(broker);
        return;
    }
    if (broker->reaper.leader_executed == EXECUTED_YES) {
        ending->launched = true;
    } else if (broker->reaper.leader_executed == EXECUTED_NO) {
        /* The pipe closed without a word because the gate died, not because it executed. */
        ending->launched = false;
        if (!broker->decided) {
            struct err failure = {0};
            (void)err_set(&failure, ERR_INTERNAL,
                          "the first process ended before it executed the payload (signal %d)",
                          broker->reaper.exit_signal);
            decide_broken(broker, &failure);
        }
    }
    settle_exit(broker, broker->reaper.exit_code, broker->reaper.exit_signal);
}

void decide_reap(struct broker *broker)
{
    int result = 0;
    const struct proof_tree_empty *proof =
        proof_reap(&broker->reaper, broker_elapsed_ms(broker), &result);
    bool leader_went = broker->reaper.leader_gone && !broker->leader_ended;
    if (leader_went) {
        broker->leader_ended = true;
        leader_ended(broker);
    }
    if (proof) {
        broker->ending->tree_empty = proof;
        os_boundary(BOUNDARY_TREE_EMPTY);
        feed(broker, EVENT_EMPTY);
    } else if (broker->reaper.only_unclaimed) {
        decide_give_up(broker); /* nobody may be signalled: time would change nothing */
    } else if (leader_went) {
        leave(broker);
    }
    if (result < 0) {
        decide_failure(broker, result, "cannot wait for the payload's processes");
    }
}

void decide_released(struct broker *broker)
{
    feed(broker, EVENT_RELEASED);
}

void decide_deadlines(struct broker *broker)
{
    const struct supervise_limits *limits = &broker->request->limits;
    int64_t now_ns = broker_now(broker);
    int64_t since_ns = limits->one_deadline || broker->state == STOP_GATED
                           ? broker->ending->created_ns
                           : broker->ending->released_ns;
    switch (broker->state) {
    case STOP_GATED:
    case STOP_RUNNING:
        if (!broker->failure_heard && now_ns >= broker->setup_until_ns) {
            decide_limit(broker, LIMIT_SETUP, limits->setup_timeout_ns,
                         now_ns - broker->ending->created_ns);
        } else if (now_ns >= broker->payload_until_ns) {
            decide_limit(broker, LIMIT_TIMEOUT, limits->timeout_ns, now_ns - since_ns);
        } else if (broker->leave_until_ns > 0 && now_ns >= broker->leave_until_ns) {
            feed(broker, EVENT_LEADER_GONE);
        }
        break;
    case STOP_TERMINATING:
        if (now_ns >= broker->grace_until_ns) {
            feed(broker, EVENT_GRACE_OVER);
        }
        break;
    case STOP_KILLING:
        if (now_ns >= broker->kill_until_ns) {
            feed(broker, EVENT_BUDGET_OVER);
        } else {
            terminate_again(broker);
        }
        break;
    case STOP_EMPTY:
    case STOP_GIVEN_UP:
        if (now_ns >= broker->drain_until_ns) {
            streams_drop(&broker->streams, ETIMEDOUT);
        }
        break;
    case STOP_STATE_COUNT:
    default:
        BUG("a state that does not exist");
    }
}

void decide_streams(struct broker *broker)
{
    const struct streams *streams = &broker->streams;
    if (streams->keep_error < 0 && broker->ending->how != ENDED_LIMIT) {
        struct err failure = {0};
        (void)err_sys(&failure, streams->keep_error, "cannot keep the output");
        decide_limit(broker, LIMIT_OUTPUT_IO, 0, 0);
        if (broker->ending->limit == LIMIT_OUTPUT_IO) {
            broker->ending->failure = failure;
        }
    }
    if (streams->over_limit) {
        decide_limit(broker, LIMIT_OUTPUT, streams->output_limit, streams->total_bytes);
    }
}

void decide_stop_tree(struct broker *broker, int signal)
{
    if (broker->state == STOP_RUNNING || broker->state == STOP_TERMINATING) {
        (void)!tree_look(&broker->tree, broker_elapsed_ms(broker)); /* else who was known */
        (void)tree_signal_all(&broker->tree, signal);
    }
}

void decide_kill(struct broker *broker)
{
    feed(broker, EVENT_KILL);
}

void decide_give_up(struct broker *broker)
{
    feed(broker, EVENT_KILL);
    feed(broker, EVENT_BUDGET_OVER);
}

bool decide_is_over(const struct broker *broker)
{
    return (broker->state == STOP_EMPTY || broker->state == STOP_GIVEN_UP) &&
           streams_over(&broker->streams);
}
