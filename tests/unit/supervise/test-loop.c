#include "supervise-test.h"

#include <poll.h>
#include <sched.h>

#include "event.h"
#include "file.h"
#include "helper-image.h"
#include "process.h"

/* Signals to berm, sent by the observer: at the payload's first line, and once it is being ended. */
static int on_ready[2];
static int on_stopping;

static void after_output(void *context, int stream, char last)
{
    struct trial *trial = context;
    if (last == '\n' && !trial->ready) {
        trial->ready = true;
        for (size_t i = 0; i < countof(on_ready) && on_ready[i]; i++) {
            kill(getpid(), on_ready[i]);
        }
    }
}

static void on_sample(void *context, const struct supervise_view *view)
{
    if (view->stopping && on_stopping) {
        kill(getpid(), on_stopping);
        on_stopping = 0;
    }
}

static void signal_berm(struct trial *trial, int first, int second, int later)
{
    trial_stop_when_ready(trial, 1);
    trial->request.observer = (struct supervise_observer){
        .context = trial, .after_output = after_output, .on_sample = on_sample};
    on_ready[0] = first;
    on_ready[1] = second;
    on_stopping = later;
}

#define WAIT "echo; while :; do sleep 1; done"

/* R19 */
static void an_interrupt_ends_the_tree(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < countof(signals); i++) {
        struct trial trial = trial_of("/bin/sh", "-c", WAIT);
        signal_berm(&trial, signals[i], 0, 0);
        const struct supervise_ending *ending = trial_ending(&trial);
        assert_int_equal(ending->how, ENDED_INTERRUPTED);
        assert_int_equal(ending->interrupt_signal, signals[i]);
        assert_int_equal(trial.interrupts.first, signals[i]);
        assert_int_equal(ending->exit_signal, SIGTERM);
        assert_non_null(ending->tree_empty);
        trial_done(&trial);
    }
}

static void a_second_one_does_not_wait_for_the_grace(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "trap '' TERM; " WAIT);
    trial.request.limits.grace_ns = 25 * NS_PER_S;
    signal_berm(&trial, SIGINT, 0, SIGINT);
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_INTERRUPTED);
    assert_int_equal(ending->exit_signal, SIGKILL);
    assert_true(ending->finished_ns - ending->created_ns < 20 * NS_PER_S);
    trial_done(&trial);
}

/* nohup berm run ... */
static void an_ignored_signal_interrupts_nothing(void **state)
{
    signal(SIGHUP, SIG_IGN);
    struct trial trial = trial_of("/bin/sh", "-c", WAIT);
    signal_berm(&trial, SIGHUP, SIGTERM, 0);
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->interrupt_signal, SIGTERM);
    trial_done(&trial);
    signal(SIGHUP, SIG_DFL);
}

static void a_signal_from_before_the_release_runs_nothing(void **state)
{
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGTERM);
    struct trial trial = trial_of("/bin/sh", "-c", "echo");
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_INTERRUPTED);
    assert_false(ending->launched);
    assert_int_equal(ending->stream[0].bytes, 0);
    assert_int_equal(ending->released_ns, 0);
    assert_non_null(ending->tree_empty);
    trial_done(&trial);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_cancel_from_before_the_release_runs_nothing(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", "echo");
    trial_stop_when_ready(&trial, 1);
    assert_int_equal(write(trial.cancel[1], "", 1), 1);
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_INTERRUPTED);
    assert_int_equal(ending->interrupt_signal, 0);
    assert_false(ending->launched);
    trial_done(&trial);
}

/* LC-2: whoever started the run may cancel it by a descriptor; its end counts as well. */
static void a_cancel_ends_the_tree(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c", WAIT);
    trial_stop_when_ready(&trial, 1);
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_INTERRUPTED);
    assert_int_equal(ending->interrupt_signal, 0);
    assert_int_equal(trial.interrupts.first, 0);
    trial_done(&trial);
}

