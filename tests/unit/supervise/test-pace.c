#include "../unit.h"

#include "clock.h"
#include "pace-priv.h"

#define MS(n) ((n)*NS_PER_MS)

static const struct pace_gauge none[LIMIT_COUNT];

static void the_first_looks_come_early(void **state)
{
    struct pace pace;
    int64_t now = MS(1000);
    pace_start(&pace, now, MS(250));
    static const int64_t due_ms[] = {5, 20, 60, 120, 370, 620};
    for (size_t i = 0; i < countof(due_ms); i++) {
        now = pace_next(&pace, now, 0, none);
        assert_int_equal(now, MS(1000 + due_ms[i]));
    }
}

static void a_short_interval_is_kept(void **state)
{
    struct pace pace;
    pace_start(&pace, 0, MS(10));
    assert_int_equal(pace_next(&pace, MS(5), 0, none), MS(15));
    assert_int_equal(pace_next(&pace, MS(200), 0, none), MS(210));
}

static int64_t wait_after_growth(int64_t before, int64_t value, int64_t limit)
{
    struct pace pace;
    struct pace_gauge gauges[LIMIT_COUNT] = {{limit != 0, before, limit}};
    pace_start(&pace, 0, MS(250));
    (void)pace_next(&pace, MS(1000), 0, gauges);
    gauges[0].value = value;
    return pace_next(&pace, MS(1250), 0, gauges) - MS(1250);
}

static void looks_come_fast_as_a_limit_comes_near(void **state)
{
    assert_int_equal(wait_after_growth(0, 100, 1000), MS(250)); /* nine intervals away */
    assert_int_equal(wait_after_growth(0, 500, 900), MS(25));   /* less than one */
    assert_int_equal(wait_after_growth(0, 500, 510), MS(10));
    assert_int_equal(wait_after_growth(500, 500, 510), MS(250)); /* near, and still */
    assert_int_equal(wait_after_growth(600, 500, 510), MS(250));
    assert_int_equal(wait_after_growth(2000, 2000, 1000),
                     MS(10));                                /* beyond: the grace is watched */
    assert_int_equal(wait_after_growth(0, 500, 0), MS(250)); /* no limit */
    /* What must stay above 100, and falls: turned, it grows. */
    assert_int_equal(wait_after_growth(-900, -450, -100), MS(25));
    assert_int_equal(wait_after_growth(-450, -900, -100), MS(250));
}

/* EV-6: at most 1/64 of a processor, 1/8 near a limit. */
static void a_dear_look_is_followed_by_a_long_rest(void **state)
{
    struct pace pace;
    pace_start(&pace, 0, MS(250));
    assert_int_equal(pace_next(&pace, MS(1000), MS(1), none), MS(1250));
    assert_int_equal(pace_next(&pace, MS(2000), MS(10), none), MS(2640));
    struct pace_gauge gauges[LIMIT_COUNT] = {{true, 0, 1000}};
    (void)pace_next(&pace, MS(3000), 0, gauges);
    gauges[0].value = 990;
    assert_int_equal(pace_next(&pace, MS(3250), MS(10), gauges), MS(3250 + 80));
}

static void absurd_figures_overflow_nothing(void **state)
{
    struct pace pace;
    struct pace_gauge gauges[LIMIT_COUNT] = {{true, 0, INT64_MAX}, {true, 0, INT64_MAX}};
    pace_start(&pace, 0, MS(60000));
    (void)pace_next(&pace, MS(1), INT64_MAX / 128, gauges);
    gauges[0].value = gauges[1].value = 1;
    assert_true(pace_next(&pace, MS(2), 0, gauges) > 0);
    gauges[0].value = INT64_MAX - 1;
    assert_true(pace_next(&pace, MS(3), 0, gauges) > 0);
    assert_true(pace_next(&pace, MS(3), 0, gauges) > 0); /* no time passed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_looks_come_early),
        cmocka_unit_test(a_short_interval_is_kept),
        cmocka_unit_test(looks_come_fast_as_a_limit_comes_near),
        cmocka_unit_test(a_dear_look_is_followed_by_a_long_rest),
        cmocka_unit_test(absurd_figures_overflow_nothing),
    };
    return cmocka_run_group_tests_name("supervise/pace", tests, NULL, NULL);
}
