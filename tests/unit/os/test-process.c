#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "process.h"

/* A child that runs `function`, reaped; what waitid() said of it. */
static siginfo_t outcome_of(void (*function)(void))
{
    struct fd pidfd = {0};
    pid_t pid = os_clone_child(&pidfd);
    assert_true(pid >= 0);
    if (pid == 0) {
        function();
        os_exit(99);
    }
    siginfo_t info;
    struct rusage usage;
    assert_int_equal(os_waitid(P_PIDFD, fd_num(&pidfd), &info, WEXITED, &usage), 0);
    assert_int_equal(info.si_pid, pid);
    fd_close(&pidfd);
    return info;
}

static void exit_7(void)
{
    os_exit(7);
}

static void a_child_is_known_by_a_descriptor(void **state)
{
    siginfo_t info = outcome_of(exit_7);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_status, 7);
    assert_int_equal(os_waitid(P_ALL, 0, &info, WEXITED | WNOHANG, NULL), -ECHILD);
}

static pid_t noted;

static int note_and_return_8(const void *argument)
{
    noted = *(const pid_t *)argument;
    return 8;
}

/* What it did in the memory of both is seen before anybody waits for it. */
static void a_lent_child_has_ended_or_executes_when_its_parent_goes_on(void **state)
{
    struct fd pidfd = {0};
    siginfo_t info;
    const pid_t told = 77;
    noted = 0;
    pid_t pid = os_clone_lent(note_and_return_8, &told, &pidfd);
    assert_true(pid > 0);
#if !defined(BERM_FAULTS) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(noted, told);
#endif
    assert_int_equal(fcntl(fd_num(&pidfd), F_GETFD), FD_CLOEXEC);
    assert_int_equal(os_waitid(P_PIDFD, fd_num(&pidfd), &info, WEXITED, NULL), 0);
    assert_int_equal(info.si_pid, pid);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_status, 8);
    fd_close(&pidfd);
}

static void wait_for_a_signal(void)
{
    pause();
}

static void a_signal_goes_through_the_descriptor(void **state)
{
    struct fd pidfd = {0};
    pid_t pid = os_clone_child(&pidfd);
    if (pid == 0) {
        wait_for_a_signal();
    }
    assert_int_equal(fcntl(fd_num(&pidfd), F_GETFD), FD_CLOEXEC);
    siginfo_t info;
    assert_int_equal(os_waitid(P_PIDFD, fd_num(&pidfd), &info, WEXITED | WNOHANG, NULL), 0);
    assert_int_equal(info.si_pid, 0);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, 0), 0);
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGKILL), 0);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, 10000), POLLIN);
    assert_int_equal(os_waitid(P_PIDFD, fd_num(&pidfd), &info, WEXITED, NULL), 0);
    assert_int_equal(info.si_code, CLD_KILLED);
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGKILL), -ESRCH);
    assert_int_equal(os_pidfd_open(pid), -ESRCH);
    fd_close(&pidfd);
}

/* The caller ignores and blocks the signal, as nohup(1) and some shells leave it. */
static void die_of_a_blocked_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    (void)!os_signal_ignore(SIGINT);
    (void)!os_signal_mask(SIG_BLOCK, &set, NULL);
    os_die_of(SIGINT);
}

static void die_of_a_signal_that_does_not_kill(void)
{
    os_die_of(SIGCHLD);
}

/* X1: a shell must see that its command was interrupted. */
static void one_can_die_of_any_signal(void **state)
{
    siginfo_t info = outcome_of(die_of_a_blocked_signal);
    assert_int_equal(info.si_code, CLD_KILLED);
    assert_int_equal(info.si_status, SIGINT);
    info = outcome_of(die_of_a_signal_that_does_not_kill);
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_int_equal(info.si_status, 128 + SIGCHLD);
}

/* T16: which signals the caller ignored can be asked; so can the mask. */
static void report_what_is_ignored(void)
{
    uint64_t before = 0;
    uint64_t after = 0;
    bool asked = os_signals_ignored(&before) == 0 && os_signal_ignore(SIGPIPE) == 0 &&
                 os_signals_ignored(&after) == 0;
    bool ignored = after & (UINT64_C(1) << (SIGPIPE - 1));
    bool reset = os_signal_default(SIGPIPE) == 0 && os_signals_ignored(&after) == 0 &&
                 !(after & (UINT64_C(1) << (SIGPIPE - 1)));
    os_exit(asked && ignored && reset ? 0 : 1);
}

static void ignored_signals_are_known(void **state)
{
    assert_int_equal(outcome_of(report_what_is_ignored).si_status, 0);
}

/* T16, T18: also the two that libc keeps for itself, which posix_spawn leaves ignored. */
static void reset_every_signal(void)
{
    uint64_t ignored = 0;
    for (int signal = 1; signal <= 64; signal++) {
        if (signal == SIGKILL || signal == SIGSTOP) {
            continue;
        }
        if (os_signal_ignore(signal) < 0) {
            os_exit(signal);
        }
    }
    if (os_signals_ignored(&ignored) < 0 || ignored != ~(UINT64_C(1) << 8 | UINT64_C(1) << 18)) {
        os_exit(100);
    }
    for (int signal = 1; signal <= 64; signal++) {
        if ((ignored >> (signal - 1) & 1) && os_signal_default(signal) < 0) {
            os_exit(signal);
        }
    }
    os_exit(os_signals_ignored(&ignored) == 0 && ignored == 0 ? 0 : 101);
}

static void every_signal_can_be_reset(void **state)
{
    assert_int_equal(outcome_of(reset_every_signal).si_status, 0);
}

