#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "anchor-message.h"
#include "clock.h"
#include "scope-priv.h"

static struct {
    int move_result;
    int fetch_result;
    int fetched;
} kernel;

int __wrap_os_cgroup_move(int cgroup_fd, pid_t pid);
int __wrap_os_cgroup_move(int cgroup_fd, pid_t pid)
{
    return kernel.move_result;
}

/* What systemd would say of a scope. */
static struct {
    bool known;
    uint64_t runtime_max_us;
    int has;     /* the unit */
    int stopped; /* how often one was */
} manager;

int __wrap_bus_has_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err);
int __wrap_bus_has_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err)
{
    return manager.has;
}
int __wrap_bus_stop_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err);
int __wrap_bus_stop_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err)
{
    manager.stopped++;
    return manager.has;
}

int __wrap_bus_unit_properties(struct bus *bus, const char *unit, struct bus_property *properties,
                               int count, int64_t deadline_ns, struct err *err);
int __wrap_bus_unit_properties(struct bus *bus, const char *unit, struct bus_property *properties,
                               int count, int64_t deadline_ns, struct err *err)
{
    for (int i = 0; i < count; i++) {
        properties[i].known = !properties[i].is_text && manager.known;
        properties[i].number = manager.runtime_max_us;
    }
    return 0;
}
void __wrap_bus_hear_no_jobs(struct bus *bus);
void __wrap_bus_hear_no_jobs(struct bus *bus)
{
}

