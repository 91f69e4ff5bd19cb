#include "broker-priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "anchor-message.h"
#include "event.h"
#include "process.h"

enum {
    READY_MS = 30000,     /* for a manager that is busy */
    REMOVE_MS = 10000,    /* for the scope to be gone, once its leaf is empty */
    KILL_AGAIN_MS = 10,   /* between two kills of a leaf that is not empty */
    BACKSTOP_MS = 120000, /* systemd ends a scope so long after everything else should have */
    STALL_MS = 150,       /* of two seconds, that tasks wait for memory before the kernel says so */
};

static int64_t after_ms(const struct broker *broker, int64_t ms)
{
    return broker_now(broker) + ms * NS_PER_MS;
}

/* --- making it ---------------------------------------------------------------------------------- */

/* Its number names the anchor as long as the pidfd has not fired. */
static int identify_anchor(const struct detached *anchor, struct proc_identity *ret_who)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(anchor->pid));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    result = result < 0 ? result : os_poll(fd_num(&anchor->pidfd), POLLIN, 0);
    *ret_who = (struct proc_identity){anchor->pid, stat.start_ticks};
    return result < 0 ? result : result == 0 ? 0 : -ESRCH;
}

/* Late, for when berm and its watchdog are both dead and the anchor too. */
static int64_t backstop_ns(const struct supervise_limits *limits)
{
    if (limits->timeout_ns <= 0 || limits->timeout_ns > INT64_MAX / 4) {
        return 0;
    }
    return limits->setup_timeout_ns + limits->timeout_ns + limits->grace_ns +
           limits->kill_budget_ns + BACKSTOP_MS * NS_PER_MS;
}

static bool is_wanted(const struct broker *broker)
{
    return broker->request->offer && broker->request->offer->adapter != SCOPE_NONE;
}

int hold_prepare(struct broker *broker, struct err *err)
{
    const struct detach_request duty = {.duty = "anchor"};
    if (!is_wanted(broker)) {
        return 0;
    }
    if (detach_begin(&duty, &broker->hold.anchor, err) < 0) {
        return -1;
    }
    scope_expect(broker->request->offer);
    return detach_finish(&broker->hold.anchor, err);
}

/* What came before the scope is asked for counts as well. */
static int times_asked(void *context)
{
    const struct broker *broker = context;
    int cancel_fd = broker->request->cancel_fd;
    (void)interrupts_pending(broker->request->interrupts);
    return broker->request->interrupts->count +
           (cancel_fd >= 0 && os_poll(cancel_fd, POLLIN, 0) > 0);
}

static int tell_watchdog(void *context, int64_t until_ns)
{
    const struct broker *broker = context;
    return watchdog_asked(broker->request->watchdog, until_ns);
}

int hold_begin(struct broker *broker, struct err *err)
{
    const struct supervise_request *request = broker->request;
    const struct supervise_limits *limits = &request->limits;
    struct hold *hold = &broker->hold;
    struct proc_identity anchor;
    if (!is_wanted(broker)) {
        return 0;
    }
    int result = identify_anchor(&hold->anchor, &anchor);
    if (result < 0) {
        return err_sys(err, result, "cannot identify the anchor");
    }
    int64_t until_ns = after_ms(broker, READY_MS);
    const struct scope_request wanted = {
        .offer = request->offer,
        .name = request->scope_name,
        .anchor = anchor,
        .anchor_pidfd = fd_num(&hold->anchor.pidfd),
        .anchor_channel = fd_num(&hold->anchor.channel),
        .watchdog =
            request->watchdog ? watchdog_process(request->watchdog) : (struct proc_identity){0},
        .memory_max_bytes = limits->memory_bytes,
        .memory_high_bytes = limits->memory_high_bytes,
        .pids_max =
            limits->tasks > 0 && request->sandbox ? limits->tasks + SANDBOX_TASKS : limits->tasks,
        .with_io = request->with_io,
        .runtime_max_ns = backstop_ns(limits),
        .deadline_ns = broker->setup_until_ns < until_ns ? broker->setup_until_ns : until_ns,
        .patience = {.fds = {fd_num(&request->interrupts->signal_fd), request->cancel_fd},
                     .asked = times_asked,
                     .context = broker},
        .tell_watchdog = request->watchdog ? tell_watchdog : NULL,
        .tell_context = broker,
    };
    if (scope_begin(&wanted, &hold->scope, err) < 0) {
        return -1;
    }
    return request->on_asked ? request->on_asked(request->on_scope_context, err) : 0;
}

