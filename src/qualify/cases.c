/* The eleven cases as a table. Limits are those of the base unless the row says another; a limit of tasks is the
 * payload's own, so that with bubblewrap and the launcher it is 32, and 24 in the storm (ST-1). The time of a
 * case that is about something else is long enough for a slow and busy host. */
#include <string.h>

#include "qualify-priv.h"

enum {
    TASKS = QUALIFY_TASKS_MOST - QUALIFY_SANDBOX_TASKS,
    STORM = QUALIFY_STORM_MOST - QUALIFY_SANDBOX_TASKS,
};

/* Memory in MiB, output and temporary space in KiB, times in ms. */
#define ROW(run_, mode_, memory, high, tasks_, timeout, output, temporary, grace, outcome_,        \
            limit_, ...)                                                                           \
    {                                                                                              \
        .run = (run_), .mode = (mode_), .memory_bytes = INT64_C(1048576) * (memory),               \
        .memory_high_bytes = INT64_C(1048576) * (high), .tasks = (tasks_),                         \
        .timeout_ms = (timeout), .output_bytes = INT64_C(1024) * (output),                         \
        .temporary_bytes = INT64_C(1024) * (temporary), .grace_ms = (grace),                       \
        .outcome = (outcome_), .limit = (limit_), __VA_ARGS__                                      \
    }
#define STOPPED "safety_limit_exceeded"

/* The fixture says it in one line, and its exit status says the same. */
static bool look_for_escape(const json_t *report, json_t *evidence)
{
    const char *tail =
        json_string_value(json_object_get(json_object_get(report, "output"), "stdout_tail"));
    const char *last = tail ? strrchr(tail, '{') : NULL;
    struct err ignored = {0};
    with_json said = last ? json_read(span_of_string(last), &json_budget_control, &ignored) : NULL;
    return qualify_is_told(evidence, "scope_escape_refused",
                           json_is_true(json_object_get(said, "scope_escape_refused")));
}

const struct qualify_case qualify_cases[CASE_COUNT] = {
    /* clang-format off */
    [CASE_NORMAL] = ROW(qualify_single, "escape", 192, 152, TASKS, 10000, 256, 4096, 100, "success", NULL,
                        .look = look_for_escape),
    [CASE_DIRECT_MEMORY] = ROW(qualify_single, "memory", 112, 88, TASKS, 10000, 256, 4096, 100, STOPPED, "memory",
                               .or_limit = "sustained_high_memory"),
    /* No child alone comes to the limit. */
    [CASE_CHILD_MEMORY] = ROW(qualify_single, "children", 192, 152, TASKS, 10000, 256, 4096, 100, STOPPED, "memory",
                              .or_limit = "sustained_high_memory", .least_pids = 3, .spares_pids = true),
    [CASE_IGNORED_TERM] = ROW(qualify_single, "ignore-term", 192, 152, TASKS, 300, 256, 4096, 75, STOPPED, "timeout",
                              .signal = "SIGKILL"),
    [CASE_TIMEOUT] = ROW(qualify_single, "hang", 192, 152, TASKS, 300, 256, 4096, 100, STOPPED, "timeout"),
    [CASE_SPAWNING] = ROW(qualify_single, "storm", 192, 152, STORM, 10000, 256, 4096, 100, STOPPED, "pids"),
    [CASE_FLOOD] = ROW(qualify_single, "flood", 192, 152, TASKS, 10000, 64, 4096, 100, STOPPED, "output"),
    [CASE_TEMPORARY] = ROW(qualify_single, "grow", 192, 152, TASKS, 10000, 256, 1024, 100, STOPPED, "temporary_disk"),
    [CASE_PARENT_SIGNAL] = ROW(qualify_parent_signal, "mark", 192, 152, TASKS, 5000, 64, 1024, 75, "interrupted", "signal"),
    [CASE_STALE_RECORD] = ROW(qualify_stale_record, NULL, 0, 0, 0, 0, 0, 0, 0, "preflight_refused", NULL),
    [CASE_DETACHED] = ROW(qualify_single, "detach", 192, 152, TASKS, 10000, 256, 4096, 100, STOPPED,
                          "detached_descendant", .least_pids = 2),
    /* clang-format on */
};
