#include "../unit.h"

#include "watch-message.h"

static bool is_of(const char *text, const char *run_id)
{
    return watch_is_of_run(text, strlen(text), run_id);
}

/* docs/formats/watch-manifest.md says where everything is, and older files lie there. */
static void the_table_lies_where_its_page_says(void **state)
{
    assert_int_equal(offsetof(struct watch_manifest, state), 24);
    assert_int_equal(offsetof(struct watch_manifest, run_id), 40);
    assert_int_equal(offsetof(struct watch_manifest, host), 56);
    assert_int_equal(offsetof(struct watch_host, machine_id), 40);
    assert_int_equal(offsetof(struct watch_host, pid_namespace), 80);
    assert_int_equal(offsetof(struct watch_manifest, controller), 144);
    assert_int_equal(offsetof(struct watch_manifest, watchdog), 160);
    assert_int_equal(offsetof(struct watch_manifest, file), 176);
    assert_int_equal(offsetof(struct watch_manifest, slots), 4576);
    assert_int_equal(offsetof(struct watch_manifest, directories), 13376);
    assert_int_equal(offsetof(struct watch_manifest, lock), 30976);
    assert_int_equal(offsetof(struct watch_manifest, leaf), 35376);
    assert_int_equal(offsetof(struct watch_manifest, daemons), 40312);
    assert_int_equal(sizeof(struct watch_daemon), 4800);
    assert_int_equal(offsetof(struct watch_daemon, reservation), 32);
    assert_int_equal(offsetof(struct watch_daemon, place), 144);
    assert_int_equal(offsetof(struct watch_manifest, unit), 59512);
    assert_int_equal(sizeof(struct watch_manifest), 59768);
    assert_int_equal(sizeof(struct watch_reports), 32);
}

static void the_sum_is_fnv_1a_wherever_zeros_lie(void **state)
{
    unsigned char bytes[64];
    assert_int_equal(watch_sum(UINT64_C(0xcbf29ce484222325), "foobar", 6),
                     UINT64_C(0x85944171f73967e8));
    for (size_t n = 0; n <= sizeof bytes; n++) {
        for (size_t other = 0; other <= n; other++) { /* n: only zeros */
            uint64_t wanted = 1;
            for (size_t i = 0; i < n; i++) {
                bytes[i] = i == other ? 7 : 0;
                wanted = (wanted ^ bytes[i]) * UINT64_C(0x100000001b3);
            }
            assert_int_equal(watch_sum(1, bytes, n), wanted);
        }
    }
}

/* RS-5: the run decides whose a record is. */
static void a_record_is_known_by_its_run(void **state)
{
    assert_true(is_of("{\"schema\": \"x\",\n \"run_id\": \"k7f3ab\",\n", "k7f3ab"));
    assert_true(is_of("{\"run_id\":\"k7f3ab\"}", "k7f3ab"));
    assert_false(is_of("{\"run_id\": \"k7f3ab\"}", "k7f3a"));
    assert_false(is_of("{\"run_id\": \"k7f3a\"}", "k7f3ab"));
    assert_false(is_of("{\"run_id\": \"k7f3ab", "k7f3ab"));
    assert_false(is_of("{\"run_id\": \"\"}", ""));
    assert_false(is_of("{\"run_id\"", "k7f3ab"));
    assert_false(is_of("", "k7f3ab"));
}

static void the_first_member_of_that_name_decides(void **state)
{
    assert_false(is_of("{\"run_id\": \"other1\", \"a\": {\"run_id\": \"k7f3ab\"}}", "k7f3ab"));
    assert_false(
        is_of("{\"note\": \"\\\"run_id\\\": \\\"k7f3ab\\\"\", \"run_id\": \"other1\"}", "k7f3ab"));
    assert_true(
        is_of("{\"note\": \"\\\"run_id\\\": \\\"other1\\\"\", \"run_id\": \"k7f3ab\"}", "k7f3ab"));
}

static struct watch_manifest whole(void)
{
    static struct watch_manifest manifest;
    manifest = (struct watch_manifest){.version = WATCH_VERSION, .bytes = sizeof manifest};
    memcpy(manifest.magic, WATCH_MAGIC, sizeof manifest.magic);
    return manifest;
}

