#include "../unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hash.h"
#include "run-priv.h"

/* Between the stages: a publication that fails, and a disarming. */
static struct {
    bool fails;
    int disarmed;
    bool disarm_fails;
    bool scope_left;
} stage;

int __real_run_publish(struct run *run, struct run_result *result, struct err *err);
int __wrap_run_publish(struct run *run, struct run_result *result, struct err *err);
int __real_run_watch_end(struct run *run, struct err *err);
int __wrap_run_watch_end(struct run *run, struct err *err);

int __wrap_run_publish(struct run *run, struct run_result *result, struct err *err)
{
    if (stage.scope_left) {
        run->ending->scope.adapter = SCOPE_DELEGATED; /* and it was not seen to be gone */
    }
    return stage.fails ? err_set(err, ERR_SYS, "no place") : __real_run_publish(run, result, err);
}

int __wrap_run_watch_end(struct run *run, struct err *err)
{
    stage.disarmed++;
    return stage.disarm_fails ? err_set(err, ERR_CONFLICT, "it is still there")
                              : __real_run_watch_end(run, err);
}

/* A program that is exchanged while a run is under way. The clock is asked between the stages, so a
 * clock of ours is where the interleaving is forced: at its nth call, or at its first call after the
 * file was bound. */
static struct {
    char folder[64];
    char program[96];
    int calls;
    int swap_at; /* 0: as soon as the file is held open */
    bool swapped;
    bool in_place;
} scene;

static void copy(const char *from, const char *to, int flags)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY);
    int out = open(to, O_WRONLY | O_CREAT | flags, 0755);
    assert_true(in >= 0 && out >= 0);
    ssize_t got = read(in, bytes, sizeof bytes);
    assert_true(got > 0 && got < (ssize_t)sizeof bytes);
    assert_int_equal(write(out, bytes, (size_t)got), got);
    close(in);
    close(out);
}

static void digest(const char *path, char hex[HASH_HEX_SIZE])
{
    static char bytes[1 << 20];
    int in = open(path, O_RDONLY);
    ssize_t got = read(in, bytes, sizeof bytes);
    assert_true(got > 0);
    close(in);
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, bytes, (size_t)got);
    hash_hex(&hash, hex);
}

static bool is_held_open(void)
{
    struct stat wanted;
    assert_int_equal(stat(scene.program, &wanted), 0);
    for (int fd = 3; fd < 100; fd++) {
        struct stat seen;
        if (fstat(fd, &seen) == 0 && seen.st_dev == wanted.st_dev && seen.st_ino == wanted.st_ino) {
            return true;
        }
    }
    return false;
}

static void swap(void)
{
    char other[128];
    (void)snprintf(other, sizeof other, "%s/other", scene.folder);
    scene.swapped = true;
    if (scene.in_place) {
        copy("/bin/false", scene.program, O_TRUNC);
    } else {
        copy("/bin/false", other, O_TRUNC);
        assert_int_equal(rename(other, scene.program), 0);
    }
}

static int64_t meddling_clock(void)
{
    scene.calls++;
    bool now = scene.swap_at > 0 ? scene.calls == scene.swap_at : is_held_open();
    if (now && !scene.swapped) {
        swap();
    }
    return os_clock_real.monotonic_ns();
}

static struct run_result run_once(void)
{
    static char path_variable[] = "PATH=/usr/bin:/bin";
    static char state_variable[96];
    char *const environment[] = {path_variable, state_variable, NULL};
    char *const argv[] = {scene.program, NULL};
    const struct os_clock clock = {meddling_clock, os_clock_real.boottime_ns,
                                   os_clock_real.realtime_ns};
    (void)snprintf(state_variable, sizeof state_variable, "XDG_STATE_HOME=%s/state", scene.folder);
    scene.calls = 0;
    scene.swapped = false;
    copy("/bin/true", scene.program, O_TRUNC);
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    request.clock = &clock;
    struct run_result result = {0};
    struct err err = {0};
    if (run_execute(&request, &result, &err) < 0) {
        fail_msg("no record: %s", err.msg);
    }
    return result;
}

static const char *recorded_digest(const struct run_result *result)
{
    const json_t *executable = json_object_get(result->record, "executable");
    return json_string_value(json_object_get(json_object_get(executable, "identity"), "sha256"));
}

