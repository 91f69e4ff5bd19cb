/* Processes around the broker that are not the payload's, and one of the payload's that its own user
 * may not signal: what is ended, what is left alone, and what is said about it. */
#include "../unit/supervise/supervise-test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const char *attack;

enum { NOT_HERE = 77 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static pid_t make_sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        for (;;) {
            pause();
        }
    }
    return pid;
}

static bool child_lives(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Exit status of body() in a process of its own; skips the case where the host cannot do it. */
static void in_a_process(void (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(50);
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE) {
        print_message("# this host does not let us\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* -- berm was executed by a process that had children ------------------------------------------ */

static void run_beside_a_child(void)
{
    pid_t bystander = make_sleeper();
    struct trial trial = trial_of(attack, "daemonise");
    trial_run(&trial);
    CHECK(trial.result == 0 && trial.ending->how == ENDED_EXITED);
    CHECK(trial.ending->stragglers == 1); /* the daemon, and not the child */
    CHECK(trial.ending->tree_empty);
    CHECK(trial.ending->survivor_count == 0);
    CHECK(child_lives(bystander));
    for (int i = 0; i < trial.ending->descendant_count; i++) {
        CHECK(trial.ending->descendants[i].pid != bystander);
    }
    kill(bystander, SIGKILL);
}

/* T15, R18 */
static void a_child_from_before_is_left_alone(void **state)
{
    in_a_process(run_beside_a_child);
}

static void run_with_a_stubborn_daemon_beside_a_child(void)
{
    pid_t bystander = make_sleeper();
    struct trial trial = trial_of(attack, "stubborn-daemon");
    trial.request.limits.grace_ns = 20 * NS_PER_MS;
    trial_run(&trial);
    CHECK(trial.result == 0 && trial.ending->tree_empty && trial.ending->stragglers == 1);
    CHECK(child_lives(bystander));
    kill(bystander, SIGKILL);
}

static void and_what_resists_is_killed_beside_it(void **state)
{
    in_a_process(run_with_a_stubborn_daemon_beside_a_child);
}

/* -- berm is pid 1 of a container -------------------------------------------------------------- */

static int to_inside[2];
static int from_inside[2];

static void enter_container(void (*as_pid_1)(void))
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) {
        _exit(NOT_HERE);
    }
    CHECK(pipe2(to_inside, O_CLOEXEC) == 0 && pipe2(from_inside, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", 0, NULL) < 0) {
            _exit(NOT_HERE);
        }
        CHECK(getpid() == 1);
        as_pid_1();
        _exit(0);
    }
    close(from_inside[1]);
    char byte;
    /* "docker exec": a process of the container whose parent stands outside leaves an orphan. */
    if (read(from_inside[0], &byte, 1) == 1) {
        pid_t visitor = fork(); /* our children are born in the namespace: unshare(2) */
        if (visitor == 0) {
            setsid();
            pid_t orphan = make_sleeper();
            CHECK(orphan > 0);
            _exit(0);
        }
        CHECK(waitpid(visitor, NULL, 0) == visitor);
        CHECK(write(to_inside[1], "x", 1) == 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void ask_for_a_visitor(void)
{
    char byte;
    CHECK(write(from_inside[1], "x", 1) == 1);
    CHECK(read(to_inside[0], &byte, 1) == 1);
}

static int count_children(char only_state)
{
    int count = 0;
    int child;
    FILE *file = fopen("/proc/thread-self/children", "re");
    while (fscanf(file, "%d", &child) == 1) {
        char path[32];
        char state = '-';
        snprintf(path, sizeof path, "/proc/%d/stat", child);
        FILE *stat = fopen(path, "re");
        if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1) {
            count += !only_state || state == only_state;
        }
        if (stat) {
            fclose(stat);
        }
    }
    fclose(file);
    return count;
}

static void run_as_pid_1(void)
{
    struct trial trial = trial_of(attack, "daemonise");
    trial_run(&trial);
    CHECK(trial.result == 0 && trial.ending->how == ENDED_EXITED);
    CHECK(trial.ending->stragglers == 1); /* by its mark: no session and no parent tells it */
    CHECK(trial.ending->tree_empty);
    CHECK(count_children(0) == 0);
    close(from_inside[1]);
}

static void visitor_before(void)
{
    ask_for_a_visitor();
    struct trial trial = trial_of(attack, "daemonise");
    trial_run(&trial);
    CHECK(trial.result == 0 && trial.ending->stragglers == 1);
    CHECK(trial.ending->tree_empty);
    CHECK(count_children(0) == 1 && count_children('Z') == 0); /* it lives */
}

/* The observer runs in berm, between two turns of its loop. */
static void visit_now(void *context, int stream, char last)
{
    struct trial *trial = context;
    if (!trial->ready) {
        trial->ready = true;
        ask_for_a_visitor();
        CHECK(write(trial->cancel[1], "", 1) == 1);
    }
}

static void visitor_during(void)
{
    struct trial trial = trial_of("/bin/sh", "-c", "echo; sleep 100");
    trial_stop_when_ready(&trial, 1);
    trial.request.observer =
        (struct supervise_observer){.context = &trial, .after_output = visit_now};
    trial_run(&trial);
    CHECK(trial.result == 0 && trial.ending->how == ENDED_INTERRUPTED);
    CHECK(trial.ending->exit_signal == SIGTERM);
    CHECK(!trial.ending->tree_empty); /* nobody can say whose it is */
    CHECK(trial.ending->survivor_count == 1);
    CHECK(trial.ending->survivors[0].unclaimed);
    CHECK(trial.ending->finished_ns - trial.ending->created_ns < 5 * NS_PER_S);
    CHECK(count_children(0) == 1 && count_children('Z') == 0); /* and it lives */
}

static void enter_plain(void)
{
    enter_container(run_as_pid_1);
}
static void enter_before(void)
{
    enter_container(visitor_before);
}
static void enter_during(void)
{
    enter_container(visitor_during);
}

static void r18_as_pid_1_it_ends_what_the_payload_left(void **state)
{
    in_a_process(enter_plain);
}
static void an_orphan_from_before_is_left_alone(void **state)
{
    in_a_process(enter_before);
}
static void an_orphan_of_nobody_knows_whom_withholds_the_proof(void **state)
{
    in_a_process(enter_during);
}

/* -- a process that may not be signalled ------------------------------------------------------- */

static char reachable[64]; /* the attack, where nobody may execute it: the tree may be root's own */
static char untouchable[64];

static void run_as_nobody(void)
{
    int hold[2];
    CHECK(pipe2(hold, O_CLOEXEC) == 0);
    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0) {
        _exit(NOT_HERE);
    }
    prctl(PR_SET_DUMPABLE, 1); /* a change of user takes away our own /proc */
    struct trial trial = trial_of(reachable, "leave-untouchable", untouchable);
    trial.request.stdin_fd = hold[0];
    trial.request.limits.grace_ns = 200 * NS_PER_MS;
    trial.request.limits.kill_budget_ns = 300 * NS_PER_MS;
    trial_run(&trial);
    CHECK(trial.result == 0);
    CHECK(trial.ending->how == ENDED_EXITED);
    CHECK(!trial.ending->tree_empty);
    CHECK(trial.ending->stragglers == 1);
    CHECK(trial.ending->survivor_count == 1);
    CHECK(trial.ending->survivors[0].sys == EPERM);
    CHECK(!trial.ending->survivors[0].unclaimed);
    CHECK(strcmp(trial.ending->survivors[0].name, "untouchable") == 0);
    CHECK(trial.ending->stream[STREAM_STDOUT].held_open);
    close(hold[1]); /* it goes when its input ends */
    CHECK(waitpid(trial.ending->survivors[0].pid, NULL, 0) == trial.ending->survivors[0].pid);
}

static void a_set_uid_process_survives_and_is_named(void **state)
{
    char folder[] = "/tmp/berm-test-XXXXXX";
    char command[512];
    if (geteuid() != 0) {
        print_message("# a set-uid file needs root\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    snprintf(untouchable, sizeof untouchable, "%s/untouchable", folder);
    snprintf(reachable, sizeof reachable, "%s/attack", folder);
    snprintf(command, sizeof command, "cp '%s' '%s' && cp '%s' '%s' && chmod 4755 '%s'", attack,
             reachable, attack, untouchable, untouchable);
    assert_int_equal(system(command), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(50);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        run_as_nobody();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(reachable);
    unlink(untouchable);
    rmdir(folder);
    assert_int_equal(status, 0);
}

int main(int count, char **arguments)
{
    (void)count;
    attack = arguments[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_from_before_is_left_alone),
        cmocka_unit_test(and_what_resists_is_killed_beside_it),
        cmocka_unit_test(r18_as_pid_1_it_ends_what_the_payload_left),
        cmocka_unit_test(an_orphan_from_before_is_left_alone),
        cmocka_unit_test(an_orphan_of_nobody_knows_whom_withholds_the_proof),
        cmocka_unit_test(a_set_uid_process_survives_and_is_named),
    };
    return cmocka_run_group_tests_name("adversary/strangers", tests, NULL, NULL);
}
