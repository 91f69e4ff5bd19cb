/* Every attack of tests/fixtures/attack.c, twice: against a parent that forks and waits, where it
 * succeeds, and against the broker, where nothing of it is left. */
#include "../unit/supervise/supervise-test.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

static const char *attack;

/* -- without berm ------------------------------------------------------------------------------ */

struct plain {
    pid_t leader;
    int output;
    int number; /* that it said behind "ready" */
    bool said_ready;
};

/* Fork, execute, and hear the first line: what a simple runner does. */
static struct plain plain_start(const char *name, const char *number)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct plain plain = {.output = ends[0], .leader = fork()};
    if (plain.leader == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execl(attack, attack, name, number, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char line[64] = "";
    size_t length = 0;
    while (length + 1 < sizeof line && read(ends[0], line + length, 1) == 1 &&
           line[length] != '\n') {
        length++;
    }
    plain.said_ready = sscanf(line, "ready %d", &plain.number) == 1 || strcmp(line, "ready\n") == 0;
    return plain;
}

static void plain_wait(struct plain *plain)
{
    if (plain->leader > 0) {
        assert_int_equal(waitpid(plain->leader, NULL, 0), plain->leader);
        plain->leader = 0;
    }
}

/* The state of a process by number, '-' when there is none. */
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

static bool is_alive(pid_t pid)
{
    return strchr("-ZX", state_of(pid)) == NULL;
}

/* What is left is ours alone: we are its subreaper, and end it by number. */
static void plain_end(struct plain *plain)
{
    if (plain->leader > 0) {
        kill(plain->leader, SIGKILL);
    }
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0) {
            break;
        }
        if (pid == 0) {
            char path[64];
            snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
            FILE *file = fopen(path, "re");
            int child;
            while (file && fscanf(file, "%d", &child) == 1) {
                kill(child, SIGKILL);
            }
            if (file) {
                fclose(file);
            }
            sched_yield();
        }
    }
    close(plain->output);
}

static void a_daemon_survives_a_plain_parent(void **state)
{
    struct plain plain = plain_start("daemonise", NULL);
    plain_wait(&plain);
    assert_true(is_alive(plain.number));
    plain_end(&plain);
}

static void a_grandchild_survives_sigterm_to_the_leader(void **state)
{
    struct plain plain = plain_start("stubborn-grandchild", NULL);
    kill(plain.leader, SIGTERM);
    plain_wait(&plain);
    assert_true(is_alive(plain.number));
    plain_end(&plain);
}

static void a_held_pipe_hangs_a_plain_reader(void **state)
{
    struct plain plain = plain_start("hold-pipe", NULL);
    plain_wait(&plain);
    struct pollfd poll_fd = {.fd = plain.output, .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, 0), 0); /* the leader is gone and there is no end-of-file */
    assert_true(is_alive(plain.number));
    plain_end(&plain);
}

static void a_stopped_tree_does_not_take_sigterm(void **state)
{
    struct plain plain = plain_start("stop-tree", NULL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)plain.leader, &info, WSTOPPED), 0);
    kill(plain.leader, SIGTERM);
    assert_int_equal(state_of(plain.leader), 'T');
    plain_end(&plain);
}

/* By the time that one of them is known by number it is gone, and the next has another number. */
static void hopping_outruns_its_pursuer(void **state)
{
    struct plain plain = plain_start("hop", "4");
    pid_t leader = plain.leader;
    plain_wait(&plain);
    assert_true(kill(leader, SIGKILL) < 0);
    assert_true(waitpid(-1, NULL, WNOHANG) >= 0); /* and yet somebody is there */
    plain_end(&plain);
}

/* -- with berm --------------------------------------------------------------------------------- */

static const struct supervise_ending *attack_berm(struct trial *trial)
{
    const struct supervise_ending *ending = trial_ending(trial);
    assert_non_null(ending->tree_empty);
    assert_int_equal(ending->survivor_count, 0);
    for (int i = 0; i < ending->descendant_count; i++) {
        assert_true(ending->descendants[i].ended);
    }
    return ending;
}

static int said_number(struct trial *trial)
{
    int number = 0;
    assert_int_equal(sscanf(trial_said(trial, STREAM_STDOUT), "ready %d", &number), 1);
    return number;
}

static void t1_a_daemon_is_found_and_ended(void **state)
{
    struct trial trial = trial_of(attack, "daemonise");
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->stragglers, 1);
    assert_int_equal(state_of(said_number(&trial)), '-');
    trial_done(&trial);
}

static void t17_exit_0_with_descendants_is_told(void **state)
{
    struct trial trial = trial_of(attack, "stubborn-daemon");
    trial.request.limits.grace_ns = 50 * NS_PER_MS;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_int_equal(ending->exit_code, 0);
    assert_int_equal(ending->stragglers, 1);
    assert_int_equal(ending->stop_signals[ending->stop_signal_count - 1], SIGKILL);
    trial_done(&trial);
}

