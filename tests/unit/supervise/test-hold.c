/* The broker's side of a scope, which is a table of answers here; with real ones in tests/host/t/61-managed.py. */
#include "broker-test.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "event.h"

static struct broker broker;
static struct supervise_request request;
static int ends[SCOPE_EVENT_FDS][2];
static char nothing;

/* What the kernel would say. */
static struct {
    struct scope_limits limits;
    struct scope_events events;
    int events_result;
    int64_t pids_peak;
    int64_t pids_current;
    bool leaf_empty;
    int kills;
    bool removed;
    bool has_no_end;
    int64_t runtime_max_ns; /* that a scope was asked for */
    int verified;
    int expected; /* how often a scope was */
    bool anchor_starts;
    bool begun;
} kernel;

int __wrap_scope_begin(const struct scope_request *wanted, struct scope **ret_scope,
                       struct err *err);
int __wrap_scope_begin(const struct scope_request *wanted, struct scope **ret_scope,
                       struct err *err)
{
    kernel.runtime_max_ns = wanted->runtime_max_ns;
    kernel.begun = true;
    return 0;
}

void __wrap_scope_expect(const struct scope_offer *offer);
void __wrap_scope_expect(const struct scope_offer *offer)
{
    kernel.expected++;
    kernel.anchor_starts = !detach_is_finished(&broker.hold.anchor);
}

void __wrap_scope_limits(const struct scope *scope, struct scope_limits *ret_limits);
void __wrap_scope_limits(const struct scope *scope, struct scope_limits *ret_limits)
{
    *ret_limits = kernel.limits;
}
int __wrap_scope_events_read(struct scope *scope, struct scope_events *ret_events);
int __wrap_scope_events_read(struct scope *scope, struct scope_events *ret_events)
{
    *ret_events = kernel.events;
    return kernel.events_result;
}
int64_t __wrap_scope_pids_peak(const struct scope *scope);
int64_t __wrap_scope_pids_peak(const struct scope *scope)
{
    return kernel.pids_peak;
}
int64_t __wrap_scope_pids_current(const struct scope *scope);
int64_t __wrap_scope_pids_current(const struct scope *scope)
{
    return kernel.pids_current;
}
void __wrap_scope_event_fds(const struct scope *scope, int fds[SCOPE_EVENT_FDS]);
void __wrap_scope_event_fds(const struct scope *scope, int fds[SCOPE_EVENT_FDS])
{
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        fds[i] = ends[i][0];
    }
}
void __wrap_scope_counters_read(const struct scope *scope, struct scope_counters *ret_counters);
void __wrap_scope_counters_read(const struct scope *scope, struct scope_counters *ret_counters)
{
    assert_false(kernel.removed); /* a leaf that is gone counts nothing */
    *ret_counters = (struct scope_counters){.memory_peak_bytes = 77};
}
const struct proof_leaf_empty *__wrap_scope_leaf_empty(struct scope *scope, int *ret_result);
const struct proof_leaf_empty *__wrap_scope_leaf_empty(struct scope *scope, int *ret_result)
{
    *ret_result = 0;
    return kernel.leaf_empty ? (const struct proof_leaf_empty *)&nothing : NULL;
}
int __wrap_scope_kill(const struct scope *scope);
int __wrap_scope_kill(const struct scope *scope)
{
    kernel.kills++;
    kernel.leaf_empty = true;
    return 0;
}
void __wrap_scope_remove(struct scope *scope, int64_t deadline_ns, struct scope_removed *ret);
void __wrap_scope_remove(struct scope *scope, int64_t deadline_ns, struct scope_removed *ret)
{
    kernel.removed = true;
    *ret = (struct scope_removed){.gone = (const struct proof_scope_gone *)&nothing, .leaf = true};
}
int __wrap_scope_verify(struct scope *scope, struct err *err);
int __wrap_scope_verify(struct scope *scope, struct err *err)
{
    return kernel.verified;
}
bool __wrap_scope_watchdog_is_refused(const struct scope *scope);
bool __wrap_scope_watchdog_is_refused(const struct scope *scope)
{
    return false;
}
bool __wrap_scope_has_no_end(const struct scope *scope);
bool __wrap_scope_has_no_end(const struct scope *scope)
{
    return kernel.has_no_end;
}
const char *__wrap_scope_unit(const struct scope *scope);
const char *__wrap_scope_unit(const struct scope *scope)
{
    return "berm-k7f3-0.scope";
}
const char *__wrap_scope_path(const struct scope *scope);
const char *__wrap_scope_path(const struct scope *scope)
{
    return "/sys/fs/cgroup/berm-k7f3-0.scope";
}
enum scope_adapter __wrap_scope_adapter(const struct scope *scope);
enum scope_adapter __wrap_scope_adapter(const struct scope *scope)
{
    return SCOPE_DELEGATED;
}