static void a_manifest_with_a_text_that_has_no_end_is_none(void **state)
{
    static struct watch_manifest manifest;
    manifest = whole();
    assert_true(watch_manifest_check(&manifest));
    memset(manifest.run_id, 'x', sizeof manifest.run_id);
    assert_false(watch_manifest_check(&manifest));
    manifest = whole();
    memset(manifest.host.boot_id, 'x', sizeof manifest.host.boot_id);
    assert_false(watch_manifest_check(&manifest));
    manifest = whole();
    memset(manifest.host.machine_id, 'x', sizeof manifest.host.machine_id);
    assert_false(watch_manifest_check(&manifest));
    manifest = whole();
    memset(manifest.slots[1].path, 'x', sizeof manifest.slots[1].path);
    assert_false(watch_manifest_check(&manifest));
    manifest = whole();
    memset(manifest.leaf.unit, 'x', sizeof manifest.leaf.unit);
    assert_false(watch_manifest_check(&manifest));
    manifest = whole();
    manifest.version++;
    assert_false(watch_manifest_check(&manifest));
    manifest = whole();
    manifest.reports_bytes = WATCH_REPORTS_BYTES + 1;
    assert_false(watch_manifest_check(&manifest));
}

static void a_name_in_a_manifest_leads_nowhere_else(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "/"};
    static struct watch_manifest manifest;
    for (size_t i = 0; i < countof(bad); i++) {
        manifest = whole();
        strcpy(manifest.directories[3].path, "/tmp");
        strcpy(manifest.directories[3].name, bad[i]);
        assert_false(watch_manifest_check(&manifest));
        manifest = whole();
        strcpy(manifest.leaf.path, "/sys/fs/cgroup");
        strcpy(manifest.leaf.name, bad[i]);
        assert_false(watch_manifest_check(&manifest));
    }
}

static void reports_that_point_outside_are_none(void **state)
{
    struct watch_reports reports = {0};
    const size_t bytes = sizeof reports + 10;
    assert_true(watch_reports_check(&reports, bytes));
    reports.texts[1][1] = (struct watch_text){.offset = sizeof reports, .bytes = 10};
    assert_true(watch_reports_check(&reports, bytes));
    reports.texts[1][1].bytes = 11;
    assert_false(watch_reports_check(&reports, bytes));
    reports.texts[1][1] = (struct watch_text){.offset = UINT32_MAX, .bytes = UINT32_MAX};
    assert_false(watch_reports_check(&reports, bytes));
    assert_false(watch_reports_check(&reports, sizeof reports - 1));
}

static void the_sum_sees_every_byte(void **state)
{
    static struct watch_manifest manifest;
    manifest = whole();
    manifest.reports_bytes = 3;
    uint64_t sum = watch_manifest_sum(&manifest, "abc");
    assert_true(sum != watch_manifest_sum(&manifest, "abd"));
    manifest.unit[sizeof manifest.unit - 1] = 1;
    assert_true(sum != watch_manifest_sum(&manifest, "abc"));
    manifest.unit[sizeof manifest.unit - 1] = 0;
    manifest.sum = 7; /* itself is not a part of it */
    assert_true(sum == watch_manifest_sum(&manifest, "abc"));
}

/* WD-4: a daemon on record has a folder and two names, or is none. */
static void a_daemon_is_whole_or_none(void **state)
{
    static struct watch_manifest manifest;
    manifest = whole();
    struct watch_daemon *daemon = &manifest.daemons[WATCH_DAEMONS - 1];
    daemon->state = WATCH_DAEMON_SEALED;
    assert_false(watch_manifest_check(&manifest));
    memcpy(daemon->place.path, "/a", 3);
    memcpy(daemon->place.name, "s", 2);
    assert_false(watch_manifest_check(&manifest));
    memcpy(daemon->lock_name, "l", 2);
    assert_true(watch_manifest_check(&manifest));
    memcpy(daemon->lock_name, "../l", 5);
    assert_false(watch_manifest_check(&manifest));
    memset(daemon->lock_name, 'l', sizeof daemon->lock_name);
    assert_false(watch_manifest_check(&manifest));
    memcpy(daemon->lock_name, "l", 2);
    daemon->state = WATCH_DAEMON_STATE_COUNT;
    assert_false(watch_manifest_check(&manifest));
    daemon->state = WATCH_DAEMON_BOUND;
    memcpy(daemon->place.name, "..", 3);
    assert_false(watch_manifest_check(&manifest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_is_fnv_1a_wherever_zeros_lie),
        cmocka_unit_test(the_table_lies_where_its_page_says),
        cmocka_unit_test(a_record_is_known_by_its_run),
        cmocka_unit_test(a_daemon_is_whole_or_none),
        cmocka_unit_test(the_first_member_of_that_name_decides),
        cmocka_unit_test(a_manifest_with_a_text_that_has_no_end_is_none),
        cmocka_unit_test(a_name_in_a_manifest_leads_nowhere_else),
        cmocka_unit_test(reports_that_point_outside_are_none),
        cmocka_unit_test(the_sum_sees_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
