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
#include "memory.h"
#include "process.h"
#include "recover.h"
#include "run-priv.h"
#include "validate.h"

enum { WAIT_MS = 60000 };

static char path[64];
static char variable[80];
static char *environment[] = {variable, NULL};
static char command_word[] = "true";
static char *command[] = {command_word, NULL};
static struct run_request request;

/* A run as it stands when its slots are taken. */
static struct run *begin(void)
{
    struct run *run = memory_new(sizeof *run);
    struct err err = {0};
    request = run_request_plain();
    request.environment = environment;
    *run = (struct run){.request = &request, .id = "k7f3ab"};
    run->started_ns = request.clock->monotonic_ns();
    run->facts = (struct report_facts){
        .run_id = run->id, .command = command, .cwd = "/", .in_progress = true};
    run->preparation.contain.adapter_id = scope_adapter_id(SCOPE_DELEGATED);
    run->facts.contain = &run->preparation.contain;
    run->facts.checks = &run->preparation.checks;
    with_json record = report_build(&run->facts, &err);
    run->facts.in_progress = false;
    assert_non_null(record);
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    with_string report = memory_format("%s/report.json", path);
    with_string kept = memory_format("%s/record.json", path);
    assert_int_equal(run_render(record, &text, &err), 0);
    run->record_slot = slot_take(kept, run->id, buf_span(&text), 4096, &err);
    assert_int_equal(run_render(run_inner_report(record), &text, &err), 0);
    run->report_slot = slot_take(report, run->id, buf_span(&text), 4096, &err);
    assert_non_null(run->record_slot);
    assert_non_null(run->report_slot);
    return run;
}

static void end(struct run *run)
{
    slot_free(run->record_slot);
    slot_free(run->report_slot);
    memory_free(run);
}

static int make_place(void **state)
{
    (void)snprintf(path, sizeof path, "/tmp/berm-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    (void)snprintf(variable, sizeof variable, "XDG_STATE_HOME=%s", path);
    return 0;
}

static int remove_place(void **state)
{
    static const char *const names[] = {"report.json", "record.json", "scope/leaf/cgroup.events",
                                        "scope/leaf",  "scope",       "berm/watch",
                                        "berm/runs",   "berm"};
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    for (size_t i = 0; i < countof(names); i++) {
        if (unlinkat(fd_num(&dir), names[i], 0) < 0) {
            (void)unlinkat(fd_num(&dir), names[i], AT_REMOVEDIR);
        }
    }
    return rmdir(path);
}

/* What stands in a slot, and that it is valid. */
static json_t *read_slot(const char *name)
{
    static char text[RUN_RECORD_MAX_BYTES];
    struct err err = {0};
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    ssize_t length = os_read_small(fd_num(&dir), name, text, sizeof text);
    assert_true(length > 0);
    json_t *read = json_read(span_of(text, (size_t)length), &json_budget_report, &err);
    assert_non_null(read);
    const json_t *report = json_object_get(read, "report");
    with_strvec faults = {0};
    if (validate_report(report ? report : read, &faults) > 0) {
        fail_msg("%s: %s", name, faults.strings[0]);
    }
    return read;
}

static void says(const char *code)
{
    with_json report = read_slot("report.json");
    with_json record = read_slot("record.json");
    const json_t *inner = json_object_get(record, "report");
    for (int i = 0; i < 2; i++) {
        const json_t *error = json_object_get(i ? inner : report, "error");
        assert_string_equal(json_string_value(json_object_get(error, "code")), code);
    }
}

/* berm dies: all that is left of it is that its end of the channel closes. */
static void die(struct run *run)
{
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(run->watch.watchdog).pid));
    run_watch_done(run);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
}

static void start(struct run *run)
{
    struct err err = {0};
    assert_int_equal(run_watch_start(run, &err), 0);
    assert_int_equal(run_watch_ready(run, &err), 0);
}

static void a_run_that_was_disarmed_keeps_its_records(void **state)
{
    struct err err = {0};
    struct run *run = begin();
    start(run);
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    says("LAMINA_SAFE_RUN_IN_PROGRESS");
    end(run);
}

