#include "broker-test.h"

static struct broker broker;
static struct supervise_request request;
static pid_t child;

static void a_look_leaves_a_sample_and_peaks(void **state)
{
    test_now_ns += 7 * NS_PER_MS;
    observe_look(&broker);
    const struct supervise_ending *ending = broker.ending;
    assert_int_equal(ending->sample_count, 1);
    assert_int_equal(ending->samples[0].elapsed_ms, 7);
    assert_true(ending->samples[0].rss_bytes > 0);
    assert_int_equal(ending->samples[0].tasks, 1);
    assert_int_equal(ending->samples[0].processes, 1);
    assert_int_equal(ending->seen[LIMIT_MEMORY], ending->samples[0].rss_bytes);
    assert_int_equal(ending->seen[LIMIT_PIDS], 1);
    assert_true(ending->seen[LIMIT_HOST_RESERVE] > 0);
    assert_true(broker.look_at_ns > test_now_ns);
    assert_int_equal(ending->how, 0);
}

static void the_newest_samples_are_kept(void **state)
{
    for (int i = 0; i < SAMPLE_COUNT + 10; i++) {
        test_now_ns += NS_PER_MS;
        observe_look(&broker);
    }
    const struct supervise_ending *ending = broker.ending;
    assert_int_equal(ending->sample_total, SAMPLE_COUNT + 10);
    assert_int_equal(ending->sample_count, SAMPLE_COUNT);
    assert_int_equal(ending->samples[0].elapsed_ms, 11);
    assert_int_equal(ending->samples[SAMPLE_COUNT - 1].elapsed_ms, SAMPLE_COUNT + 10);
}

static void memory_above_its_limit_stops(void **state)
{
    request.limits.memory_bytes = 4096;
    observe_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_MEMORY);
    assert_int_equal(broker.ending->limit_value, 4096);
    assert_int_equal(broker.ending->limit_seen, broker.ending->samples[0].rss_bytes);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

static void a_limit_that_is_reached_is_not_exceeded(void **state)
{
    request.limits.tasks = 1;
    observe_look(&broker);
    assert_int_equal(broker.state, STOP_RUNNING);
}

/* Whoever takes the host's memory: the payload goes first. */
static void the_hosts_reserve_stops(void **state)
{
    request.limits.reserve_bytes = INT64_MAX;
    observe_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_HOST_RESERVE);
    assert_int_equal(broker.ending->limit_seen, broker.ending->seen[LIMIT_HOST_RESERVE]);
}

static void the_grace_ends_for_who_takes_more(void **state)
{
    request.limits.memory_bytes = 4096;
    broker.state = STOP_TERMINATING;
    broker.decided = true;
    broker.ending->how = ENDED_INTERRUPTED;
    observe_look(&broker);
    assert_int_equal(broker.state, STOP_KILLING);
}

static void the_grace_goes_on_for_who_takes_no_more(void **state)
{
    request.limits.memory_bytes = 4096;
    broker.state = STOP_TERMINATING;
    broker.decided = true;
    broker.ending->how = ENDED_LIMIT;
    broker.ending->limit = LIMIT_MEMORY;
    broker.ending->limit_seen = INT64_C(1) << 30;
    observe_look(&broker);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

static void the_grace_minds_the_reserve(void **state)
{
    request.limits.reserve_bytes = INT64_MAX / 2;
    broker.state = STOP_TERMINATING;
    broker.decided = true;
    broker.ending->how = ENDED_LIMIT;
    broker.ending->limit = LIMIT_HOST_RESERVE;
    broker.ending->limit_seen = 1; /* it can only get better */
    observe_look(&broker);
    assert_int_equal(broker.state, STOP_TERMINATING);
    broker.ending->limit_seen = INT64_MAX / 2;
    request.limits.reserve_bytes = INT64_C(1) << 50;
    observe_look(&broker);
    assert_int_equal(broker.state, STOP_KILLING);
}

static struct supervise_view seen;
static void on_sample(void *context, const struct supervise_view *view)
{
    (void)context;
    seen = *view;
}

static void a_live_display_is_told(void **state)
{
    request.observer.on_sample = on_sample;
    test_now_ns += NS_PER_S;
    observe_look(&broker);
    assert_int_equal(seen.elapsed_ns, NS_PER_S);
    assert_int_equal(seen.tasks, 1);
    assert_ptr_equal(seen.limits, &request.limits);
    assert_null(seen.stopping);
}

/* --- SB-8: links in the temporary folders of declared work -------------------------------------- */

static void bar_links(int64_t count, const char *why)
{
    static char any;
    request.sandbox = (struct sandbox *)(void *)&any; /* nobody looks into it */
    sandbox_bars = true;
    sandbox_links = (struct sandbox_links){.count = count, .why = why};
    broker.ending->released_ns = test_now_ns;
}

static void a_link_ends_the_run_at_the_next_sample(void **state)
{
    bar_links(0, NULL);
    observe_look(&broker);
    assert_int_equal(sandbox_links_looks, 1);
    assert_int_equal(broker.state, STOP_RUNNING);
    test_now_ns += NS_PER_S;
    bar_links(3, NULL);
    observe_look(&broker);
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_LINKS);
    assert_int_equal(broker.ending->limit_seen, 3);
    assert_int_equal(broker.ending->links.count, 3);
    assert_int_equal(broker.state, STOP_TERMINATING);
    /* What was found first stays. */
    bar_links(9, NULL);
    observe_links(&broker);
    assert_int_equal(broker.ending->links.count, 3);
}