static int tell(struct broker *broker, struct err *err)
{
    const struct supervise_request *request = broker->request;
    const struct scope *scope = broker->hold.scope;
    const struct watchdog_leaf leaf = {
        .leaf_fd = scope_leaf_fd(scope),
        .scope_fd = scope_fd(scope),
        .scope_parent_fd = scope_parent_fd(scope),
        .anchor_fd = fd_num(&broker->hold.anchor.channel),
        .gate_pidfd = fd_num(&broker->spawn.pidfd),
        .kept_fd = -1,
        .gate = broker->tree.leader,
        .path = scope_path(scope),
        .name = ANCHOR_LEAF_NAME,
        .anchor_name = ANCHOR_OWN_LEAF_NAME,
        .unit = scope_adapter(scope) == SCOPE_DELEGATED ? NULL : scope_unit(scope),
    };
    return request->on_scope ? request->on_scope(request->on_scope_context, scope, &leaf, err) : 0;
}

static int watch(struct broker *broker, struct err *err)
{
    int fds[SCOPE_EVENT_FDS];
    scope_event_fds(broker->hold.scope, fds);
    int result = scope_events_read(broker->hold.scope, &broker->hold.events);
    for (int i = 0; i < SCOPE_EVENT_FDS && result >= 0; i++) {
        result = os_epoll_add(fd_num(&broker->epoll), fds[i], EPOLLPRI, WATCH_SCOPE);
    }
    broker->hold.watched = true;
    return result < 0 ? err_sys(err, result, "cannot watch the leaf of the run") : 0;
}

/* A second notice beside the count of memory.events, for what waits and charges nothing meanwhile. Not
 * every kernel has it, and the count alone is enough. */
static void watch_pressure(struct broker *broker)
{
    struct hold *hold = &broker->hold;
    if (broker->request->limits.memory_high_bytes <= 0) {
        return;
    }
    int fd = scope_pressure_fd(hold->scope, STALL_MS);
    if (fd >= 0 && os_epoll_add(fd_num(&broker->epoll), fd, EPOLLPRI, WATCH_PRESSURE) == 0) {
        hold->pressure_fd = fd;
        hold->pressure_watched = true;
    }
}

/* A file of a leaf that is gone is ready for ever. */
static void stop_watching(struct broker *broker)
{
    int fds[SCOPE_EVENT_FDS];
    if (!broker->hold.watched) {
        return;
    }
    broker->hold.watched = false;
    scope_event_fds(broker->hold.scope, fds);
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        (void)!os_epoll_remove(fd_num(&broker->epoll), fds[i]);
    }
    if (broker->hold.pressure_watched) {
        broker->hold.pressure_watched = false;
        (void)!os_epoll_remove(fd_num(&broker->epoll), broker->hold.pressure_fd);
    }
}

static void note_scope(struct broker *broker)
{
    const struct scope *scope = broker->hold.scope;
    struct supervise_scope *told = &broker->ending->scope;
    told->adapter = scope_adapter(scope);
    told->has_no_end = scope_has_no_end(scope);
    scope_limits(scope, &told->limits);
    (void)snprintf(told->unit, sizeof told->unit, "%s", scope_unit(scope));
    (void)snprintf(told->path, sizeof told->path, "%s", scope_path(scope));
}

int hold_finish(struct broker *broker, struct err *err)
{
    struct hold *hold = &broker->hold;
    if (!hold->scope) {
        return 0;
    }
    if (scope_finish(hold->scope, err) < 0) {
        return -1;
    }
    if (tell(broker, err) < 0) {
        return -1;
    }
    if (scope_admit(hold->scope, broker->tree.leader, err) < 0 || watch(broker, err) < 0) {
        broker->ending->scope.unverified = true;
        return -1;
    }
    watch_pressure(broker);
    hold->holds = true;
    broker->ending->scope.held = true;
    return 0;
}