/* WD-5: both slots say it, and say it validly. */
static void a_death_before_the_payload_is_told(void **state)
{
    struct run *run = begin();
    start(run);
    die(run);
    says("LAMINA_SAFE_SUPERVISOR_CRASH");
    with_json report = read_slot("report.json");
    const json_t *termination = json_object_get(report, "termination");
    assert_string_equal(json_string_value(json_object_get(termination, "reason")),
                        "supervisor_crash_before_payload");
    end(run);
}

/* A leaf that is empty, and that nobody can remove here as long as a file is in it. */
struct false_leaf {
    struct fd scope;
    struct fd leaf;
    char *where;
};

static void make_leaf(struct false_leaf *false_leaf)
{
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    assert_int_equal(mkdirat(fd_num(&dir), "scope", 0700), 0);
    assert_int_equal(mkdirat(fd_num(&dir), "scope/leaf", 0700), 0);
    with_fd events =
        fd_adopt(os_openat(fd_num(&dir), "scope/leaf/cgroup.events", O_WRONLY | O_CREAT, 0600));
    assert_int_equal(os_write_all(fd_num(&events), "populated 0\n", 12), 0);
    false_leaf->scope = fd_adopt(os_openat(fd_num(&dir), "scope", O_RDONLY | O_DIRECTORY, 0));
    false_leaf->leaf =
        fd_adopt(os_openat(fd_num(&false_leaf->scope), "leaf", O_RDONLY | O_DIRECTORY, 0));
    false_leaf->where = memory_format("%s/scope", path);
}

static int arm(struct run *run, const struct false_leaf *false_leaf, struct err *err)
{
    const struct watchdog_leaf armed = {
        .kept_fd = -1,
        .leaf_fd = fd_num(&false_leaf->leaf),
        .scope_fd = fd_num(&false_leaf->scope),
        .scope_parent_fd = -1,
        .anchor_fd = -1,
        .gate_pidfd = -1,
        .path = false_leaf->where,
        .name = "leaf",
    };
    return run_watch_foresee(run, err) < 0 || run_watch_arm(run, &armed, err) < 0
               ? -1
               : watchdog_armed(run->watch.watchdog, err);
}

static void leaf_is_gone(struct false_leaf *false_leaf)
{
    assert_int_equal(unlinkat(fd_num(&false_leaf->leaf), "cgroup.events", 0), 0);
    assert_int_equal(unlinkat(fd_num(&false_leaf->scope), "leaf", AT_REMOVEDIR), 0);
}

static void forget_leaf(struct false_leaf *false_leaf)
{
    fd_close(&false_leaf->scope);
    fd_close(&false_leaf->leaf);
    memory_free(false_leaf->where);
}

static int remove_manifests(void)
{
    with_string watch = memory_format("%s/berm/watch", path);
    DIR *folder = opendir(watch);
    int manifests = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strstr(entry->d_name, ".watch")) {
            assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
            manifests++;
        }
    }
    closedir(folder);
    return manifests;
}

/* The only one, as it stands on the disk, and the texts behind it. */
static struct fd open_manifest(struct watch_manifest *ret_manifest, const char **ret_rest)
{
    static char bytes[RUN_RECORD_MAX_BYTES];
    struct err err = {0};
    with_bfs_dir folder = {0};
    with_strvec names = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    assert_int_equal(bfs_list(&folder, 2, &names, &err), 0);
    assert_int_equal(names.count, 1);
    struct fd file = fd_adopt(os_openat(bfs_dir_fd(&folder), names.strings[0], O_RDWR, 0));
    ssize_t length = os_read(fd_num(&file), bytes, sizeof bytes);
    assert_true(length > (ssize_t)sizeof *ret_manifest);
    memcpy(ret_manifest, bytes, sizeof *ret_manifest);
    *ret_rest = bytes + sizeof *ret_manifest;
    return file;
}

