#include "../unit.h"

#include <time.h>

#include "clock.h"

static void writes_dates_as_rfc_3339(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } dates[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {INT64_C(951782400) * NS_PER_S, "2000-02-29T00:00:00.000Z"},
        {INT64_C(1795967651) * NS_PER_S + 123 * NS_PER_MS + 999999, "2026-11-29T15:54:11.123Z"},
        {INT64_C(4102444799) * NS_PER_S + 999 * NS_PER_MS, "2099-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < countof(dates); i++) {
        char text[CLOCK_TEXT_SIZE];
        clock_format_utc(dates[i].ns, text);
        assert_string_equal(text, dates[i].text);
    }
}

/* Held against libc's own calendar, every day for four centuries. */
static void agrees_with_the_calendar_of_libc(void **state)
{
    for (int64_t day = 0; day < 106750; day++) { /* as far as 64 bits of nanoseconds reach */
        time_t seconds = (time_t)(day * 86400 + day % 86400);
        struct tm parts;
        assert_non_null(gmtime_r(&seconds, &parts));
        char expected[40];
        assert_true(strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000Z", &parts) > 0);
        char text[CLOCK_TEXT_SIZE];
        clock_format_utc(seconds * NS_PER_S, text);
        assert_string_equal(text, expected);
    }
}

/* X3: deadlines are measured on a clock that nobody steps. */
static void durations_never_go_backwards(void **state)
{
    int64_t last = os_clock_real.monotonic_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = os_clock_real.monotonic_ns();
        assert_true(now >= last);
        last = now;
    }
    /* Counts the sleep of the machine as well, so it is never behind. */
    assert_true(os_clock_real.boottime_ns() >= last);
    assert_true(os_clock_real.realtime_ns() > INT64_C(1700000000) * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_dates_as_rfc_3339),
        cmocka_unit_test(agrees_with_the_calendar_of_libc),
        cmocka_unit_test(durations_never_go_backwards),
    };
    return cmocka_run_group_tests_name("os/clock", tests, NULL, NULL);
}