static void close_all_but_three(void)
{
    int low = os_dup_above(STDIN_FILENO, 100);
    int high = os_dup_above(STDIN_FILENO, 500);
    bool open = low >= 100 && high >= 500 && fcntl(low, F_GETFD) == FD_CLOEXEC;
    bool closed = os_close_from(3) == 0 && fcntl(low, F_GETFD) < 0 && fcntl(high, F_GETFD) < 0;
    bool kept = fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0;
    os_exit(open && closed && kept ? 0 : 1);
}

static void descriptors_are_closed_from_a_number_on(void **state)
{
    assert_int_equal(outcome_of(close_all_but_three).si_status, 0);
}

static void move_descriptors(void)
{
    int file = os_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
    bool moved = os_dup_to(file, 200) == 200 && fcntl(200, F_GETFD) == 0;
    bool same = fcntl(file, F_GETFD) == FD_CLOEXEC && os_dup_to(file, file) >= 0 &&
                fcntl(file, F_GETFD) == 0;
    os_exit(moved && same ? 0 : 1);
}

static void a_descriptor_for_a_child_survives_its_exec(void **state)
{
    assert_int_equal(outcome_of(move_descriptors).si_status, 0);
}

static void execute_true(void)
{
    char *argv[] = {(char[]){"true"}, NULL};
    char *envp[] = {NULL};
    int file = os_openat(AT_FDCWD, "/bin/true", O_RDONLY, 0);
    (void)!os_execveat(file, argv, envp);
}

static void execute_a_text(void)
{
    char *argv[] = {(char[]){"x"}, NULL};
    int file = os_openat(AT_FDCWD, "/etc/passwd", O_RDONLY, 0);
    os_exit(-os_execveat(file, argv, argv + 1));
}

static void what_is_executed_is_the_open_file(void **state)
{
    assert_int_equal(outcome_of(execute_true).si_status, 0);
    assert_int_equal(outcome_of(execute_a_text).si_status, EACCES);
}

static void set_up_a_process(void)
{
    struct rlimit limit = {64, 64};
    struct rlimit seen = {0};
    int root = os_openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
    char folder[8] = "";
    bool done = os_setsid() == 0 && getsid(0) == os_getpid() && os_fchdir(root) == 0 &&
                getcwd(folder, sizeof folder) && folder[1] == '\0' &&
                os_setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                os_getrlimit(RLIMIT_NOFILE, &seen) == 0 && seen.rlim_cur == 64 &&
                os_die_with_parent() == 0;
    os_exit(done ? 0 : 1);
}

static void a_process_sets_itself_up(void **state)
{
    assert_int_equal(outcome_of(set_up_a_process).si_status, 0);
}

/* T1: an orphan becomes the child of the nearest subreaper. */
static void leave_an_orphan_behind(void)
{
    struct fd pidfd = {0};
    pid_t middle = 0;
    if (os_set_subreaper(true) < 0 || os_is_subreaper() != 1 ||
        (middle = os_clone_child(&pidfd)) < 0) {
        os_exit(1);
    }
    if (middle == 0) {
        if (os_clone_child(&pidfd) == 0) {
            os_exit(42);
        }
        os_exit(0);
    }
    siginfo_t info;
    int seen = 0;
    while (os_waitid(P_ALL, 0, &info, WEXITED, NULL) == 0) {
        seen += info.si_status;
    }
    os_exit(seen == 42 ? 0 : 1);
}

static void orphans_come_to_a_subreaper(void **state)
{
    assert_int_equal(outcome_of(leave_an_orphan_behind).si_status, 0);
}

static void a_process_stops_until_it_is_continued(void **state)
{
    struct fd pidfd = {0};
    pid_t pid = os_clone_child(&pidfd);
    if (pid == 0) {
        os_exit(os_stop_self() == 0 ? 3 : 1);
    }
    siginfo_t info;
    assert_int_equal(os_waitid(P_PIDFD, fd_num(&pidfd), &info, WSTOPPED, NULL), 0);
    assert_int_equal(info.si_code, CLD_STOPPED);
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGCONT), 0);
    assert_int_equal(os_waitid(P_PIDFD, fd_num(&pidfd), &info, WEXITED, NULL), 0);
    assert_int_equal(info.si_status, 3);
    fd_close(&pidfd);
}

static void facts_about_oneself(void **state)
{
    assert_int_equal(os_getpid(), getpid());
    assert_int_equal(os_getppid(), getppid());
    assert_int_equal(os_geteuid(), geteuid());
    assert_int_equal(os_getegid(), getegid());
    assert_true(os_page_bytes() >= 4096);
    assert_int_equal(os_ticks_per_second(), 100);
    assert_true(os_processors() >= 1);
    assert_int_equal(setenv("BERM_TEST", "x", 1), 0);
    assert_string_equal(os_environment("BERM_TEST"), "x");
    assert_null(os_environment("BERM_TEST_NONE"));
    assert_non_null(os_environment_all());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_known_by_a_descriptor),
        cmocka_unit_test(a_lent_child_has_ended_or_executes_when_its_parent_goes_on),
        cmocka_unit_test(a_signal_goes_through_the_descriptor),
        cmocka_unit_test(one_can_die_of_any_signal),
        cmocka_unit_test(ignored_signals_are_known),
        cmocka_unit_test(every_signal_can_be_reset),
        cmocka_unit_test(descriptors_are_closed_from_a_number_on),
        cmocka_unit_test(a_descriptor_for_a_child_survives_its_exec),
        cmocka_unit_test(what_is_executed_is_the_open_file),
        cmocka_unit_test(a_process_sets_itself_up),
        cmocka_unit_test(orphans_come_to_a_subreaper),
        cmocka_unit_test(a_process_stops_until_it_is_continued),
        cmocka_unit_test(facts_about_oneself),
    };
    return cmocka_run_group_tests_name("os/process", tests, NULL, NULL);
}
