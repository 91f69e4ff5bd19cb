/* run.c
 *
 * run.h where nothing can be held: the request is checked, and refused with the record that says so.
 * The record stands in no state folder; the report replaces what its slot held.
 */
#include "run.h"

#include <stdio.h>

#include "file.h"
#include "host.h"
#include "memory.h"
#include "portable.h"
#include "redact.h"

enum { PATH_SIZE = 4096, ID_SIZE = 17, REPORT_BYTES = 4 << 20 };

struct refusal {
    char id[ID_SIZE];
    char here[PATH_SIZE];
    char *cwd;    /* absolute, of the run */
    char *report; /* absolute; NULL: none was asked for */
    struct contain contain;
    struct checks checks;
    json_t *envelope;
};

static void refusal_done(struct refusal *refusal)
{
    memory_free(refusal->cwd);
    memory_free(refusal->report);
    checks_done(&refusal->checks);
    json_decref(refusal->envelope);
}

static char *absolute(const struct refusal *refusal, const char *path)
{
    return path[0] == '/' ? memory_copy_string(path) : memory_format("%s/%s", refusal->here, path);
}

static int refuse(const struct run_request *request, struct refusal *refusal, struct err *err)
{
    uint64_t random;
    if (run_request_check(request, err) < 0) {
        return -1;
    }
    int result = os_getrandom(&random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "ask for random bytes");
    }
    (void)snprintf(refusal->id, sizeof refusal->id, "%016llx", (unsigned long long)random);
    result = os_working_folder(refusal->here, sizeof refusal->here);
    if (result < 0) {
        return err_sys(err, result, "ask for the working folder");
    }
    refusal->cwd =
        request->cwd ? absolute(refusal, request->cwd) : memory_copy_string(refusal->here);
    refusal->report = request->report ? absolute(refusal, request->report) : NULL;
    struct envelope envelope;
    host_envelope(&envelope);
    refusal->envelope = envelope_to_json(&envelope, refusal->cwd);
    host_contain(&refusal->contain);
    host_refuse(&refusal->checks);
    return 0;
}

static int publish(const json_t *record, const char *path, struct err *err)
{
    with_buf text = buf_new(REPORT_BYTES);
    return json_write(json_object_get(record, "report"), JSON_READABLE, &text, err) < 0
               ? -1
               : host_replace(path, buf_span(&text), err);
}

int run_execute(const struct run_request *request, struct run_result *ret_result, struct err *err)
{
    cleanup(refusal_done) struct refusal refusal = {0};
    int64_t began_ns = request->clock->monotonic_ns();
    if (refuse(request, &refusal, err) < 0) {
        return -1;
    }
    struct report_facts facts = {
        .run_id = refusal.id,
        .label = request->label,
        .scope = request->scope,
        .workload = request->workload,
        .tier = request->tier,
        .report_file = refusal.report,
        .command = request->argv,
        .cwd = refusal.cwd,
        .started_realtime_ns = request->clock->realtime_ns(),
        .contain = &refusal.contain,
        .checks = &refusal.checks,
        .envelope = refusal.envelope,
    };
    facts.duration_ns = facts.own_ns = request->clock->monotonic_ns() - began_ns;
    struct verdict verdict;
    report_decide(&facts, &verdict);
    with_json record = report_build(&facts, err);
    if (!record || (refusal.report && publish(record, refusal.report, err) < 0)) {
        return -1;
    }
    *ret_result = (struct run_result){
        .record = json_incref(record),
        .report_path = memory_copy_or_null(refusal.report),
        .exit_code = run_exit_code(request->exit_mode, &verdict, &facts),
        .outcome = verdict.outcome,
    };
    return 0;
}

json_t *run_explain(const struct run_request *request, struct err *err)
{
    cleanup(refusal_done) struct refusal refusal = {0};
    if (refuse(request, &refusal, err) < 0) {
        return NULL;
    }
    json_t *json = json_object();
    json_object_set_new(json, "schema", json_string("berm.explain/v1"));
    json_object_set_new(json, "command", redact_argv(request->argv));
    json_object_set_new(json, "cwd", json_text(span_of_string(refusal.cwd)));
    json_object_set_new(json, "limits", json_array());
    json_object_set_new(json, "adapter", json_string(refusal.contain.adapter_id));
    json_object_set_new(json, "containment",
                        json_string(containment_name(CONTAINMENT_UNCONTAINED)));
    json_object_set_new(json, "guarantees", guarantees_to_json(&refusal.contain.guarantees));
    json_object_set_new(json, "checks", checks_to_json(&refusal.checks));
    json_object_set_new(json, "would_run", json_false());
    return json;
}

void run_result_done(struct run_result *result)
{
    json_decref(result->record);
    memory_free(result->record_path);
    memory_free(result->report_path);
    *result = (struct run_result){0};
}
