#include "broker-priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "boundary.h"
#include "detail-priv.h"
#include "event.h"
#include "file.h"
#include "memory.h"
#include "process.h"

enum { OOM_FIRST = 1000, OOM_NEARLY_FIRST = 999 };
#define WATCHDOG_LATE_NS (5 * NS_PER_S) /* for a berm that is slow, and neither stopped nor stuck */

/* Signals go through pidfds or not at all. */
static int check_host(struct err *err)
{
    with_fd self = fd_adopt(os_pidfd_open(os_getpid()));
    int result = fd_is_open(&self) ? os_pidfd_signal(fd_num(&self), 0) : fd_error(&self);
    if (result == -ENOSYS || result == -EPERM) {
        return err_set(err, ERR_UNAVAILABLE,
                       "this kernel gives no pidfds (Linux 5.3 and later, not filtered); without "
                       "them a signal could reach a foreign process");
    }
    return result < 0 ? err_sys(err, result, "cannot make a pidfd") : 0;
}

/* Any descendant that loses its parent becomes our child. What was set is read back. */
static int become_subreaper(struct err *err)
{
    int result = os_set_subreaper(true);
    int holds = result < 0 ? result : os_is_subreaper();
    if (holds < 0) {
        return err_sys(err, holds, "cannot become a child subreaper");
    }
    return holds ? 0 : err_set(err, ERR_UNAVAILABLE, "the kernel did not make it a subreaper");
}

/* Whether there can be children of ours that are not the payload's: somebody else's orphans come
 * to pid 1, and whoever executed berm may have had children. */
static int look_for_strangers(struct broker *broker, struct err *err)
{
    siginfo_t info;
    int result = os_waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL);
    if (result < 0 && result != -ECHILD) {
        return err_sys(err, result, "cannot look for children");
    }
    broker->tree.strangers = result == 0 || broker->tree.controller == 1;
    return 0;
}

static int prepare(struct broker *broker, struct err *err)
{
    broker->epoll = fd_adopt(os_epoll_new());
    if (!fd_is_open(&broker->epoll)) {
        return err_sys(err, fd_error(&broker->epoll), "cannot make an event loop");
    }
    if (check_host(err) < 0 || hold_prepare(broker, err) < 0 ||
        spawn_prepare(&broker->spawn, broker->request, err) < 0 ||
        tree_init(&broker->tree, broker->ending, spawn_files(&broker->spawn), err) < 0 ||
        become_subreaper(err) < 0 || look_for_strangers(broker, err) < 0) {
        return -1;
    }
    broker->tree.setting_up = broker->request->sandbox != NULL;
    streams_open(&broker->streams, broker->request, broker->ending, fd_num(&broker->epoll));
    broker->reaper = (struct reaper){.tree = &broker->tree,
                                     .ending = broker->ending,
                                     .launch = broker->request->sandbox ? &broker->launch : NULL};
    return 0;
}

/* The host's out-of-memory killer shall take the payload first. Not fatal: it is a courtesy. */
static void mark_for_oom(struct broker *broker)
{
    char path[40];
    char text[16];
    pid_t pid = broker->spawn.pid;
    (void)snprintf(path, sizeof path, "%d/oom_score_adj", pid);
    ssize_t length = os_read_small(fd_num(&broker->tree.proc_dir), path, text, sizeof text);
    /* Another value than our own, so that it tells the payload's processes from others. */
    bool ours = length > 0 && strtol(text, NULL, 10) == OOM_FIRST;
    int mark = ours ? OOM_NEARLY_FIRST : OOM_FIRST;
    int digits = snprintf(text, sizeof text, "%d", mark);
    with_fd file = fd_adopt(os_openat(fd_num(&broker->tree.proc_dir), path, O_WRONLY, 0));
    if (length > 0 && fd_is_open(&file) &&
        os_write(fd_num(&file), text, (size_t)digits) == digits) {
        broker->tree.oom_mark = mark;
        broker->ending->oom_first = true;
    }
}

static int64_t deadline(int64_t from_ns, int64_t after_ns)
{
    return after_ns <= 0                    ? INT64_MAX
           : after_ns > INT64_MAX - from_ns ? INT64_MAX
                                            : from_ns + after_ns;
}

