/* Runs in a process that lives on: nothing adds up (R6), and no clock but the monotonic one has a
 * say about time limits (X3, X4). A front end that lives long runs so.
 */
#include "../unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "run.h"

/* A sanitizer keeps what was freed for a while, to see whether it is used again. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define KEEPS_FREED_MEMORY true
#endif
#endif
#ifndef KEEPS_FREED_MEMORY
#define KEEPS_FREED_MEMORY false
#endif

enum { WARM_UP = 20, RUNS = 60, RUNS_LONG = 1000, GROWTH_KIB = 1024 };

static int count_open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static char report[64];

static struct run_request shell_request(char *script)
{
    static char program[] = "/bin/sh";
    static char option[] = "-c";
    static char *argv[] = {program, option, NULL, NULL};
    argv[2] = script;
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.report = report;
    return request;
}

static void run_one(void)
{
    static char script[] = "echo out; (sleep 0 &); exit 3";
    struct run_request request = shell_request(script);
    request.keep_output = true;
    with_run_result result = {0};
    struct err err = {0};
    assert_int_equal(run_execute(&request, &result, &err), 0);
    assert_int_equal(result.exit_code, 3);
}

static void nothing_adds_up(void **state)
{
    int runs = getenv("BERM_TEST_LONG") ? RUNS_LONG : RUNS;
    for (int i = 0; i < WARM_UP; i++) {
        run_one();
    }
    int files = count_open_files();
    long kib = resident_kib();
    for (int i = 0; i < runs; i++) {
        run_one();
    }
    long grown = resident_kib() - kib;
    print_message("# %d runs: %d descriptors before, %d after; %ld KiB more\n", runs, files,
                  count_open_files(), grown);
    assert_int_equal(count_open_files(), files);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_true(KEEPS_FREED_MEMORY || grown < GROWTH_KIB);
}

static int64_t day_ns = 86400 * NS_PER_S;
static int64_t stepped_back;

/* X3: each time somebody asks for the date it is a day earlier. */
static int64_t stepped_realtime(void)
{
    return os_clock_real.realtime_ns() - (stepped_back += day_ns);
}

static const char *text_at(const json_t *record, const char *object, const char *name)
{
    const json_t *value = json_object_get(json_object_get(record, object), name);
    assert_non_null(json_string_value(value));
    return json_string_value(value);
}

static int64_t number_at(const json_t *record, const char *object, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(record, object), name));
}

static void a_stepped_wall_clock_has_no_say(void **state)
{
    const struct os_clock clock = {os_clock_real.monotonic_ns, os_clock_real.boottime_ns,
                                   stepped_realtime};
    static char script[] = "sleep 100";
    struct run_request request = shell_request(script);
    request.clock = &clock;
    request.timeout_ms = 300;
    with_run_result result = {0};
    struct err err = {0};
    int64_t began_ns = os_clock_real.monotonic_ns();
    assert_int_equal(run_execute(&request, &result, &err), 0);
    int64_t took_ns = os_clock_real.monotonic_ns() - began_ns;
    assert_int_equal(result.exit_code, 124);
    int64_t duration_ns = number_at(result.record, "timing", "duration_ns");
    assert_in_range(duration_ns, 300 * NS_PER_MS, took_ns);
    assert_true(strcmp(text_at(result.record, "report", "started_at"),
                       text_at(result.record, "report", "finished_at")) < 0);
}

/* X4: from the second look on it has slept for a day. */
static int64_t slept_ns;
static int64_t slept_boottime(void)
{
    int64_t now_ns = os_clock_real.boottime_ns() + slept_ns;
    slept_ns = day_ns;
    return now_ns;
}

static void a_machine_that_slept_does_not_spend_the_time_limit(void **state)
{
    const struct os_clock clock = {os_clock_real.monotonic_ns, slept_boottime,
                                   os_clock_real.realtime_ns};
    static char script[] = "exit 0";
    struct run_request request = shell_request(script);
    request.clock = &clock;
    request.timeout_ms = 3600 * 1000;
    with_run_result result = {0};
    struct err err = {0};
    assert_int_equal(run_execute(&request, &result, &err), 0);
    assert_int_equal(result.exit_code, 0);
    int64_t suspended_ns = number_at(result.record, "timing", "suspended_ns");
    assert_in_range(suspended_ns, day_ns - NS_PER_S, day_ns + NS_PER_S);
    assert_true(number_at(result.record, "timing", "duration_ns") < 3600 * NS_PER_S);
}

int main(void)
{
    char folder[] = "/tmp/berm-long-lived-XXXXXX";
    char command[64];
    if (!mkdtemp(folder)) {
        return 99;
    }
    (void)snprintf(report, sizeof report, "%s/r.json", folder);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)setenv("XDG_STATE_HOME", folder, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stepped_wall_clock_has_no_say),
        cmocka_unit_test(a_machine_that_slept_does_not_spend_the_time_limit),
        cmocka_unit_test(nothing_adds_up),
    };
    int failed = cmocka_run_group_tests_name("adversary/long-lived", tests, NULL, NULL);
    return system(command) == 0 ? failed : 99;
}
