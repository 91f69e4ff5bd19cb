#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "envelope.h"

static const int64_t gib = INT64_C(1) << 30;

static struct envelope host(int64_t total, int64_t available, int64_t processors)
{
    struct envelope envelope = {.total_memory_bytes = total,
                                .host_available_bytes = available,
                                .processors = processors,
                                .cgroup.memory_available_bytes = -1};
    envelope_derive(&envelope);
    return envelope;
}

/* EN-2: min(3 GiB, 25 % of RAM); an 8 GB host gets at most 2 GiB. EN-3: 64 tasks, one at a time. */
static void tier_ceilings_follow_from_the_host(void **state)
{
    struct envelope large = host(64 * gib, 60 * gib, 32);
    assert_int_equal(large.tier.memory_max_bytes, 3 * gib);
    struct envelope small = host(8 * gib, 6 * gib, 4);
    assert_int_equal(small.tier.memory_max_bytes, 2 * gib);
    assert_true(small.tier.memory_high_bytes <= small.tier.memory_max_bytes / 5 * 4);
    assert_int_equal(small.tier.memory_high_bytes % small.tier.memory_page_bytes, 0);
    assert_int_equal(small.tier.pids_max, 64);
    assert_int_equal(small.tier.concurrency, 1);
    assert_int_equal(small.tier.os_reserve_bytes, 2 * gib);
    assert_int_equal(small.tier.minimum_free_disk_bytes, 5 * gib);
    struct envelope odd = host(8 * gib + 4097, 6 * gib, 4);
    assert_int_equal(odd.tier.memory_max_bytes % odd.tier.memory_page_bytes, 0);
}

static void plain_defaults_leave_the_reserve(void **state)
{
    struct envelope large = host(64 * gib, 60 * gib, 32);
    assert_int_equal(large.plain_memory_bytes, 58 * gib);
    assert_int_equal(large.plain_tasks, 4096);
    struct envelope small = host(8 * gib, 6 * gib, 2);
    assert_int_equal(small.plain_tasks, 1024);
}

/* EN-2: a launch must leave 2 GiB; the refusal names the limit, what was seen and the remedy. */
static void a_limit_above_the_reserve_is_refused_by_name(void **state)
{
    struct envelope envelope = host(8 * gib, 6 * gib, 4);
    with_checks checks = {0};
    envelope_check_memory(&envelope, 4 * gib, "--memory", &checks);
    assert_true(checks_ok(&checks));
    envelope_check_memory(&envelope, 4 * gib + 1, "--memory", &checks);
    const struct check *failed = checks_first_failed(&checks);
    assert_non_null(failed);
    assert_string_equal(failed->code, "preflight.memory");
    assert_non_null(strstr(failed->what, "--memory"));
    assert_non_null(strstr(failed->saw, "6.00 GiB"));
    assert_string_equal(failed->remedy, "--memory may be at most 4096M here now");
}

static void a_full_host_cannot_run_anything(void **state)
{
    struct envelope envelope = host(8 * gib, gib, 4);
    with_checks checks = {0};
    envelope_check_memory(&envelope, envelope.plain_memory_bytes, "default", &checks);
    assert_false(checks_ok(&checks));
    assert_non_null(strstr(checks_first_failed(&checks)->remedy, "free memory"));
}

static const int64_t mib = INT64_C(1) << 20;

/* EN-2: the reserve is the host's. A cgroup leaves its run all but what berm itself takes, however small it is. */
static void a_cgroup_has_no_reserve_for_the_host(void **state)
{
    static const struct {
        int64_t host, cgroup; /* MiB that are available */
        int64_t plain;
        const char *words; /* of the refusal of one page more */
    } rows[] = {
        {61440, -1, 59392, "for the rest of this host"},
        {61440, 512, 448, "of this cgroup for berm itself"},
        {61440, 1024, 960, "of this cgroup for berm itself"},
        {61440, 59456, 59392, "for the rest of this host"},
        {3072, 2048, 1024, "for the rest of this host"},
        {3072, 512, 448, "of this cgroup for berm itself"},
        {2049, 512, 1, "for the rest of this host"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct envelope envelope = host(64 * gib, rows[i].host * mib, 4);
        envelope.cgroup.memory_available_bytes = rows[i].cgroup < 0 ? -1 : rows[i].cgroup * mib;
        (void)snprintf(envelope.cgroup.memory_bound_by, sizeof envelope.cgroup.memory_bound_by,
                       "/sys/fs/cgroup/box");
        envelope_derive(&envelope);
        assert_int_equal(envelope.plain_memory_bytes, rows[i].plain * mib);
        with_checks fits = {0};
        envelope_check_memory(&envelope, envelope.plain_memory_bytes, "default", &fits);
        assert_true(checks_ok(&fits));
        with_checks above = {0};
        envelope_check_memory(&envelope, envelope.plain_memory_bytes + 4096, "--memory", &above);
        const struct check *failed = checks_first_failed(&above);
        assert_non_null(strstr(failed->what, rows[i].words));
        assert_int_equal(strstr(failed->saw, "/sys/fs/cgroup/box") != NULL,
                         strstr(failed->what, "cgroup") != NULL);
    }
}

/* EN-2: where a cgroup is what leaves too little, ending other programs would not help. */
static void a_small_cgroup_is_not_called_a_full_host(void **state)
{
    struct envelope envelope = host(64 * gib, 60 * gib, 4);
    envelope.cgroup.memory_available_bytes = 32 * mib;
    (void)snprintf(envelope.cgroup.memory_bound_by, sizeof envelope.cgroup.memory_bound_by,
                   "/sys/fs/cgroup/box");
    envelope_derive(&envelope);
    with_checks checks = {0};
    envelope_check_memory(&envelope, envelope.plain_memory_bytes, "default", &checks);
    const struct check *failed = checks_first_failed(&checks);
    assert_non_null(strstr(failed->saw, "/sys/fs/cgroup/box"));
    assert_non_null(strstr(failed->remedy, "raise the memory limit of that cgroup"));
}

/* EN-1: reads the real host; every figure agrees with an outside look at the same file. */
static void reads_this_host(void **state)
{
    int cwd = open(".", O_PATH | O_DIRECTORY);
    struct envelope envelope;
    struct err err = {0};
    assert_int_equal(envelope_read(cwd, 0, &envelope, &err), 0);
    close(cwd);
    long pages = sysconf(_SC_PHYS_PAGES);
    assert_true(envelope.total_memory_bytes > 0 &&
                envelope.total_memory_bytes <= (int64_t)pages * sysconf(_SC_PAGESIZE) + gib);
    assert_true(envelope.available_memory_bytes <= envelope.total_memory_bytes);
    assert_true(envelope.free_disk_bytes > 0);
    with_json json = envelope_to_json(&envelope, "/somewhere");
    assert_string_equal(json_string_value(json_object_get(json, "schema")),
                        "lamina.safe-runner-envelope/v1");
    assert_string_equal(json_string_value(json_object_get(json, "inspected_at")),
                        "1970-01-01T00:00:00.000Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tier_ceilings_follow_from_the_host),
        cmocka_unit_test(plain_defaults_leave_the_reserve),
        cmocka_unit_test(a_limit_above_the_reserve_is_refused_by_name),
        cmocka_unit_test(a_full_host_cannot_run_anything),
        cmocka_unit_test(a_cgroup_has_no_reserve_for_the_host),
        cmocka_unit_test(a_small_cgroup_is_not_called_a_full_host),
        cmocka_unit_test(reads_this_host),
    };
    return cmocka_run_group_tests_name("preflight/envelope", tests, NULL, NULL);
}