/* While bubblewrap starts there is time for it: the kernel lists its children, whoever was surveyed. */
static bool can_survey_later(const struct broker *broker)
{
    return broker->request->sandbox && !broker->tree.strangers &&
           fd_is_open(&broker->tree.children_file);
}

/* The gate exists from here on: no way out but through the loop. */
static int adopt_gate(struct broker *broker, struct err *err)
{
    struct supervise_ending *ending = broker->ending;
    struct proc_stat stat;
    ending->leader_pid = broker->tree.leader.pid = broker->spawn.pid;
    if (streams_adopt(&broker->streams, broker->spawn.output, err) < 0 ||
        loop_watch(broker, err) < 0) {
        return -1;
    }
    with_fd file = fd_adopt(os_proc_stat_open(broker->spawn.pid));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    if (result == 0) {
        struct proc_identity leader = {broker->spawn.pid, stat.start_ticks};
        ending->leader_start_ticks = stat.start_ticks;
        result = tree_lead(&broker->tree, leader, broker_elapsed_ms(broker));
        result = result == 0 && !can_survey_later(broker)
                     ? tree_survey(&broker->tree, broker_elapsed_ms(broker))
                     : result;
    }
    if (result < 0) {
        return err_sys(err, result, "cannot identify the first process");
    }
    mark_for_oom(broker);
    return 0;
}

static bool is_cancelled(const struct supervise_request *request)
{
    return request->cancel_fd >= 0 && os_poll(request->cancel_fd, POLLIN, 0) > 0;
}

/* The payload may ask from its first instruction on. That it cannot is told, and ends no run. */
static void open_context(struct broker *broker)
{
    const struct context_facts *facts = broker->request->context;
    struct err err = {0};
    if (!facts || !facts->leaf) {
        return;
    }
    int result = context_open(&broker->context, facts, &broker->context_listener, "/proc", &err);
    broker->context.daemons = broker->daemons.count > 0 ? &broker->daemons : NULL;
    if (result == 0) {
        int watched = os_epoll_add(fd_num(&broker->epoll), context_events(&broker->context),
                                   EPOLLIN, WATCH_CONTEXT);
        if (watched < 0) {
            context_done(&broker->context);
            (void)err_sys(&err, watched, "cannot watch for programs that ask about the run");
        }
    }
    broker->ending->context_failure = err;
}

static void open_daemons(struct broker *broker)
{
    const struct supervise_request *request = broker->request;
    if (request->daemon_count == 0) {
        return;
    }
    const struct daemons_request wanted = {.wishes = request->daemons,
                                           .count = request->daemon_count,
                                           .sandbox = request->sandbox,
                                           .clock = broker->clock,
                                           .watchdog = request->watchdog,
                                           .leaf_fd = hold_leaf_fd(broker),
                                           .leaf = request->context->leaf,
                                           .told = broker->ending->daemons};
    daemons_init(&broker->daemons, &wanted);
    broker->ending->daemon_count = request->daemon_count;
}

/* Before the release, so that a death right after it is told as one in the payload. */
static int tell_watchdog(struct broker *broker, int64_t payload_until_ns)
{
    const struct supervise_request *request = broker->request;
    int result = watchdog_report(request->watchdog, fd_num(request->crash_reports));
    int64_t until_ns = payload_until_ns == INT64_MAX
                           ? 0
                           : payload_until_ns + request->limits.grace_ns + WATCHDOG_LATE_NS;
    return result < 0 ? result : watchdog_set_deadline(request->watchdog, until_ns);
}

static int may_release(const struct supervise_request *request, struct err *err)
{
    if (request->watchdog && watchdog_armed(request->watchdog, err) < 0) {
        err->code = ERR_SYS; /* of berm's own: neither the scope nor the sandbox refused */
        return -1;
    }
    return request->on_release ? request->on_release(request->on_release_context, err) : 0;
}