static struct watchdog *start_watchdog_for(const struct bfs_dir *folder, bool has_slot,
                                           const struct fd *reports)
{
    static struct watchdog_request request;
    struct err err = {0};
    request = (struct watchdog_request){.run_id = "k7f3ab",
                                        .folder = folder,
                                        .lock_fd = -1,
                                        .ready_ns = 60 * NS_PER_S,
                                        .clock = &os_clock_real};
    if (has_slot) {
        request.slots[WATCH_SLOT_REPORT] = (struct watchdog_slot){folder, "slot"};
    }
    struct watchdog *watchdog = watchdog_start(&request, &err);
    assert_non_null(watchdog);
    assert_int_equal(watchdog_watch(watchdog, fd_num(reports), &err), 0);
    assert_int_equal(watchdog_ready(watchdog, &err), 0);
    return watchdog;
}

static struct watchdog *start_watchdog(const struct bfs_dir *folder, struct fd *reports)
{
    const struct span none[WATCH_SLOTS][WATCH_ENDINGS] = {0};
    struct err err = {0};
    assert_int_equal(watchdog_seal_reports(none, reports, &err), 0);
    return start_watchdog_for(folder, false, reports);
}

/* The first look comes before the release. */
static int looks;
static void end_watchdog(void *context, const struct supervise_view *view)
{
    if (!view->stopping && ++looks == 2) {
        (void)kill(watchdog_process(context).pid, SIGKILL);
    }
}

/* S2: a run that nobody would end if berm died is ended. */
static void a_death_of_the_watchdog_ends_the_tree(void **state)
{
    char path[] = "/tmp/berm-test-XXXXXX";
    struct err err = {0};
    assert_non_null(mkdtemp(path));
    assert_true(helper_image_file() >= 0); /* once there, it stays open */
    for (int before = 0; before < 2; before++) {
        struct trial trial = trial_of("/bin/sh", "-c", WAIT);
        struct bfs_dir folder = {0};
        struct fd reports = {0};
        assert_int_equal(bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &folder, &err), 0);
        struct watchdog *watchdog = start_watchdog(&folder, &reports);
        trial.request.watchdog = watchdog;
        trial.request.crash_reports = &reports;
        trial.request.observer.context = watchdog;
        trial.request.observer.on_sample = end_watchdog;
        looks = 0;
        if (before) {
            with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
            assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGKILL), 0);
            assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, 60000), POLLIN);
        }
        const struct supervise_ending *ending = trial_ending(&trial);
        assert_int_equal(ending->how, ENDED_FAILED);
        assert_non_null(strstr(ending->failure.msg, "watchdog_lost"));
        assert_int_equal(ending->released_ns > 0, !before);
        assert_non_null(ending->tree_empty);
        assert_int_equal(watchdog_disarm(watchdog, &err), 0);
        watchdog_free(watchdog);
        fd_close(&reports);
        bfs_dir_done(&folder);
        trial_done(&trial);
    }
    assert_int_equal(rmdir(path), 0);
}

static const char before_end[] = "{\"run_id\": \"k7f3ab\", \"says\": \"before\"}";
static const char in_payload[] = "{\"run_id\": \"k7f3ab\", \"says\": \"in it\"}";
static const char behind_it[] = "{\"run_id\": \"k7f3ab\", \"says\": \"behind it\"}";

static void seal(const char *text, struct fd *ret_reports)
{
    struct err err = {0};
    const struct span texts[WATCH_SLOTS][WATCH_ENDINGS] = {{span_of_string(text)}};
    assert_int_equal(watchdog_seal_reports(texts, ret_reports, &err), 0);
}