/* R43: systemd may have been asked for the scope when all that know of it die. */
static void the_scope_is_on_record_before_it_is_asked_for(void **state)
{
    struct watch_manifest manifest;
    const char *rest;
    struct err err = {0};
    struct run *run = begin();
    run->offer.adapter = SCOPE_SYSTEMD_USER;
    assert_int_equal(scope_name(run->id, run->scope_name, &err), 0);
    start(run);
    with_fd file = open_manifest(&manifest, &rest);
    assert_string_equal(manifest.leaf.unit, run->scope_name);
    assert_string_equal(manifest.leaf.path, "");
    char watchdogs[WATCH_NAME_SIZE];
    scope_watchdog_name(run->scope_name, watchdogs);
    assert_string_equal(manifest.unit, watchdogs);
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    end(run);
}

/* As if this process, which made it, were dead. */
static void forge_controller(void)
{
    struct watch_manifest manifest;
    const char *rest;
    with_fd file = open_manifest(&manifest, &rest);
    manifest.controller.start_ticks--;
    manifest.sum = watch_manifest_sum(&manifest, rest);
    assert_int_equal(os_lseek(fd_num(&file), 0, SEEK_SET), 0);
    assert_int_equal(os_write_all(fd_num(&file), &manifest, sizeof manifest), 0);
}

static void recover_heals(int healed)
{
    struct err err = {0};
    with_recovery recovery = {0};
    assert_int_equal(recover_runs(environment, &os_clock_real, 0, &recovery, &err), 0);
    assert_int_equal(recovery.counts[RECOVER_HEALED], healed);
}

static void gives_as_reason(const char *reason)
{
    with_json report = read_slot("report.json");
    const json_t *termination = json_object_get(report, "termination");
    assert_string_equal(json_string_value(json_object_get(termination, "reason")), reason);
}

/* Nothing is claimed of how the payload ended. */
static void claims_no_signal(void)
{
    with_json report = read_slot("report.json");
    const json_t *termination = json_object_get(report, "termination");
    assert_int_equal(json_array_size(json_object_get(termination, "requested_signals")), 0);
    assert_true(json_is_null(json_object_get(termination, "child_signal")));
    assert_true(json_is_null(json_object_get(termination, "child_exit_code")));
}

static void what_is_left_is_told(void **state)
{
    struct err err = {0};
    struct false_leaf leaf = {0};
    struct run *run = begin();
    make_leaf(&leaf);
    start(run);
    assert_int_equal(arm(run, &leaf, &err), 0);
    assert_true(fd_is_open(&run->watch.in_payload));
    run_watch_conclude(run);
    die(run);
    says("LAMINA_SAFE_CLEANUP_INCOMPLETE");
    assert_int_equal(remove_manifests(), 1);
    forget_leaf(&leaf);
    end(run);
}

static void dies_behind_its_end(enum context_tier tier, const char *label)
{
    struct err err = {0};
    struct false_leaf leaf = {0};
    struct run *run = begin();
    request.tier = tier;
    make_leaf(&leaf);
    start(run);
    assert_int_equal(arm(run, &leaf, &err), 0);
    leaf_is_gone(&leaf);
    run->facts.label = "told behind its end";
    assert_int_equal(watchdog_report(run->watch.watchdog, fd_num(&run->watch.after)),
                     0); /* the broker's word */
    run_watch_conclude(run);
    die(run);
    says("LAMINA_SAFE_SUPERVISOR_CRASH");
    if (!label) {
        claims_no_signal();
    }
    with_json record = read_slot("record.json");
    const char *told = json_string_value(json_object_get(record, "label"));
    assert_true(label ? told && strcmp(told, label) == 0 : told == NULL);
    forget_leaf(&leaf);
    end(run);
}

/* RS-5: copy, fence and tier are seen to behind the end of the payload, and a crash then knows how it ended. */
static void behind_the_end_of_a_tier_its_facts_are_told(void **state)
{
    dies_behind_its_end(CONTEXT_TIER_SMALL, "told behind its end");
}

/* Where only the publication follows, it does not wait for what a crash in it would say. */
static void else_nothing_more_is_told(void **state)
{
    dies_behind_its_end(CONTEXT_TIER_NONE, NULL);
}