static void a_name_is_new_each_time(void **state)
{
    char first[SCOPE_NAME_SIZE];
    char second[SCOPE_NAME_SIZE];
    struct err err = {0};
    assert_int_equal(scope_name("20261129-a_b", first, &err), 0);
    assert_int_equal(scope_name("20261129-a_b", second, &err), 0);
    assert_string_not_equal(first, second);
    assert_true(strncmp(first, "berm-20261129-a_b-", 18) == 0);
    assert_int_equal(strlen(first), 18 + 16 + 6);
    assert_string_equal(first + 18 + 16, ".scope");

    char longest[82];
    memset(longest, 'a', 81);
    longest[81] = '\0';
    const char *const bad[] = {"", "a/b", "a.b", "a b", "\xc3\xa4", "..", longest};
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(scope_name(bad[i], first, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
    }
    longest[80] = '\0';
    assert_int_equal(scope_name(longest, first, &err), 0);
    assert_true(strlen(first) < SCOPE_NAME_SIZE - 1);
}

static void limits_that_are_none_are_refused_before_anything_is_made(void **state)
{
    const struct scope_offer offer = {.adapter = SCOPE_DELEGATED, .place = "/nowhere"};
    static const struct {
        int64_t memory, high, pids;
        enum err_code code;
    } cases[] = {
        {-1, 0, 0, ERR_RANGE},          {4095, 0, 0, ERR_RANGE}, {INT64_MAX, 0, 0, ERR_RANGE},
        {0, 1, 0, ERR_RANGE},           {0, 0, -1, ERR_RANGE},   {0, 0, INT64_MAX - 1, ERR_RANGE},
        {1 << 20, 1 << 19, 5, ERR_SYS}, /* fine, and there is no anchor */
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        struct scope *scope = NULL;
        const struct scope_request request = {.offer = &offer,
                                              .anchor_channel = -1,
                                              .name = "berm-test-0.scope",
                                              .memory_max_bytes = cases[i].memory,
                                              .memory_high_bytes = cases[i].high,
                                              .pids_max = cases[i].pids};
        assert_int_equal(scope_begin(&request, &scope, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_null(scope);
    }
}

static void both_managers_are_one_adapter(void **state)
{
    assert_null(scope_adapter_id(SCOPE_NONE));
    assert_string_equal(scope_adapter_id(SCOPE_SYSTEMD_USER), "linux-systemd-cgroup-v2");
    assert_string_equal(scope_adapter_id(SCOPE_SYSTEMD_SYSTEM), "linux-systemd-cgroup-v2");
    assert_string_equal(scope_adapter_id(SCOPE_DELEGATED), "linux-delegated-cgroup-v2");
}

static int fetch(struct scope *scope, struct proc_identity who, struct err *err)
{
    kernel.fetched++;
    return kernel.fetch_result == 0 ? 0 : err_set(err, ERR_UNAVAILABLE, "no");
}

static struct proc_identity this_process(void)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(getpid()));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    return (struct proc_identity){getpid(), stat.start_ticks};
}

/* CT-2: from a login session only systemd may move a process into the leaf; believed is what /proc says. */
static void who_may_not_be_moved_is_moved_by_systemd(void **state)
{
    static const struct scope_operations with = {.fetch = fetch};
    static const struct scope_operations without = {0};
    static const struct {
        const struct scope_operations *operations;
        int move, fetch, result, fetched;
        bool elsewhere;
    } cases[] = {
        {&with, 0, 0, 0, 0, false},           {&with, -EACCES, 0, 0, 1, false},
        {&with, -EACCES, -1, -1, 1, false},   {&with, -EACCES, 0, -1, 1, true},
        {&with, 0, 0, -1, 0, true},           {&with, -ESRCH, 0, -1, 0, false},
        {&without, -EACCES, 0, -1, 0, false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        struct scope scope = {.operations = cases[i].operations,
                              .holds = true,
                              .leaf = fd_adopt(open("/", O_PATH | O_CLOEXEC))};
        assert_int_equal(scope_cgroup_of(this_process(), scope.leaf_cgroup), 0);
        if (cases[i].elsewhere) {
            scope.leaf_cgroup[1] = '\0';
            scope.leaf_cgroup[0] = 'x';
        }
        kernel = (typeof(kernel)){cases[i].move, cases[i].fetch, 0};
        assert_int_equal(scope_admit(&scope, this_process(), &err), cases[i].result);
        assert_int_equal(kernel.fetched, cases[i].fetched);
        fd_close(&scope.leaf);
    }
}

static int64_t waited_until_ns;

int __wrap_patience_wait(struct patience *patience, int fd, short events, int64_t deadline_ns);
int __wrap_patience_wait(struct patience *patience, int fd, short events, int64_t deadline_ns)
{
    waited_until_ns = deadline_ns;
    return events;
}

static int is_unknown(struct scope *scope, int64_t deadline_ns, struct err *err)
{
    return 0;
}

/* R28: of a unit that was refused late the anchor is told all the same: its removal has a time of its own. */
static void a_removal_has_its_own_deadline(void **state)
{
    static const struct scope_operations operations = {.forget = is_unknown};
    const char word = ANCHOR_READY;
    int channel[2];
    int ended[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
    assert_int_equal(pipe2(ended, O_CLOEXEC), 0);
    assert_int_equal(write(ended[1], "", 1), 1);
    assert_int_equal(write(channel[1], &word, 1), 1);
    struct scope_removed removed;
    struct scope scope = {
        .operations = &operations,
        .unit.refused = true,
        .request = {.anchor_channel = channel[0], .anchor_pidfd = ended[0], .deadline_ns = 1}};
    scope_remove(&scope, 1000, &removed);
    assert_int_equal(waited_until_ns, 1000);
    struct anchor_unit told;
    assert_int_equal(read(channel[1], &told, sizeof told), sizeof told);
    assert_int_equal(told.until_ns, 1000 + SCOPE_SETTLE_MS * NS_PER_MS);
    assert_non_null(removed.gone);
    for (int i = 0; i < 2; i++) {
        close(channel[i]);
        close(ended[i]);
    }
}

/* CT-2: the anchor goes into a cgroup itself, and what the kernel answered it is told with what helps. */
static void the_anchor_goes_itself(void **state)
{
    static const struct {
        char word;
        int32_t result;
        size_t bytes;
        enum err_code code;
        const char *said;
    } rows[] = {
        {ANCHOR_JOINED, 0, sizeof(struct anchor_joined), ERR_NONE, ""},
        {ANCHOR_JOINED, -EACCES, sizeof(struct anchor_joined), ERR_UNAVAILABLE,
         "start berm beneath"},
        {ANCHOR_JOINED, -ENODEV, sizeof(struct anchor_joined), ERR_UNAVAILABLE, "'/x/anchor': "},
        {ANCHOR_JOINED, 0, 1, ERR_UNAVAILABLE, "something unknown"},
        {ANCHOR_HOLDS, 0, sizeof(struct anchor_joined), ERR_UNAVAILABLE, "something unknown"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        int channel[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
        struct err err = {0};
        struct scope scope = {.request = {.anchor_channel = channel[0]}};
        with_fd folder = fd_adopt(open("/", O_PATH | O_CLOEXEC));
        const struct anchor_joined answer = {.word = rows[i].word, .result = rows[i].result};
        assert_int_equal(scope_anchor_join(&scope, fd_num(&folder), &err), 0);
        char order;
        assert_int_equal(read(channel[1], &order, 1), 1);
        assert_int_equal(order, ANCHOR_JOIN);
        assert_int_equal(write(channel[1], &answer, rows[i].bytes), rows[i].bytes);
        assert_int_equal(scope_anchor_joined(&scope, "/x/anchor", &err),
                         rows[i].code == ERR_NONE ? 0 : -1);
        assert_int_equal(err.code, rows[i].code);
        assert_non_null(strstr(err.msg, rows[i].said));
        close(channel[1]);
        assert_int_equal(scope_anchor_join(&scope, fd_num(&folder), &err), -1);
        close(channel[0]);
    }
}

/* CT-4: an end that an older systemd cannot set is told; one that it set otherwise is a refusal. */
static void an_end_that_cannot_be_set_is_told(void **state)
{
    static const struct {
        int64_t wanted_ns;
        int without;
        bool known;
        uint64_t seen_us;
        int result;
        bool told;
    } cases[] = {
        {5000, 0, true, 5, 0, false},  {5000, 1, true, 5, 0, false},
        {5000, 0, true, 6, -1, false}, {5000, 2, true, UINT64_MAX, 0, true},
        {5000, 2, false, 0, 0, true},  {5000, 0, false, 0, 0, true},
        {0, 2, false, 0, 0, false},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct err err = {0};
        struct scope scope = {.request.runtime_max_ns = cases[i].wanted_ns,
                              .unit.without = cases[i].without};
        manager.known = cases[i].known;
        manager.runtime_max_us = cases[i].seen_us;
        assert_int_equal(scope_systemd_operations.verify(&scope, &err), cases[i].result);
        assert_int_equal(scope_has_no_end(&scope), cases[i].told);
    }
}

/* CT-3: who else has the name keeps its unit; and what systemd did not say is asked for. */
static void a_unit_of_another_is_not_stopped(void **state)
{
    static char bus;
    struct err err = {0};
    struct scope scope = {.bus = (struct bus *)(void *)&bus};
    manager.has = 1;
    manager.stopped = 0;
    (void)snprintf(scope.unit.error_name, sizeof scope.unit.error_name,
                   "org.freedesktop.systemd1.UnitExists");
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 0);
    assert_int_equal(manager.stopped, 0);
    /* The connection broke: it may have been made. */
    (void)snprintf(scope.unit.error_name, sizeof scope.unit.error_name,
                   "org.freedesktop.DBus.Error.NoReply");
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 1);
    assert_int_equal(manager.stopped, 1);
    manager.has = 0;
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 0);
    assert_string_equal(err.msg, "");
}

/* R43: who was killed before systemd moved it is in no unit, waited for or not: systemd would keep one for nobody. */
static void the_unit_of_a_dead_watchdog_is_stopped(void **state)
{
    static char bus;
    struct err err = {0};
    struct scope scope = {.bus = (struct bus *)(void *)&bus, .request.watchdog = this_process()};
    scope.folder = fd_adopt(dup(0));
    manager.has = manager.stopped = 0;
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 0);
    assert_int_equal(manager.stopped, 0); /* it lives */
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    with_fd file = fd_adopt(os_proc_stat_open(pid));
    struct proc_stat stat;
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    scope.request.watchdog = (struct proc_identity){pid, stat.start_ticks};
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 0);
    assert_int_equal(manager.stopped, 1); /* a zombie */
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 0);
    assert_int_equal(manager.stopped, 2); /* nobody any more */
    (void)snprintf(scope.watchdog_unit.error_name, sizeof scope.watchdog_unit.error_name,
                   "org.freedesktop.systemd1.UnitExists");
    assert_int_equal(scope_systemd_operations.forget(&scope, INT64_MAX, &err), 0);
    assert_int_equal(manager.stopped,
                     2); /* another's, as systemd said, though nobody waited for that */
    fd_close(&scope.folder);
}

