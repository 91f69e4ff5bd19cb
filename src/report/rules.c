/* rules.c
 *
 * What a report must satisfy beyond the types of its fields. The rules are the published ones and no
 * more: what another writer may write passes here.
 */
#include "rules-priv.h"

#include <string.h>

#include "date-priv.h"
#include "validate.h"

#define ONLY(outcome) (1u << (outcome))
#define LAUNCHED                                                                                   \
    (ONLY(OUTCOME_SUCCESS) | ONLY(OUTCOME_COMMAND_FAILED) | ONLY(OUTCOME_SAFETY_LIMIT_EXCEEDED) |  \
     ONLY(OUTCOME_INTERRUPTED))
#define ANY (LAUNCHED | ONLY(OUTCOME_PREFLIGHT_REFUSED) | ONLY(OUTCOME_INTERNAL_ERROR))

struct rule {
    const char *name;
    unsigned outcomes; /* of which it is asked */
    const char *path;
    const char *demand;
    bool (*holds)(const struct report_v1 *report);
};

static bool equals(const char *text, const char *wanted)
{
    return text && strcmp(text, wanted) == 0;
}

/* What JavaScript takes for true, since that is what the published rule says. */
static bool is_truthy(const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        return json_string_length(value) > 0;
    case JSON_INTEGER:
        return json_integer_value(value) != 0;
    case JSON_REAL:
        return json_real_value(value) != 0;
    case JSON_TRUE:
    case JSON_OBJECT:
    case JSON_ARRAY:
        return true;
    case JSON_FALSE:
    case JSON_NULL:
    default:
        return false;
    }
}

static bool started_on_a_date(const struct report_v1 *report)
{
    return date_is_valid(span_of_string(report->started_at));
}

static bool finished_on_a_date(const struct report_v1 *report)
{
    return date_is_valid(span_of_string(report->finished_at));
}

static bool is_one_of(const json_t *value, json_int_t a, json_int_t b)
{
    return json_is_integer(value) &&
           (json_integer_value(value) == a || json_integer_value(value) == b);
}

static bool names_its_stdout_tail(const struct report_v1 *report)
{
    return !report->limits ||
           is_one_of(json_object_get(report->limits, "stdout_tail_max_bytes"), 8192, 1048576);
}

static bool names_its_stderr_tail(const struct report_v1 *report)
{
    return !report->limits ||
           is_one_of(json_object_get(report->limits, "stderr_tail_max_bytes"), 8192, 8192);
}

static const struct rule shapes[] = {
    {"started-date", ANY, "started_at", "is no date and time", started_on_a_date},
    {"finished-date", ANY, "finished_at", "is no date and time", finished_on_a_date},
    {"stdout-tail", ANY, "limits.stdout_tail_max_bytes", "must be 8192 or 1048576",
     names_its_stdout_tail},
    {"stderr-tail", ANY, "limits.stderr_tail_max_bytes", "must be 8192", names_its_stderr_tail},
};

static bool has_an_adapter(const struct report_v1 *report)
{
    return is_truthy(json_object_get(report->adapter, "id"));
}

static bool has_limits(const struct report_v1 *report)
{
    return report->limits;
}

static bool was_allowed(const struct report_v1 *report)
{
    return json_is_true(json_object_get(report->preflight, "ok"));
}

static bool was_observed(const struct report_v1 *report)
{
    return report->samples.count > 0;
}

static bool was_cleaned_up(const struct report_v1 *report)
{
    return report->cleanup.attempted;
}

static bool left_no_process(const struct report_v1 *report)
{
    return report->cleanup.descendants_remaining.count == 0;
}

static bool left_no_path(const struct report_v1 *report)
{
    return report->cleanup.managed_paths_remaining.count == 0;
}

static bool is_yes(struct maybe_bool maybe)
{
    return maybe.known && maybe.value;
}

static bool removed_its_scope(const struct report_v1 *report)
{
    return is_yes(report->cleanup.scope_removed);
}

static bool removed_its_directory(const struct report_v1 *report)
{
    return is_yes(report->cleanup.temporary_directory_removed);
}

static bool cleaned_up_without_error(const struct report_v1 *report)
{
    return report->cleanup.errors.count == 0;
}

static bool has_completed(const struct report_v1 *report)
{
    return equals(report->termination.reason, "completed");
}

static bool has_failed(const struct report_v1 *report)
{
    return equals(report->termination.reason, "command_failed");
}

static bool has_a_failing_code(const struct report_v1 *report)
{
    return report->termination.child_exit_code.known &&
           report->termination.child_exit_code.value != 0;
}

static bool has_hit_its_limit(const struct report_v1 *report)
{
    return equals(report->termination.reason, "safety_limit_exceeded");
}

static bool names_its_limit(const struct report_v1 *report)
{
    return report->termination.limit && report->termination.limit[0] != '\0';
}

static bool was_interrupted(const struct report_v1 *report)
{
    return equals(report->termination.reason, "interrupted");
}

static bool was_interrupted_by_signal(const struct report_v1 *report)
{
    return equals(report->termination.limit, "signal");
}

static bool was_not_allowed(const struct report_v1 *report)
{
    return json_is_false(json_object_get(report->preflight, "ok"));
}

bool rules_say_in_progress(const struct report_v1 *report)
{
    return report->error && equals(report->error->code, "LAMINA_SAFE_RUN_IN_PROGRESS");
}

static bool is_provisional_only_as_internal_error(const struct report_v1 *report)
{
    return !rules_say_in_progress(report) || report->outcome == (int)OUTCOME_INTERNAL_ERROR;
}

static bool is_provisional_only_while_running(const struct report_v1 *report)
{
    return !rules_say_in_progress(report) || equals(report->termination.reason, "run_in_progress");
}