/* EX-2, I1: whenever the program is swapped, what ran is what the record says, or nothing ran. */
static void a_swapped_program_never_runs_under_the_old_digest(void **state)
{
    char of_true[HASH_HEX_SIZE];
    char of_false[HASH_HEX_SIZE];
    digest("/bin/true", of_true);
    digest("/bin/false", of_false);
    int refused = 0;
    int ran = 0;
    scene.in_place = false;
    for (scene.swap_at = 1; scene.swap_at <= 16; scene.swap_at++) {
        with_run_result result = run_once();
        if (result.outcome == OUTCOME_PREFLIGHT_REFUSED) {
            refused++;
            continue;
        }
        ran++;
        assert_true(result.exit_code == 0 || result.exit_code == 1);
        assert_string_equal(recorded_digest(&result), result.exit_code == 0 ? of_true : of_false);
        (void)unlink(scene.program);
    }
    print_message("# swapped at 16 moments: %d ran as recorded, %d refused\n", ran, refused);
    assert_true(refused > 0 && ran > 0);
}

/* EX-2: changed in place after it was bound and before the release: refused, and never run. */
static void a_program_changed_in_place_is_refused(void **state)
{
    scene.swap_at = 0;
    scene.in_place = true;
    with_run_result result = run_once();
    assert_true(scene.swapped);
    assert_int_equal(result.outcome, OUTCOME_PREFLIGHT_REFUSED);
    assert_int_equal(result.exit_code, 121);
    const json_t *report = json_object_get(result.record, "report");
    const char *message =
        json_string_value(json_object_get(json_object_get(report, "error"), "message"));
    assert_non_null(strstr(message, "was changed after it was bound"));
}

static int run_true(struct run_result *result, struct err *err)
{
    char *const argv[] = {(char[]){"/bin/true"}, NULL};
    static char state_variable[96];
    char *const environment[] = {state_variable, NULL};
    (void)snprintf(state_variable, sizeof state_variable, "XDG_STATE_HOME=%s/state", scene.folder);
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    stage.disarmed = 0;
    return run_execute(&request, result, err);
}

/* LC-3: berm lives, so the watchdog is disarmed whatever became of the publication; the first failure is told. */
static void every_way_out_disarms(void **state)
{
    static const struct {
        bool publish_fails;
        bool disarm_fails;
        const char *said;
    } ways[] = {
        {false, true, "it is still there"}, {true, false, "no place"}, {true, true, "no place"}};
    for (size_t i = 0; i < countof(ways); i++) {
        with_run_result result = {0};
        struct err err = {0};
        stage.fails = ways[i].publish_fails;
        stage.disarm_fails = ways[i].disarm_fails;
        assert_int_equal(run_true(&result, &err), -1);
        assert_int_equal(stage.disarmed, 1);
        assert_string_equal(err.msg, ways[i].said);
    }
    stage.fails = stage.disarm_fails = false;
}

/* LC-3: the report says that the scope is left, and is the result; the watchdog goes on with it. */
static void a_scope_that_is_left_is_told_by_the_report(void **state)
{
    with_run_result result = {0};
    struct err err = {0};
    stage.scope_left = stage.disarm_fails = true;
    assert_int_equal(run_true(&result, &err), 0);
    stage.scope_left = stage.disarm_fails = false;
    assert_int_equal(stage.disarmed, 1);
    assert_int_equal(result.outcome, OUTCOME_INTERNAL_ERROR);
}

/* What a process has that a run may leave changed. */
struct condition {
    int threads;
    int descriptors;
    int is_subreaper;
    sigset_t blocked;
    void (*handlers[NSIG])(int);
};

static int count_of(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = -3; /* ".", ".." and, of the descriptors, its own */
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static struct condition condition_now(void)
{
    struct condition now = {0}; /* compared as bytes */
    now.threads = count_of("/proc/self/task") + 1;
    now.descriptors = count_of("/proc/self/fd");
    assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &now.is_subreaper), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &now.blocked), 0);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action = {0};
        (void)sigaction(signal, NULL, &action);
        now.handlers[signal] = action.sa_handler;
    }
    return now;
}

static volatile sig_atomic_t own_signals;

static void count_own(int signal)
{
    own_signals++;
}

static int cancel_pipe[2];

static void cancel(void *context, const struct supervise_view *view)
{
    if (scene.calls++ == 0) {
        assert_int_equal(write(cancel_pipe[1], "x", 1), 1);
    }
}