static char steps[8]; /* in their order: w waited for the run's own unit, t told, a asked */

static void step(char what)
{
    steps[strlen(steps)] = what;
}
int __wrap_bus_wait_unit(struct bus *bus, struct bus_unit *unit, int64_t deadline_ns,
                         struct err *err);
int __wrap_bus_wait_unit(struct bus *bus, struct bus_unit *unit, int64_t deadline_ns,
                         struct err *err)
{
    step('w');
    return 0;
}
int __wrap_bus_start_unit(struct bus *bus, struct bus_unit *unit, struct err *err);
int __wrap_bus_start_unit(struct bus *bus, struct bus_unit *unit, struct err *err)
{
    step('a');
    return 0;
}
int __wrap_bus_push(struct bus *bus, int64_t deadline_ns, struct err *err);
int __wrap_bus_push(struct bus *bus, int64_t deadline_ns, struct err *err)
{
    return 0;
}

static int told_result;

static int tell_watchdog(void *context, int64_t until_ns)
{
    step('t');
    assert_int_equal(until_ns, 1000 + SCOPE_SETTLE_MS * NS_PER_MS);
    return told_result;
}

/* T19 TR-4: from then on, and not before, the watchdog stays until it is in its unit, and the lock with it; one that cannot
 * be told gets none. */
