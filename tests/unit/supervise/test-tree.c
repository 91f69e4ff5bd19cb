#include "family.h"

#include <sched.h>
#include <sys/mount.h>

static struct supervise_ending *ending;

static void the_leader_is_the_first_member(void **state)
{
    pid_t leader = family_child(NULL);
    pid_t foreign = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    assert_int_equal(tree_count_alive(&tree), 1);
    assert_non_null(tree_member(&tree, leader));
    assert_null(tree_member(&tree, foreign));
    assert_int_equal(ending->descendants[0].pid, leader);
    assert_int_equal(tree_look(&tree, 1), 0);
    assert_int_equal(tree.found, 0); /* the foreign child was there before */
    tree_done(&tree);
    family_end();
}

static void grow_on_signal(int signal)
{
    (void)signal;
    if (fork() == 0) {
        if (fork() == 0) {
            family_tell(getpid());
            pause();
        }
        family_tell(getpid());
        pause();
    }
}

static void wait_to_grow(void)
{
    signal(SIGUSR1, grow_on_signal);
    family_tell(getpid());
}

/* The whole chain is found in one pass, though its parents arrive in the same pass. */
static void descendants_are_found_by_their_parents(void **state)
{
    pid_t leader = family_child(wait_to_grow);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    kill(leader, SIGUSR1);
    pid_t first = family_hear();
    pid_t second = family_hear();
    assert_int_equal(tree_look(&tree, 5), 0);
    assert_int_equal(tree.found, 2);
    assert_non_null(tree_member(&tree, first));
    assert_non_null(tree_member(&tree, second));
    assert_int_equal(ending->descendant_count, 3);
    assert_int_equal(ending->descendants[1].first_seen_ms, 5);
    assert_int_equal(tree_look(&tree, 6), 0);
    assert_int_equal(tree.found, 0);

    struct tree_sums sums;
    tree_read(&tree, 7, &sums);
    assert_int_equal(sums.processes, 3);
    assert_int_equal(sums.tasks, 3);
    assert_true(sums.rss_bytes > 0);
    assert_int_equal(ending->descendants[2].last_seen_ms, 7);
    tree_done(&tree);
    family_end();
}

/* They were there at the survey already, so no pass would look at them. */
static void an_only_child_is_adopted_by_the_kernels_list(void **state)
{
    pid_t leader = family_child(wait_to_grow);
    (void)family_hear();
    kill(leader, SIGUSR1);
    pid_t heard[2] = {family_hear(), family_hear()};
    struct tree tree = family_tree(leader, ending, false);
    const struct member *first = tree_adopt_only_child(&tree, leader, 1);
    assert_non_null(first);
    const struct member *second = tree_adopt_only_child(&tree, first->pid, 1);
    assert_non_null(second);
    assert_true((first->pid == heard[0] && second->pid == heard[1]) ||
                (first->pid == heard[1] && second->pid == heard[0]));
    assert_null(tree_adopt_only_child(&tree, second->pid, 1)); /* it has none */
    assert_int_equal(tree_look(&tree, 2), 0);
    assert_int_equal(tree.found, 0);
    assert_int_equal(tree_count_alive(&tree), 3);
    tree_done(&tree);
    family_end();
}

static void have_two_children(void)
{
    family_have_child();
    family_have_child();
}

static void none_of_two_children_is_the_only_one(void **state)
{
    pid_t leader = family_child(have_two_children);
    (void)family_hear();
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    assert_null(tree_adopt_only_child(&tree, leader, 1));
    assert_int_equal(tree_count_alive(&tree), 1);
    tree_done(&tree);
    family_end();
}

