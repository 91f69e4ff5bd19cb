#include "family.h"

#include "chase-priv.h"

static struct supervise_ending *ending;

static void exit_at_once(void)
{
    _exit(0);
}

/* Whoever lost its parent is our child: all of them die, and no pass over /proc was needed. */
static void children_are_killed_without_a_pass(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    for (int i = 0; i < 3; i++) {
        (void)family_child(NULL);
    }
    assert_true(chase_children(&reaper, 0) >= 4);
    int result = 0;
    while (!proof_reap(&reaper, 0, &result)) {
        assert_int_equal(result, 0);
    }
    assert_true(reaper.leader_gone);
    assert_int_equal(reaper.exit_signal, SIGKILL);
    family_count = 0;
    tree_done(&tree);
}

static void what_has_ended_is_reaped(void **state)
{
    pid_t leader = family_child(exit_at_once);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)leader, &info, WEXITED | WNOWAIT), 0);
    struct tree tree = family_tree(leader, ending, false);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    assert_int_equal(chase_children(&reaper, 0), 0);
    assert_true(reaper.leader_gone);
    family_count = 0;
    tree_done(&tree);
}

static void own_session(void)
{
    setsid();
    family_tell(getpid());
}

static bool lives(pid_t pid)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == 0;
}

/* A child that is or may be somebody else's is left alone. */
static void strangers_are_left_alone(void **state)
{
    pid_t bystander = family_child(NULL);
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, true);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    pid_t unclaimed = family_child(own_session);
    (void)family_hear();
    assert_true(chase_children(&reaper, 0) >= 1);
    assert_true(lives(bystander));
    assert_true(lives(unclaimed));
    tree_done(&tree);
    family_end();
}

/* A kernel without the list: nothing is done, and nothing breaks. */
static void without_the_list_there_is_no_chase(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct reaper reaper = {.tree = &tree, .ending = ending};
    fd_close(&tree.children_file);
    assert_int_equal(chase_children(&reaper, 0), 0);
    assert_int_equal(tree_count_alive(&tree), 1);
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
        CASE(children_are_killed_without_a_pass),
        CASE(what_has_ended_is_reaped),
        CASE(strangers_are_left_alone),
        CASE(without_the_list_there_is_no_chase),
    };
    return cmocka_run_group_tests_name("supervise/chase", tests, NULL, NULL);
}
