/* broker-test.h
 *
 * A broker without a payload: its clock stands still until the test moves it, or has it tick.
 */
#pragma once

#include "supervise-test.h"

#include "broker-priv.h"
#include "proc.h"

static int64_t test_now_ns;
static int64_t test_tick_ns; /* that passes with each look at it */

static int64_t test_clock(void)
{
    return test_now_ns += test_tick_ns;
}
static const struct os_clock clock_by_hand = {test_clock, test_clock, test_clock};

static unused void broker_start(struct broker *broker, struct supervise_request *request)
{
    struct err err = {0};
    test_now_ns = 1000 * NS_PER_S;
    test_tick_ns = 0;
    *broker = (struct broker){.request = request, .clock = &clock_by_hand};
    broker->ending = calloc(1, sizeof *broker->ending);
    memset(broker->ending->seen, -1, sizeof broker->ending->seen);
    broker->ending->created_ns = test_now_ns;
    assert_int_equal(tree_init(&broker->tree, broker->ending, 1024, &err), 0);
    streams_open(&broker->streams, request, broker->ending, -1);
    broker->reaper = (struct reaper){.tree = &broker->tree, .ending = broker->ending};
    broker->setup_until_ns = broker->payload_until_ns = INT64_MAX;
    broker->state = STOP_RUNNING;
    pace_start(&broker->pace, test_now_ns, request->limits.sample_ns);
}

static unused void broker_end(struct broker *broker)
{
    streams_done(&broker->streams);
    spawn_done(&broker->spawn);
    tree_done(&broker->tree);
    supervise_ending_free(broker->ending);
}

static unused struct supervise_request broker_request(void)
{
    return (struct supervise_request){
        .pass_fd = {-1, -1},
        .keep_fd = {-1, -1},
        .limits = {.grace_ns = 5 * NS_PER_S,
                   .kill_budget_ns = 10 * NS_PER_S,
                   .sample_ns = 250 * NS_PER_MS,
                   .timeout_ns = 60 * NS_PER_S},
    };
}

/* A child of ours in the place of a leader; the broker knows it. */
static unused pid_t broker_adopt_child(struct broker *broker)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        for (;;) {
            pause();
        }
    }
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(pid));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    struct proc_identity leader = {pid, stat.start_ticks};
    assert_int_equal(tree_lead(&broker->tree, leader, 0), 0);
    assert_int_equal(tree_survey(&broker->tree, 0), 0);
    return pid;
}