static void t2_who_holds_the_pipe_is_ended(void **state)
{
    struct trial trial = trial_of(attack, "hold-pipe");
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_false(ending->stream[0].held_open);
    trial_done(&trial);
}

static void t3_a_stubborn_grandchild_is_killed(void **state)
{
    struct trial trial = trial_of(attack, "stubborn-grandchild");
    trial_stop_when_ready(&trial, 1);
    trial.request.limits.grace_ns = 50 * NS_PER_MS;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_INTERRUPTED);
    assert_int_equal(ending->exit_signal, SIGTERM);
    assert_int_equal(state_of(said_number(&trial)), '-');
    trial_done(&trial);
}

/* In a pid namespace of its own, whose end takes with it what a broken broker would leave. */
static int status_of(pid_t pid)
{
    int status = 0;
    while (waitpid(-1, &status, 0) != pid) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void run_as_child_of_init(void (*body)(void))
{
    pid_t berm = fork();
    if (berm == 0) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", 0, NULL) < 0) {
            _exit(77);
        }
        alarm(60);
        body();
    }
    _exit(status_of(berm));
}

static void in_a_namespace(void (*body)(void))
{
    pid_t outer = fork();
    if (outer == 0) {
        if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) {
            _exit(77);
        }
        pid_t init = fork();
        if (init == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run_as_child_of_init(body);
        }
        _exit(status_of(init));
    }
    int status = status_of(outer);
    if (status == 77) {
        print_message("# no pid namespaces here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void storm_64(void)
{
    struct trial trial = trial_of(attack, "storm", "64");
    trial_stop_when_ready(&trial, 1);
    trial.request.limits.grace_ns = 50 * NS_PER_MS;
    trial_run(&trial);
    _exit(trial.result == 0 && trial.ending->tree_empty ? 0 : 1);
}

static void t4_a_storm_of_short_lives_ends(void **state)
{
    in_a_namespace(storm_64);
}

static void bomb_800(void)
{
    struct trial trial = trial_of(attack, "bomb", "800");
    trial.request.limits.tasks = 400;
    trial.request.limits.grace_ns = 500 * NS_PER_MS;
    trial_run(&trial);
    _exit(trial.result == 0 && trial.ending->tree_empty && trial.ending->limit == LIMIT_PIDS ? 0
                                                                                             : 1);
}

static void t4_a_big_bomb_ends(void **state)
{
    in_a_namespace(bomb_800);
}

static void t4_a_bomb_hits_the_limit_and_ends(void **state)
{
    struct trial trial = trial_of(attack, "bomb", "200");
    trial.request.limits.tasks = 64;
    trial.request.limits.grace_ns = 500 * NS_PER_MS;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_LIMIT);
    assert_int_equal(ending->limit, LIMIT_PIDS);
    assert_int_equal(ending->limit_value, 64);
    assert_true(ending->limit_seen > 64);
    trial_done(&trial);
}

static void t5_a_stopped_tree_ends_by_sigterm(void **state)
{
    struct trial trial = trial_of(attack, "stop-tree");
    trial_stop_when_ready(&trial, 1);
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->exit_signal, SIGTERM);
    assert_int_equal(ending->stop_signal_count, 2);
    trial_done(&trial);
}

static void t7_a_vfork_child_ends(void **state)
{
    struct trial trial = trial_of(attack, "vfork-child");
    trial_stop_when_ready(&trial, 1);
    trial.request.limits.grace_ns = 50 * NS_PER_MS;
    (void)attack_berm(&trial);
    trial_done(&trial);
}

static void t8_a_traced_child_ends(void **state)
{
    struct trial trial = trial_of(attack, "traced");
    trial_stop_when_ready(&trial, 1);
    trial.request.limits.grace_ns = 50 * NS_PER_MS;
    (void)attack_berm(&trial);
    trial_done(&trial);
}

static void t9_zombies_are_counted_and_reaped(void **state)
{
    struct trial trial = trial_of(attack, "zombies", "500");
    trial_stop_when_ready(&trial, 501);
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_true(ending->seen[LIMIT_PIDS] > 500);
    trial_done(&trial);
}

static void t9_zombies_hit_the_limit(void **state)
{
    struct trial trial = trial_of(attack, "zombies", "500");
    trial.request.limits.tasks = 100;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_PIDS);
    trial_done(&trial);
}

static void t9_orphans_are_reaped_with_their_usage(void **state)
{
    struct trial trial = trial_of(attack, "orphans", "300");
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    trial_done(&trial);
}

static void t10_threads_count(void **state)
{
    struct trial trial = trial_of(attack, "threads", "100");
    trial.request.limits.tasks = 50;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_PIDS);
    assert_int_equal(ending->exit_signal, SIGTERM);
    trial_done(&trial);
}

