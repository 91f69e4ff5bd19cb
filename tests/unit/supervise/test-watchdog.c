/* What the two say to each other when one of them dies is tried in tests/crash. */
#include "../unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "process.h"
#include "watchdog.h"

enum { WAIT_MS = 60000 };

static const char crash[] = "{\"run_id\": \"k7f3ab\", \"crash\": true}";

struct place {
    char path[64];
    struct bfs_dir folder;
    struct watchdog_request request;
    struct fd reports;
};

static int make_place(void **state)
{
    static struct place place;
    struct err err = {0};
    place = (struct place){.path = "/tmp/berm-test-XXXXXX"};
    assert_non_null(mkdtemp(place.path));
    assert_int_equal(bfs_dir_open(AT_FDCWD, place.path, BFS_TRUST_ANY, &place.folder, &err), 0);
    place.request = (struct watchdog_request){
        .run_id = "k7f3ab",
        .folder = &place.folder,
        .slots = {{&place.folder, "slot"}},
        .directories = {&place.folder},
        .lock_fd = -1,
        .ready_ns = 60 * NS_PER_S,
        .clock = &os_clock_real,
    };
    const struct span texts[WATCH_SLOTS][WATCH_ENDINGS] = {
        {span_of(crash, sizeof crash - 1), span_of("", 0)}};
    assert_int_equal(watchdog_seal_reports(texts, &place.reports, &err), 0);
    *state = &place;
    return 0;
}

static int count_entries(const char *path)
{
    int count = -2; /* itself and its parent */
    DIR *dir = opendir(path);
    while (dir && readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static int end_place(void **state)
{
    struct place *place = *state;
    fd_close(&place->reports);
    (void)unlinkat(bfs_dir_fd(&place->folder), "slot", 0);
    bfs_dir_done(&place->folder);
    return rmdir(place->path); /* so nothing else may be in it */
}

static void reports_lie_where_their_head_says(void **state)
{
    struct place *place = *state;
    struct stat facts;
    struct watch_reports head;
    char text[sizeof crash] = "";
    assert_int_equal(os_fstat(fd_num(&place->reports), &facts), 0);
    assert_int_equal(os_pread(fd_num(&place->reports), &head, sizeof head, 0), sizeof head);
    assert_true(watch_reports_check(&head, (size_t)facts.st_size));
    const struct watch_text *clean = &head.texts[WATCH_SLOT_REPORT][WATCH_NOTHING_LEFT];
    assert_int_equal(clean->bytes, sizeof crash - 1);
    assert_int_equal(head.texts[WATCH_SLOT_RECORD][WATCH_SOMETHING_LEFT].bytes, 0);
    assert_int_equal(os_pread(fd_num(&place->reports), text, clean->bytes, clean->offset),
                     clean->bytes);
    assert_string_equal(text, crash);
}

static void what_it_makes_is_handed_over_and_gone_after_disarming(void **state) /* WD-2 */
{
    struct place *place = *state;
    struct err err = {0};
    struct stat held;
    struct stat named;
    with_watchdog watchdog = watchdog_start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    assert_int_equal(os_fstat(watchdog_directory_fd(watchdog, 0), &held), 0);
    assert_int_equal(
        os_stat_entry(bfs_dir_fd(&place->folder), watchdog_directory_name(watchdog, 0), &named), 0);
    assert_int_equal(held.st_ino, named.st_ino);
    assert_int_equal(count_entries(place->path), 2); /* and the manifest */
    assert_int_equal(os_poll(watchdog_fd(watchdog), POLLIN, 0), 0);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
    assert_int_equal(count_entries(place->path), 0);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0); /* once is enough */
}

static void its_death_is_noticed_and_what_it_reported_is_removed(void **state) /* WD-3 */
{
    struct place *place = *state;
    struct err err = {0};
    with_watchdog watchdog = watchdog_start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    struct proc_identity who = watchdog_process(watchdog);
    with_fd proc = fd_adopt(os_proc_open(who)); /* that very one */
    assert_true(fd_is_open(&proc));
    assert_int_equal(kill(who.pid, SIGKILL), 0);
    assert_true(os_poll(watchdog_fd(watchdog), POLLIN, WAIT_MS) > 0);
    assert_int_equal(count_entries(place->path), 2);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
    assert_int_equal(count_entries(place->path), 0);
}

/* A scope that was never made is let go before there is anything to be armed with. */
static void it_lets_go_of_what_it_never_held(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_watchdog watchdog = watchdog_start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    assert_int_equal(watchdog_let_go(watchdog), 0);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
    assert_int_equal(count_entries(place->path), 0);
}

/* T19: its number is nobody's to look for any more, once systemd has refused. */
static void it_does_not_wait_for_a_unit_that_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    place->request.unit = "berm-k7f3ab-0-watchdog.scope";
    with_watchdog watchdog = watchdog_start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
    assert_int_equal(watchdog_asked(watchdog, os_clock_real.monotonic_ns() + 3600 * NS_PER_S), 0);
    assert_int_equal(watchdog_asked(watchdog, 0), 0);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
}

static void freed_without_disarming_it_tells_the_crash(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char text[sizeof crash] = "";
    with_fd slot =
        fd_adopt(os_openat(bfs_dir_fd(&place->folder), "slot", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    assert_int_equal(os_write_all(fd_num(&slot), crash, sizeof crash - 6), 0);
    struct watchdog *watchdog = watchdog_start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
    watchdog_free(watchdog);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
    assert_int_equal(count_entries(place->path), 1);
    assert_int_equal(os_read_small(bfs_dir_fd(&place->folder), "slot", text, sizeof text),
                     sizeof crash - 1);
    assert_string_equal(text, crash);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    place->request.run_id = "longer than any id of a run";
    assert_null(watchdog_start(&place->request, fd_num(&place->reports), &err));
    assert_int_equal(err.code, ERR_OVER_BUDGET);
}

int main(void)
{
#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, end_place)
    const struct CMUnitTest tests[] = {
        PLACED(reports_lie_where_their_head_says),
        PLACED(what_it_makes_is_handed_over_and_gone_after_disarming),
        PLACED(its_death_is_noticed_and_what_it_reported_is_removed),
        PLACED(it_lets_go_of_what_it_never_held),
        PLACED(it_does_not_wait_for_a_unit_that_is_refused),
        PLACED(freed_without_disarming_it_tells_the_crash),
        PLACED(a_name_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
