#include "family.h"

#include <linux/sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static struct supervise_ending *ending;

static void a_signal_reaches_the_very_process(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct member *member = tree_member(&tree, leader);
    assert_int_equal(member_signal(&tree, member, SIGKILL), 0);
    assert_int_equal(member->signal_error, 0);
    int status;
    assert_int_equal(waitpid(leader, &status, 0), leader);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(member_signal(&tree, member, SIGKILL), -ESRCH);
    tree_done(&tree);
    family_end();
}

/* A child with a number of our choice: clone3(2) set_tid, for who may. */
static pid_t child_with_pid(pid_t wanted)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        alarm(60);
        for (;;) {
            pause();
        }
    }
    return pid;
}

/* T19: the number of a member that is gone now names somebody else. */
static void reused(bool with_file)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct member *member = tree_member(&tree, leader);
    if (!with_file) {
        fd_close(&member->stat_file);
        member->start_ticks -= 1; /* at least a tick lies between the two */
    }
    kill(leader, SIGKILL);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    family_count = 0;
    pid_t other = child_with_pid(leader);
    if (other < 0) {
        tree_done(&tree);
        print_message("# no right to choose a pid: %s\n", strerror(errno));
        skip();
    }
    assert_int_equal(other, leader);
    family_pids[family_count++] = other;
    assert_int_equal(member_signal(&tree, member, SIGKILL), -ESRCH);
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)other, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(info.si_pid, 0); /* it lives */
    tree_done(&tree);
    family_end();
}

static void t19_a_reused_number_gets_no_signal(void **state)
{
    reused(true);
}
static void t19_nor_when_no_file_was_kept(void **state)
{
    reused(false);
}

/* D11: descriptors that observation holds are given back for signals. */
static void no_descriptor_left_does_not_spare_anybody(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct member *member = tree_member(&tree, leader);
    int spare[256];
    int count = 0;
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit few = {100, files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (count < (int)countof(spare) && (spare[count] = dup(0)) >= 0) {
        count++;
    }
    assert_int_equal(errno, EMFILE);
    assert_int_equal(member_signal(&tree, member, SIGKILL),
                     -EMFILE); /* one is not enough for two */
    close(spare[--count]);
    assert_int_equal(member_signal(&tree, member, SIGKILL), 0);
    while (count > 0) {
        close(spare[--count]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    tree_done(&tree);
    family_end();
}

/* When there is no place left, whoever has ended and was smallest gives its own. */
static void records_keep_the_biggest(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct fd none = {0};
    for (int i = 1; i < DESCENDANT_COUNT; i++) {
        struct proc_stat stat = {
            .pid = 100000 + i, .state = 'S', .rss_pages = (uint64_t)(1000 + i)};
        struct member *member = member_new(&tree, &stat, &none, i);
        assert_int_equal(member->record, i);
    }
    struct proc_stat stat = {.pid = 200000, .state = 'S', .rss_pages = 5000};
    struct member *late = member_new(&tree, &stat, &none, 300);
    assert_int_equal(late->record, -1); /* everybody is alive */
    assert_int_equal(ending->descendant_total, DESCENDANT_COUNT + 1);
    member_gone(&tree, late);
    member_gone(&tree, tree_member(&tree, 100007));
    member_gone(&tree, tree_member(&tree, 100003));
    late = member_new(&tree, &stat, &none, 301);
    assert_int_equal(late->record, 3);
    assert_int_equal(ending->descendants[3].pid, 200000);
    assert_int_equal(ending->descendant_count, DESCENDANT_COUNT);
    tree_done(&tree);
    family_end();
}

static void places_are_used_again_and_end(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    struct fd none = {0};
    struct proc_stat stat = {.state = 'S'};
    for (int i = 1; i < MEMBER_COUNT; i++) {
        stat.pid = 100000 + i;
        assert_non_null(member_new(&tree, &stat, &none, 0));
    }
    stat.pid = 99999;
    assert_null(member_new(&tree, &stat, &none, 0));
    member_gone(&tree, tree_member(&tree, 100500));
    assert_non_null(member_new(&tree, &stat, &none, 0));
    tree_done(&tree);
    family_end();
}

/* A process whose first thread has exited shows Z, and lives. */
static void alive_is_who_has_a_thread(void **state)
{
    assert_true(stat_alive(&(struct proc_stat){.state = 'R', .threads = 1}));
    assert_true(stat_alive(&(struct proc_stat){.state = 'T', .threads = 1}));
    assert_true(stat_alive(&(struct proc_stat){.state = 'Z', .threads = 2}));
    assert_false(stat_alive(&(struct proc_stat){.state = 'Z', .threads = 1}));
    assert_false(stat_alive(&(struct proc_stat){.state = 'X', .threads = 0}));
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
        CASE(a_signal_reaches_the_very_process), CASE(t19_a_reused_number_gets_no_signal),
        CASE(t19_nor_when_no_file_was_kept),     CASE(no_descriptor_left_does_not_spare_anybody),
        CASE(records_keep_the_biggest),          CASE(places_are_used_again_and_end),
        CASE(alive_is_who_has_a_thread),
    };
    return cmocka_run_group_tests_name("supervise/member", tests, NULL, NULL);
}