static void m1_memory_is_seen(void **state)
{
    struct trial trial = trial_of(attack, "memory", "64");
    trial.request.limits.memory_bytes = 32 << 20;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_MEMORY);
    assert_true(ending->seen[LIMIT_MEMORY] > 32 << 20);
    trial_done(&trial);
}

/* M1, TR-6: without a leaf what is held is what the looks see. */
static void m1_memory_above_the_high_mark_is_seen_if_it_stays(void **state)
{
    struct trial trial = trial_of(attack, "memory", "64");
    trial.request.limits.memory_high_bytes = 32 << 20;
    trial.request.limits.high_samples = 2;
    trial.request.limits.sample_ns = 20 * NS_PER_MS;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_MEMORY_HIGH);
    assert_true(ending->seen[LIMIT_MEMORY_HIGH] > 32 << 20);
    trial_done(&trial);
}

static void memory_behind_an_ended_thread_is_seen(void **state)
{
    struct trial trial = trial_of(attack, "hidden-memory", "64");
    trial.request.limits.memory_bytes = 32 << 20;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_MEMORY);
    assert_int_equal(ending->exit_signal, SIGTERM);
    trial_done(&trial);
}

static void a_grace_is_not_for_taking_more(void **state)
{
    struct trial trial = trial_of(attack, "greedy-grace", "1024");
    trial.request.limits.memory_bytes = 32 << 20;
    trial.request.limits.grace_ns = 20 * NS_PER_S;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_MEMORY);
    assert_int_equal(ending->exit_signal, SIGKILL);
    assert_true(ending->finished_ns - ending->created_ns < 10 * NS_PER_S);
    assert_true(ending->seen[LIMIT_MEMORY] < 256 << 20);
    trial_done(&trial);
}

static void o1_a_flood_stops_at_the_limit(void **state)
{
    struct trial trial = trial_of(attack, "flood");
    trial.request.limits.output_bytes = 10000000;
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->limit, LIMIT_OUTPUT);
    assert_true(ending->stream[0].bytes + ending->stream[1].bytes > 10000000);
    trial_done(&trial);
}

static void a_pipe_in_foreign_hands_does_not_hang_the_run(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct trial trial = trial_of(attack, "pass-stdout-away");
    int null = trial.request.stdin_fd;
    trial.request.stdin_fd = ends[1];
    const struct supervise_ending *ending = attack_berm(&trial);
    assert_int_equal(ending->how, ENDED_EXITED);
    assert_string_equal(trial_said(&trial, STREAM_STDOUT), "ready\n");
    assert_true(ending->stream[STREAM_STDOUT].held_open);
    assert_false(ending->stream[STREAM_STDERR].held_open);
    trial.request.stdin_fd = null;
    trial_done(&trial);
    close(ends[0]); /* the descriptor in flight goes with it */
    close(ends[1]);
}

int main(int count, char **arguments)
{
    (void)count;
    attack = arguments[1];
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* for the undefended runs: what they leave comes to us */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_survives_a_plain_parent),
        cmocka_unit_test(a_grandchild_survives_sigterm_to_the_leader),
        cmocka_unit_test(a_held_pipe_hangs_a_plain_reader),
        cmocka_unit_test(a_stopped_tree_does_not_take_sigterm),
        cmocka_unit_test(hopping_outruns_its_pursuer),
        cmocka_unit_test(t1_a_daemon_is_found_and_ended),
        cmocka_unit_test(t17_exit_0_with_descendants_is_told),
        cmocka_unit_test(t2_who_holds_the_pipe_is_ended),
        cmocka_unit_test(t3_a_stubborn_grandchild_is_killed),
        cmocka_unit_test(t4_a_storm_of_short_lives_ends),
        cmocka_unit_test(t4_a_big_bomb_ends),
        cmocka_unit_test(t4_a_bomb_hits_the_limit_and_ends),
        cmocka_unit_test(t5_a_stopped_tree_ends_by_sigterm),
        cmocka_unit_test(t7_a_vfork_child_ends),
        cmocka_unit_test(t8_a_traced_child_ends),
        cmocka_unit_test(t9_zombies_are_counted_and_reaped),
        cmocka_unit_test(t9_zombies_hit_the_limit),
        cmocka_unit_test(t9_orphans_are_reaped_with_their_usage),
        cmocka_unit_test(t10_threads_count),
        cmocka_unit_test(m1_memory_is_seen),
        cmocka_unit_test(m1_memory_above_the_high_mark_is_seen_if_it_stays),
        cmocka_unit_test(memory_behind_an_ended_thread_is_seen),
        cmocka_unit_test(a_grace_is_not_for_taking_more),
        cmocka_unit_test(o1_a_flood_stops_at_the_limit),
        cmocka_unit_test(a_pipe_in_foreign_hands_does_not_hang_the_run),
    };
    return cmocka_run_group_tests_name("adversary/attacks", tests, NULL, NULL);
}
