/* report-v1-priv.h
 *
 * The report `lamina.safe-runner-report/v1` as C structs; report-v1.c has its table. An object that
 * is built here owns everything in it and ends with record_done().
 */
#pragma once

#include "record.h"
#include "report.h"

struct report_sample {
    int64_t elapsed_ms;
    int64_t aggregate_rss_bytes;
    int64_t cgroup_memory_bytes;
    int64_t pids;
    int64_t temporary_bytes;
    int64_t temporary_inodes;
};

struct report_peaks {
    int64_t aggregate_rss_bytes;
    int64_t cgroup_memory_bytes;
    int64_t pids;
    int64_t temporary_bytes;
    int64_t temporary_inodes;
};

struct report_output {
    int64_t stdout_bytes;
    int64_t stderr_bytes;
    int64_t total_bytes;
    char *stdout_tail;
    char *stderr_tail;
    bool truncated;
};

struct report_termination {
    char *reason;
    char *limit;
    struct strvec requested_signals;
    struct maybe_int child_exit_code;
    char *child_signal;
    json_t *cgroup_events;
};

struct report_cleanup {
    bool attempted;
    struct int_list descendants_remaining;
    struct strvec managed_paths_remaining;
    struct maybe_bool scope_removed;
    struct maybe_bool temporary_directory_removed;
    struct maybe_bool lock_released;
    struct strvec errors;
    json_t *oracle_quota_abort; /* other runners' only: berm never sets it */
};

struct report_error {
    char *code;
    char *message;
};

extern const char *const outcome_names[]; /* by enum outcome, NULL at the end */

enum { TIER_NONE = -1, TIER_SMALL, TIER_MEDIUM, TIER_LARGE };
extern const char *const report_tier_names[]; /* NULL-terminated */

struct report_v1 {
    int64_t schema_version;
    char *run_id;
    char *report_file;
    int outcome;
    int tier;
    struct strvec command;
    char *cwd;
    char *started_at;
    char *finished_at;
    int64_t duration_ms;
    json_t *adapter;
    json_t *limits;
    json_t *preflight;
    struct object_list samples; /* struct report_sample */
    struct report_peaks peaks;
    json_t *descendants;
    struct report_output output;
    struct report_termination termination;
    struct report_cleanup cleanup;
    struct report_error *error;
};

/* Pointers to the kept descendants by pid; how many. */
int report_sort_descendants(const struct supervise_ending *ending,
                            const struct supervise_descendant *sorted[DESCENDANT_COUNT]);
char *report_date(int64_t realtime_ns);

/* Fill a zeroed report from the facts and their verdict; record_done() ends it. */
void report_v1_fill(struct report_v1 *report, const struct report_facts *facts,
                    const struct verdict *verdict);
