/* The case of a berm that is told to end, and of one that is killed.
 *
 *   this process ── the broker ── the fixture's `controller` ── berm ── a managed run of its `mark`
 *
 * The controller sends the signal when the mark has come, and ends when the watchdog of the run is done;
 * so the broker, which would end whatever is left below it, proves that nobody is. The controller is not in a
 * scope of its own, whose limit of memory berm would have to stay under with its reserve. */
#include <stdio.h>
#include <string.h>

#include "archive.h"
#include "clock.h"
#include "memory.h"
#include "process.h"
#include "qualify-priv.h"
#include "recover.h"
#include "text.h"

enum {
    OUTER_TASKS = 12, /* berm with its watchdog and anchor, and the inner run once more */
    INNER_TASKS = 18,
    OUTER_TIMEOUT_S = 90,
    OUTER_SETUP_S = 10,
    OUTER_KILL_S = 5,
    SAID_SIZE = 400,
};
_Static_assert(OUTER_TASKS + INNER_TASKS + QUALIFY_SANDBOX_TASKS <= QUALIFY_TASKS_MOST, "ST-1");

/* One half: which signal, and what the report must say of it. */
struct half {
    const char *name;
    const char *signal;
    const char *file;
    const char *code;
    const char *requested; /* a signal that must have been sent; NULL: any or none */
};
static const struct half halves[] = {
    {"handled_host_sigint", "2", "parent_signal-interrupt.json", "LAMINA_SAFE_INTERRUPTED", NULL},
    {"supervisor_sigkill", "9", "parent_signal-kill.json", "LAMINA_SAFE_SUPERVISOR_CRASH",
     "SIGKILL"},
};

static void push_number(struct strvec *argv, const char *option, int64_t number)
{
    strvec_push(argv, option);
    strvec_push_format(argv, "%lld", (long long)number);
}

/* This very program, whatever lies at its path by now. */
static void push_inner(const struct qualifying *qualifying, const struct qualify_case *wanted,
                       const char *report, struct strvec *argv)
{
    const struct qualify_request *request = qualifying->request;
    strvec_push_format(argv, "/proc/%d/exe", os_getpid());
    static const char *const words[] = {"run", "--quiet", "--sandbox", "--require", "managed"};
    for (size_t i = 0; i < countof(words); i++) {
        strvec_push(argv, words[i]);
    }
    strvec_push_format(argv, "--report=%s", report);
    strvec_push_format(argv, "--label=self-test: %s", attestation_case_name(CASE_PARENT_SIGNAL));
    push_number(argv, "--memory", wanted->memory_bytes);
    push_number(argv, "--memory-high", wanted->memory_high_bytes);
    push_number(argv, "--tasks", INNER_TASKS);
    push_number(argv, "--timeout-ms", wanted->timeout_ms);
    push_number(argv, "--output-max", wanted->output_bytes);
    push_number(argv, "--temporary", wanted->temporary_bytes);
    push_number(argv, "--grace-ms", wanted->grace_ms);
    if (request->user) {
        strvec_push_format(argv, "--user=%s", request->user);
    }
    if (request->cgroup_parent) {
        strvec_push_format(argv, "--cgroup-parent=%s", request->cgroup_parent);
    }
    strvec_push(argv, "--");
    strvec_push(argv, qualifying->fixture);
    strvec_push(argv, wanted->mode);
}

/* The one that the person pinned is the one that both use. */
static void pass_pin(char *const *environment, struct strvec *overrides)
{
    static const char *const names[] = {"BERM_BWRAP_PATH", "BERM_BWRAP_SHA256",
                                        "LAMINA_SAFE_BWRAP_PATH", "LAMINA_SAFE_BWRAP_SHA256"};
    for (size_t i = 0; i < countof(names); i++) {
        if (text_variable(environment, names[i])) {
            strvec_push(overrides, names[i]);
        }
    }
}

/* Observed only: what has to hold is the scope of the inner run. */
static const struct supervise_limits outer_limits = {
    .memory_bytes = INT64_C(192) << 20,
    .tasks = OUTER_TASKS,
    .timeout_ns = OUTER_TIMEOUT_S * NS_PER_S,
    .setup_timeout_ns = OUTER_SETUP_S * NS_PER_S,
    .grace_ns = 100 * NS_PER_MS,
    .sample_ns = 25 * NS_PER_MS,
    .kill_budget_ns = OUTER_KILL_S * NS_PER_S,
};

