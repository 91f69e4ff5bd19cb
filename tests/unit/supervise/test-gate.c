#include "supervise-test.h"

#include <sys/resource.h>

static const char *said(struct trial *trial)
{
    const struct supervise_ending *ending = trial_ending(trial);
    if (ending->how != ENDED_EXITED || ending->exit_code != 0) {
        print_message("# how %d exit %d: %s\n", ending->how, ending->exit_code,
                      ending->failure.msg);
    }
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->exit_code, 0);
    return trial_said(trial, STREAM_STDOUT);
}

/* T16: whatever the caller blocked or ignored, a payload starts with defaults and nothing blocked. */
static void t16_signals_are_default_and_open(void **state)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    static const int ignored[] = {SIGPIPE, SIGHUP, SIGINT, SIGUSR1, SIGTTOU, 40};
    for (size_t i = 0; i < countof(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    struct trial trial = trial_of("/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status");
    assert_string_equal(said(&trial), "SigBlk:\t0000000000000000\n"
                                      "SigIgn:\t0000000000000000\n");
    trial_done(&trial);
    for (size_t i = 0; i < countof(ignored); i++) {
        signal(ignored[i], SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

#define LIST_FILES                                                                                 \
    "for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 40 63 200; do "                                         \
    "[ -e /proc/$$/fd/$n ] && echo $n; done; true"

/* R44, D12: nothing of the caller's but the three. */
static void r44_no_descriptor_of_the_caller_is_seen(void **state)
{
    int secret[3] = {dup2(0, 9), dup2(0, 40), dup2(0, 200)};
    struct trial trial = trial_of("/bin/sh", "-c", LIST_FILES);
    assert_string_equal(said(&trial), "0\n1\n2\n");
    trial_done(&trial);
    for (size_t i = 0; i < countof(secret); i++) {
        close(secret[i]);
    }
}

/* A caller without standard streams: berm's own pipes then have the numbers 0, 1 and 2. */
static void standard_streams_may_have_been_closed(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        close(0);
        close(1);
        close(2);
        struct trial trial = trial_of("/bin/sh", "-c", "echo out; echo err >&2; cat; " LIST_FILES);
        trial_run(&trial);
        bool fine = trial.result == 0 && trial.ending->how == ENDED_EXITED &&
                    strcmp(trial_said(&trial, STREAM_STDOUT), "out\n0\n1\n2\n") == 0 &&
                    strcmp(trial_said(&trial, STREAM_STDERR), "err\n") == 0;
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_payload_leads_a_session_without_a_terminal(void **state)
{
    struct trial trial = trial_of("/bin/sh", "-c",
                                  "read -r line </proc/self/stat; set -- ${line##*) }; "
                                  "[ $4 = $$ ] && [ $3 = $$ ] && [ $5 = 0 ] && echo session; "
                                  "(: >/dev/tty) 2>/dev/null || echo none");
    assert_string_equal(said(&trial), "session\nnone\n");
    trial_done(&trial);
}

static void it_stands_where_it_shall(void **state)
{
    struct trial trial = trial_of("/bin/pwd");
    int here = trial.request.cwd_fd;
    trial.request.cwd_fd = open("/usr/lib", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_string_equal(said(&trial), "/usr/lib\n");
    close(trial.request.cwd_fd);
    trial.request.cwd_fd = here;
    trial_done(&trial);
}

static void its_input_is_what_was_given(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "in", 2), 2);
    close(ends[1]);
    struct trial trial = trial_of("/bin/cat");
    int null = trial.request.stdin_fd;
    trial.request.stdin_fd = ends[0];
    assert_string_equal(said(&trial), "in");
    close(ends[0]);
    trial.request.stdin_fd = null;
    trial.files_before -= 1; /* ends[0] */
    trial_done(&trial);
}

/* D11: berm raises its own limit of open files; the payload has the caller's. */
static void d11_the_limit_of_open_files_is_the_callers(void **state)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {64, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct trial trial = trial_of("/bin/sh", "-c", "ulimit -n");
    assert_string_equal(said(&trial), "64\n");
    struct rlimit after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    assert_int_equal(after.rlim_cur, 64);
    trial_done(&trial);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* The host's out-of-memory killer takes it first. */
static void it_is_marked_for_the_oom_killer(void **state)
{
    struct trial trial = trial_of("/bin/cat", "/proc/self/oom_score_adj");
    assert_string_equal(said(&trial), "1000\n");
    assert_true(trial.ending->oom_first);
    trial_done(&trial);
}

static void a_folder_that_cannot_be_entered_is_berms_failure(void **state)
{
    struct trial trial = trial_of("/bin/true");
    int here = trial.request.cwd_fd;
    trial.request.cwd_fd = trial.request.stdin_fd; /* no folder */
    const struct supervise_ending *ending = trial_ending(&trial);
    assert_int_equal(ending->how, ENDED_FAILED);
    assert_int_equal(ending->failure.sys, ENOTDIR);
    assert_non_null(strstr(ending->failure.msg, "working folder"));
    assert_false(ending->launched);
    assert_non_null(ending->tree_empty);
    trial.request.cwd_fd = here;
    trial_done(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t16_signals_are_default_and_open),
        cmocka_unit_test(r44_no_descriptor_of_the_caller_is_seen),
        cmocka_unit_test(standard_streams_may_have_been_closed),
        cmocka_unit_test(a_payload_leads_a_session_without_a_terminal),
        cmocka_unit_test(it_stands_where_it_shall),
        cmocka_unit_test(its_input_is_what_was_given),
        cmocka_unit_test(d11_the_limit_of_open_files_is_the_callers),
        cmocka_unit_test(it_is_marked_for_the_oom_killer),
        cmocka_unit_test(a_folder_that_cannot_be_entered_is_berms_failure),
    };
    return cmocka_run_group_tests_name("supervise/gate", tests, NULL, NULL);
}
