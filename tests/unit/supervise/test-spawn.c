#include "supervise-test.h"

#include "gate-priv.h"
#include "proc.h"
#include "spawn-priv.h"

static struct trial begin(const char *program)
{
    struct trial trial = trial_of(program);
    trial.request.binding = &trial.binding;
    trial.request.interrupts = &trial.interrupts;
    assert_int_equal(interrupts_begin(&trial.interrupts, &trial.err), 0);
    return trial;
}

static void end(struct trial *trial, struct spawn *spawn)
{
    interrupts_end(&trial->interrupts);
    spawn_done(spawn);
    trial_done(trial);
}

static bool has_executed(pid_t pid)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(pid));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    return !stat.forked_only;
}

/* Wait for the end of a stream that its writer holds until it is no more. */
static void wait_for_end(int fd)
{
    char bytes[256];
    while (read(fd, bytes, sizeof bytes) > 0) {
    }
}

static void a_gate_waits_for_its_release(void **state)
{
    struct trial trial = begin("/bin/true");
    struct spawn spawn = {0};
    struct gate_failure failure;
    assert_int_equal(spawn_prepare(&spawn, &trial.request, &trial.err), 0);
    assert_int_equal(spawn_gate(&spawn, &trial.request, &trial.err), 0);
    assert_int_equal(spawn_heard(&spawn, &failure), SPAWN_NOTHING_YET);
    assert_false(has_executed(spawn.pid));
    assert_int_equal(spawn_release(&spawn), 0);
    wait_for_end(fd_num(&spawn.output[STREAM_STDOUT]));
    assert_int_equal(spawn_heard(&spawn, &failure), SPAWN_EXECUTED);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)spawn.pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(has_executed(spawn.pid));
    int status;
    assert_int_equal(waitpid(spawn.pid, &status, 0), spawn.pid);
    assert_int_equal(status, 0);
    end(&trial, &spawn);
}

/* The controller gave up, or is no more. */
static void without_its_controller_a_gate_ends(void **state)
{
    struct trial trial = begin("/bin/true");
    struct spawn spawn = {0};
    assert_int_equal(spawn_prepare(&spawn, &trial.request, &trial.err), 0);
    assert_int_equal(spawn_gate(&spawn, &trial.request, &trial.err), 0);
    pid_t pid = spawn.pid;
    fd_close(&spawn.release);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(has_executed(pid));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), GATE_EXIT);
    end(&trial, &spawn);
}

static void what_cannot_be_executed_sends_its_error(void **state)
{
    struct trial trial = begin("/etc/passwd");
    struct spawn spawn = {0};
    struct gate_failure failure;
    assert_int_equal(spawn_prepare(&spawn, &trial.request, &trial.err), 0);
    assert_int_equal(spawn_gate(&spawn, &trial.request, &trial.err), 0);
    assert_int_equal(spawn_release(&spawn), 0);
    assert_int_equal(waitpid(spawn.pid, NULL, 0), spawn.pid);
    assert_int_equal(spawn_heard(&spawn, &failure), SPAWN_FAILED);
    assert_true(failure.execution);
    assert_int_equal(failure.err.sys, EACCES);
    assert_non_null(strstr(failure.err.msg, "cannot execute"));
    end(&trial, &spawn);
}

/* A gate that is gone does not make the release fail in a way that matters. */
static void releasing_the_dead_is_a_broken_pipe(void **state)
{
    struct trial trial = begin("/bin/true");
    struct spawn spawn = {0};
    assert_int_equal(spawn_prepare(&spawn, &trial.request, &trial.err), 0);
    assert_int_equal(spawn_gate(&spawn, &trial.request, &trial.err), 0);
    kill(spawn.pid, SIGKILL);
    assert_int_equal(waitpid(spawn.pid, NULL, 0), spawn.pid);
    assert_int_equal(spawn_release(&spawn), -EPIPE);
    end(&trial, &spawn);
}

/* D11 */
static void no_descriptors_left_is_said_and_nothing_leaks(void **state)
{
    struct trial trial = begin("/bin/true");
    struct spawn spawn = {0};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    pid_t pid = fork(); /* a hard limit cannot be raised again by everybody */
    if (pid == 0) {
        int open_now = 0;
        while (fcntl(open_now, F_GETFD) >= 0) {
            open_now++;
        }
        const struct rlimit few = {(rlim_t)open_now + 3, (rlim_t)open_now + 3};
        setrlimit(RLIMIT_NOFILE, &few);
        bool refused =
            spawn_prepare(&spawn, &trial.request, &trial.err) < 0 && trial.err.sys == EMFILE;
        spawn_done(&spawn);
        _exit(refused && fcntl(open_now, F_GETFD) < 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    end(&trial, &spawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_waits_for_its_release),
        cmocka_unit_test(without_its_controller_a_gate_ends),
        cmocka_unit_test(what_cannot_be_executed_sends_its_error),
        cmocka_unit_test(releasing_the_dead_is_a_broken_pipe),
        cmocka_unit_test(no_descriptors_left_is_said_and_nothing_leaks),
    };
    return cmocka_run_group_tests_name("supervise/spawn", tests, NULL, NULL);
}