/* RS-5: of a payload that has ended nobody says that a crash of berm's killed it, and of one that never ran that it had. */
static void what_a_crash_behind_the_end_says(void **state)
{
    static const struct {
        bool released;
        bool has_own;
        const char *said;
    } rows[] = {{true, true, behind_it}, {true, false, in_payload}, {false, true, before_end}};
    char path[] = "/tmp/berm-test-XXXXXX";
    struct err err = {0};
    assert_non_null(mkdtemp(path));
    assert_true(helper_image_file() >= 0);
    for (size_t i = 0; i < countof(rows); i++) {
        struct trial trial = trial_of("/bin/true");
        struct bfs_dir folder = {0};
        struct fd texts[3] = {0};
        char text[sizeof behind_it + sizeof before_end] = "";
        seal(before_end, &texts[0]);
        seal(in_payload, &texts[1]);
        seal(behind_it, &texts[2]);
        assert_int_equal(bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &folder, &err), 0);
        with_fd slot =
            fd_adopt(os_openat(bfs_dir_fd(&folder), "slot", O_WRONLY | O_CREAT | O_TRUNC, 0600));
        assert_int_equal(os_write_all(fd_num(&slot), before_end, sizeof before_end - 1), 0);
        struct watchdog *watchdog = start_watchdog_for(&folder, true, &texts[0]);
        trial.request.watchdog = watchdog;
        trial.request.crash_reports = &texts[1];
        trial.request.ended_reports = rows[i].has_own ? &texts[2] : NULL;
        if (!rows[i].released) {
            trial_stop_when_ready(&trial, 1);
            assert_int_equal(write(trial.cancel[1], "", 1), 1);
        }
        assert_int_equal(trial_ending(&trial)->released_ns > 0, rows[i].released);
        with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
        watchdog_free(watchdog); /* as if berm died now */
        assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, 60000), POLLIN);
        assert_true(os_read_small(bfs_dir_fd(&folder), "slot", text, sizeof text) > 0);
        assert_string_equal(text, rows[i].said);
        assert_int_equal(unlinkat(bfs_dir_fd(&folder), "slot", 0), 0);
        for (size_t k = 0; k < countof(texts); k++) {
            fd_close(&texts[k]);
        }
        fd_close(&pidfd);
        fd_close(&slot);
        bfs_dir_done(&folder);
        trial_done(&trial);
    }
    assert_int_equal(rmdir(path), 0);
}

static char state_of(pid_t pid)
{
    char path[32];
    char state = '-';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
        fclose(file);
    }
    return state;
}

/* A signal that was sent is taken a moment later. */
static void wait_for_state(pid_t pid, char wanted)
{
    int64_t end = os_clock_real.monotonic_ns() + 20 * NS_PER_S;
    while (state_of(pid) != wanted && os_clock_real.monotonic_ns() < end) {
        sched_yield();
    }
    assert_int_equal(state_of(pid), wanted);
}

/* The stop key: berm is stopped and so is the payload; both go on together. */
static void the_stop_key_stops_both(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t berm = fork();
    if (berm == 0) {
        struct trial trial = trial_of("/bin/sh", "-c", "echo $$; exec sleep 100");
        trial.request.pass_fd[STREAM_STDOUT] = ends[1];
        trial_run(&trial);
        bool fine = trial.result == 0 && trial.ending->how == ENDED_INTERRUPTED &&
                    trial.ending->exit_signal == SIGTERM;
        _exit(fine ? 0 : 1);
    }
    close(ends[1]);
    int payload = 0;
    FILE *said = fdopen(ends[0], "r");
    assert_int_equal(fscanf(said, "%d", &payload), 1);
    kill(berm, SIGTSTP);
    int status;
    assert_int_equal(waitpid(berm, &status, WUNTRACED), berm);
    assert_true(WIFSTOPPED(status));
    wait_for_state(payload, 'T');
    kill(berm, SIGCONT);
    kill(berm, SIGTERM);
    assert_int_equal(waitpid(berm, &status, 0), berm);
    assert_int_equal(status, 0);
    assert_int_equal(state_of(payload), '-');
    fclose(said);
}

/* X6, X2: a limit so short that nothing may have run. */
static void a_millisecond_is_a_limit(void **state)
{
    struct trial trial = trial_of("/bin/sleep", "100");
    trial.request.limits.timeout_ns = NS_PER_MS;
    trial.request.limits.one_deadline = true;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->limit, LIMIT_TIMEOUT);
    assert_int_equal(ending->limit_value, NS_PER_MS);
    assert_true(ending->limit_seen >= NS_PER_MS);
    assert_non_null(ending->tree_empty);
    trial_done(&trial);
}