static void so_does_a_look_that_cannot_be_made(void **state)
{
    bar_links(0, "a folder cannot be opened");
    observe_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_LINKS);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

/* A payload that makes looks dear gets fewer of them, and berm goes on to look at the tree. */
static void looks_for_links_have_a_share_of_the_processor(void **state)
{
    bar_links(0, NULL);
    sandbox_links_ns = 4 * NS_PER_MS;
    observe_look(&broker);
    assert_true(broker.links_at_ns >= test_now_ns + 16 * sandbox_links_ns);
    test_now_ns += 15 * sandbox_links_ns;
    observe_look(&broker);
    assert_int_equal(sandbox_links_looks, 1);
    observe_links(&broker); /* the last one is made all the same */
    assert_int_equal(sandbox_links_looks, 2);
    test_now_ns = broker.links_at_ns;
    observe_look(&broker);
    assert_int_equal(sandbox_links_looks, 3);
    assert_int_equal(broker.ending->sample_total, 3);
}

/* R21: a flood of links fills the quota of files as well; the link says more. */
static void a_link_comes_before_the_quota_that_it_fills(void **state)
{
    bar_links(200, NULL);
    request.limits.temporary_files = 200;
    sandbox_use = (struct sandbox_use){4096, 4096, 200, 200};
    observe_look(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_LINKS);
}

static void the_last_look_holds_for_who_ended_by_itself(void **state)
{
    static const enum supervise_how own[] = {ENDED_EXITED, ENDED_SIGNALLED};
    for (size_t i = 0; i < countof(own); i++) {
        bar_links(1, NULL);
        broker.own_end = broker.decided = true;
        broker.ending->how = own[i];
        broker.ending->limit = LIMIT_NONE;
        broker.ending->links = (struct sandbox_links){0};
        broker.state = STOP_EMPTY;
        observe_links(&broker);
        assert_int_equal(broker.ending->how, ENDED_LIMIT);
        assert_int_equal(broker.ending->limit, LIMIT_LINKS);
        assert_int_equal(broker.state, STOP_EMPTY);
    }
}

static void what_ended_the_run_before_stays_and_the_link_is_told(void **state)
{
    decide_limit(&broker, LIMIT_TIMEOUT, 1, 2);
    bar_links(1, NULL);
    observe_links(&broker);
    assert_int_equal(broker.ending->limit, LIMIT_TIMEOUT);
    assert_int_equal(broker.ending->links.count, 1);
}

static void without_a_bar_or_a_payload_nobody_looks(void **state)
{
    bar_links(1, NULL);
    broker.ending->released_ns = 0;
    observe_links(&broker);
    bar_links(1, NULL);
    sandbox_bars = false;
    observe_links(&broker);
    request.sandbox = NULL;
    sandbox_bars = true;
    observe_links(&broker);
    assert_int_equal(sandbox_links_looks, 0);
    assert_int_equal(broker.state, STOP_RUNNING);
}

static int start_over(void **state)
{
    sandbox_links = (struct sandbox_links){0};
    sandbox_use = (struct sandbox_use){0};
    sandbox_bars = false;
    sandbox_links_looks = 0;
    sandbox_links_ns = 0;
    request = broker_request();
    broker_start(&broker, &request);
    child = broker_adopt_child(&broker);
    return 0;
}
static int end_up(void **state)
{
    kill(child, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    broker_end(&broker);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_over, end_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_look_leaves_a_sample_and_peaks),
        CASE(the_newest_samples_are_kept),
        CASE(memory_above_its_limit_stops),
        CASE(a_limit_that_is_reached_is_not_exceeded),
        CASE(the_hosts_reserve_stops),
        CASE(the_grace_ends_for_who_takes_more),
        CASE(the_grace_goes_on_for_who_takes_no_more),
        CASE(the_grace_minds_the_reserve),
        CASE(a_live_display_is_told),
        CASE(a_link_ends_the_run_at_the_next_sample),
        CASE(so_does_a_look_that_cannot_be_made),
        CASE(looks_for_links_have_a_share_of_the_processor),
        CASE(a_link_comes_before_the_quota_that_it_fills),
        CASE(the_last_look_holds_for_who_ended_by_itself),
        CASE(what_ended_the_run_before_stays_and_the_link_is_told),
        CASE(without_a_bar_or_a_payload_nobody_looks),
    };
    return cmocka_run_group_tests_name("supervise/observe", tests, NULL, NULL);
}
