/* The event loop: waits, and hands each event to who decides. */
#include "broker-priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

#include "event.h"
#include "process.h"

enum {
    EVENTS_AT_ONCE = 16,
    WAIT_FAILURES_MAX = 16, /* in a row; then it ends without waiting for events */
    BLIND_ROUNDS = 100,
    BLIND_WAIT_MS = 10,
};

int64_t broker_now(const struct broker *broker)
{
    return broker->clock->monotonic_ns();
}

int64_t broker_elapsed_ms(const struct broker *broker)
{
    return (broker_now(broker) - broker->ending->created_ns) / NS_PER_MS;
}

int loop_watch(struct broker *broker, struct err *err)
{
    int epoll_fd = fd_num(&broker->epoll);
    int result = os_epoll_add(epoll_fd, fd_num(&broker->spawn.pidfd), EPOLLIN, WATCH_LEADER);
    result = result < 0 ? result
                        : os_epoll_add(epoll_fd, fd_num(&broker->request->interrupts->signal_fd),
                                       EPOLLIN, WATCH_SIGNALS);
    result = result < 0
                 ? result
                 : os_epoll_add(epoll_fd, fd_num(&broker->spawn.failure), EPOLLIN, WATCH_FAILURE);
    if (result == 0 && broker->request->sandbox) {
        result = os_epoll_add(epoll_fd, fd_num(&broker->spawn.channel), EPOLLIN, WATCH_CHANNEL);
    }
    if (result == 0 && broker->request->cancel_fd >= 0) {
        result = os_epoll_add(epoll_fd, broker->request->cancel_fd, EPOLLIN, WATCH_CANCEL);
        broker->cancel_watched = result == 0;
    }
    if (result == 0 && broker->request->watchdog) {
        result =
            os_epoll_add(epoll_fd, watchdog_fd(broker->request->watchdog), EPOLLIN, WATCH_WATCHDOG);
        broker->watchdog_watched = result == 0;
    }
    return result < 0 ? err_sys(err, result, "cannot watch the payload") : 0;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next moment at which something is to be done without an event. */
static int64_t next_of_state(const struct broker *broker)
{
    switch (broker->state) {
    case STOP_GATED:
    case STOP_RUNNING: {
        int64_t until = earlier(broker->payload_until_ns, broker->look_at_ns);
        until = broker->state == STOP_RUNNING ? earlier(until, high_moment_ns(broker)) : until;
        until = broker->leave_until_ns > 0 ? earlier(until, broker->leave_until_ns) : until;
        return broker->failure_heard ? until : earlier(until, broker->setup_until_ns);
    }
    case STOP_TERMINATING:
        return earlier(broker->grace_until_ns, broker->look_at_ns);
    case STOP_KILLING:
        return earlier(broker->kill_until_ns, broker->round_at_ns);
    case STOP_EMPTY:
    case STOP_GIVEN_UP:
        return broker->drain_until_ns;
    case STOP_STATE_COUNT:
    default:
        BUG("a state that does not exist");
    }
}

static int64_t next_moment(const struct broker *broker)
{
    return earlier(next_of_state(broker), context_moment_ns(&broker->context));
}

static int timeout_ms(const struct broker *broker)
{
    if (broker->reaper.more || streams_ready(&broker->streams)) {
        return 0;
    }
    int64_t moment_ns = next_moment(broker);
    if (moment_ns == INT64_MAX) {
        return -1;
    }
    int64_t wait_ns = moment_ns - broker_now(broker);
    if (wait_ns <= 0) {
        return 0;
    }
    int64_t wait_ms = (wait_ns + NS_PER_MS - 1) / NS_PER_MS;
    return wait_ms < 60000 ? (int)wait_ms : 60000;
}

/* The terminal's stop key: the payload has a session of its own and would run on. */
static void stop_both(struct broker *broker)
{
    const struct supervise_observer *observer = &broker->request->observer;
    decide_stop_tree(broker, SIGSTOP);
    if (observer->before_stop) {
        observer->before_stop(observer->context);
    }
    (void)!os_stop_self();
    decide_stop_tree(broker, SIGCONT);
}

static void on_signals(struct broker *broker)
{
    int signal;
    while ((signal = interrupts_next(broker->request->interrupts)) > 0) {
        switch (signal) {
        case SIGCHLD:
            broker->reaper.more = true; /* it may have come after the last look */
            break;
        case SIGTSTP:
            stop_both(broker);
            break;
        case SIGCONT:
            break;
        default:
            decide_interrupt(broker, signal);
            break;
        }
    }
    if (signal < 0) {
        decide_failure(broker, signal, "cannot read signals");
    }
}

static void on_cancel(struct broker *broker)
{
    if (broker->cancel_watched) {
        broker->cancel_watched = false;
        (void)!os_epoll_remove(fd_num(&broker->epoll), broker->request->cancel_fd);
        decide_interrupt(broker, 0);
    }
}

/* What the service cannot do is told, and ends no run. */
static void on_context(struct broker *broker, uint32_t ready)
{
    int64_t now_ns = broker_now(broker);
    if ((ready & (1U << WATCH_CONTEXT)) || now_ns >= context_moment_ns(&broker->context)) {
        context_serve(&broker->context, now_ns);
        broker->ending->context_failure = broker->context.failure;
    }
}

static void on_watchdog(struct broker *broker)
{
    if (broker->watchdog_watched && watchdog_is_lost(broker->request->watchdog)) {
        broker->watchdog_watched = false;
        (void)!os_epoll_remove(fd_num(&broker->epoll), watchdog_fd(broker->request->watchdog));
        decide_watchdog_lost(broker);
    }
}

static void on_streams(struct broker *broker, uint32_t ready)
{
    int result = 0;
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (ready & (1U << (WATCH_SINK + i))) {
            int flushed = streams_flush(&broker->streams, i);
            result = result < 0 ? result : flushed;
        }
    }
    for (int i = 0; i < STREAM_COUNT; i++) {
        if ((ready & (1U << (WATCH_STREAM + i))) || broker->streams.concluding) {
            int taken = streams_read(&broker->streams, i);
            result = result < 0 ? result : taken;
        }
    }
    decide_streams(broker);
    if (result < 0) {
        streams_drop(&broker->streams,
                     -result); /* nothing may wait for an event that never comes */
        decide_failure(broker, result, "cannot handle the payload's output");
    }
}

