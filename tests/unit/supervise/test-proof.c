#include "family.h"

#include <sys/resource.h>

#include "proof-priv.h"

static struct supervise_ending *ending;

static void exit_3(void)
{
    family_tell(getpid());
    _exit(3);
}

static void wait_for_zombie(pid_t pid)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void a_living_child_is_no_proof(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    int result = 1;
    assert_null(proof_reap(&reaper, 0, &result));
    assert_int_equal(result, 0);
    assert_false(reaper.leader_gone);
    kill(leader, SIGTERM);
    wait_for_zombie(leader);
    assert_non_null(proof_reap(&reaper, 0, &result));
    assert_true(reaper.leader_gone);
    assert_int_equal(reaper.exit_signal, SIGTERM);
    assert_int_equal(tree.member_limit, 0);
    assert_non_null(proof_reap(&reaper, 0, &result)); /* and stays */
    tree_done(&tree);
    family_end();
}

static void what_a_leader_left_behind_is_told_by_the_kernel(void **state)
{
    pid_t leader = family_child(exit_3);
    (void)family_hear();
    wait_for_zombie(leader);
    struct tree tree = family_tree(leader, ending, false);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    int result;
    assert_non_null(proof_reap(&reaper, 7, &result));
    assert_int_equal(reaper.exit_code, 3);
    assert_int_equal(reaper.leader_executed, EXECUTED_NO); /* a fork that exits */
    assert_true(ending->largest_rss_bytes > 0);
    assert_int_equal(ending->descendants[0].state, 'Z');
    assert_int_equal(ending->descendants[0].last_seen_ms, 7);
    tree_done(&tree);
    family_end();
}

static void burn_and_exit(void)
{
    volatile unsigned spin = 0;
    struct rusage usage;
    do {
        for (int i = 0; i < 1000000; i++) {
            spin++;
        }
        getrusage(RUSAGE_SELF, &usage);
    } while (usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec < 50000);
    _exit(0);
}

static void the_usage_of_all_that_was_reaped_is_summed(void **state)
{
    pid_t leader = family_child(burn_and_exit);
    struct tree tree = family_tree(leader, ending, false);
    pid_t orphan = family_child(burn_and_exit); /* as if it had lost its parent */
    wait_for_zombie(leader);
    wait_for_zombie(orphan);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    int result;
    assert_non_null(proof_reap(&reaper, 0, &result));
    assert_true(ending->cpu_user_ns >= 100 * INT64_C(1000000));
    tree_done(&tree);
    family_end();
}

/* A child that is not the payload's, of before: no ECHILD will come, and yet there is a proof. */
static void a_bystander_is_no_obstacle(void **state)
{
    pid_t bystander = family_child(NULL);
    pid_t leader = family_child(exit_3);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, true);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    wait_for_zombie(leader);
    int result;
    assert_non_null(proof_reap(&reaper, 0, &result));
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)bystander, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(info.si_pid, 0); /* it lives */
    tree_done(&tree);
    family_end();
}

/* Its death and its usage are none of the run's. */
static void a_bystander_is_reaped_and_not_counted(void **state)
{
    pid_t bystander = family_child(burn_and_exit);
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, true);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    wait_for_zombie(bystander);
    int result;
    assert_null(proof_reap(&reaper, 0, &result));
    assert_int_equal(waitpid(bystander, NULL, WNOHANG), -1);
    assert_int_equal(ending->cpu_user_ns, 0);
    tree_done(&tree);
    family_end();
}

static void own_session(void)
{
    setsid();
    family_tell(getpid());
}

/* Nobody knows whose it is: then nobody says that nothing is left. */
static void an_unclaimed_child_withholds_the_proof(void **state)
{
    pid_t bystander = family_child(NULL);
    (void)bystander;
    pid_t leader = family_child(exit_3);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, true);
    pid_t unclaimed = family_child(own_session);
    (void)family_hear();
    struct reaper reaper = {.tree = &tree, .ending = ending};
    wait_for_zombie(leader);
    int result;
    assert_null(proof_reap(&reaper, 0, &result));
    assert_true(reaper.leader_gone);
    assert_int_equal(tree.unclaimed, 1);
    kill(unclaimed, SIGKILL);
    wait_for_zombie(unclaimed);
    assert_non_null(proof_reap(&reaper, 0, &result));
    tree_done(&tree);
    family_end();
}

enum { CROWD = 1500 };

static void keep_a_crowd(void)
{
    for (int i = 0; i < CROWD; i++) {
        if (fork() == 0) {
            _exit(0);
        }
    }
    family_tell(getpid());
}

/* T1: on a host with many processes, nobody is missed behind those that are read first. */
static void a_crowd_on_the_host_hides_nobody(void **state)
{
    (void)family_child(keep_a_crowd);
    (void)family_hear();
    pid_t leader = family_child(exit_3);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, true);
    (void)family_child(own_session);
    (void)family_hear();
    struct reaper reaper = {.tree = &tree, .ending = ending};
    wait_for_zombie(leader);
    int result;
    assert_null(proof_reap(&reaper, 0, &result));
    assert_true(reaper.only_unclaimed);
    tree_done(&tree);
    family_end();
}

/* D11 T1: whoever cannot be looked at may be the payload's. */
static void who_cannot_be_read_withholds_the_proof(void **state)
{
    (void)family_child(NULL);
    pid_t leader = family_child(exit_3);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, true);
    (void)family_child(own_session);
    (void)family_hear();
    struct reaper reaper = {.tree = &tree, .ending = ending};
    wait_for_zombie(leader);
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit none = {0, files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result;
    const struct proof_tree_empty *proof = proof_reap(&reaper, 0, &result);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_null(proof);
    assert_true(reaper.leader_gone);
    assert_false(reaper.only_unclaimed);
    assert_null(proof_reap(&reaper, 0, &result));
    assert_true(reaper.only_unclaimed);
    tree_done(&tree);
    family_end();
}

static int start_over(void **state)
{
    ending = family_ending();
    return 0;
}
static int end_up(void **state)
{
    free(ending);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_over, end_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_living_child_is_no_proof),
        CASE(what_a_leader_left_behind_is_told_by_the_kernel),
        CASE(the_usage_of_all_that_was_reaped_is_summed),
        CASE(a_bystander_is_no_obstacle),
        CASE(a_bystander_is_reaped_and_not_counted),
        CASE(an_unclaimed_child_withholds_the_proof),
        CASE(a_crowd_on_the_host_hides_nobody),
        CASE(who_cannot_be_read_withholds_the_proof),
    };
    return cmocka_run_group_tests_name("supervise/proof", tests, NULL, NULL);
}