int hold_verify(struct broker *broker, struct err *err)
{
    struct hold *hold = &broker->hold;
    if (!hold->scope || scope_verify(hold->scope, err) == 0) {
        return 0;
    }
    broker->ending->scope.unverified = true;
    return -1;
}

/* --- while it runs ------------------------------------------------------------------------------ */

/* Linux before 6.11 counts a fork that a cgroup above refused in the leaf as well: it is the leaf's own
 * limit only when the leaf is full, or once was. A peak can be too low (scope.h). */
static bool was_full(const struct scope *scope)
{
    struct scope_limits limits;
    int64_t now = scope_pids_current(scope); /* first, for it is what passes */
    int64_t peak = scope_pids_peak(scope);
    scope_limits(scope, &limits);
    return limits.pids_max != CGROUP_NO_LIMIT &&
           (peak < 0 || peak >= limits.pids_max || now >= limits.pids_max);
}

void hold_look(struct broker *broker)
{
    struct hold *hold = &broker->hold;
    const struct supervise_limits *limits = &broker->request->limits;
    struct scope_events now;
    if (!hold->holds) {
        return;
    }
    int changed = scope_events_read(hold->scope, &now);
    if (changed < 0 || now.gone) {
        stop_watching(broker);
    }
    if (changed < 0) {
        decide_failure(broker, changed, "cannot read what the kernel tells of the run");
        return;
    }
    const struct scope_events before = hold->events;
    hold->events = now;
    if (now.oom > before.oom) {
        decide_limit(broker, LIMIT_MEMORY, limits->memory_bytes, limits->memory_bytes);
    }
    if (now.memory_high > before.memory_high) {
        high_notice(broker);
    }
    if (now.pids_max > before.pids_max && was_full(hold->scope)) {
        decide_limit(broker, LIMIT_PIDS, limits->tasks, limits->tasks);
    }
}

int hold_leaf_fd(const struct broker *broker)
{
    return broker->hold.holds ? scope_leaf_fd(broker->hold.scope) : -1;
}

int64_t hold_memory(const struct broker *broker)
{
    return broker->hold.holds ? scope_memory_bytes(broker->hold.scope) : -1;
}

bool hold_kill(struct broker *broker)
{
    int result = 0;
    const struct hold *hold = &broker->hold;
    return hold->holds && !scope_leaf_empty(hold->scope, &result) && scope_kill(hold->scope) == 0;
}

/* --- the end ------------------------------------------------------------------------------------ */

/* Whoever is in there still was no child of berm's tree: it is ended all the same. */
static const struct proof_leaf_empty *empty_leaf(struct broker *broker)
{
    int64_t until_ns = broker_now(broker) + broker->request->limits.kill_budget_ns;
    for (;;) {
        int result = 0;
        const struct proof_leaf_empty *proof = scope_leaf_empty(broker->hold.scope, &result);
        if (proof || broker_now(broker) >= until_ns) {
            return proof;
        }
        (void)!scope_kill(broker->hold.scope);
        (void)!os_poll(-1, 0, KILL_AGAIN_MS);
    }
}

void hold_conclude(struct broker *broker)
{
    struct hold *hold = &broker->hold;
    struct supervise_scope *told = &broker->ending->scope;
    if (!hold->scope) {
        return;
    }
    bool admitted = hold->holds;
    note_scope(broker);
    if (admitted) {
        told->leaf_empty = empty_leaf(broker);
        if (scope_events_read(hold->scope, &told->events) < 0) {
            told->events = hold->events; /* as of the last look */
        }
        scope_counters_read(hold->scope, &told->counters);
    }
    if (broker->request->watchdog && scope_watchdog_is_refused(hold->scope)) {
        (void)!watchdog_asked(broker->request->watchdog, 0);
    }
    if (broker->request->watchdog && (!admitted || told->leaf_empty)) {
        (void)!watchdog_let_go(broker->request->watchdog); /* lost: nobody to tell */
    }
    scope_remove(hold->scope, after_ms(broker, REMOVE_MS), &told->removed);
    hold->holds = false;
}

void hold_done(struct hold *hold)
{
    scope_free(hold->scope);
    fd_close(&hold->anchor.channel);
    fd_close(&hold->anchor.pidfd);
    *hold = (struct hold){0};
}
