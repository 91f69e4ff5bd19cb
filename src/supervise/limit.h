/* limit.h
 *
 * The one table of limits: what a run may be stopped at, and the two settings that are told beside them.
 * A new limit is a row here, with a gauge in observe.c when it is sampled; values, names, samples,
 * the pace of looking, the grace, both records, `--explain` and the summary follow from the row. What a
 * request may ask of it stands in RUN_LIMITS (run.h), and what it is by default in run/limits.c.
 *
 * Calling sequence
 *   supervise_limit(LIMIT_MEMORY)->name            a row
 *   supervise_limit_value(&limits, LIMIT_MEMORY)   what is in force, in the row's unit
 *   supervise_limit_set(&limits, LIMIT_MEMORY, n)
 *
 * Limitations  those without a row end a run and have no value: nobody can raise them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enumerator, name, told, key, unit, member, bound, gauge, option, remedy)
 *   name    in termination.limit; NULL: a setting, which ends no run
 *   told    in berm's own record and in --explain
 *   key     in the published report; NULL: it has none there
 *   unit    bytes, count or ms, as it is told
 *   member  of struct supervise_limits; in ns where the unit is ms
 *   bound   MOST: stopped above it; LEAST: stopped below it; FULL: stopped when it is reached, since
 *           the kernel itself lets nothing beyond
 *   gauge   the function of observe.c that samples it; NULL: not sampled
 *   option  what sets it; NULL: nothing does
 *   remedy  what a person can do who meets it; NULL: nothing but less work
 */
#define SUPERVISE_LIMITS(X)                                                                        \
    X(LIMIT_MEMORY, "memory", "memory", "memory_max_bytes", bytes, memory_bytes, MOST,             \
      gauge_memory, "--memory", NULL)                                                              \
    X(LIMIT_MEMORY_HIGH, "sustained_high_memory", "memory high", "memory_high_bytes", bytes,       \
      memory_high_bytes, MOST, NULL, "--memory-high",                                              \
      "a higher mark: --memory-high SIZE, or more time above it: --high-samples N")                \
    X(LIMIT_PIDS, "pids", "tasks", "pids_max", count, tasks, MOST, gauge_tasks, "--tasks",         \
      "more tasks: --tasks N")                                                                     \
    X(LIMIT_TIMEOUT, "timeout", "timeout", "timeout_ms", ms, timeout_ns, MOST, NULL, "--timeout",  \
      "more time: --timeout, or none")                                                             \
    X(LIMIT_OUTPUT, "output", "output", "output_max_bytes", bytes, output_bytes, MOST, NULL,       \
      "--output-max", "more output: --output-max, or leave it out")                                \
    X(LIMIT_HOST_RESERVE, "host_reserve", "host reserve", "os_reserve_bytes", bytes,               \
      reserve_bytes, LEAST, gauge_host, NULL,                                                      \
      "end other programs, or lower --memory so that it stops first")                              \
    X(LIMIT_TEMPORARY, "temporary_disk", "temporary", "temporary_max_bytes", bytes,                \
      temporary_bytes, FULL, gauge_temporary_bytes, "--temporary",                                 \
      "more temporary space: --temporary SIZE")                                                    \
    X(LIMIT_TEMPORARY_FILES, "temporary_inodes", "temporary files", "temporary_max_inodes", count, \
      temporary_files, FULL, gauge_temporary_files, "--temporary-files",                           \
      "more temporary files: --temporary-files N")                                                 \
    X(LIMIT_SETUP, "setup_timeout", "set-up", NULL, ms, setup_timeout_ns, MOST, NULL, NULL, NULL)  \
    X(LIMIT_GRACE, NULL, "grace", "graceful_stop_ms", ms, grace_ns, MOST, NULL, "--grace-ms",      \
      NULL)                                                                                        \
    X(LIMIT_SAMPLE, NULL, "sample", "sample_interval_ms", ms, sample_ns, MOST, NULL,               \
      "--sample-ms", NULL)                                                                         \
    X(LIMIT_HIGH_SAMPLES, NULL, "high samples", "sustained_high_samples", count, high_samples,     \
      MOST, NULL, "--high-samples", NULL)

enum supervise_limit {
    LIMIT_NONE,
    LIMIT_OUTPUT_IO, /* the kept output could not be written */
    LIMIT_DETACHED,  /* somebody outlived the first process, where that is a failure */
    LIMIT_DAEMON,    /* a managed daemon did not end within the grace */
    LIMIT_LINKS,     /* a link in the temporary folders, or it cannot be ruled out */
#define X(enumerator, ...) enumerator,
    SUPERVISE_LIMITS(X)
#undef X
        LIMIT_COUNT
};

struct supervise_limits {
#define X(enumerator, name, told, key, unit, member, ...) int64_t member;
    SUPERVISE_LIMITS(X)
#undef X
    /* memory: aggregate RSS of the tree; memory_high: what it may hold for high_samples samples in a
     * row and no longer (sustain-priv.h); tasks: threads of the tree; output: both streams together;
     * reserve: MemAvailable of the host; grace: between SIGTERM and SIGKILL, 0 is to kill at once;
     * sample: at least 10 ms, shortened by itself as a limit comes near. */
    int64_t kill_budget_ns; /* how long killing may take before survivors are given up on */
    bool one_deadline;      /* the timeout includes creation (plain runs) */
};

struct limit {
    const char *name; /* "": none, NULL: ends no run */
    const char *told; /* NULL: has no value */
    const char *key;
    const char *unit; /* "bytes", "count" or "ms" */
    const char *option;
    const char *remedy;
    bool least;
    bool full;
    bool is_time;
    size_t offset;
};
const struct limit *supervise_limit(enum supervise_limit limit);
/* Of a limit that has a value, in its unit. */
int64_t supervise_limit_value(const struct supervise_limits *limits, enum supervise_limit limit);
void supervise_limit_set(struct supervise_limits *limits, enum supervise_limit limit,
                         int64_t value);