/* CT-4: what is on record is what was read back, and the leaf's own account of its end. */
static void what_held_the_run_is_told(void **state)
{
    kernel.events.oom_kill = 5;
    kernel.has_no_end = true;
    hold_conclude(&broker);
    const struct supervise_scope *told = &broker.ending->scope;
    assert_int_equal(told->adapter, SCOPE_DELEGATED);
    assert_string_equal(told->unit, "berm-k7f3-0.scope");
    assert_string_equal(told->path, "/sys/fs/cgroup/berm-k7f3-0.scope");
    assert_int_equal(told->limits.memory_max_bytes, 8192);
    assert_int_equal(told->limits.pids_max, 12);
    assert_true(told->has_no_end);
    assert_int_equal(told->events.oom_kill, 5);
    assert_int_equal(told->counters.memory_peak_bytes, 77);
    assert_non_null(told->leaf_empty);
    assert_non_null(told->removed.gone);
    assert_true(kernel.removed);
}

/* R15: systemd's end counts from the making of the scope, and is never the one that ends a run: there is time for all that
 * the run itself may take, and two minutes more. */
static void systemds_end_is_behind_every_other(void **state)
{
    const struct scope_offer offer = {.adapter = SCOPE_DELEGATED};
    struct interrupts interrupts = {0};
    struct err err = {0};
    struct detached *anchor = &broker.hold.anchor;
    struct fd *const files[] = {&interrupts.signal_fd, &anchor->channel, &anchor->pidfd};
    for (size_t i = 0; i < countof(files); i++) {
        *files[i] = fd_adopt((int)syscall(SYS_pidfd_open, getpid(), 0));
    }
    anchor->pid = getpid();
    request.offer = &offer;
    request.interrupts = &interrupts;
    request.limits.setup_timeout_ns = 30 * NS_PER_S;
    assert_int_equal(hold_begin(&broker, &err), 0);
    assert_int_equal(kernel.runtime_max_ns, (30 + 60 + 5 + 10 + 120) * NS_PER_S);
    request.limits.timeout_ns = 0; /* none */
    assert_int_equal(hold_begin(&broker, &err), 0);
    assert_int_equal(kernel.runtime_max_ns, 0);
    for (size_t i = 0; i < countof(files); i++) {
        fd_close(files[i]);
    }
}

static int times_asked;

static int when_asked(void *context, struct err *err)
{
    times_asked++;
    assert_true(kernel.begun); /* else nobody works meanwhile */
    return 0;
}

/* libsystemd is loaded while the anchor starts, and what need not wait for the scope is done once it was asked for. */
static void there_is_time_while_others_work(void **state)
{
    const struct scope_offer offer = {.adapter = SCOPE_SYSTEMD_USER};
    struct interrupts interrupts = {0};
    struct detached *anchor = &broker.hold.anchor;
    struct err err = {0};
    interrupts.signal_fd = fd_adopt((int)syscall(SYS_pidfd_open, getpid(), 0));
    request.interrupts = &interrupts;
    request.on_asked = when_asked;
    request.offer = &offer;
    kernel.begun = false;
    assert_int_equal(hold_prepare(&broker, &err), 0);
    assert_int_equal(kernel.expected, 1);
    assert_true(kernel.anchor_starts);
    assert_true(detach_is_finished(anchor));
    assert_int_equal(times_asked, 0);
    assert_int_equal(hold_begin(&broker, &err), 0);
    assert_int_equal(times_asked, 1);
    fd_close(&anchor->channel);
    fd_close(&anchor->pidfd);
    fd_close(&interrupts.signal_fd);
}

/* CT-3 CT-4: what systemd does not bear out is no scope, whatever its leaf holds. */
static void what_its_manager_does_not_bear_out_is_told(void **state)
{
    struct err err = {0};
    assert_int_equal(hold_verify(&broker, &err), 0);
    assert_false(broker.ending->scope.unverified);
    kernel.verified = -1;
    assert_int_equal(hold_verify(&broker, &err), -1);
    assert_true(broker.ending->scope.unverified);
}

/* Somebody was never in the tree, and is in the leaf. */
static void whoever_is_still_in_the_leaf_is_ended(void **state)
{
    kernel.leaf_empty = false;
    hold_conclude(&broker);
    assert_int_equal(kernel.kills, 1);
    assert_non_null(broker.ending->scope.leaf_empty);
}

/* R3: the leaf's own limit, and no other, is told as its end. */
static void its_own_want_of_memory_ends_a_run(void **state)
{
    kernel.events.oom_kill = 3; /* of the host, or of a cgroup above */
    hold_look(&broker);
    assert_int_equal(broker.state, STOP_RUNNING);
    kernel.events.oom = 1;
    hold_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_MEMORY);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

/* T4: a fork that was refused is the leaf's own limit when it was full, and else that of a cgroup above. */
static void a_fork_that_another_cgroup_refused_ends_nothing(void **state)
{
    kernel.events.pids_max = 1;
    kernel.pids_peak = 11;
    hold_look(&broker);
    assert_int_equal(broker.state, STOP_RUNNING);
    kernel.events.pids_max = 2;
    kernel.pids_peak = 12;
    hold_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_PIDS);
}