/* The state of the process is compared, and nothing that ran for the run is there any more. */
static void run_and_compare(char *const *argv, const struct condition *before, enum outcome outcome)
{
    static char path_variable[] = "PATH=/usr/bin:/bin";
    static char state_variable[96];
    char *const environment[] = {path_variable, state_variable, NULL};
    (void)snprintf(state_variable, sizeof state_variable, "XDG_STATE_HOME=%s/state", scene.folder);
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    request.cancel_fd = cancel_pipe[0];
    request.sample_ms = 10;
    request.observer.on_sample = cancel;
    scene.calls = 0;
    with_run_result result = {0};
    struct err err = {0};
    if (run_execute(&request, &result, &err) < 0) {
        fail_msg("no record: %s", err.msg);
    }
    assert_int_equal(result.outcome, outcome);
    struct condition after = condition_now();
    assert_int_equal(after.threads, 1);
    assert_memory_equal(&after, before, sizeof after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    int signals = own_signals;
    assert_int_equal(raise(SIGINT), 0);
    assert_int_equal(own_signals, signals + 1);
}

/* LC-1, LC-4: a cancelled run and a refused one leave the process that called them as it was. */
static void nothing_of_a_run_outlives_it(void **state)
{
    char *const sleeps[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};
    char *const lacks[] = {(char[]){"/nonexistent/program"}, NULL};
    struct sigaction counts = {.sa_handler = count_own};
    struct sigaction before_int;
    assert_int_equal(sigaction(SIGINT, &counts, &before_int), 0);
    assert_int_equal(pipe2(cancel_pipe, O_CLOEXEC), 0);
    struct condition before = condition_now();
    run_and_compare(sleeps, &before, OUTCOME_INTERRUPTED);
    char byte = 0;
    assert_int_equal(read(cancel_pipe[0], &byte, 1), 1); /* it was looked at, never read */
    assert_int_equal(byte, 'x');
    run_and_compare(lacks, &before, OUTCOME_PREFLIGHT_REFUSED);
    close(cancel_pipe[0]);
    close(cancel_pipe[1]);
    assert_int_equal(sigaction(SIGINT, &before_int, NULL), 0);
}

static struct run_result run_script(enum run_authority authority, const char *script)
{
    static char path_variable[] = "PATH=/usr/bin:/bin";
    static char state_variable[96];
    char *const environment[] = {path_variable, state_variable, NULL};
    char *const argv[] = {scene.program, NULL};
    char *const roots[] = {scene.folder, NULL};
    (void)snprintf(state_variable, sizeof state_variable, "XDG_STATE_HOME=%s/state", scene.folder);
    (void)unlink(scene.program);
    int file = open(scene.program, O_WRONLY | O_CREAT | O_EXCL, 0755);
    assert_int_equal(write(file, script, strlen(script)), (ssize_t)strlen(script));
    close(file);
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    request.authority = authority;
    request.cwd = scene.folder;
    request.roots = roots;
    request.sample_ms = 50;
    struct run_result result = {0};
    struct err err = {0};
    if (run_execute(&request, &result, &err) < 0) {
        fail_msg("no record: %s", err.msg);
    }
    return result;
}

/* MD-1, IF-2: what a person's command leaves behind is ended and counted; declared work has failed with it. */
static void declared_work_leaves_nobody_behind(void **state)
{
    static const char leaves[] = "#!/bin/sh\n(setsid sleep 1000 >/dev/null 2>&1 &)\nexit 0\n";
    with_run_result persons = run_script(AUTHORITY_PERSON, leaves);
    assert_int_equal(persons.outcome, OUTCOME_SUCCESS);
    const json_t *tasks = json_object_get(persons.record, "tasks");
    assert_int_equal(json_integer_value(json_object_get(tasks, "stragglers")), 1);
    with_run_result declared = run_script(AUTHORITY_DECLARED, leaves);
    assert_int_equal(declared.outcome, OUTCOME_SAFETY_LIMIT_EXCEEDED);
    assert_int_equal(declared.exit_code, 120);
    const json_t *report = json_object_get(declared.record, "report");
    const json_t *limit = json_object_get(json_object_get(report, "termination"), "limit");
    assert_string_equal(json_string_value(limit), "detached_descendant");
    with_run_result alone = run_script(AUTHORITY_DECLARED, "#!/bin/sh\nexit 0\n");
    assert_int_equal(alone.outcome, OUTCOME_SUCCESS);
}

static int make_folder(void **state)
{
    (void)snprintf(scene.folder, sizeof scene.folder, "/tmp/berm-run-XXXXXX");
    if (!mkdtemp(scene.folder)) {
        return -1;
    }
    (void)snprintf(scene.program, sizeof scene.program, "%s/program", scene.folder);
    return 0;
}

static int remove_folder(void **state)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf %s", scene.folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_swapped_program_never_runs_under_the_old_digest),
        cmocka_unit_test(a_program_changed_in_place_is_refused),
        cmocka_unit_test(every_way_out_disarms),
        cmocka_unit_test(a_scope_that_is_left_is_told_by_the_report),
        cmocka_unit_test(nothing_of_a_run_outlives_it),
        cmocka_unit_test(declared_work_leaves_nobody_behind),
    };
    return cmocka_run_group_tests_name("run/run", tests, make_folder, remove_folder);
}
