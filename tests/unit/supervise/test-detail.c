#include "family.h"

#include <pthread.h>
#include <sys/mman.h>

#include "detail-priv.h"

static struct supervise_ending *ending;

static void hold_files(void)
{
    for (int i = 0; i < 20; i++) {
        (void)!dup(STDERR_FILENO);
    }
    family_tell(getpid());
}

static void the_dearer_figures_are_read(void **state)
{
    pid_t leader = family_child(hold_files);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    int cursor = 0;
    detail_read(&tree, &os_clock_real, NS_PER_S, &cursor);
    const struct supervise_descendant *record = &ending->descendants[0];
    assert_true(record->peak_fds >= 22);
    assert_true(record->peak_pss_bytes > 0);
    assert_true(record->read_bytes >= 0);
    assert_true(record->written_bytes >= 0);
    assert_int_equal(record->missed, 0);
    tree_done(&tree);
    family_end();
}

/* EV-6: a budget of nothing reads one process a look, and each in turn. */
static void a_budget_goes_round(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    (void)family_child(NULL);
    (void)family_child(NULL);
    assert_int_equal(tree_look(&tree, 1), 0);
    assert_int_equal(ending->descendant_count, 3);
    int cursor = 0;
    for (int looks = 1; looks <= 3; looks++) {
        detail_read(&tree, &os_clock_real, 0, &cursor);
        int seen = 0;
        for (int i = 0; i < 3; i++) {
            seen += ending->descendants[i].peak_fds >= 0;
        }
        assert_int_equal(seen, looks);
    }
    tree_done(&tree);
    family_end();
}

static void take_64_mib(void)
{
    size_t bytes = 80 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, bytes);
    family_tell(getpid());
}

/* The kernel would walk all of it under a lock that the process itself needs. */
static void pss_of_a_big_process_is_left_alone(void **state)
{
    pid_t leader = family_child(take_64_mib);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    int cursor = 0;
    detail_read(&tree, &os_clock_real, NS_PER_S, &cursor);
    assert_int_equal(ending->descendants[0].peak_pss_bytes, -1);
    assert_int_equal(ending->descendants[0].missed, MISSED_PSS | MISSED_BUDGET);
    tree_done(&tree);
    family_end();
}

static void what_is_gone_is_missed(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    kill(leader, SIGKILL);
    assert_int_equal(waitpid(leader, NULL, 0), leader);
    int cursor = 0;
    detail_read(&tree, &os_clock_real, NS_PER_S, &cursor);
    assert_int_equal(ending->descendants[0].missed, MISSED_PSS | MISSED_FDS | MISSED_IO);
    assert_int_equal(ending->descendants[0].peak_fds, -1);
    tree_done(&tree);
    family_end();
}

/* T19: under the number of one that ended are the figures of another. */
static void a_number_that_is_anothers_gives_no_figures(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    fd_close(&tree.members[0].stat_file);
    tree.members[0].start_ticks++;
    int cursor = 0;
    detail_read(&tree, &os_clock_real, NS_PER_S, &cursor);
    const struct supervise_descendant *record = &ending->descendants[0];
    assert_int_equal(record->missed, MISSED_PSS | MISSED_FDS | MISSED_IO);
    assert_true(record->peak_fds == -1 && record->peak_pss_bytes == -1);
    assert_true(record->read_bytes == -1 && record->written_bytes == -1);
    tree_done(&tree);
    family_end();
}

static void *stay(void *nothing)
{
    (void)nothing;
    family_wait();
    return NULL;
}
static void leave_first_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, stay, NULL);
    family_tell(getpid());
    pthread_exit(NULL);
}

static void memory_behind_an_ended_first_thread_is_found(void **state)
{
    pid_t leader = family_child(leave_first_thread);
    (void)family_hear();
    struct tree tree = family_tree(leader, ending, false);
    struct tree_sums sums;
    do { /* until the thread has gone through its exit */
        assert_int_equal(tree_look(&tree, 1), 0);
        tree_read(&tree, 1, &sums);
    } while (tree.members[0].stat.state != 'Z');
    assert_int_equal(tree_count_alive(&tree), 1);
    assert_true(sums.rss_bytes > 0);
    assert_int_equal(sums.tasks, 2);
    assert_true(detail_thread_rss(&tree, &tree.members[0]) > 0);
    const struct member nobody = {.pid = 0x7ffffff0};
    assert_int_equal(detail_thread_rss(&tree, &nobody), 0);
    struct member another = {.pid = leader, .start_ticks = tree.members[0].start_ticks + 1};
    assert_int_equal(detail_thread_rss(&tree, &another), 0);
    tree_done(&tree);
    family_end();
}

static void the_host_tells_what_is_available(void **state)
{
    pid_t leader = family_child(NULL);
    struct tree tree = family_tree(leader, ending, false);
    int64_t available = detail_host_available(&tree);
    assert_true(available > 1 << 20);
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
        CASE(the_dearer_figures_are_read),
        CASE(a_budget_goes_round),
        CASE(pss_of_a_big_process_is_left_alone),
        CASE(what_is_gone_is_missed),
        CASE(a_number_that_is_anothers_gives_no_figures),
        CASE(memory_behind_an_ended_first_thread_is_found),
        CASE(the_host_tells_what_is_available),
    };
    return cmocka_run_group_tests_name("supervise/detail", tests, NULL, NULL);
}