/* 0: the controller said that all went as it was to go. */
static int run_controller(struct qualifying *qualifying, const struct qualify_case *wanted,
                          const struct half *half, const char *report, struct attestation_case *one)
{
    struct err err = {0};
    char said[SAID_SIZE];
    with_bfs_dir manifests = {0};
    with_strvec argv = {0};
    with_strvec overrides = {0};
    if (recover_open_folder(qualifying->request->environment, &manifests, &err) < 0) {
        qualify_fault(one, "RUN", "%s", err.msg);
        return -1;
    }
    const char *const words[] = {qualifying->fixture, "controller", half->signal, report,
                                 manifests.path};
    for (size_t i = 0; i < countof(words); i++) {
        strvec_push(&argv, words[i]);
    }
    push_inner(qualifying, wanted, report, &argv);
    pass_pin(qualifying->request->environment, &overrides);
    if (qualify_run_outer(qualifying, strvec_argv(&argv), &overrides, &outer_limits, said,
                          sizeof said, &err) < 0) {
        qualify_fault(one, "CONTROLLER", "%s: the controller did not do its work: %s: %s",
                      half->name, err.msg, said);
        return -1;
    }
    return 0;
}

/* Of the inner run, whose record lies in the state folder; NULL: a crash leaves no cgroup in it. */
static char *scope_of(const struct qualifying *qualifying, const char *run_id)
{
    struct err ignored = {0};
    with_archive archive = archive_open(qualifying->request->environment, &ignored);
    with_json record = archive ? archive_read(archive, run_id, &ignored) : NULL;
    return memory_copy_or_null(
        json_string_value(json_object_get(json_object_get(record, "cgroup"), "path")));
}

static const char *code_of(const json_t *report)
{
    return json_string_value(json_object_get(json_object_get(report, "error"), "code"));
}

static bool sent(const json_t *report, const char *signal)
{
    const json_t *signals =
        json_object_get(json_object_get(report, "termination"), "requested_signals");
    for (size_t i = 0; signal && i < json_array_size(signals); i++) {
        if (strcmp(json_string_value(json_array_get(signals, i)), signal) == 0) {
            return true;
        }
    }
    return !signal;
}

/* Adds to evidence; false: something is not so. `scope` is found by the first half, for both: their scopes
 * are made in the same place. */
static bool look(const struct qualifying *qualifying, const struct half *half, const json_t *report,
                 char **scope, struct attestation_case *one)
{
    json_t *evidence = json_object();
    json_object_set_new(one->evidence, half->name, evidence);
    const char *id = json_string_value(json_object_get(report, "run_id"));
    const char *code = code_of(report);
    if (!*scope && id) {
        *scope = scope_of(qualifying, id);
    }
    const struct {
        const char *name;
        bool is_so;
    } rows[] = {
        {"controller_dead", true}, /* it waited for that, and was waited for */
        {"scope_absent", id && qualify_no_scope(*scope, id)},
        {"descendants_absent", id && qualify_no_process(id)},
        {"watchdog_state_removed", id && qualify_no_manifest(qualifying, id)},
        {"signal_requested", sent(report, half->requested)},
        {"told_as_what_it_was", code && strcmp(code, half->code) == 0},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        if (!qualify_is_told(evidence, rows[i].name, rows[i].is_so)) {
            qualify_fault(one, "EVIDENCE", "%s: not so: %s", half->name, rows[i].name);
        }
    }
    bool valid = qualify_check_report(report, one);
    (void)qualify_is_told(evidence, "report_clean", valid);
    return valid && !one->error;
}

void qualify_parent_signal(struct qualifying *qualifying, const struct qualify_case *wanted,
                           struct attestation_case *one)
{
    struct qualify_case inner = *wanted;
    inner.tasks = INNER_TASKS;
    with_string scope = NULL;
    one->cleanup_verified = true;
    for (size_t i = 0; i < countof(halves) && !one->error; i++) {
        with_string path = memory_format("%s/%s", qualifying->reports.path, halves[i].file);
        int done = run_controller(qualifying, wanted, &halves[i], path, one);
        with_json report = done < 0 ? NULL : qualify_stored_report(qualifying, halves[i].file, one);
        if (!report || qualifying->die_of) {
            one->cleanup_verified = false;
            return;
        }
        attestation_case_forget(one);
        qualify_take_report(one, report);
        qualify_judge(&inner, report, one);
        one->cleanup_verified =
            look(qualifying, &halves[i], report, &scope, one) && one->cleanup_verified;
    }
}