/* Nothing may be asked of us any more before the payload runs. */
void broker_release(struct broker *broker)
{
    const struct supervise_request *request = broker->request;
    struct err refusal = {0};
    bool may = may_release(request, &refusal) == 0;
    memory_arm();
    if (!may) {
        decide_broken(broker, &refusal);
        return;
    }
    int signal = interrupts_pending(broker->request->interrupts);
    if (signal > 0 || is_cancelled(broker->request)) {
        decide_interrupt(broker, signal);
    }
    decide_deadlines(broker);
    if (broker->state != STOP_GATED) {
        return;
    }
    pace_start(&broker->pace, broker_now(broker), broker->request->limits.sample_ns);
    observe_look(broker);
    if (broker->state != STOP_GATED) {
        return;
    }
    open_daemons(broker);
    open_context(broker);
    broker->ending->released_ns = broker_now(broker);
    if (!broker->request->limits.one_deadline) {
        broker->payload_until_ns =
            deadline(broker->ending->released_ns, broker->request->limits.timeout_ns);
    }
    if (broker->request->watchdog && tell_watchdog(broker, broker->payload_until_ns) < 0) {
        broker->ending->released_ns = 0;
        decide_watchdog_lost(broker);
        return;
    }
    int result = broker->request->sandbox ? launch_say(broker, LAUNCH_RELEASE)
                                          : spawn_release(&broker->spawn);
    if (result < 0 && result != -EPIPE) { /* a gate that is gone has its say in the loop */
        decide_failure(broker, result, "cannot release the first process");
        return;
    }
    os_boundary(BOUNDARY_RELEASED);
    decide_released(broker);
}

static void see_what_is_not_sampled(const struct supervise_request *request,
                                    struct supervise_ending *ending)
{
    peak_raise(&ending->seen[LIMIT_MEMORY], ending->largest_rss_bytes);
    ending->peak_tree_rss_bytes = ending->seen[LIMIT_MEMORY];
    if (ending->scope.held && ending->scope.counters.memory_peak_bytes >= 0) {
        ending->seen[LIMIT_MEMORY] = ending->scope.counters.memory_peak_bytes;
    }
    if (ending->scope.held) {
        peak_raise(&ending->seen[LIMIT_PIDS],
                   ending->scope.counters.pids_peak - (request->sandbox ? SANDBOX_TASKS : 0));
    }
    ending->seen[LIMIT_OUTPUT] =
        ending->stream[STREAM_STDOUT].bytes + ending->stream[STREAM_STDERR].bytes;
    if (ending->released_ns > 0) {
        ending->seen[LIMIT_SETUP] = (ending->released_ns - ending->created_ns) / NS_PER_MS;
    }
    if (ending->released_ns > 0 && ending->exited_ns > 0) {
        ending->seen[LIMIT_TIMEOUT] = (ending->exited_ns - ending->released_ns) / NS_PER_MS;
    }
    if (ending->how == ENDED_LIMIT && ending->limit == LIMIT_SETUP) {
        ending->seen[LIMIT_SETUP] = ending->limit_seen / NS_PER_MS;
    }
}

static void finish(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    const struct os_clock *clock = broker->clock;
    ending->suspended_ns =
        clock->boottime_ns() - clock->monotonic_ns() - broker->suspended_at_start_ns;
    see_what_is_not_sampled(broker->request, ending);
    if (ending->tree_empty) {
        daemons_clear(&broker->daemons);
    }
    for (int i = 0; i < ending->descendant_count && ending->tree_empty; i++) {
        ending->descendants[i].ended = true;
    }
    for (int i = 0; i < STREAM_COUNT; i++) {
        tail_straighten(&ending->stream[i]);
    }
}

static void broker_done(struct broker *broker)
{
    context_done(&broker->context);
    daemons_done(&broker->daemons);
    fd_close(&broker->context_listener);
    hold_done(&broker->hold);
    streams_done(&broker->streams);
    spawn_done(&broker->spawn);
    tree_done(&broker->tree);
    fd_close(&broker->epoll);
}

static const struct binding *first_executed(const struct supervise_request *request)
{
    return request->sandbox ? sandbox_tool(request->sandbox) : request->binding;
}

/* Who asked to stop while the run was set up is answered as later. */
static void give_up(struct broker *broker, const struct err *failure)
{
    memory_arm();
    if (failure->code == ERR_CANCELLED) {
        decide_interrupt(broker, interrupts_pending(broker->request->interrupts));
    } else {
        decide_broken(broker, failure);
    }
}

