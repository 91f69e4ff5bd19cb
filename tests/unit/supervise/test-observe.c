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

static int start_over(void **state)
{
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
    };
    return cmocka_run_group_tests_name("supervise/observe", tests, NULL, NULL);
}
