#include "report-v1-priv.h"

#include "validate.h"

const char *const outcome_names[] = {
    "success",
    "command_failed",
    "safety_limit_exceeded",
    "preflight_refused",
    "interrupted",
    "internal_error",
    NULL,
};
const char *const report_tier_names[] = {"small", "medium", "large", NULL};

#define COUNT(type, member, text) FIELD(type, member, FIELD_INT, SENSITIVITY_PUBLIC, .doc = (text))

static const struct record_field sample_fields[] = {
    COUNT(struct report_sample, elapsed_ms, "since the command was created"),
    COUNT(struct report_sample, aggregate_rss_bytes, "resident memory, summed over the tree"),
    COUNT(struct report_sample, cgroup_memory_bytes, "memory.current; 0 without a cgroup"),
    COUNT(struct report_sample, pids, "tasks: threads count"),
    COUNT(struct report_sample, temporary_bytes, "private temporary space; 0 without one"),
    COUNT(struct report_sample, temporary_inodes, "likewise"),
};
static const struct record sample_record = RECORD(struct report_sample, "sample", sample_fields);

static const struct record_field peaks_fields[] = {
    COUNT(struct report_peaks, aggregate_rss_bytes, "highest resident memory of the tree"),
    COUNT(struct report_peaks, cgroup_memory_bytes, "memory.peak; 0 without a cgroup"),
    COUNT(struct report_peaks, pids, "most tasks at once"),
    COUNT(struct report_peaks, temporary_bytes, "most private temporary space"),
    COUNT(struct report_peaks, temporary_inodes, "likewise"),
};
static const struct record peaks_record =
    RECORD(struct report_peaks, "peaks", peaks_fields,
           .doc = "No peak is below a sample that the report holds.");

static const struct record_field output_fields[] = {
    COUNT(struct report_output, stdout_bytes, "what the command wrote, exactly"),
    COUNT(struct report_output, stderr_bytes, "likewise"),
    COUNT(struct report_output, total_bytes, "the sum of both"),
    FIELD(struct report_output, stdout_tail, FIELD_STRING, SENSITIVITY_OUTPUT,
          .doc = "the end of it, redacted, as valid UTF-8"),
    FIELD(struct report_output, stderr_tail, FIELD_STRING, SENSITIVITY_OUTPUT, .doc = "likewise"),
    FIELD(struct report_output, truncated, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "a tail holds less than its whole stream"),
};
static const struct record output_record = RECORD(struct report_output, "output", output_fields);

static const struct record_field termination_fields[] = {
    FIELD(struct report_termination, reason, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "why the run ended; null while nobody knows"),
    FIELD(struct report_termination, limit, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "the limit that ended it, `signal` when it was interrupted"),
    FIELD(struct report_termination, requested_signals, FIELD_STRINGS, SENSITIVITY_PUBLIC,
          .doc = "signals that were sent to the tree, in order, each once"),
    FIELD(struct report_termination, child_exit_code, FIELD_MAYBE_INT, SENSITIVITY_PUBLIC,
          .minimum = INT64_MIN, .maximum = INT64_MAX,
          .doc = "of the first process; 128+n when signal n ended it"),
    FIELD(struct report_termination, child_signal, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "the signal that ended the first process, `SIGSEGV`"),
    FIELD(struct report_termination, cgroup_events, FIELD_OPEN, SENSITIVITY_PUBLIC,
          .doc = "memory and pids events of the cgroup; empty without one"),
};
static const struct record termination_record =
    RECORD(struct report_termination, "termination", termination_fields);

