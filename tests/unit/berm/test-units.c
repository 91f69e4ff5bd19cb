#include "../unit.h"

#include "units.h"

enum { NOTHING = 12345 };

static void reads_sizes(void **state)
{
    const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"0", 0},
        {"1024", 1024},
        {"1024B", 1024},
        {"64K", 65536},
        {"64k", 65536},
        {"512M", INT64_C(512) << 20},
        {"512MiB", INT64_C(512) << 20},
        {"512mib", INT64_C(512) << 20},
        {"2G", INT64_C(2) << 30},
        {"2Gi", INT64_C(2) << 30},
        {"2GiB", INT64_C(2) << 30},
        {"1.5G", INT64_C(3) << 29},
        {"0.001K", 1},
        {"1T", INT64_C(1) << 40},
        {"1P", INT64_C(1) << 50},
        {"9223372036854775807", INT64_MAX},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        int64_t bytes = NOTHING;
        assert_int_equal(units_parse_size(cases[i].text, &bytes, NULL), 0);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void refuses_what_is_no_size(void **state)
{
    const struct {
        const char *text;
        enum err_code code;
        const char *says;
    } cases[] = {
        {"", ERR_USAGE, "is no size"},
        {"G", ERR_USAGE, "is no size"},
        {"-1", ERR_USAGE, "is no size"},
        {"+1", ERR_USAGE, "is no size"},
        {" 1", ERR_USAGE, "is no size"},
        {"1 G", ERR_USAGE, "is no size"},
        {"1.5", ERR_USAGE, "is no size"},
        {"1.5B", ERR_USAGE, "is no size"},
        {"1.G", ERR_USAGE, "is no size"},
        {".5G", ERR_USAGE, "is no size"},
        {"1.2345G", ERR_USAGE, "is no size"},
        {"1e9", ERR_USAGE, "is no size"},
        {"0x10", ERR_USAGE, "is no size"},
        {"2GiBs", ERR_USAGE, "is no size"},
        {"2X", ERR_USAGE, "is no size"},
        {"2GB", ERR_USAGE, "'2GB' is ambiguous; write G or GiB (1024-based)"},
        {"2mb", ERR_USAGE, "'2mb' is ambiguous; write M or MiB (1024-based)"},
        {"9000P", ERR_RANGE, "too large"},
        {"9223372036854775808", ERR_USAGE, "is no size"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        int64_t bytes = NOTHING;
        struct err err = {0};
        assert_int_equal(units_parse_size(cases[i].text, &bytes, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_int_equal(bytes, NOTHING);
    }
}

static void reads_durations(void **state)
{
    const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0ms", 0},     {"500ms", 500},    {"30s", 30000},   {"1.5s", 1500},
        {"2m", 120000}, {"0.5h", 1800000}, {"1d", 86400000}, {"0.5ms", 0},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        int64_t ms = NOTHING;
        assert_int_equal(units_parse_duration(cases[i].text, &ms, NULL), 0);
        assert_int_equal(ms, cases[i].ms);
    }
}

static void refuses_what_is_no_duration(void **state)
{
    const struct {
        const char *text;
        enum err_code code;
        const char *says;
    } cases[] = {
        {"30", ERR_USAGE, "'30' has no unit; write 30s, 30ms, 30m or 30h"},
        {"", ERR_USAGE, "is no duration"},
        {"s", ERR_USAGE, "is no duration"},
        {"-3s", ERR_USAGE, "is no duration"},
        {"3 s", ERR_USAGE, "is no duration"},
        {"3S", ERR_USAGE, "is no duration"},
        {"3sec", ERR_USAGE, "is no duration"},
        {"none", ERR_USAGE, "is no duration"},
        {"9223372036854775807d", ERR_RANGE, "too long"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        int64_t ms = NOTHING;
        struct err err = {0};
        assert_int_equal(units_parse_duration(cases[i].text, &ms, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_int_equal(ms, NOTHING);
    }
}

static void reads_counts(void **state)
{
    int64_t count = NOTHING;
    assert_int_equal(units_parse_count("64", &count, NULL), 0);
    assert_int_equal(count, 64);
    struct err err = {0};
    const char *const bad[] = {"", "-1", "1.0", "1k", " 1", "none"};
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(units_parse_count(bad[i], &count, &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
    }
    assert_int_equal(units_parse_count("9223372036854775808", &count, &err), -1);
    assert_int_equal(err.code, ERR_RANGE);
    assert_int_equal(count, 64);
}

static void writes_bytes_for_people(void **state)
{
    const struct {
        int64_t bytes, limit;
        const char *shown;
    } cases[] = {
        {0, 0, "0 B"},
        {1023, 0, "1023 B"},
        {1024, 0, "1.0 KiB"},
        {2202009, 0, "2.1 MiB"},
        {INT64_C(2) << 30, 0, "2.0 GiB"},
        {INT64_MAX, 0, "8.0 EiB"},
        {INT64_C(2040109465), INT64_C(14173392077), "1.9/13.2 GiB"},
        {INT64_C(2) << 30, INT64_C(2) << 30, "2.0/2.0 GiB"},
        {2202009, INT64_C(14173392077), "2.1 MiB/13.2 GiB"},
        {0, 4096, "0 B/4.0 KiB"},
        {7, 100, "7/100 B"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_buf out = buf_new(100);
        units_add_bytes_of(&out, cases[i].bytes, cases[i].limit);
        assert_string_equal(buf_string(&out), cases[i].shown);
    }
}

static void writes_time_for_people(void **state)
{
    const struct {
        int64_t ns;
        const char *shown;
    } cases[] = {
        {0, "0.0 ms"},
        {49999, "0.0 ms"},
        {50000, "0.1 ms"},
        {9340000, "9.3 ms"},
        {99949999, "99.9 ms"},
        {99950000, "0.10 s"},
        {190000000, "0.19 s"},
        {INT64_C(41270000000), "41.27 s"},
        {INT64_C(99994000000), "99.99 s"},
        {INT64_C(99995000000), "1 min 40 s"},
        {INT64_C(724000000000), "12 min 04 s"},
        {INT64_C(11040000000000), "3 h 04 min"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_buf out = buf_new(100);
        units_add_ns(&out, cases[i].ns);
        assert_string_equal(buf_string(&out), cases[i].shown);
    }
    const struct {
        int64_t ns;
        const char *shown;
    } seconds[] = {
        {INT64_C(18400000000), "18.40 s"},  {INT64_C(99994999999), "99.99 s"},
        {INT64_C(99995000000), "100.0 s"},  {INT64_C(301249999999), "301.2 s"},
        {INT64_C(301250000000), "301.3 s"},
    };
    for (size_t i = 0; i < countof(seconds); i++) {
        with_buf out = buf_new(100);
        units_add_seconds(&out, seconds[i].ns);
        assert_string_equal(buf_string(&out), seconds[i].shown);
    }
}

/* R42: a limit is shown so that it can be given again. */
static void writes_exactly_what_it_reads(void **state)
{
    const char *const sizes[] = {"0", "1023", "1K", "1025", "512M", "1536M", "2G", "1P"};
    for (size_t i = 0; i < countof(sizes); i++) {
        int64_t bytes = NOTHING;
        assert_int_equal(units_parse_size(sizes[i], &bytes, NULL), 0);
        with_buf out = buf_new(100);
        units_add_exact_size(&out, bytes);
        assert_string_equal(buf_string(&out), sizes[i]);
    }
    const char *const durations[] = {"0ms", "1ms", "500ms", "30s", "90s",
                                     "2m",  "1h",  "36h",   "366d"};
    for (size_t i = 0; i < countof(durations); i++) {
        int64_t ms = NOTHING;
        assert_int_equal(units_parse_duration(durations[i], &ms, NULL), 0);
        with_buf out = buf_new(100);
        units_add_exact_duration(&out, ms);
        assert_string_equal(buf_string(&out), durations[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(refuses_what_is_no_size),
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(refuses_what_is_no_duration),
        cmocka_unit_test(reads_counts),
        cmocka_unit_test(writes_bytes_for_people),
        cmocka_unit_test(writes_time_for_people),
        cmocka_unit_test(writes_exactly_what_it_reads),
    };
    return cmocka_run_group_tests_name("berm/units", tests, NULL, NULL);
}