/* T1: who loses its parent is ours by being the child of this process (subreaper). */
static void an_orphan_stays_a_member(void **state)
{
    pid_t leader = family_child(wait_to_grow);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    kill(leader, SIGUSR1);
    pid_t first = family_hear();
    pid_t second = family_hear();
    kill(leader, SIGKILL);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    assert_int_equal(tree_look(&tree, 1), 0);
    assert_null(tree_member(&tree, leader));
    assert_non_null(tree_member(&tree, first));
    assert_non_null(tree_member(&tree, second));
    assert_true(ending->descendants[0].ended);
    assert_false(ending->descendants[1].ended);
    tree_done(&tree);
    family_end();
}

static void a_zombie_is_a_task_and_not_alive(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    kill(leader, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)leader, &info, WEXITED | WNOWAIT), 0);
    struct tree_sums sums;
    assert_int_equal(tree_look(&tree, 1), 0);
    tree_read(&tree, 1, &sums);
    assert_int_equal(sums.tasks, 1);
    assert_int_equal(tree_count_alive(&tree), 0);
    assert_int_equal(tree_signal_all(&tree, SIGKILL), 0);
    tree_done(&tree);
    family_end();
}

/* A pass that forgot who is foreign reads everybody again and comes to the same. */
static void forgetting_changes_nothing(void **state)
{
    pid_t leader = family_child(family_have_child);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    pid_t late = family_child(NULL); /* a child of ours: without strangers, the payload's */
    assert_int_equal(tree_look(&tree, 1), 0);
    int alive = tree_count_alive(&tree);
    assert_non_null(tree_member(&tree, late));
    tree_forget(&tree);
    assert_int_equal(tree_look(&tree, 2), 0);
    /* The leader's own child lived before the survey: only forgetting finds it. */
    assert_int_equal(tree_count_alive(&tree), alive + 1);
    tree_done(&tree);
    family_end();
}

static void new_session(void)
{
    setsid();
    family_tell(getpid());
}

/* Strangers: evidence is a session of the leader, or the mark that only the gate got. */
static void strangers_are_claimed_by_evidence(void **state)
{
    pid_t before = family_child(NULL);
    pid_t leader = family_child(new_session);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, true);
    assert_int_equal(tree.bystander_count, 1);
    pid_t unmarked = family_child(new_session);
    pid_t marked = family_child(new_session);
    (void)family_hear();
    (void)family_hear();
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", marked);
    FILE *file = fopen(path, "we");
    fprintf(file, "998");
    fclose(file);
    tree.oom_mark = 998;
    assert_int_equal(tree_look(&tree, 1), 0);
    assert_null(tree_member(&tree, before));
    assert_null(tree_member(&tree, unmarked));
    assert_non_null(tree_member(&tree, marked));
    assert_int_equal(tree.unclaimed, 1);
    assert_int_equal(tree_look(&tree, 2), 0);
    assert_int_equal(tree.unclaimed, 1);
    tree_done(&tree);
    family_end();
}

/* T20: numbers of another pid namespace name other processes. */
static void a_foreign_proc_is_refused(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID) < 0) {
            _exit(77);
        }
        pid_t inner = fork(); /* pid 1 in there, with the /proc of out here */
        if (inner == 0) {
            struct tree tree;
            struct err err = {0};
            int result = tree_init(&tree, ending, 1024, &err);
            tree_done(&tree);
            _exit(result == -1 && err.code == ERR_UNAVAILABLE ? 0 : 1);
        }
        int status;
        waitpid(inner, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("# no pid namespaces here\n");
        skip();
    }
    assert_int_equal(status, 0);
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
        CASE(the_leader_is_the_first_member),
        CASE(descendants_are_found_by_their_parents),
        CASE(an_orphan_stays_a_member),
        CASE(a_zombie_is_a_task_and_not_alive),
        CASE(forgetting_changes_nothing),
        CASE(strangers_are_claimed_by_evidence),
        CASE(a_foreign_proc_is_refused),
        CASE(an_only_child_is_adopted_by_the_kernels_list),
        CASE(none_of_two_children_is_the_only_one),
    };
    return cmocka_run_group_tests_name("supervise/tree", tests, NULL, NULL);
}