static const struct record_field cleanup_fields[] = {
    FIELD(struct report_cleanup, attempted, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "something had been started, and its end was seen to"),
    FIELD(struct report_cleanup, descendants_remaining, FIELD_INTS, SENSITIVITY_PUBLIC,
          .doc = "process ids that are known to be left"),
    FIELD(struct report_cleanup, managed_paths_remaining, FIELD_STRINGS, SENSITIVITY_PATH,
          .doc = "paths of a managed daemon that are left"),
    FIELD(struct report_cleanup, scope_removed, FIELD_MAYBE_BOOL, SENSITIVITY_PUBLIC,
          .doc = "nothing is left of what held the run; see below for runs without a scope"),
    FIELD(struct report_cleanup, temporary_directory_removed, FIELD_MAYBE_BOOL, SENSITIVITY_PUBLIC,
          .doc = "no private temporary directory is left"),
    FIELD(struct report_cleanup, lock_released, FIELD_MAYBE_BOOL, SENSITIVITY_PUBLIC,
          .doc = "the host-wide lock; null when the run took none"),
    FIELD(struct report_cleanup, errors, FIELD_STRINGS, SENSITIVITY_TEXT,
          .doc = "what could not be cleaned up, and why"),
    FIELD(struct report_cleanup, oracle_quota_abort, FIELD_MAYBE_OPEN, SENSITIVITY_TEXT,
          .optional = true, .doc = "of another writer of this format; berm never writes it"),
};
static const struct record cleanup_record =
    RECORD(struct report_cleanup, "cleanup", cleanup_fields);

static const struct record_field error_fields[] = {
    FIELD(struct report_error, code, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "`LAMINA_SAFE_` and a name"),
    FIELD(struct report_error, message, FIELD_STRING, SENSITIVITY_TEXT, .doc = "for a person"),
};
static const struct record error_record = RECORD(struct report_error, "error", error_fields);

static const struct record_field report_fields[] = {
    FIELD_FIXED("schema", "lamina.safe-runner-report/v1", .doc = "names this format"),
    FIELD(struct report_v1, schema_version, FIELD_INT, SENSITIVITY_PUBLIC, .minimum = 1,
          .maximum = 1, .doc = "of this format"),
    FIELD(struct report_v1, run_id, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = 1,
          .doc = "the run that owns the report"),
    FIELD(struct report_v1, report_file, FIELD_MAYBE_STRING, SENSITIVITY_PATH,
          .doc = "the slot that was asked for; null when none was"),
    FIELD(struct report_v1, outcome, FIELD_ENUM, SENSITIVITY_PUBLIC, .names = outcome_names,
          .doc = "how the run ended"),
    FIELD(struct report_v1, tier, FIELD_MAYBE_ENUM, SENSITIVITY_PUBLIC, .names = report_tier_names,
          .doc = "null for a plain run"),
    FIELD(struct report_v1, command, FIELD_STRINGS, SENSITIVITY_ARGV,
          .doc = "the argument list, redacted"),
    FIELD(struct report_v1, cwd, FIELD_STRING, SENSITIVITY_PATH, .doc = "where the command ran"),
    FIELD(struct report_v1, started_at, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "date and time, RFC 3339"),
    FIELD(struct report_v1, finished_at, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "likewise; of a provisional report when it was written"),
    COUNT(struct report_v1, duration_ms, "of the whole run, by a clock that nobody can set"),
    FIELD(struct report_v1, adapter, FIELD_MAYBE_OPEN, SENSITIVITY_TEXT,
          .doc = "how the run was contained; `id` names the way"),
    FIELD(struct report_v1, limits, FIELD_MAYBE_OPEN, SENSITIVITY_PUBLIC,
          .doc = "the effective limits; null values are no limit"),
    FIELD(struct report_v1, preflight, FIELD_MAYBE_OPEN, SENSITIVITY_TEXT,
          .doc = "what was checked before the start; `ok` says whether the run was allowed"),
    FIELD(struct report_v1, samples, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .record = &sample_record,
          .doc = "the newest 64 observations of the tree"),
    FIELD(struct report_v1, peaks, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &peaks_record,
          .doc = "over the whole run"),
    FIELD(struct report_v1, descendants, FIELD_OPENS, SENSITIVITY_TEXT,
          .doc = "processes that were seen, by pid; no command lines"),
    FIELD(struct report_v1, output, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &output_record,
          .doc = "what the command wrote"),
    FIELD(struct report_v1, termination, FIELD_OBJECT, SENSITIVITY_PUBLIC,
          .record = &termination_record, .doc = "why and how it ended"),
    FIELD(struct report_v1, cleanup, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &cleanup_record,
          .doc = "what was left behind"),
    FIELD(struct report_v1, error, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .record = &error_record,
          .doc = "null only when there is nothing to say"),
};
const struct record report_v1_record = RECORD(struct report_v1, "lamina.safe-runner-report/v1",
                                              report_fields, .doc = "The report of one run.");