/* X2: creation alone spends the one deadline. The clock jumps after the first reading. */
static int64_t jump_ns;
static int readings;
static int64_t jumping_clock(void)
{
    return os_clock_real.monotonic_ns() + (readings++ > 0 ? jump_ns : 0);
}

static void a_deadline_may_pass_while_the_payload_is_created(void **state)
{
    static const struct os_clock clock = {jumping_clock, jumping_clock, NULL};
    struct trial trial = trial_of("/bin/sh", "-c", "echo");
    readings = 0;
    jump_ns = 60 * NS_PER_S;
    trial.request.clock = &clock;
    trial.request.limits.one_deadline = true;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->limit,
                     LIMIT_SETUP); /* its own limit of 10 s passed, too, and is first */
    assert_false(ending->launched);
    assert_int_equal(ending->stream[0].bytes, 0);
    trial_done(&trial);
}

/* X3: the date is never asked for (a call would be a crash). X4: sleep is told, and is no time. */
static int64_t slept_ns;
static int64_t boottime(void)
{
    int64_t now = os_clock_real.monotonic_ns() + slept_ns;
    slept_ns = 3600 * NS_PER_S; /* after the first reading */
    return now;
}

static void sleep_of_the_machine_is_no_time_of_the_run(void **state)
{
    const struct os_clock clock = {os_clock_real.monotonic_ns, boottime, NULL};
    struct trial trial = trial_of("/bin/sh", "-c", "exit 0");
    trial.request.clock = &clock;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_true(ending->suspended_ns > 3599 * NS_PER_S);
    assert_true(ending->suspended_ns < 3601 * NS_PER_S);
    assert_true(ending->finished_ns - ending->created_ns < 30 * NS_PER_S);
    trial_done(&trial);
}

/* R36: nobody reads onward; the timeout ends it, and what was said is in the tail. */
static void a_reader_that_never_reads_hangs_nothing(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct trial trial = trial_of("/bin/sh", "-c", "echo begin; exec cat /dev/zero");
    trial.request.pass_fd[STREAM_STDOUT] = ends[1];
    trial.request.limits.timeout_ns = NS_PER_S / 2;
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->limit, LIMIT_TIMEOUT);
    assert_true(ending->stream[0].passed_bytes >= 32768);
    assert_true(ending->stream[0].bytes > ending->stream[0].passed_bytes);
    assert_int_equal(ending->stream[0].pass_error, ETIMEDOUT);
    assert_int_equal(ending->stream[0].tail_length, TAIL_BYTES + TAIL_MARGIN_BYTES);
    assert_true(ending->finished_ns - ending->created_ns < 10 * NS_PER_S);
    trial_done(&trial);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupt_ends_the_tree),
        cmocka_unit_test(a_second_one_does_not_wait_for_the_grace),
        cmocka_unit_test(an_ignored_signal_interrupts_nothing),
        cmocka_unit_test(a_signal_from_before_the_release_runs_nothing),
        cmocka_unit_test(a_cancel_from_before_the_release_runs_nothing),
        cmocka_unit_test(a_cancel_ends_the_tree),
        cmocka_unit_test(a_death_of_the_watchdog_ends_the_tree),
        cmocka_unit_test(what_a_crash_behind_the_end_says),
        cmocka_unit_test(the_stop_key_stops_both),
        cmocka_unit_test(a_millisecond_is_a_limit),
        cmocka_unit_test(a_deadline_may_pass_while_the_payload_is_created),
        cmocka_unit_test(sleep_of_the_machine_is_no_time_of_the_run),
        cmocka_unit_test(a_reader_that_never_reads_hangs_nothing),
    };
    /* Whoever runs the tests may ignore them: nohup, a shell's &. */
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < countof(signals); i++) {
        signal(signals[i], SIG_DFL);
    }
    return cmocka_run_group_tests_name("supervise/loop", tests, NULL, NULL);
}
