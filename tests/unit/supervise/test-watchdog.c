/* What the two say to each other when one of them dies is tried in tests/crash. */
#include "../unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static struct watchdog *start(const struct watchdog_request *request, int reports_fd,
                              struct err *err)
{
    with_watchdog watchdog = watchdog_start(request, err);
    if (!watchdog || watchdog_watch(watchdog, reports_fd, err) < 0 ||
        watchdog_ready(watchdog, err) < 0) {
        return NULL;
    }
    struct watchdog *started = watchdog;
    watchdog = NULL;
    return started;
}

/* WD-3: it was started, and berm could not say what it is for. */
static void one_that_got_no_orders_leaves_and_is_no_child(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    siginfo_t info;
    struct watchdog *watchdog = watchdog_start(&place->request, &err);
    assert_non_null(watchdog);
    watchdog_free(watchdog);
    assert_int_equal(os_waitid(P_ALL, 0, &info, WEXITED | WNOHANG, NULL), -ECHILD);
    assert_int_equal(count_entries(place->path), 0);
}

static void what_it_makes_is_handed_over_and_gone_after_disarming(void **state) /* WD-2 */
{
    struct place *place = *state;
    struct err err = {0};
    struct stat held;
    struct stat named;
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
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
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
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
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
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
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
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
    struct watchdog *watchdog = start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
    watchdog_free(watchdog);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
    assert_int_equal(count_entries(place->path), 1);
    assert_int_equal(os_read_small(bfs_dir_fd(&place->folder), "slot", text, sizeof text),
                     sizeof crash - 1);
    assert_string_equal(text, crash);
}

/* --- managed daemons ---------------------------------------------------------------------------- */

enum { REMOVED, KEPT };

static struct watch_object object_of(const struct place *place, const char *name)
{
    struct stat there;
    assert_int_equal(os_stat_entry(bfs_dir_fd(&place->folder), name, &there), 0);
    return (struct watch_object){.self = {there.st_dev, there.st_ino, there.st_uid, 0},
                                 .size_bytes = there.st_size,
                                 .mode = there.st_mode};
}

/* Its objects stand in the place; nobody listens. */
static struct watch_daemon make_daemon(const struct place *place, uint32_t at, const char *lock)
{
    int folder = bfs_dir_fd(&place->folder);
    struct watch_daemon daemon = {
        .state = at,
        .on_host = true,
        .process = {7, 8},
        .reservation = {0xab, 1},
        .place = {.parent = {place->folder.facts.device, place->folder.facts.inode,
                             place->folder.facts.owner, 0},
                  .name = "s"},
        .lock_name = "l",
    };
    memcpy(daemon.place.path, place->path, sizeof place->path);
    with_fd file = fd_adopt(os_openat(folder, "l", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    assert_int_equal(os_write_all(fd_num(&file), lock, strlen(lock)), 0);
    assert_int_equal(mknodat(folder, "s", S_IFSOCK | 0600, 0), 0);
    return daemon;
}

static bool is_there(const struct place *place, const char *name)
{
    struct stat there;
    return os_stat_entry(bfs_dir_fd(&place->folder), name, &there) == 0;
}

/* The state that is on record. */
static uint32_t state_on_record(const struct place *place)
{
    static struct watch_manifest manifest;
    DIR *dir = opendir(place->path);
    const struct dirent *entry;
    manifest = (struct watch_manifest){0};
    while ((entry = readdir(dir))) {
        if (strstr(entry->d_name, ".watch")) {
            with_fd file =
                fd_adopt(os_openat(bfs_dir_fd(&place->folder), entry->d_name, O_RDONLY, 0));
            assert_int_equal(os_pread(fd_num(&file), &manifest, sizeof manifest, 0),
                             sizeof manifest);
        }
    }
    closedir(dir);
    assert_true(watch_manifest_check(&manifest));
    return manifest.daemons[1].state;
}

/* What a death leaves of it. */
static void die_with(struct place *place, const struct watch_daemon *daemon, int wanted)
{
    struct err err = {0};
    int folder = bfs_dir_fd(&place->folder);
    place->request.directories[0] = NULL;
    struct watchdog *watchdog = start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    assert_int_equal(watchdog_note_daemon(watchdog, 1, daemon, folder, &err), 0);
    assert_int_equal(state_on_record(place), daemon->state); /* WD-4: when it was answered */
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
    watchdog_free(watchdog);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
    assert_int_equal(is_there(place, "s"), wanted);
    assert_int_equal(is_there(place, "l"), wanted);
    bool nothing_left = wanted == REMOVED || daemon->state < WATCH_DAEMON_STARTED;
    int others = wanted == REMOVED ? 0 : 2;
    assert_int_equal(count_entries(place->path), others + !nothing_left); /* the manifest */
    char command[128];
    (void)snprintf(command, sizeof command, "rm -f %s/*", place->path);
    assert_int_equal(system(command), 0);
}

#define ZEROES  "0000000000000000000000000000000000000000000000000000000000"
#define IN_LOCK "{\"pid\":7,\"safe_runner_reservation\":\"ab0100" ZEROES "\"}"

/* WD-4 WD-5 MD-6: after a death the daemon's objects go, by their identity. */
static void what_was_sealed_goes_with_its_run(void **state)
{
    struct place *place = *state;
    struct watch_daemon daemon = make_daemon(place, WATCH_DAEMON_SEALED, "{}");
    daemon.socket = object_of(place, "s");
    daemon.lock = object_of(place, "l");
    die_with(place, &daemon, REMOVED);
    daemon = make_daemon(place, WATCH_DAEMON_SEALED, "{}");
    daemon.socket = object_of(place, "s");
    daemon.lock = object_of(place, "l");
    daemon.socket.self.inode++;
    daemon.lock.size_bytes++;
    die_with(place, &daemon, KEPT);
}

/* And before the seal what stands with its reservation. Before the start it was not allowed to make anything: then
 * it is nobody of the run's who has its names, and nothing is left of the run (MD-6). */
static void what_has_its_reservation_goes_too(void **state)
{
    struct place *place = *state;
    struct watch_daemon daemon = make_daemon(place, WATCH_DAEMON_CREATED, IN_LOCK);
    die_with(place, &daemon, REMOVED);
    daemon = make_daemon(place, WATCH_DAEMON_STARTED, IN_LOCK);
    die_with(place, &daemon, REMOVED);
    daemon = make_daemon(place, WATCH_DAEMON_BOUND, IN_LOCK);
    die_with(place, &daemon, KEPT);
    daemon = make_daemon(place, WATCH_DAEMON_CREATED, "{}");
    die_with(place, &daemon, KEPT);
}

/* Reserved: neither of its objects is there. */
static struct watch_daemon make_absent_daemon(const struct place *place)
{
    struct watch_daemon daemon = make_daemon(place, WATCH_DAEMON_RESERVED, "");
    (void)unlinkat(bfs_dir_fd(&place->folder), "s", 0);
    (void)unlinkat(bfs_dir_fd(&place->folder), "l", 0);
    return daemon;
}

static void a_folder_that_is_another_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct watch_daemon daemon = make_absent_daemon(place);
    int folder = bfs_dir_fd(&place->folder);
    daemon.place.parent.inode++;
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    assert_int_equal(watchdog_note_daemon(watchdog, 0, &daemon, folder, &err), -1);
    assert_non_null(strstr(err.msg, "folder of a daemon"));
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
}

/* Another file takes the place of the manifest, as at its next state: the byte at the offset is changed. */
static void replace_manifest(const struct place *place, long change_at)
{
    char command[512];
    (void)snprintf(
        command, sizeof command,
        "cd %s && for f in *.watch; do cp $f $f.x && printf X | dd of=$f.x bs=1 seek=%ld "
        "conv=notrunc status=none && mv $f.x $f; done",
        place->path, change_at);
    assert_int_equal(system(command), 0);
}

static void lose_and_disarm(struct place *place, long change_at)
{
    struct err err = {0};
    place->request.directories[0] = NULL;
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGKILL), 0);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
    replace_manifest(place, change_at);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
}

