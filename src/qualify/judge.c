/* What a case must have come to. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "qualify-priv.h"
#include "text.h"
#include "validate.h"

enum { MESSAGE_SIZE = 480, REPORT_MAX_BYTES = 16 << 20 };

void qualify_fault(struct attestation_case *one, const char *name, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;
    if (one->error) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    with_buf text = buf_new(MESSAGE_SIZE);
    text_to_utf8(&text, span_of_string(message));
    one->error = memory_new(sizeof *one->error);
    one->error->code = memory_format("LAMINA_SAFE_SELF_TEST_%s", name);
    one->error->message = memory_copy_string(buf_string(&text));
}

bool qualify_is_told(json_t *evidence, const char *name, bool is_so)
{
    json_object_set_new(evidence, name, json_boolean(is_so));
    return is_so;
}

static const json_t *at(const json_t *report, const char *part, const char *name)
{
    return json_object_get(json_object_get(report, part), name);
}

static const char *text_at(const json_t *report, const char *part, const char *name)
{
    return json_string_value(at(report, part, name));
}

static struct maybe_int peak(const json_t *report, const char *name)
{
    const json_t *value = at(report, "peaks", name);
    return (struct maybe_int){json_is_integer(value), json_integer_value(value)};
}

void qualify_take_report(struct attestation_case *one, const json_t *report)
{
    const json_t *signals = at(report, "termination", "requested_signals");
    one->outcome = memory_copy_or_null(json_string_value(json_object_get(report, "outcome")));
    one->termination_reason = memory_copy_or_null(text_at(report, "termination", "reason"));
    one->limit = memory_copy_or_null(text_at(report, "termination", "limit"));
    one->peak_rss_bytes = peak(report, "aggregate_rss_bytes");
    one->peak_pids = peak(report, "pids");
    for (size_t i = 0; i < json_array_size(signals); i++) {
        strvec_push(&one->requested_signals, json_string_value(json_array_get(signals, i)));
    }
}

/* --- nothing is left, by the report -------------------------------------------------------------- */

static bool is_empty(const json_t *list)
{
    return json_is_array(list) && json_array_size(list) == 0;
}

static bool is_clean(const json_t *report)
{
    return json_is_true(at(report, "cleanup", "attempted")) &&
           is_empty(at(report, "cleanup", "descendants_remaining")) &&
           is_empty(at(report, "cleanup", "managed_paths_remaining")) &&
           json_is_true(at(report, "cleanup", "scope_removed")) &&
           json_is_true(at(report, "cleanup", "temporary_directory_removed")) &&
           is_empty(at(report, "cleanup", "errors"));
}

bool qualify_check_report(const json_t *report, struct attestation_case *one)
{
    with_strvec faults = {0};
    if (validate_report(report, &faults) > 0) {
        qualify_fault(one, "REPORT_INVALID", "its report is not valid: %s", faults.strings[0]);
        return false;
    }
    if (!is_clean(report)) {
        qualify_fault(one, "CLEANUP_UNPROVEN", "its report does not prove that nothing was left");
        return false;
    }
    return true;
}

json_t *qualify_stored_report(const struct qualifying *qualifying, const char *file,
                              struct attestation_case *one)
{
    const struct bfs_rule rule = {.maximum_bytes = REPORT_MAX_BYTES};
    struct err err = {0};
    char hex[HASH_HEX_SIZE];
    with_buf text = buf_new(REPORT_MAX_BYTES);
    with_bfs_file opened = {0};
    json_t *report = NULL;
    if (bfs_file_open(&qualifying->reports, file, &rule, &opened, &err) < 0 ||
        bfs_file_read(&opened, &text, &err) < 0 || bfs_file_hash(&opened, hex, &err) < 0 ||
        !(report = json_read(buf_span(&text), &json_budget_report, &err))) {
        qualify_fault(one, "REPORT_MISSING", "%s", err.msg);
        return NULL;
    }
    struct attestation_report *reports =
        memory_resize(one->reports.objects, (one->reports.count + 1) * sizeof *reports);
    reports[one->reports.count++] =
        (struct attestation_report){memory_copy_string(file), memory_copy_string(hex)};
    one->reports.objects = reports;
    attestation_case_digest(one);
    return report;
}

/* --- against the row ----------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool holds(const struct strvec *signals, const char *signal)
{
    for (size_t i = 0; i < signals->count; i++) {
        if (strcmp(signals->strings[i], signal) == 0) {
            return true;
        }
    }
    return false;
}

static void judge_tasks(const struct qualify_case *wanted, const json_t *report,
                        struct attestation_case *one)
{
    int64_t most = json_integer_value(at(report, "limits", "pids_max"));
    int64_t seen = one->peak_pids.known ? one->peak_pids.value : -1;
    if (most != wanted->tasks) {
        qualify_fault(one, "LIMIT", "its limit of tasks was %lld, not %lld", (long long)most,
                      (long long)wanted->tasks);
    } else if (seen < wanted->least_pids || seen > most) {
        qualify_fault(one, "TASKS", "%lld tasks were seen at one time; it takes %lld to %lld",
                      (long long)seen, (long long)wanted->least_pids, (long long)most);
    } else if (wanted->spares_pids &&
               json_integer_value(
                   json_object_get(at(report, "termination", "cgroup_events"), "pids_max")) != 0) {
        qualify_fault(one, "TASKS", "it reached the limit of tasks, and was to reach another");
    }
}

void qualify_judge(const struct qualify_case *wanted, const json_t *report,
                   struct attestation_case *one)
{
    const char *message = text_at(report, "error", "message");
    bool at_limit =
        same(one->limit, wanted->limit) || (wanted->or_limit && same(one->limit, wanted->or_limit));
    if (!same(one->outcome, wanted->outcome) || !at_limit) {
        qualify_fault(one, "OUTCOME", "it ended as %s (%s), not as %s (%s)%s%s",
                      one->outcome ? one->outcome : "nothing", one->limit ? one->limit : "no limit",
                      wanted->outcome, wanted->limit ? wanted->limit : "no limit",
                      message ? ": " : "", message ? message : "");
    }
    if (wanted->signal && !holds(&one->requested_signals, wanted->signal)) {
        qualify_fault(one, "SIGNAL", "%s was not sent", wanted->signal);
    }
    judge_tasks(wanted, report, one);
    if (wanted->look && !wanted->look(report, one->evidence)) {
        qualify_fault(one, "EVIDENCE", "what it said is not what it was to say");
    }
}