/* In this order: what was asked comes before what has ended, and both before the clock. Who stops
 * everybody at once (systemctl stop) tells berm and the payload: how the payload answered is then not
 * its own end, least of all a success. */
static void dispatch(struct broker *broker, uint32_t ready)
{
    const uint32_t may_have_ended = 1U << WATCH_LEADER | 1U << WATCH_SIGNALS;
    bool look_due = broker_now(broker) >= broker->look_at_ns;
    /* Before a look as well: it would look at zombies. */
    bool reap = (ready & may_have_ended) || broker->reaper.more || look_due ||
                broker->state != STOP_RUNNING;
    if (ready & (1U << WATCH_FAILURE)) {
        decide_heard(broker);
    }
    if ((ready & (1U << WATCH_CHANNEL)) || (reap && broker->request->sandbox)) {
        launch_hear(broker); /* what it said comes before its end */
    }
    if (reap) {
        on_signals(broker); /* also those that came after epoll had answered */
    }
    if (ready & (1U << WATCH_CANCEL)) {
        on_cancel(broker);
    }
    if (ready & (1U << WATCH_WATCHDOG)) {
        on_watchdog(broker);
    }
    if (ready & (1U << WATCH_PRESSURE)) {
        high_notice(broker);
    }
    if (ready & (1U << WATCH_SCOPE | 1U << WATCH_PRESSURE)) { /* of a leaf that is gone, too */
        hold_look(broker);
    }
    if (reap) {
        decide_reap(broker);
    }
    on_streams(broker, ready);
    decide_deadlines(broker);
    on_context(broker, ready);
    bool looking = broker->state == STOP_RUNNING || broker->state == STOP_TERMINATING;
    if (looking && look_due) {
        observe_look(broker);
    }
    if (broker->state == STOP_RUNNING) {
        high_weigh(broker);
    }
}

/* The kernel does not let us wait any more: end everything, waiting as well as can be. */
static void end_blind(struct broker *broker)
{
    decide_kill(broker);
    for (int i = 0; i < BLIND_ROUNDS && broker->state == STOP_KILLING; i++) {
        (void)!os_poll(fd_num(&broker->request->interrupts->signal_fd), POLLIN, BLIND_WAIT_MS);
        decide_reap(broker);
        decide_deadlines(broker);
    }
    decide_give_up(broker);
}

void loop_run(struct broker *broker)
{
    while (!decide_is_over(broker)) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int count =
            os_epoll_wait(fd_num(&broker->epoll), events, EVENTS_AT_ONCE, timeout_ms(broker));
        if (count < 0 && count != -EINTR) {
            decide_failure(broker, count, "cannot wait for events");
            if (++broker->wait_failures == WAIT_FAILURES_MAX) {
                end_blind(broker);
                return;
            }
        } else {
            broker->wait_failures = 0;
        }
        uint32_t ready = 0;
        for (int i = 0; i < count; i++) {
            ready |= 1U << events[i].data.u64;
        }
        dispatch(broker, ready);
    }
}