static bool adds_up(const struct report_v1 *report)
{
    int64_t sum;
    return !__builtin_add_overflow(report->output.stdout_bytes, report->output.stderr_bytes,
                                   &sum) &&
           sum == report->output.total_bytes;
}

#define PEAK_IS_HIGHEST(member)                                                                    \
    static bool peaks_in_##member(const struct report_v1 *report)                                  \
    {                                                                                              \
        const struct report_sample *samples = report->samples.objects;                             \
        for (size_t i = 0; i < report->samples.count; i++) {                                       \
            if (samples[i].member > report->peaks.member) {                                        \
                return false;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
PEAK_IS_HIGHEST(aggregate_rss_bytes)
PEAK_IS_HIGHEST(cgroup_memory_bytes)
PEAK_IS_HIGHEST(pids)
PEAK_IS_HIGHEST(temporary_bytes)
PEAK_IS_HIGHEST(temporary_inodes)

static const struct rule rules[] = {
    {"adapter", LAUNCHED, "adapter.id", "must name the adapter", has_an_adapter},
    {"limits", LAUNCHED, "limits", "must not be null", has_limits},
    {"preflight-ok", LAUNCHED, "preflight.ok", "must be true", was_allowed},
    {"observed", LAUNCHED, "samples", "must hold at least one", was_observed},
    {"cleanup-attempted", LAUNCHED, "cleanup.attempted", "must be true", was_cleaned_up},
    {"no-process-left", LAUNCHED, "cleanup.descendants_remaining", "must be empty",
     left_no_process},
    {"no-path-left", LAUNCHED, "cleanup.managed_paths_remaining", "must be empty", left_no_path},
    {"scope-removed", LAUNCHED, "cleanup.scope_removed", "must be true", removed_its_scope},
    {"directory-removed", LAUNCHED, "cleanup.temporary_directory_removed", "must be true",
     removed_its_directory},
    {"no-cleanup-error", LAUNCHED, "cleanup.errors", "must be empty", cleaned_up_without_error},
    {"success-reason", ONLY(OUTCOME_SUCCESS), "termination.reason", "must be completed",
     has_completed},
    {"failure-reason", ONLY(OUTCOME_COMMAND_FAILED), "termination.reason", "must be command_failed",
     has_failed},
    {"failure-code", ONLY(OUTCOME_COMMAND_FAILED), "termination.child_exit_code",
     "must be an integer that is not 0", has_a_failing_code},
    {"limit-reason", ONLY(OUTCOME_SAFETY_LIMIT_EXCEEDED), "termination.reason",
     "must be safety_limit_exceeded", has_hit_its_limit},
    {"limit-named", ONLY(OUTCOME_SAFETY_LIMIT_EXCEEDED), "termination.limit", "must name the limit",
     names_its_limit},
    {"interrupt-reason", ONLY(OUTCOME_INTERRUPTED), "termination.reason", "must be interrupted",
     was_interrupted},
    {"interrupt-limit", ONLY(OUTCOME_INTERRUPTED), "termination.limit", "must be signal",
     was_interrupted_by_signal},
    {"refusal", ONLY(OUTCOME_PREFLIGHT_REFUSED), "preflight.ok", "must be false", was_not_allowed},
    {"provisional-outcome", ANY, "outcome", "must be internal_error while the run is in progress",
     is_provisional_only_as_internal_error},
    {"provisional-reason", ANY, "termination.reason",
     "must be run_in_progress while the run is in progress", is_provisional_only_while_running},
    {"output-sum", ANY, "output.total_bytes", "must be the sum of both streams", adds_up},
    {"peak-rss", ANY, "peaks.aggregate_rss_bytes", "must not be below a sample",
     peaks_in_aggregate_rss_bytes},
    {"peak-cgroup", ANY, "peaks.cgroup_memory_bytes", "must not be below a sample",
     peaks_in_cgroup_memory_bytes},
    {"peak-pids", ANY, "peaks.pids", "must not be below a sample", peaks_in_pids},
    {"peak-temporary-bytes", ANY, "peaks.temporary_bytes", "must not be below a sample",
     peaks_in_temporary_bytes},
    {"peak-temporary-inodes", ANY, "peaks.temporary_inodes", "must not be below a sample",
     peaks_in_temporary_inodes},
};

static size_t ask(const struct rule *list, size_t count, const struct report_v1 *report,
                  const char *prefix, struct strvec *faults)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if ((list[i].outcomes & ONLY(report->outcome)) && !list[i].holds(report)) {
            strvec_push_format(faults, "%s%s: %s [%s]", prefix, list[i].path, list[i].demand,
                               list[i].name);
            found++;
        }
    }
    return found;
}

size_t rules_ask(const struct report_v1 *report, const char *prefix, struct strvec *faults)
{
    size_t found = ask(shapes, countof(shapes), report, prefix, faults);
    return found > 0 ? found : ask(rules, countof(rules), report, prefix, faults);
}

static void document(const struct rule *list, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_format(out, "| `%s` | ", list[i].name);
        if (list[i].outcomes == ANY) {
            buf_add_string(out, "all");
        } else if (list[i].outcomes == LAUNCHED) {
            buf_add_string(out, "of a command that ran");
        } else {
            buf_add_string(out, outcome_name((enum outcome)__builtin_ctz(list[i].outcomes)));
        }
        buf_add_format(out, " | `%s` %s |\n", list[i].path, list[i].demand);
    }
}

void validate_document_report(struct buf *out)
{
    buf_add_string(out, "| rule | outcomes | demands |\n| --- | --- | --- |\n");
    document(shapes, countof(shapes), out);
    document(rules, countof(rules), out);
}