/* bubblewrap goes on at once; the payload itself is released later, by the launcher's first word. */
static void set_up_sandbox(struct broker *broker)
{
    broker->look_at_ns = INT64_MAX;
    int result = spawn_release(&broker->spawn);
    if (result < 0 && result != -EPIPE) {
        decide_failure(broker, result, "cannot release bubblewrap");
        return;
    }
    result = can_survey_later(broker) ? tree_survey(&broker->tree, broker_elapsed_ms(broker)) : 0;
    if (result < 0) {
        decide_failure(broker, result, "cannot list the processes of the host");
        return;
    }
    struct err err = {0};
    if (sandbox_know_self(broker->request->sandbox, &err) < 0) {
        decide_broken(broker, &err);
    } else if (hold_verify(broker, &err) < 0) {
        give_up(broker, &err);
    }
}

/* Nothing is left that would have to be ended in time, and a death of berm's is none of the payload's any more. */
static void tell_watchdog_of_the_end(struct broker *broker)
{
    const struct supervise_request *request = broker->request;
    const struct supervise_ending *ending = broker->ending;
    if (!request->watchdog) {
        return;
    }
    (void)!watchdog_set_deadline(request->watchdog, 0);
    if (request->ended_reports && ending->released_ns > 0 && ending->tree_empty) {
        (void)!watchdog_report(request->watchdog,
                               fd_num(request->ended_reports)); /* else it says more */
    }
}

static int run(struct broker *broker, struct err *err)
{
    const struct supervise_limits *limits = &broker->request->limits;
    struct supervise_ending *ending = broker->ending;
    struct err failure = {0};
    if (prepare(broker, err) < 0) {
        return -1;
    }
    ending->created_ns = broker_now(broker);
    broker->suspended_at_start_ns = broker->clock->boottime_ns() - ending->created_ns;
    broker->setup_until_ns = deadline(ending->created_ns, limits->setup_timeout_ns);
    broker->payload_until_ns =
        limits->one_deadline ? deadline(ending->created_ns, limits->timeout_ns) : INT64_MAX;
    /* The manager makes the scope meanwhile. */
    bool begun = hold_begin(broker, &failure) == 0;
    if (spawn_gate(&broker->spawn, broker->request, err) < 0) {
        const struct supervise_scope *scope = &ending->scope;
        hold_conclude(broker);
        return scope->adapter == SCOPE_NONE || scope->removed.gone
                   ? -1
                   : err_wrap(err, "%s is left (%s), `berm recover --runs` removes it", scope->unit,
                              scope->removed.left);
    }
    struct err unadopted = {0};
    bool adopted = adopt_gate(broker, begun ? &failure : &unadopted) == 0;
    /* EX-2: the descriptors that will be executed still hold the bytes that were hashed. */
    bool ready = begun && adopted && hold_finish(broker, &failure) == 0 &&
                 binding_revalidate(first_executed(broker->request), &failure) == 0;
    if (!ready) {
        give_up(broker, &failure);
    } else if (broker->request->sandbox) {
        set_up_sandbox(broker);
    } else if (hold_verify(broker, &failure) < 0) {
        give_up(broker, &failure);
    } else {
        broker_release(broker);
    }
    loop_run(broker);
    memory_disarm();
    tell_watchdog_of_the_end(broker);
    hold_conclude(broker);
    observe_links(broker);
    finish(broker);
    return 0;
}

int supervise_run(const struct supervise_request *request, struct supervise_ending **ret_ending,
                  struct err *err)
{
    struct broker *broker = memory_new(sizeof *broker);
    with_ending ending = memory_new(sizeof *ending);
    memset(ending->seen, -1, sizeof ending->seen); /* -1 is made of bytes of -1 */
    *broker = (struct broker){.request = request, .ending = ending, .clock = request->clock};
    int was_subreaper = os_is_subreaper();
    int result = run(broker, err);
    broker_done(broker);
    memory_free(broker);
    if (was_subreaper == 0) {
        (void)!os_set_subreaper(false); /* of no effect for whoever is our child already */
    }
    if (result == 0) {
        *ret_ending = ending;
        ending = NULL;
    }
    return result;
}

void supervise_ending_free(struct supervise_ending *ending)
{
    for (int i = 0; ending && i < STREAM_COUNT; i++) {
        tail_done(&ending->stream[i]);
    }
    memory_free(ending);
}
