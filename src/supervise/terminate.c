/* The actions of the stop table that end processes. */
#include "broker-priv.h"

#include <signal.h>

#include "boundary.h"
#include "chase-priv.h"
#include "process.h"

enum {
    LEAST_GRACE_MS = 100,
    ROUND_MS = 10,     /* between two passes over /proc on the way to the end */
    LAUNCHER_MS = 100, /* for the launcher to end all of the sandbox and to tell what they used */
};

static void note_signal(struct supervise_ending *ending, int signal)
{
    for (int i = 0; i < ending->stop_signal_count; i++) {
        if (ending->stop_signals[i] == signal) {
            return;
        }
    }
    if (ending->stop_signal_count < STOP_SIGNAL_COUNT) {
        ending->stop_signals[ending->stop_signal_count++] = signal;
    }
}

static void look(struct broker *broker)
{
    /* A pass that fails leaves what was known; the signals go out all the same. */
    (void)!tree_look(&broker->tree, broker_elapsed_ms(broker));
}

/* Before the first signal that ends the tree: who is there? */
static void begin(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    os_boundary(BOUNDARY_STOPPING);
    if (ending->stop_signal_count > 0) {
        return;
    }
    proof_reap_some(&broker->reaper, broker_elapsed_ms(broker));
    look(broker);
    for (int i = 0; i < broker->tree.member_limit; i++) {
        const struct member *member = &broker->tree.members[i];
        if (member_alive(member) && member->record >= 0) {
            ending->descendants[member->record].before_stop = true;
        }
    }
    if (broker->own_end) {
        ending->stragglers = tree_count_alive(&broker->tree) + broker->tree.extra.processes;
    }
}

void terminate_ask(struct broker *broker)
{
    /* From the request on: who stops a run waits no longer because it has many processes. */
    broker->grace_until_ns = broker_now(broker) + broker->request->limits.grace_ns;
    begin(broker);
    if (tree_signal_all(&broker->tree, SIGTERM) > 0) {
        note_signal(broker->ending, SIGTERM);
    }
    /* A stopped process takes its SIGTERM only when it goes on (T5). */
    if (tree_signal_all(&broker->tree, SIGCONT) > 0) {
        note_signal(broker->ending, SIGCONT);
    }
    /* And whoever was told last has some of it as well. */
    int64_t grace_ns = broker->request->limits.grace_ns;
    int64_t least_ns =
        grace_ns < LEAST_GRACE_MS * NS_PER_MS ? grace_ns : LEAST_GRACE_MS * NS_PER_MS;
    int64_t until_ns = broker_now(broker) + least_ns;
    if (broker->grace_until_ns < until_ns) {
        broker->grace_until_ns = until_ns;
    }
}

/* The leader's group first: one call that nobody in it outruns. Then whoever a pass over /proc
 * finds. A process that was told to die cannot fork any more, so each round leaves fewer. */
static void kill_round(struct broker *broker)
{
    struct tree *tree = &broker->tree;
    int reached = hold_kill(broker);
    if (fd_is_open(&broker->spawn.pidfd)) {
        reached += os_pidfd_signal_group(fd_num(&broker->spawn.pidfd), SIGKILL) == 0;
        reached += os_pidfd_signal(fd_num(&broker->spawn.pidfd), SIGKILL) == 0;
    }
    look(broker);
    int found = tree_signal_all(tree, SIGKILL);
    if (reached + found > 0) {
        note_signal(broker->ending, SIGKILL);
    }
    if (found == 0) {
        tree_forget(tree); /* a child is left and nobody was found: read everybody again */
    }
    broker->round_at_ns = broker_now(broker) + ROUND_MS * NS_PER_MS;
}

void terminate_again(struct broker *broker)
{
    if (broker->launcher_kills && broker_now(broker) < broker->round_at_ns) {
        return;
    }
    if (chase_children(&broker->reaper, broker_elapsed_ms(broker)) > 0) {
        note_signal(broker->ending, SIGKILL);
    }
    if (broker_now(broker) >= broker->round_at_ns) {
        kill_round(broker);
    }
}

void terminate_kill(struct broker *broker)
{
    begin(broker);
    broker->kill_until_ns = broker_now(broker) + broker->request->limits.kill_budget_ns;
    /* Inside, one call reaches everybody and no fork outruns it. Should the launcher not be able to,
     * the rounds from outside begin. */
    if (broker->launch.executed && launch_say(broker, LAUNCH_KILL) == 0) {
        note_signal(broker->ending, SIGKILL);
        broker->launcher_kills = true;
        broker->round_at_ns = broker_now(broker) + LAUNCHER_MS * NS_PER_MS;
        return;
    }
    kill_round(broker);
    terminate_again(broker);
}