/* WD-3: killed between the name of its last manifest and the word of it. What is another run's stays. */
static void a_manifest_that_was_not_told_of_goes_too(void **state)
{
    struct place *place = *state;
    lose_and_disarm(place, offsetof(struct watch_manifest, written_ns));
    assert_int_equal(count_entries(place->path), 0);
    lose_and_disarm(place, offsetof(struct watch_manifest, run_id));
    assert_int_equal(count_entries(place->path), 1);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -f %s/*", place->path);
    assert_int_equal(system(command), 0);
}

/* WD-4: an answer that comes too late is no loss, and none to the next question. */
static void a_late_answer_is_taken_for_no_other(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct watch_daemon daemon = make_absent_daemon(place);
    int folder = bfs_dir_fd(&place->folder);
    place->request.directories[0] = NULL;
    with_watchdog watchdog = start(&place->request, fd_num(&place->reports), &err);
    assert_non_null(watchdog);
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(watchdog).pid));
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGSTOP), 0);
    assert_int_equal(watchdog_note_daemon(watchdog, 1, &daemon, folder, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGCONT), 0);
    assert_int_equal(os_poll(watchdog_fd(watchdog), POLLIN, WAIT_MS), POLLIN);
    assert_false(watchdog_is_lost(watchdog));
    daemon.state = WATCH_DAEMON_BOUND;
    assert_int_equal(watchdog_note_daemon(watchdog, 1, &daemon, folder, &err), 0);
    assert_int_equal(state_on_record(place), WATCH_DAEMON_BOUND);
    assert_int_equal(watchdog_disarm(watchdog, &err), 0);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    place->request.run_id = "longer than any id of a run";
    assert_null(start(&place->request, fd_num(&place->reports), &err));
    assert_int_equal(err.code, ERR_OVER_BUDGET);
}

int main(void)
{
#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, end_place)
    const struct CMUnitTest tests[] = {
        PLACED(reports_lie_where_their_head_says),
        PLACED(one_that_got_no_orders_leaves_and_is_no_child),
        PLACED(what_it_makes_is_handed_over_and_gone_after_disarming),
        PLACED(its_death_is_noticed_and_what_it_reported_is_removed),
        PLACED(it_lets_go_of_what_it_never_held),
        PLACED(it_does_not_wait_for_a_unit_that_is_refused),
        PLACED(freed_without_disarming_it_tells_the_crash),
        PLACED(what_was_sealed_goes_with_its_run),
        PLACED(what_has_its_reservation_goes_too),
        PLACED(a_folder_that_is_another_is_refused),
        PLACED(a_manifest_that_was_not_told_of_goes_too),
        PLACED(a_late_answer_is_taken_for_no_other),
        PLACED(a_name_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
