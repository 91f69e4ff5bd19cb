/* A case that is one run of the fixture in a managed sandbox. */
#include <string.h>

#include "guarantee.h"
#include "memory.h"
#include "qualify-priv.h"

enum { SAMPLE_MS = 25, HIGH_SAMPLES = 2 };

struct run_request qualify_request_of(const struct qualifying *qualifying,
                                      const struct qualify_case *wanted)
{
    struct run_request request = run_request_plain();
    request.environment = qualifying->request->environment;
    request.clock = qualifying->request->clock;
    request.cgroup_parent = qualifying->request->cgroup_parent;
    request.cwd = qualifying->fixture_folder;
    request.memory_bytes = wanted->memory_bytes;
    request.memory_high_bytes = wanted->memory_high_bytes;
    request.high_samples = HIGH_SAMPLES;
    request.tasks = wanted->tasks;
    request.timeout_ms = wanted->timeout_ms;
    request.output_bytes = wanted->output_bytes;
    request.grace_ms = wanted->grace_ms;
    request.sample_ms = SAMPLE_MS;
    return request;
}

/* What was verified, and where the scope was. */
static void judge_record(const struct qualifying *qualifying, const json_t *record,
                         struct attestation_case *one)
{
    const char *label = json_string_value(json_object_get(record, "containment"));
    const char *id = json_string_value(json_object_get(record, "run_id"));
    const char *scope =
        json_string_value(json_object_get(json_object_get(record, "cgroup"), "path"));
    if (!label || strcmp(label, "managed") != 0) {
        qualify_fault(one, "CONTAINMENT", "it was not managed but %s", label ? label : "nothing");
    }
    bool gone = qualify_is_told(one->evidence, "scope_absent", id && qualify_no_scope(scope, id));
    bool alone = qualify_is_told(one->evidence, "descendants_absent", id && qualify_no_process(id));
    bool done = qualify_is_told(one->evidence, "watchdog_state_removed",
                                id && qualify_no_manifest(qualifying, id));
    one->cleanup_verified = one->cleanup_verified && gone && alone && done;
    if (!gone || !alone || !done) {
        qualify_fault(one, "CLEANUP_UNPROVEN", "something of it is left");
    }
}

void qualify_single(struct qualifying *qualifying, const struct qualify_case *wanted,
                    struct attestation_case *one)
{
    const char *name = attestation_case_name((enum attestation_case_id)one->id);
    struct err err = {0};
    char *argv[] = {qualifying->fixture, memory_copy_string(wanted->mode), NULL};
    char *const roots[] = {qualifying->fixture_folder, NULL};
    with_string mode = argv[1];
    with_string label = memory_format("self-test: %s", name);
    with_string file = memory_format("%s.json", name);
    with_string path = memory_format("%s/%s", qualifying->reports.path, file);
    with_run_result result = {0};
    struct run_request request = qualify_request_of(qualifying, wanted);
    request.argv = argv;
    request.label = label;
    request.report = path;
    /* As tiers are: limits only go down, and who outlives the command is a failure. */
    request.authority = AUTHORITY_DECLARED;
    request.roots = roots;
    request.sandbox = true;
    request.require = GUARANTEE_ALL;
    request.temporary_bytes = wanted->temporary_bytes;
    request.user = qualifying->request->user;
    if (run_execute(&request, &result, &err) < 0) {
        qualify_fault(one, "RUN", "%s", err.msg);
        return;
    }
    qualifying->die_of = result.die_of;
    with_json report = qualify_stored_report(qualifying, file, one);
    if (!report) {
        return;
    }
    qualify_take_report(one, report);
    qualify_judge(wanted, report, one);
    one->cleanup_verified = qualify_check_report(report, one);
    judge_record(qualifying, result.record, one);
}
