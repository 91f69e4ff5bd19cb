/* The case of a record whose processes are gone and whose numbers were given to others: a manifest that
 * names this very process, with a start that it never had, and a unit that never was. It is healed, and
 * nobody is signalled; this process would not have lived to say so. */
#include <stdio.h>
#include <string.h>

#include "archive.h"
#include "contain.h"
#include "memory.h"
#include "process.h"
#include "qualify-priv.h"
#include "recover.h"
#include "report.h"
#include "watch-host.h"
#include "watch-message.h"

enum { NAME_SIZE = 64, REPORT_MODE = 0600, REPORT_MAX_BYTES = 1 << 20 };
#define IMPOSSIBLE_START UINT64_MAX

struct stale {
    struct bfs_dir folder; /* of manifests */
    char id[RUN_ID_SIZE];
    char name[NAME_SIZE];
};

static int fill_manifest(struct watch_manifest *manifest, const struct stale *stale,
                         const struct os_clock *clock, struct err *err)
{
    *manifest = (struct watch_manifest){
        .magic = WATCH_MAGIC,
        .version = WATCH_VERSION,
        .bytes = sizeof *manifest,
        .state = WATCH_IS_ARMED,
        .reports_bytes = sizeof(struct watch_reports),
        .written_ns = clock->realtime_ns(),
        .controller = {os_getpid(), IMPOSSIBLE_START},
        .watchdog = {os_getpid(), IMPOSSIBLE_START},
        .leaf = {.flags = WATCH_LEAF_HAS_GATE, .gate = {os_getpid(), IMPOSSIBLE_START}},
    };
    struct watch_leaf *leaf = &manifest->leaf;
    (void)snprintf(manifest->run_id, sizeof manifest->run_id, "%s", stale->id);
    (void)snprintf(leaf->unit, sizeof leaf->unit, "berm-%s-never.scope", stale->id);
    (void)snprintf(leaf->path, sizeof leaf->path, "/sys/fs/cgroup/%s", leaf->unit);
    (void)snprintf(leaf->name, sizeof leaf->name, "payload");
    leaf->scope = (struct watch_identity){.device = 1, .inode = 1, .owner = os_geteuid()};
    leaf->self = leaf->scope;
    return watch_host_read(&manifest->host, err);
}

static int plant(struct qualifying *qualifying, struct stale *stale, struct err *err)
{
    const struct qualify_request *request = qualifying->request;
    with_archive archive = archive_open(request->environment, err);
    with_bfs_stage stage = {0};
    const struct watch_reports reports = {0};
    if (!archive || archive_new_id(archive, stale->id, err) < 0 ||
        recover_open_folder(request->environment, &stale->folder, err) < 0) {
        return -1;
    }
    (void)snprintf(stale->name, sizeof stale->name, "%s-self-test.watch", stale->id);
    struct watch_manifest *manifest = memory_new(sizeof *manifest);
    int result = fill_manifest(manifest, stale, request->clock, err);
    manifest->sum = watch_manifest_sum(manifest, &reports);
    result =
        result < 0 || bfs_stage_open(&stale->folder, REPORT_MODE, 0, &stage, err) < 0 ||
                bfs_stage_write(&stage, span_of((const char *)manifest, sizeof *manifest), err) <
                    0 ||
                bfs_stage_write(&stage, span_of((const char *)&reports, sizeof reports), err) < 0 ||
                bfs_stage_create(&stage, stale->name, err) < 0
            ? -1
            : 0;
    memory_free(manifest);
    return result;
}

/* What was said of it, by the state; NULL: nothing was. */
static const char *find_state(const struct recovery *recovery, const char *id)
{
    for (size_t i = 0; i < recovery->count; i++) {
        if (strcmp(recovery->runs[i].run_id, id) == 0) {
            return recover_state_name(recovery->runs[i].state);
        }
    }
    return NULL;
}

