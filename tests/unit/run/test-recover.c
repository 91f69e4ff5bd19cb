/* What is healed, and what is left alone, is tried in tests/crash. */
#include "../unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "proc.h"
#include "recover.h"
#include "scope.h"
#include "watch-host.h"

/* systemd's part in it. */
static struct {
    bool is_silent;
    int asked;
} manager;

void __wrap_scope_probe(const struct scope_question *question, struct scope_offer *ret_offer);
void __wrap_scope_probe(const struct scope_question *question, struct scope_offer *ret_offer)
{
    *ret_offer = (struct scope_offer){.adapter = SCOPE_SYSTEMD_USER, .place = "/nowhere/bus"};
}

int __wrap_scope_forget_unit(const struct scope_offer *offer, const char *unit, int64_t deadline_ns,
                             struct err *err);
int __wrap_scope_forget_unit(const struct scope_offer *offer, const char *unit, int64_t deadline_ns,
                             struct err *err)
{
    manager.asked++;
    return manager.is_silent ? err_set(err, ERR_TIMEOUT, "%s: silence", unit) : 0;
}

static char path[] = "/tmp/berm-test-XXXXXX";
static char variable[64];
static char *environment[] = {variable, NULL};

static int make_place(void **state)
{
    (void)snprintf(path, sizeof path, "/tmp/berm-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    (void)snprintf(variable, sizeof variable, "XDG_STATE_HOME=%s", path);
    return 0;
}

static int remove_place(void **state)
{
    static const char *const names[] = {
        "berm/watch/a.watch", "berm/watch/b.txt", "berm/watch", "berm/runs", "berm", "slot"};
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    for (size_t i = 0; i < countof(names); i++) {
        if (unlinkat(fd_num(&dir), names[i], 0) < 0) {
            (void)unlinkat(fd_num(&dir), names[i], AT_REMOVEDIR);
        }
    }
    return rmdir(path);
}

static void without_manifests_there_is_nothing_to_do(void **state)
{
    struct err err = {0};
    with_recovery recovery = {0};
    assert_int_equal(recover_runs(environment, &os_clock_real, 0, &recovery, &err), 0);
    assert_int_equal(recovery.count, 0);
}

static void one_that_cannot_be_read_is_told_and_stays(void **state)
{
    struct err err = {0};
    struct bfs_facts facts;
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    static const char *const names[] = {"a.watch", "b.txt"};
    for (size_t i = 0; i < countof(names); i++) {
        with_fd file = fd_adopt(os_openat(bfs_dir_fd(&folder), names[i], O_WRONLY | O_CREAT, 0600));
        assert_int_equal(os_write_all(fd_num(&file), "rubbish", 7), 0);
    }
    with_recovery recovery = {0};
    assert_int_equal(recover_runs(environment, &os_clock_real, 0, &recovery, &err), 0);
    assert_int_equal(recovery.count, 1);
    assert_int_equal(recovery.counts[RECOVER_LEFT], 1);
    assert_string_equal(recover_state_name(recovery.runs[0].state), "left");
    assert_non_null(strstr(recovery.runs[0].what, "a.watch"));
    assert_int_equal(bfs_stat(&folder, "a.watch", &facts, &err), 0);
}

/* Of a run of this host whose processes are dead, with nothing left but itself. */
static struct {
    struct watch_manifest manifest;
    struct watch_reports reports;
    char text[64];
} whole;

static void make_whole(void)
{
    struct err err = {0};
    memset(&whole, 0, sizeof whole);
    memcpy(whole.manifest.magic, WATCH_MAGIC, sizeof whole.manifest.magic);
    whole.manifest.version = WATCH_VERSION;
    whole.manifest.bytes = sizeof whole.manifest;
    whole.manifest.reports_bytes = sizeof whole - sizeof whole.manifest;
    assert_int_equal(watch_host_read(&whole.manifest.host, &err), 0);
}

static void write_whole(mode_t mode)
{
    struct err err = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    whole.manifest.sum = watch_manifest_sum(&whole.manifest, &whole.reports);
    with_fd file =
        fd_adopt(os_openat(bfs_dir_fd(&folder), "a.watch", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    assert_int_equal(os_write_all(fd_num(&file), &whole, sizeof whole), 0);
    assert_int_equal(fchmod(fd_num(&file), mode), 0);
}

static bool is_there(void)
{
    struct err err = {0};
    struct bfs_facts facts;
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    return bfs_stat(&folder, "a.watch", &facts, &err) == 0;
}

/* What is said of the one manifest; `what` is a part of it. */
static void recover_says(int wait_ms, enum recover_state state, const char *what)
{
    struct err err = {0};
    with_recovery recovery = {0};
    assert_int_equal(recover_runs(environment, &os_clock_real, wait_ms, &recovery, &err), 0);
    assert_int_equal(recovery.count, 1);
    if (recovery.runs[0].state != state || !strstr(recovery.runs[0].what, what)) {
        fail_msg("%s: %s", recover_state_name(recovery.runs[0].state), recovery.runs[0].what);
    }
    assert_int_equal(recovery.counts[state], 1);
    assert_int_equal(is_there(), state != RECOVER_HEALED);
}

static void a_dead_run_is_healed(void **state)
{
    make_whole();
    write_whole(0600);
    recover_says(0, RECOVER_HEALED, "it had no leaf yet");
}

static struct watch_entry entry_of(const char *name)
{
    struct stat facts;
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    assert_int_equal(os_fstat(fd_num(&dir), &facts), 0);
    struct watch_entry entry = {.parent = {facts.st_dev, facts.st_ino, facts.st_uid, 0}};
    assert_int_equal(os_stat_entry(fd_num(&dir), name, &facts), 0);
    entry.self = (struct watch_identity){facts.st_dev, facts.st_ino, facts.st_uid, 0};
    (void)snprintf(entry.path, sizeof entry.path, "%s", path);
    (void)snprintf(entry.name, sizeof entry.name, "%s", name);
    return entry;
}

/* R43 WD-5: what a run left is ended and told though systemd is silent; its manifest alone waits. */
static void silence_of_systemd_keeps_the_manifest_alone(void **state)
{
    static const char record[] = "{\"run_id\": \"k7f3ab\"}";
    char seen[sizeof whole.text] = "";
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    with_fd slot = fd_adopt(os_openat(fd_num(&dir), "slot", O_WRONLY | O_CREAT, 0600));
    assert_int_equal(os_write_all(fd_num(&slot), record, sizeof record - 1), 0);
    assert_int_equal(os_mkdirat(fd_num(&dir), "made", 0700), 0);
    make_whole();
    (void)snprintf(whole.text, sizeof whole.text, "{\"run_id\": \"k7f3ab\", \"crash\": true}");
    whole.reports.texts[0][WATCH_NOTHING_LEFT] =
        (struct watch_text){sizeof whole.reports, (uint32_t)strlen(whole.text)};
    (void)snprintf(whole.manifest.run_id, sizeof whole.manifest.run_id, "k7f3ab");
    (void)snprintf(whole.manifest.unit, sizeof whole.manifest.unit,
                   "berm-k7f3ab-1a-watchdog.scope");
    whole.manifest.slots[0] = entry_of("slot");
    whole.manifest.directories[0] = entry_of("made");
    write_whole(0600);
    manager.is_silent = true;
    recover_says(0, RECOVER_LEFT, "left: the manifest; berm-k7f3ab-1a-watchdog.scope: silence");
    assert_true(os_read_small(fd_num(&dir), "slot", seen, sizeof seen) > 0);
    assert_string_equal(seen, whole.text);
    assert_int_equal(unlinkat(fd_num(&dir), "made", AT_REMOVEDIR), -1);
    manager.is_silent = false;
    recover_says(0, RECOVER_HEALED, "");
    assert_int_equal(manager.asked, 2);
}

/* T19: whoever can write one could have anything killed and removed. */
static void one_that_others_may_write_is_not_obeyed(void **state)
{
    make_whole();
    static const mode_t modes[] = {0620, 0602, 0666};
    for (size_t i = 0; i < countof(modes); i++) {
        write_whole(modes[i]);
        recover_says(0, RECOVER_LEFT, "can be written by others");
    }
    write_whole(0644);
    recover_says(0, RECOVER_HEALED, "");
}

static void one_that_belongs_to_another_is_not_obeyed(void **state) /* T19 */
{
    if (geteuid() != 0) {
        skip(); /* only root can give a file away */
    }
    make_whole();
    write_whole(0600);
    struct err err = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    assert_int_equal(fchownat(bfs_dir_fd(&folder), "a.watch", 12345, (gid_t)-1, 0), 0);
    recover_says(0, RECOVER_LEFT, "belongs to user 12345, and not to 0");
}

/* WD-5: a home that machines share, or containers. */
static void what_is_elsewhere_is_left_to_those_there(void **state)
{
    static const char other[] = "00000000000000000000000000000000";
    make_whole();
    whole.manifest.host.pid_namespace++;
    write_whole(0600);
    recover_says(0, RECOVER_ELSEWHERE, "PID namespace");
    make_whole();
    whole.manifest.host.boot_id[0] ^= 1;
    memcpy(whole.manifest.host.machine_id, other, sizeof other);
    write_whole(0600);
    recover_says(0, RECOVER_ELSEWHERE, other);
    whole.manifest.host.machine_id[0] = '\0';
    write_whole(0600);
    recover_says(0, RECOVER_ELSEWHERE, "unknown");
}

static void what_an_earlier_boot_left_is_healed(void **state)
{
    make_whole();
    if (whole.manifest.host.machine_id[0] == '\0') {
        skip(); /* this machine has no id */
    }
    whole.manifest.host.boot_id[0] ^= 1;
    whole.manifest.host.pid_namespace++;
    write_whole(0600);
    recover_says(0, RECOVER_HEALED, "of a boot that ended");
}

/* LC-3: a start of berm does not wait for a watchdog that is stopped; who asks is told what helps. */
static void a_stopped_watchdog_is_told_and_not_waited_for(void **state)
{
    struct proc_stat stat;
    char remedy[64];
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should this test fail */
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    with_fd file = fd_adopt(os_proc_stat_open(child));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    make_whole();
    whole.manifest.watchdog = (struct watch_process){child, stat.start_ticks};
    write_whole(0600);
    recover_says(0, RECOVER_ACTIVE, "its watchdog is at work");
    (void)snprintf(remedy, sizeof remedy, "`kill -CONT %d`", child);
    recover_says(1, RECOVER_LEFT, remedy);
    assert_int_equal(kill(child, SIGCONT), 0);
    recover_says(60000, RECOVER_HEALED, "");
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Another berm is at work: -1, what was waited for, and what helps. */
static void two_do_not_heal_at_once(void **state)
{
    struct err err = {0};
    with_recovery recovery = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    assert_int_equal(os_flock_within(bfs_dir_fd(&folder), 0), 0);
    assert_int_equal(recover_runs(environment, &os_clock_real, 20, &recovery, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "waited 20 ms; try again"));
}

static void without_a_home_there_is_no_place(void **state)
{
    char *nothing[] = {NULL};
    struct err err = {0};
    struct recovery recovery;
    assert_int_equal(recover_runs(nothing, &os_clock_real, 0, &recovery, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
}

int main(void)
{
#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        PLACED(without_manifests_there_is_nothing_to_do),
        PLACED(one_that_cannot_be_read_is_told_and_stays),
        PLACED(a_dead_run_is_healed),
        PLACED(silence_of_systemd_keeps_the_manifest_alone),
        PLACED(one_that_others_may_write_is_not_obeyed),
        PLACED(one_that_belongs_to_another_is_not_obeyed),
        PLACED(what_is_elsewhere_is_left_to_those_there),
        PLACED(what_an_earlier_boot_left_is_healed),
        PLACED(a_stopped_watchdog_is_told_and_not_waited_for),
        PLACED(two_do_not_heal_at_once),
        PLACED(without_a_home_there_is_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
