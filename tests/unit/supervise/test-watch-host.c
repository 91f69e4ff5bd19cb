#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch-host.h"

static void it_is_where_it_is(void **state)
{
    struct err err = {0};
    struct watch_host host = {0};
    struct stat space;
    assert_int_equal(watch_host_read(&host, &err), 0);
    assert_int_equal(strlen(host.boot_id), 36);
    assert_int_equal(stat("/proc/self/ns/pid", &space), 0);
    assert_int_equal(host.pid_namespace, space.st_ino);
    assert_true(strlen(host.machine_id) == 32 || host.machine_id[0] == '\0');
    assert_int_equal(watch_host_compare(&host, &host), WATCH_HERE);
}

/* WD-5: only what is known to be of this machine is known to be dead after a boot. */
static void places_are_told_apart(void **state)
{
    static const struct {
        const char *boot_id;
        const char *machine_id;
        uint64_t pid_namespace;
        enum watch_where where;
    } rows[] = {
        {"boot-1", "machine-1", 1, WATCH_HERE},
        {"boot-1", "", 1, WATCH_HERE}, /* a boot is of one machine */
        {"boot-1", "machine-1", 2, WATCH_ELSEWHERE},
        {"boot-0", "machine-1", 1, WATCH_BEFORE},
        {"boot-0", "machine-1", 2, WATCH_BEFORE},
        {"boot-0", "machine-2", 1, WATCH_ELSEWHERE},
        {"boot-0", "", 1, WATCH_ELSEWHERE},
        {"boot-0", "machine-10", 1, WATCH_ELSEWHERE},
    };
    const struct watch_host here = {"boot-1", "machine-1", 1};
    const struct watch_host unknown = {"boot-1", "", 1};
    for (size_t i = 0; i < countof(rows); i++) {
        struct watch_host host = {.pid_namespace = rows[i].pid_namespace};
        (void)snprintf(host.boot_id, sizeof host.boot_id, "%s", rows[i].boot_id);
        (void)snprintf(host.machine_id, sizeof host.machine_id, "%s", rows[i].machine_id);
        assert_int_equal(watch_host_compare(&here, &host), rows[i].where);
        if (rows[i].where == WATCH_BEFORE) {
            assert_int_equal(watch_host_compare(&unknown, &host), WATCH_ELSEWHERE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_where_it_is),
        cmocka_unit_test(places_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