/* WD-5: armed and not released, and berm alone dies. */
static void an_armed_watchdog_knows_of_no_release(void **state)
{
    struct err err = {0};
    struct false_leaf leaf = {0};
    struct run *run = begin();
    make_leaf(&leaf);
    start(run);
    assert_int_equal(arm(run, &leaf, &err), 0);
    leaf_is_gone(&leaf);
    die(run);
    says("LAMINA_SAFE_SUPERVISOR_CRASH");
    gives_as_reason("supervisor_crash_before_payload");
    forget_leaf(&leaf);
    end(run);
}

/* WD-5: the watchdog dies as well, and nobody can know whether the release came. */
static void a_manifest_says_that_the_payload_may_have_run(void **state)
{
    struct err err = {0};
    struct false_leaf leaf = {0};
    struct run *run = begin();
    make_leaf(&leaf);
    start(run);
    assert_int_equal(arm(run, &leaf, &err), 0);
    with_fd pidfd = fd_adopt(os_pidfd_open(watchdog_process(run->watch.watchdog).pid));
    assert_int_equal(os_pidfd_signal(fd_num(&pidfd), SIGKILL), 0);
    assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, WAIT_MS), POLLIN);
    leaf_is_gone(&leaf);
    forge_controller();
    recover_heals(1);
    says("LAMINA_SAFE_SUPERVISOR_CRASH");
    gives_as_reason("interrupted");
    claims_no_signal();
    run_watch_done(run);
    forget_leaf(&leaf);
    end(run);
}

/* LC-3 RS-5: what berm published while it lived stands, whoever ends the rest. */
static void a_refused_disarming_leaves_the_reports_alone(void **state)
{
    struct err err = {0};
    struct false_leaf leaf = {0};
    struct run *run = begin();
    make_leaf(&leaf);
    start(run);
    assert_int_equal(arm(run, &leaf, &err), 0);
    run_watch_conclude(run);
    assert_int_equal(run_watch_end(run, &err), -1);
    assert_non_null(strstr(err.msg, "the leaf is still there"));
    die(run);
    says("LAMINA_SAFE_RUN_IN_PROGRESS");
    forge_controller();
    recover_heals(0);
    leaf_is_gone(&leaf);
    recover_heals(1);
    says("LAMINA_SAFE_RUN_IN_PROGRESS");
    forget_leaf(&leaf);
    end(run);
}

/* TR-5: an earlier run is not passed over. */
static void what_an_earlier_run_left_is_told(void **state)
{
    struct err err = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    with_fd file = fd_adopt(os_openat(bfs_dir_fd(&folder), "x.watch", O_WRONLY | O_CREAT, 0600));
    assert_true(fd_is_open(&file));
    struct run *run = begin();
    start(run);
    assert_int_equal(run->preparation.notes.count, 1);
    assert_non_null(strstr(run->preparation.notes.strings[0], "1 earlier run"));
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    assert_int_equal(unlinkat(bfs_dir_fd(&folder), "x.watch", 0), 0);
    strvec_done(&run->preparation.notes);
    end(run);
}

/* RS-5: the watchdog looks for the first "run_id" in the bytes; in a record of berm's nothing that comes from
 * elsewhere stands before that member. */
static void a_record_begins_with_what_it_is_known_by(void **state)
{
    char *words[] = {(char[]){"run_id"}, (char[]){"\"run_id\": \"other1\""}, NULL};
    struct err err = {0};
    struct run *run = begin();
    run->facts.label = words[0];
    run->facts.scope = words[0];
    run->facts.command = words;
    run->facts.cwd = words[0];
    for (enum report_crash crash = CRASH_NONE; crash <= CRASH_LEFT; crash++) {
        run->facts.crash = crash;
        run->facts.in_progress = crash == CRASH_NONE;
        with_json record = report_build(&run->facts, &err);
        const json_t *const parts[] = {record, run_inner_report(record)};
        for (size_t i = 0; i < countof(parts); i++) {
            with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
            assert_int_equal(run_render(parts[i], &text, &err), 0);
            struct span bytes = buf_span(&text);
            const char *first = memmem(bytes.p, bytes.n, "\"run_id\"", 8);
            assert_non_null(first);
            assert_non_null(memmem(first + 8, bytes.n - (size_t)(first + 8 - bytes.p), "\"run_id\"",
                                   8)); /* the label, or an argument */
            assert_true(watch_is_of_run(bytes.p, bytes.n, run->id));
            assert_false(watch_is_of_run(bytes.p, bytes.n, "other1"));
        }
    }
    end(run);
}

