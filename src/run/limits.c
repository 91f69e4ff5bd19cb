#include "run-priv.h"

#include "memory.h"

enum { GRACE_MS = 2000, SAMPLE_MS = 250, SETUP_MS = 10000, KILL_BUDGET_MS = 5000 };

static void note(struct run_limits *limits, const char *name, const char *unit, int64_t value,
                 const char *source)
{
    BUG_IF(limits->count >= LIMIT_FACT_COUNT);
    limits->facts[limits->count++] = (struct limit_fact){
        .name = name, .unit = unit, .value = value, .seen = -1, .source = source};
}

static void decide_memory(const struct run_request *request, const struct envelope *envelope,
                          struct run_limits *limits, struct checks *checks)
{
    bool given = request->memory_bytes > 0;
    const char *source = given ? "--memory" : "default: available less the reserve";
    int64_t bytes = given ? request->memory_bytes : envelope->plain_memory_bytes;
    if (request->authority == AUTHORITY_DECLARED) {
        int64_t ceiling = envelope->tier.memory_max_bytes;
        if (!given) {
            source = "ceiling of declared work";
            bytes = ceiling;
        } else if (bytes > ceiling) {
            checks_add_take(
                checks, CHECK_CEILING, false,
                memory_format("--memory %lld is above its ceiling", (long long)bytes),
                memory_format("declared work may use at most %lld bytes here", (long long)ceiling),
                memory_copy_string("lower --memory; limits of declared work only go "
                                   "down"));
        }
    }
    envelope_check_memory(envelope, bytes, source, checks);
    limits->values.memory_bytes = bytes;
    note(limits, "memory", "bytes", bytes, source);
}

static int64_t decide(const struct run_request *request, int64_t asked, const char *option,
                      int64_t fallback, int64_t ceiling, const char **ret_source,
                      struct checks *checks)
{
    bool declared = request->authority == AUTHORITY_DECLARED;
    if (asked <= 0) {
        *ret_source = declared ? "ceiling of declared work" : "default";
        return declared ? ceiling : fallback;
    }
    *ret_source = option;
    if (declared && asked > ceiling) {
        checks_add_take(checks, CHECK_CEILING, false,
                        memory_format("%s %lld is above its ceiling", option, (long long)asked),
                        memory_format("declared work may use at most %lld", (long long)ceiling),
                        memory_format("lower %s; limits of declared work only go down", option));
    }
    return asked;
}

void run_limits_decide(const struct run_request *request, const struct envelope *envelope,
                       struct run_limits *ret_limits, struct checks *checks)
{
    *ret_limits = (struct run_limits){.values = {.reserve_bytes = ENVELOPE_RESERVE_BYTES,
                                                 .setup_timeout_ns = SETUP_MS * NS_PER_MS,
                                                 .kill_budget_ns = KILL_BUDGET_MS * NS_PER_MS,
                                                 .one_deadline = true}};
    struct supervise_limits *values = &ret_limits->values;
    const struct envelope_limits *tier = &envelope->tier;
    const char *source;

    decide_memory(request, envelope, ret_limits, checks);
    values->tasks = decide(request, request->tasks, "--tasks", envelope->plain_tasks,
                           tier->pids_max, &source, checks);
    note(ret_limits, "tasks", "count", values->tasks, source);
    int64_t timeout =
        decide(request, request->timeout_ms, "--timeout", 0, tier->timeout_ms, &source, checks);
    values->timeout_ns = timeout * NS_PER_MS;
    note(ret_limits, "timeout", "ms", timeout, request->timeout_ms < 0 ? "--timeout" : source);
    values->output_bytes = decide(request, request->output_bytes, "--output-max", 0,
                                  tier->output_max_bytes, &source, checks);
    note(ret_limits, "output", "bytes", values->output_bytes, source);
    /* A grace of 0 is a choice: kill at once. */
    int64_t grace = request->grace_ms < 0 ? GRACE_MS : request->grace_ms;
    values->grace_ns = grace * NS_PER_MS;
    note(ret_limits, "grace", "ms", grace, request->grace_ms < 0 ? "default" : "--grace-ms");
    int64_t sample = decide(request, request->sample_ms, "--sample-ms", SAMPLE_MS,
                            tier->sample_interval_ms, &source, checks);
    values->sample_ns = sample * NS_PER_MS;
    note(ret_limits, "sample", "ms", sample, source);
    note(ret_limits, "host reserve", "bytes", values->reserve_bytes, "default");
}
