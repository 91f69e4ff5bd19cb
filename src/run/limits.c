#include "run-priv.h"

#include <string.h>

#include "memory.h"

enum { TEMPORARY_MIN_BYTES = 16 << 20, TEMPORARY_BYTES = 1 << 30, TEMPORARY_FILES = 131072 };
enum { GRACE_MS = 2000, SAMPLE_MS = 250, HIGH_SAMPLES = 4, SETUP_MS = 10000 };
enum { KILL_BUDGET_MS = 5000 };

/* What a limit is when nothing asks for another value. */
struct standing {
    int64_t value;
    const char *source; /* NULL: there is no such limit in this run, and it is not told */
    int64_t ceiling;    /* of declared work, and what it gets unasked; 0: it has none */
    const char *origin; /* of the ceiling */
};

static const char fixed[] = "the same for all declared work";

/* It is memory of the payload like any other: not more than a quarter of what it may have. */
static int64_t plain_temporary(const struct envelope *envelope)
{
    int64_t quarter = envelope->plain_memory_bytes / 4;
    quarter = quarter < TEMPORARY_MIN_BYTES ? TEMPORARY_MIN_BYTES : quarter;
    quarter = quarter < TEMPORARY_BYTES ? quarter : TEMPORARY_BYTES;
    return quarter - quarter % envelope->tier.memory_page_bytes;
}

/* `decided` are those that come before it. */
static struct standing standing_of(const struct run_request *request,
                                   const struct envelope *envelope,
                                   const struct supervise_limits *decided,
                                   enum supervise_limit limit)
{
    const struct envelope_limits *tier = &envelope->tier;
    const char *private = run_wants_sandbox(request) ? "default" : NULL;
    const char *with_high = decided->memory_high_bytes > 0 ? "default" : NULL;
    switch (limit) {
    case LIMIT_MEMORY:
        return (struct standing){envelope->plain_memory_bytes,
                                 "default: available less the reserve", tier->memory_max_bytes,
                                 "a quarter of this host's memory, and 3 GiB at most"};
    case LIMIT_MEMORY_HIGH:
        return (struct standing){0, "default", envelope_high_bytes(decided->memory_bytes),
                                 "four fifths of the memory limit"};
    case LIMIT_PIDS:
        return (struct standing){envelope->plain_tasks, "default", tier->pids_max, fixed};
    case LIMIT_TIMEOUT:
        return (struct standing){0, "default", tier->timeout_ms, fixed};
    case LIMIT_OUTPUT:
        return (struct standing){0, "default", tier->output_max_bytes, fixed};
    case LIMIT_HOST_RESERVE:
        return (struct standing){ENVELOPE_RESERVE_BYTES, "default", 0, NULL};
    case LIMIT_SETUP:
        return (struct standing){SETUP_MS, "default", 0, NULL};
    case LIMIT_GRACE:
        return (struct standing){GRACE_MS, "default", tier->graceful_stop_ms, fixed};
    case LIMIT_SAMPLE:
        return (struct standing){SAMPLE_MS, "default", tier->sample_interval_ms, fixed};
    case LIMIT_HIGH_SAMPLES:
        return (struct standing){HIGH_SAMPLES, with_high, tier->sustained_high_samples, fixed};
    case LIMIT_TEMPORARY:
        return (struct standing){plain_temporary(envelope), private, tier->temporary_max_bytes,
                                 fixed};
    case LIMIT_TEMPORARY_FILES:
        return (struct standing){TEMPORARY_FILES, private, tier->temporary_max_inodes, fixed};
    case LIMIT_NONE:
    case LIMIT_OUTPUT_IO:
    case LIMIT_DETACHED:
    case LIMIT_DAEMON:
    case LIMIT_LINKS:
    case LIMIT_COUNT:
    default:
        return (struct standing){0};
    }
}

