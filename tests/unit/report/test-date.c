#include "../unit.h"

#include "date-priv.h"

static void dates_that_exist(void **state)
{
    static const char *const dates[] = {
        "2026-11-29T15:54:11Z",      "2026-11-29T15:54:11.123Z",          "2026-11-29t15:54:11.1z",
        "2024-02-29T00:00:00+00:00", "2000-02-29T00:00:00-23:59",         "0000-01-01T00:00:00Z",
        "2016-12-31T23:59:60Z",      "9999-12-31T23:59:59.000000000000Z",
    };
    for (size_t i = 0; i < countof(dates); i++) {
        if (!date_is_valid(span_of_string(dates[i]))) {
            fail_msg("'%s' was refused", dates[i]);
        }
    }
}

static void what_is_no_date(void **state)
{
    static const char *const others[] = {
        "",
        "2026-11-29",
        "2026-11-29T15:54:11",
        "2026-11-29 15:54:11Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T23:60:00Z",
        "2026-11-29T23:59:61Z",
        "2026-11-29T23:59:59.Z",
        "2026-11-29T23:59:59,1Z",
        "2026-11-29T23:59:59+0000",
        "2026-11-29T23:59:59+24:00",
        "2026-11-29T23:59:59ZZ",
        "26-11-29T23:59:59Z",
        "+026-11-29T23:59:59Z",
        "2026-1-29T23:59:59Z",
        " 2026-11-29T23:59:59Z",
        "2026-11-29T23:59:59Z ",
    };
    for (size_t i = 0; i < countof(others); i++) {
        if (date_is_valid(span_of_string(others[i]))) {
            fail_msg("'%s' was accepted", others[i]);
        }
    }
    /* Every beginning of a date is looked at within its bounds. */
    static const char whole[] = "2026-11-29T15:54:11.123+01:30";
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        assert_false(date_is_valid(span_of(whole, n)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_that_exist),
        cmocka_unit_test(what_is_no_date),
    };
    return cmocka_run_group_tests_name("report/date", tests, NULL, NULL);
}