/* No run: a report that says what was recovered, and that nothing was to be started. */
static int write_report(const struct qualifying *qualifying, const struct stale *stale,
                        int64_t began_ns, const char *file, struct err *err)
{
    const struct os_clock *clock = qualifying->request->clock;
    char command[] = "internal:stale-process-record";
    char *argv[] = {command, NULL};
    struct contain contain;
    with_checks checks = {0};
    with_string path = memory_format("%s/%s", qualifying->reports.path, file);
    contain_choose(NULL, &contain);
    checks_add_take(
        &checks, CHECK_SELF_TEST, false,
        memory_copy_string("a record of processes that are gone was healed; nothing was "
                           "to be run"),
        memory_copy_string(stale->name),
        memory_copy_string("nothing is to be done: the report says what was healed"));
    int64_t took_ns = clock->monotonic_ns() - began_ns;
    const struct report_facts facts = {
        .run_id = stale->id,
        .report_file = path,
        .command = argv,
        .cwd = qualifying->fixture_folder,
        .started_realtime_ns = clock->realtime_ns() - took_ns,
        .duration_ns = took_ns,
        .own_ns = took_ns,
        .contain = &contain,
        .checks = &checks,
    };
    with_json record = report_build(&facts, err);
    with_buf text = buf_new(REPORT_MAX_BYTES);
    with_bfs_stage stage = {0};
    return !record ||
                   json_write(json_object_get(record, "report"), JSON_READABLE, &text, err) < 0 ||
                   bfs_stage_open(&qualifying->reports, REPORT_MODE, 0, &stage, err) < 0 ||
                   bfs_stage_write(&stage, buf_span(&text), err) < 0 ||
                   bfs_stage_replace(&stage, file, err) < 0
               ? -1
               : 0;
}

static void judge(struct qualifying *qualifying, const struct stale *stale, const char *state,
                  struct attestation_case *one)
{
    struct bfs_facts facts;
    struct err gone = {0};
    bool healed = state && strcmp(state, recover_state_name(RECOVER_HEALED)) == 0;
    bool removed =
        bfs_stat(&stale->folder, stale->name, &facts, &gone) < 0 && gone.code == ERR_NOT_FOUND;
    bool clean = qualify_is_told(one->evidence, "record_healed", healed);
    clean = qualify_is_told(one->evidence, "record_removed", removed) && clean;
    clean = qualify_is_told(one->evidence, "nobody_signalled", true) && clean;
    clean = qualify_is_told(one->evidence, "watchdog_state_removed",
                            qualify_no_manifest(qualifying, stale->id)) &&
            clean;
    one->cleanup_verified = clean;
    if (!clean) {
        qualify_fault(one, "STALE_RECORD", "the record was not healed (%s)",
                      state ? state : "nobody saw it");
    }
}

void qualify_stale_record(struct qualifying *qualifying, const struct qualify_case *wanted,
                          struct attestation_case *one)
{
    const struct qualify_request *request = qualifying->request;
    int64_t began_ns = request->clock->monotonic_ns();
    struct err err = {0};
    struct stale stale = {0};
    with_recovery recovery = {0};
    with_string file = memory_format("%s.json", attestation_case_name(CASE_STALE_RECORD));
    if (plant(qualifying, &stale, &err) < 0 ||
        recover_runs(request->environment, request->clock, 0, &recovery, &err) < 0 ||
        write_report(qualifying, &stale, began_ns, file, &err) < 0) {
        qualify_fault(one, "STALE_RECORD", "%s", err.msg);
    } else {
        with_json report = qualify_stored_report(qualifying, file, one);
        judge(qualifying, &stale, find_state(&recovery, stale.id), one);
        if (report) {
            qualify_take_report(one, report);
        }
    }
    if (!one->error && (!one->outcome || strcmp(one->outcome, wanted->outcome) != 0)) {
        qualify_fault(one, "OUTCOME", "its report does not say %s", wanted->outcome);
    }
    bfs_dir_done(&stale.folder);
}
