#include "broker-test.h"

static struct broker broker;
static struct supervise_request request;

/* The leaf, as the kernel would tell of it. */
static int64_t kept_bytes;
static int kept_result;
static int times_read;

int __wrap_scope_memory_kept(const struct scope *scope, int64_t *ret_bytes);
int __wrap_scope_memory_kept(const struct scope *scope, int64_t *ret_bytes)
{
    times_read++;
    *ret_bytes = kept_bytes;
    return kept_result;
}

void __wrap_scope_limits(const struct scope *scope, struct scope_limits *ret_limits);
void __wrap_scope_limits(const struct scope *scope, struct scope_limits *ret_limits)
{
    *ret_limits = (struct scope_limits){.memory_high_bytes = 4096};
}

static void weigh_after_ms(int64_t ms)
{
    test_now_ns += ms * NS_PER_MS;
    high_weigh(&broker);
}

/* TR-6, M1: noticed by the kernel, and true at each of so many samples. */
static void what_stays_above_the_mark_ends_the_run(void **state)
{
    broker.hold.holds = true;
    kept_bytes = 5000;
    weigh_after_ms(1000);
    assert_int_equal(times_read, 0); /* nobody noticed */
    high_notice(&broker);
    assert_int_equal(high_moment_ns(&broker), test_now_ns + 250 * NS_PER_MS);
    weigh_after_ms(249);
    assert_int_equal(times_read, 0);
    weigh_after_ms(1);
    weigh_after_ms(250);
    assert_int_equal(broker.state, STOP_RUNNING);
    weigh_after_ms(250);
    assert_int_equal(times_read, 3);
    assert_int_equal(broker.state, STOP_TERMINATING);
    assert_int_equal(broker.ending->how, ENDED_LIMIT);
    assert_int_equal(broker.ending->limit, LIMIT_MEMORY_HIGH);
    assert_int_equal(broker.ending->limit_value, 4097);
    assert_int_equal(broker.ending->limit_seen, 5000);
    assert_int_equal(broker.ending->seen[LIMIT_MEMORY_HIGH], 5000);
}

/* M4: what the kernel can take back is not held, however often it says that the mark was met. */
static void cached_files_alone_end_nothing(void **state)
{
    broker.hold.holds = true;
    kept_bytes = 4095;
    for (int i = 0; i < 50; i++) {
        high_notice(&broker);
        weigh_after_ms(250);
        assert_int_equal(high_moment_ns(&broker), INT64_MAX);
    }
    assert_int_equal(times_read, 50);
    assert_int_equal(broker.state, STOP_RUNNING);
    assert_int_equal(broker.ending->seen[LIMIT_MEMORY_HIGH], 4095);
}

static void a_moment_below_the_mark_begins_anew(void **state)
{
    broker.hold.holds = true;
    for (int i = 0; i < 20; i++) {
        kept_bytes = i % 3 == 2 ? 100 : 5000;
        high_notice(&broker);
        weigh_after_ms(250);
    }
    assert_int_equal(broker.state, STOP_RUNNING);
}

static void what_cannot_be_read_is_a_failure_unless_the_leaf_is_gone(void **state)
{
    broker.hold.holds = true;
    high_notice(&broker);
    kept_result = -ENODEV;
    weigh_after_ms(250);
    assert_int_equal(high_moment_ns(&broker), INT64_MAX);
    assert_int_equal(broker.state, STOP_RUNNING);
    high_notice(&broker);
    kept_result = -EIO;
    weigh_after_ms(250);
    assert_int_equal(broker.ending->how, ENDED_FAILED);
    assert_int_equal(broker.state, STOP_TERMINATING);
}

/* Without a leaf it is what the looks see; those that come fast count for one. */
static void without_a_leaf_the_looks_judge(void **state)
{
    high_look(&broker, 5000);
    assert_int_equal(high_moment_ns(&broker), INT64_MAX);
    for (int i = 0; i < 50; i++) {
        test_now_ns += 10 * NS_PER_MS;
        high_look(&broker, 5000);
    }
    assert_int_equal(broker.state, STOP_RUNNING); /* two samples so far */
    test_now_ns += 250 * NS_PER_MS;
    high_look(&broker, 5001);
    assert_int_equal(broker.ending->limit, LIMIT_MEMORY_HIGH);
    assert_int_equal(broker.ending->limit_seen, 5001);
}

static void without_a_mark_nothing_is_high(void **state)
{
    request.limits.memory_high_bytes = 0;
    broker.hold.holds = true;
    high_notice(&broker);
    assert_int_equal(high_moment_ns(&broker), INT64_MAX);
    broker.hold.holds = false;
    for (int i = 0; i < 10; i++) {
        test_now_ns += 250 * NS_PER_MS;
        high_look(&broker, INT64_MAX);
    }
    assert_int_equal(broker.state, STOP_RUNNING);
}

static int start_over(void **state)
{
    request = broker_request();
    request.limits.memory_high_bytes = 4097; /* the kernel rounds it down to a page */
    request.limits.high_samples = 3;
    broker_start(&broker, &request);
    kept_bytes = 0;
    kept_result = 0;
    times_read = 0;
    return 0;
}
static int end_up(void **state)
{
    broker_end(&broker);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start_over, end_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_stays_above_the_mark_ends_the_run),
        CASE(cached_files_alone_end_nothing),
        CASE(a_moment_below_the_mark_begins_anew),
        CASE(what_cannot_be_read_is_a_failure_unless_the_leaf_is_gone),
        CASE(without_a_leaf_the_looks_judge),
        CASE(without_a_mark_nothing_is_high),
    };
    return cmocka_run_group_tests_name("supervise/high", tests, NULL, NULL);
}