static void a_watchdog_is_told_right_before_systemd_is(void **state)
{
    static const struct {
        int result;
        const char *steps;
    } rows[] = {{0, "wta"}, {-EPIPE, "wt"}};
    for (size_t i = 0; i < countof(rows); i++) {
        struct err err = {0};
        struct scope scope = {.request = {.watchdog = this_process(),
                                          .deadline_ns = 1000,
                                          .tell_watchdog = tell_watchdog}};
        memset(steps, 0, sizeof steps);
        told_result = rows[i].result;
        assert_int_equal(scope_systemd_operations.join(&scope, &err), -1); /* there is no anchor */
        assert_string_equal(steps, rows[i].steps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_new_each_time),
        cmocka_unit_test(limits_that_are_none_are_refused_before_anything_is_made),
        cmocka_unit_test(both_managers_are_one_adapter),
        cmocka_unit_test(who_may_not_be_moved_is_moved_by_systemd),
        cmocka_unit_test(a_removal_has_its_own_deadline),
        cmocka_unit_test(the_anchor_goes_itself),
        cmocka_unit_test(an_end_that_cannot_be_set_is_told),
        cmocka_unit_test(a_unit_of_another_is_not_stopped),
        cmocka_unit_test(a_watchdog_is_told_right_before_systemd_is),
        cmocka_unit_test(the_unit_of_a_dead_watchdog_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