/* What the request says of a limit; 0 where it cannot say anything. */
static int64_t asked_of(const struct run_request *request, enum supervise_limit limit)
{
    switch ((int)limit) {
#define X(enumerator, member, minimum, maximum, meaning)                                           \
    case enumerator:                                                                               \
        return request->member;
        RUN_LIMITS(X)
#undef X
    default:
        return 0;
    }
}

static const char *unit_word(const struct limit *row)
{
    return strcmp(row->unit, "count") == 0 ? "" : strcmp(row->unit, "ms") == 0 ? " ms" : " bytes";
}

static void check_ceiling(const struct limit *row, int64_t asked, const struct standing *standing,
                          struct checks *checks)
{
    if (asked > standing->ceiling) {
        checks_add_take(
            checks, CHECK_CEILING, false,
            memory_format("%s %lld is above its ceiling", row->option, (long long)asked),
            memory_format("declared work may use at most %lld%s: %s", (long long)standing->ceiling,
                          unit_word(row), standing->origin),
            memory_format("lower %s; limits of declared work only go down", row->option));
    }
}

/* A mark that the limit itself comes before would never be met. */
static void check_high(const struct run_limits *limits, struct checks *checks)
{
    const struct supervise_limits *values = &limits->values;
    if (values->memory_high_bytes > 0 && values->memory_high_bytes >= values->memory_bytes) {
        checks_add_take(checks, CHECK_CEILING, false,
                        memory_format("--memory-high %lld is not below the memory limit",
                                      (long long)values->memory_high_bytes),
                        memory_format("the memory limit is %lld bytes (%s)",
                                      (long long)values->memory_bytes, limits->facts[0].source),
                        memory_copy_string("lower --memory-high, or raise --memory"));
    }
}

static struct limit_fact decide(const struct run_request *request, const struct envelope *envelope,
                                const struct supervise_limits *decided, enum supervise_limit limit,
                                struct checks *checks)
{
    const struct limit *row = supervise_limit(limit);
    struct standing standing = standing_of(request, envelope, decided, limit);
    struct limit_fact fact = {limit, standing.value, standing.source};
    int64_t asked = asked_of(request, limit);
    bool capped = request->authority == AUTHORITY_DECLARED && standing.ceiling > 0;
    /* A grace of 0 is a choice: kill at once. */
    if (limit == LIMIT_GRACE ? asked >= 0 : asked > 0) {
        fact.value = asked;
        fact.source = row->option;
        if (capped) {
            check_ceiling(row, asked, &standing, checks);
        }
    } else if (capped) {
        fact.value = standing.ceiling;
        fact.source = "ceiling of declared work";
    } else if (limit == LIMIT_TIMEOUT && asked < 0) {
        fact.source = row->option; /* none, said explicitly */
    }
    /* What a workload declares is no more than a default of its own. */
    int64_t declared = request->workload_timeout_ms;
    if (limit == LIMIT_TIMEOUT && asked == 0 && declared > 0 &&
        (fact.value == 0 || declared < fact.value)) {
        fact.value = declared;
        fact.source = "the workload's declaration";
    }
    return fact;
}

void run_limits_decide(const struct run_request *request, const struct envelope *envelope,
                       struct run_limits *ret_limits, struct checks *checks)
{
    *ret_limits = (struct run_limits){.values = {.kill_budget_ns = KILL_BUDGET_MS * NS_PER_MS,
                                                 .one_deadline = !run_wants_sandbox(request)}};
    for (enum supervise_limit limit = 0; limit < LIMIT_COUNT; limit++) {
        struct limit_fact fact = decide(request, envelope, &ret_limits->values, limit, checks);
        if (!fact.source) {
            continue;
        }
        if (limit == LIMIT_MEMORY) {
            envelope_check_memory(envelope, fact.value, fact.source, checks);
        }
        supervise_limit_set(&ret_limits->values, limit, fact.value);
        ret_limits->facts[ret_limits->count++] = fact;
    }
    check_high(ret_limits, checks);
}
