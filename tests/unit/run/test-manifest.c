#include "../unit.h"

#include <string.h>

#include "manifest-priv.h"

static struct {
    struct watch_manifest manifest;
    struct watch_reports reports;
    char text[8];
} whole;

static void make_whole(void)
{
    memset(&whole, 0, sizeof whole);
    memcpy(whole.manifest.magic, WATCH_MAGIC, sizeof whole.manifest.magic);
    whole.manifest.version = WATCH_VERSION;
    whole.manifest.bytes = sizeof whole.manifest;
    whole.manifest.reports_bytes = sizeof whole.reports + sizeof whole.text;
    whole.reports.texts[0][0] = (struct watch_text){sizeof whole.reports, sizeof whole.text};
}

static enum err_code read_whole(size_t bytes)
{
    static struct watch_manifest seen;
    struct span reports = {0};
    struct err err = {0};
    whole.manifest.sum = watch_manifest_sum(&whole.manifest, &whole.reports);
    int result = manifest_read(span_of((const char *)&whole, bytes), &seen, &reports, &err);
    assert_true(result == 0 || err.code != ERR_NONE);
    assert_true(result < 0 || reports.n == sizeof whole.reports + sizeof whole.text);
    return err.code;
}

static void a_whole_one_is_read(void **state)
{
    make_whole();
    assert_int_equal(read_whole(sizeof whole), ERR_NONE);
}

static void one_that_is_cut_or_too_long_is_none(void **state)
{
    make_whole();
    for (size_t bytes = 0; bytes < sizeof whole; bytes += 97) {
        assert_int_equal(read_whole(bytes), ERR_CORRUPT);
    }
    assert_int_equal(read_whole(sizeof whole - 1), ERR_CORRUPT);
}

static void a_changed_byte_is_seen(void **state)
{
    static struct watch_manifest seen;
    struct span reports = {0};
    struct err err = {0};
    make_whole();
    whole.manifest.sum = watch_manifest_sum(&whole.manifest, &whole.reports);
    whole.text[3] ^= 1;
    assert_int_equal(
        manifest_read(span_of((const char *)&whole, sizeof whole), &seen, &reports, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
}

static void a_later_one_is_told_apart(void **state)
{
    make_whole();
    whole.manifest.version = WATCH_VERSION + 1;
    assert_int_equal(read_whole(sizeof whole), ERR_UNAVAILABLE);
    whole.manifest.magic[0] = 'x';
    assert_int_equal(read_whole(sizeof whole), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_one_is_read),
        cmocka_unit_test(one_that_is_cut_or_too_long_is_none),
        cmocka_unit_test(a_changed_byte_is_seen),
        cmocka_unit_test(a_later_one_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