/* Every start of berm would say it, and nobody here can do anything about it. */
static void what_another_machine_has_is_no_note(void **state)
{
    static struct {
        struct watch_manifest manifest;
        struct watch_reports reports;
    } whole = {.manifest = {.magic = WATCH_MAGIC,
                            .version = WATCH_VERSION,
                            .bytes = sizeof whole.manifest,
                            .reports_bytes = sizeof whole.reports,
                            .host = {.boot_id = "another", .machine_id = "another"}}};
    struct err err = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    with_fd file = fd_adopt(os_openat(bfs_dir_fd(&folder), "x.watch", O_WRONLY | O_CREAT, 0600));
    whole.manifest.sum = watch_manifest_sum(&whole.manifest, &whole.reports);
    assert_int_equal(os_write_all(fd_num(&file), &whole, sizeof whole), 0);
    struct run *run = begin();
    start(run);
    assert_int_equal(run->preparation.notes.count, 0);
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    assert_int_equal(unlinkat(bfs_dir_fd(&folder), "x.watch", 0), 0); /* it is still there */
    end(run);
}

static bool list_fails;

int __real_bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
                    struct err *err);
int __wrap_bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
                    struct err *err);

int __wrap_bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
                    struct err *err)
{
    return list_fails ? err_set(err, ERR_OVER_BUDGET, "more than %zu entries", maximum)
                      : __real_bfs_list(dir, maximum, ret_names, err);
}

/* TR-5: what keeps berm from looking is told. */
static void what_could_not_be_looked_at_is_told(void **state)
{
    struct err err = {0};
    struct run *run = begin();
    list_fails = true;
    start(run);
    list_fails = false;
    assert_int_equal(run->preparation.notes.count, 1);
    assert_non_null(strstr(run->preparation.notes.strings[0], "more than 10000 entries"));
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    strvec_done(&run->preparation.notes);
    end(run);
}

/* That another berm is at work on them is no news. */
static void what_another_berm_heals_is_no_note(void **state)
{
    struct err err = {0};
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    assert_int_equal(os_flock_within(bfs_dir_fd(&folder), 0), 0);
    struct run *run = begin();
    start(run);
    assert_int_equal(run->preparation.notes.count, 0);
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    end(run);
}

static void without_a_watchdog_there_is_nothing_to_do(void **state)
{
    struct err err = {0};
    struct run *run = begin();
    assert_int_equal(run_watch_arm(run, NULL, &err), 0);
    run_watch_conclude(run);
    assert_int_equal(run_watch_end(run, &err), 0);
    run_watch_done(run);
    end(run);
}

int main(void)
{
#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        PLACED(a_run_that_was_disarmed_keeps_its_records),
        PLACED(a_death_before_the_payload_is_told),
        PLACED(what_is_left_is_told),
        PLACED(the_scope_is_on_record_before_it_is_asked_for),
        PLACED(behind_the_end_of_a_tier_its_facts_are_told),
        PLACED(else_nothing_more_is_told),
        PLACED(an_armed_watchdog_knows_of_no_release),
        PLACED(a_manifest_says_that_the_payload_may_have_run),
        PLACED(a_refused_disarming_leaves_the_reports_alone),
        PLACED(what_an_earlier_run_left_is_told),
        PLACED(a_record_begins_with_what_it_is_known_by),
        PLACED(what_another_machine_has_is_no_note),
        PLACED(what_could_not_be_looked_at_is_told),
        PLACED(what_another_berm_heals_is_no_note),
        PLACED(without_a_watchdog_there_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