/* T4: two forks at once can leave the peak below a limit that was met. */
static void a_leaf_that_is_full_now_met_its_limit(void **state)
{
    kernel.events.pids_max = 1;
    kernel.pids_peak = 11;
    kernel.pids_current = 12;
    hold_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_PIDS);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

static void where_no_peak_is_kept_a_refused_fork_is_the_leafs(void **state)
{
    kernel.events.pids_max = 1;
    kernel.pids_peak = -1; /* before Linux 6.1 */
    hold_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_PIDS);
}

static void without_a_limit_of_tasks_none_was_met(void **state)
{
    kernel.limits.pids_max = CGROUP_NO_LIMIT;
    kernel.events.pids_max = 1;
    kernel.pids_peak = 1000;
    hold_look(&broker);
    assert_int_equal(broker.state, STOP_RUNNING);
}

/* TR-6 */
static void what_meets_the_high_mark_is_looked_at(void **state)
{
    hold_look(&broker);
    assert_int_equal(high_moment_ns(&broker), INT64_MAX);
    kernel.events.memory_high = 1;
    hold_look(&broker);
    assert_int_equal(high_moment_ns(&broker), test_now_ns + 250 * NS_PER_MS);
}

static int count_ready(void)
{
    struct epoll_event ready[8];
    return os_epoll_wait(fd_num(&broker.epoll), ready, 8, 0);
}

/* A file of a leaf that is gone is ready for ever: the loop must not turn for it. */
static void a_leaf_that_is_gone_is_watched_no_more(void **state)
{
    assert_int_equal(count_ready(), SCOPE_EVENT_FDS);
    kernel.events.gone = 1;
    hold_look(&broker);
    assert_int_equal(count_ready(), 0);
    assert_int_equal(broker.state, STOP_RUNNING);
}

/* Whoever runs berm may have closed its standard input: then any descriptor can be 0. */
static void a_descriptor_that_is_0_is_watched_no_more_either(void **state)
{
    assert_int_equal(close(0), 0);
    assert_int_equal(fcntl(ends[0][0], F_DUPFD_CLOEXEC, 0), 0);
    assert_int_equal(os_epoll_add(fd_num(&broker.epoll), 0, EPOLLIN, WATCH_PRESSURE), 0);
    broker.hold.pressure_fd = 0;
    broker.hold.pressure_watched = true;
    kernel.events.gone = 1;
    hold_look(&broker);
    assert_int_equal(count_ready(), 0);
    assert_int_equal(close(0), 0);
    assert_int_equal(open("/dev/null", O_RDONLY), 0);
}

static void events_that_cannot_be_read_end_a_run(void **state)
{
    kernel.events_result = -EIO;
    hold_look(&broker);
    assert_int_equal(broker.ending->how, ENDED_FAILED);
    assert_int_equal(count_ready(), 0);
}

static int start_over(void **state)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.limits = (struct scope_limits){8192, CGROUP_NO_LIMIT, 12, 0};
    kernel.leaf_empty = true;
    kernel.events.populated = 1;
    request = broker_request();
    request.limits.memory_bytes = 8192;
    request.limits.memory_high_bytes = 4096;
    request.limits.tasks = 12;
    broker_start(&broker, &request);
    broker.epoll = fd_adopt(os_epoll_new());
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) { /* pipes that are ready for ever */
        assert_int_equal(pipe2(ends[i], O_CLOEXEC), 0);
        assert_int_equal(write(ends[i][1], "", 1), 1);
        assert_int_equal(os_epoll_add(fd_num(&broker.epoll), ends[i][0], EPOLLIN, WATCH_SCOPE), 0);
    }
    broker.hold = (struct hold){.scope = (struct scope *)&nothing, .holds = true, .watched = true};
    return 0;
}
static int end_up(void **state)
{
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    fd_close(&broker.epoll);
    broker_end(&broker);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_over, end_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_held_the_run_is_told),
        CASE(systemds_end_is_behind_every_other),
        CASE(there_is_time_while_others_work),
        CASE(what_its_manager_does_not_bear_out_is_told),
        CASE(whoever_is_still_in_the_leaf_is_ended),
        CASE(its_own_want_of_memory_ends_a_run),
        CASE(a_fork_that_another_cgroup_refused_ends_nothing),
        CASE(a_leaf_that_is_full_now_met_its_limit),
        CASE(where_no_peak_is_kept_a_refused_fork_is_the_leafs),
        CASE(without_a_limit_of_tasks_none_was_met),
        CASE(what_meets_the_high_mark_is_looked_at),
        CASE(a_leaf_that_is_gone_is_watched_no_more),
        CASE(a_descriptor_that_is_0_is_watched_no_more_either),
        CASE(events_that_cannot_be_read_end_a_run),
    };
    return cmocka_run_group_tests_name("supervise/hold", tests, NULL, NULL);
}
