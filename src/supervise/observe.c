/* Looks at the tree: samples, peaks, and the limits that can only be sampled. */
#include "broker-priv.h"

#include <string.h>

#include "detail-priv.h"

enum { DETAIL_BUDGET_US = 300 };
enum { LINKS_SHARE = 16 }; /* one in so many of a processor's time, at most */

/* The newest SAMPLE_COUNT, oldest first. */
static void add_sample(struct supervise_ending *ending, const struct supervise_sample *sample)
{
    if (ending->sample_count == SAMPLE_COUNT) {
        memmove(ending->samples, ending->samples + 1,
                (SAMPLE_COUNT - 1) * sizeof ending->samples[0]);
        ending->sample_count--;
    }
    ending->samples[ending->sample_count++] = *sample;
    ending->sample_total++;
}

/* What one look found. */
struct look {
    const struct broker *broker;
    struct tree_sums sums;
    struct sandbox_use temporary; /* -1: there is none */
    int64_t seen[LIMIT_COUNT];    /* by the gauges; -1: not known */
};

static int64_t gauge_memory(const struct look *look)
{
    return look->sums.rss_bytes;
}

static int64_t gauge_tasks(const struct look *look)
{
    return look->sums.tasks;
}

static int64_t gauge_host(const struct look *look)
{
    return detail_host_available(&look->broker->tree);
}

static int64_t gauge_temporary_bytes(const struct look *look)
{
    return look->temporary.bytes;
}

static int64_t gauge_temporary_files(const struct look *look)
{
    return look->temporary.inodes;
}

static int64_t (*const gauges[LIMIT_COUNT])(const struct look *look) = {
#define X(enumerator, name, told, key, unit, member, bound, gauge, ...) [enumerator] = (gauge),
    SUPERVISE_LIMITS(X)
#undef X
};

static void read_gauges(struct look *look, struct supervise_ending *ending)
{
    for (enum supervise_limit limit = 0; limit < LIMIT_COUNT; limit++) {
        int64_t seen = look->seen[limit] = gauges[limit] ? gauges[limit](look) : -1;
        int64_t *furthest = &ending->seen[limit];
        bool further = supervise_limit(limit)->least ? seen < *furthest : seen > *furthest;
        if (seen >= 0 && (*furthest < 0 || further)) {
            *furthest = seen;
        }
    }
}

/* A least with its sign turned: above the limit is then always too far. */
static int64_t upward(enum supervise_limit limit, int64_t value)
{
    return supervise_limit(limit)->least ? -value : value;
}

static struct pace_gauge gauge_of(const struct look *look, enum supervise_limit limit)
{
    bool is_kernels = look->broker->hold.holds && (limit == LIMIT_MEMORY || limit == LIMIT_PIDS);
    if (look->seen[limit] < 0 || is_kernels) {
        return (struct pace_gauge){0}; /* a leaf counts shared pages once, and misses no moment */
    }
    int64_t value = supervise_limit_value(&look->broker->request->limits, limit);
    return (struct pace_gauge){.watched = value > 0,
                               .value = upward(limit, look->seen[limit]),
                               .limit = upward(limit, value)};
}

static void check_limits(struct broker *broker, const struct look *look)
{
    for (enum supervise_limit limit = 0; limit < LIMIT_COUNT; limit++) {
        struct pace_gauge gauge = gauge_of(look, limit);
        bool full = supervise_limit(limit)->full && gauge.value == gauge.limit;
        if (gauge.watched && (gauge.value > gauge.limit || full)) {
            decide_limit(broker, limit, upward(limit, gauge.limit), look->seen[limit]);
        }
    }
}

/* The grace is for putting things in order. Who uses it to take more than at the moment it was told
 * to stop (a sixteenth is measuring error) has had it. */
static void check_grace(struct broker *broker, const struct look *look)
{
    const struct supervise_ending *ending = broker->ending;
    for (enum supervise_limit limit = 0; limit < LIMIT_COUNT; limit++) {
        struct pace_gauge gauge = gauge_of(look, limit);
        int64_t most = gauge.limit;
        int64_t margin = upward(limit, most) / 16;
        if (ending->how == ENDED_LIMIT && ending->limit == limit) {
            int64_t seen = upward(limit, ending->limit_seen);
            most = seen > most ? seen : most;
        }
        if (gauge.watched && gauge.value > most + margin) {
            decide_kill(broker);
            return;
        }
    }
}

static void tell(const struct broker *broker, const struct tree_sums *sums)
{
    const struct supervise_observer *observer = &broker->request->observer;
    if (!observer->on_sample) {
        return;
    }
    struct supervise_view view = {
        .elapsed_ns = broker_now(broker) - broker->ending->created_ns,
        .memory_bytes = sums->rss_bytes,
        .tasks = sums->tasks,
        .output_bytes = broker->streams.total_bytes,
        .stopping = broker->stopping,
        .limits = &broker->request->limits,
    };
    observer->on_sample(observer->context, &view);
}

static void read_private(struct look *look)
{
    const struct sandbox *sandbox = look->broker->request->sandbox;
    if (!sandbox || sandbox_use_read(sandbox, &look->temporary) < 0) {
        look->temporary = (struct sandbox_use){.bytes = -1, .inodes = -1}; /* not known this time */
    }
}

void observe_private(struct broker *broker, bool failed)
{
    struct look look = {.broker = broker};
    memset(look.seen, -1, sizeof look.seen);
    read_private(&look);
    look.seen[LIMIT_TEMPORARY] = look.temporary.bytes;
    look.seen[LIMIT_TEMPORARY_FILES] = look.temporary.inodes;
    peak_raise(&broker->ending->seen[LIMIT_TEMPORARY], look.temporary.bytes);
    peak_raise(&broker->ending->seen[LIMIT_TEMPORARY_FILES], look.temporary.inodes);
    if (failed) {
        check_limits(broker, &look);
    }
}

void observe_links(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    struct sandbox *sandbox = broker->request->sandbox;
    bool known = ending->links.count > 0 || ending->links.why;
    if (!sandbox || ending->released_ns == 0 || known || !sandbox_bars_links(sandbox)) {
        return;
    }
    if (sandbox_find_links(sandbox, &ending->links)) {
        decide_limit(broker, LIMIT_LINKS, 0, ending->links.count);
    }
}

/* With this look, unless the last one took so long that this would be too much of a processor. What it took,
 * which shall not keep the looks at the tree apart. */
static int64_t look_for_links(struct broker *broker)
{
    int64_t began_ns = os_processor_ns();
    if (broker_now(broker) < broker->links_at_ns) {
        return 0;
    }
    observe_links(broker);
    int64_t cost_ns = os_processor_ns() - began_ns;
    broker->links_at_ns = broker_now(broker) + cost_ns * LINKS_SHARE;
    return cost_ns;
}

void observe_look(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    int64_t began_ns = os_processor_ns();
    int64_t now_ms = broker_elapsed_ms(broker);
    bool calm = broker->state == STOP_GATED || broker->state == STOP_RUNNING;
    struct look look = {.broker = broker};
    int64_t links_ns = 0;

    /* The gate is alone; and listing every process of the host is not for runs of a moment. */
    int result = broker->state == STOP_GATED ? 0 : tree_look(&broker->tree, now_ms);
    if (result < 0) {
        decide_failure(broker, result, "cannot list processes");
    }
    tree_read(&broker->tree, now_ms, &look.sums);
    read_private(&look);
    read_gauges(&look, ending);
    add_sample(ending, &(struct supervise_sample){.elapsed_ms = now_ms,
                                                  .rss_bytes = look.sums.rss_bytes,
                                                  .tasks = look.sums.tasks,
                                                  .processes = look.sums.processes,
                                                  .temporary_bytes = look.temporary.bytes,
                                                  .temporary_files = look.temporary.inodes,
                                                  .cgroup_memory_bytes = hold_memory(broker)});
    peak_raise(&ending->peak_processes, look.sums.processes);
    if (calm) {
        links_ns = look_for_links(broker); /* says more than the quota that a flood of them fills */
        check_limits(broker, &look);
        high_look(broker, look.sums.rss_bytes);
    } else if (broker->state == STOP_TERMINATING) {
        check_grace(broker, &look);
    }
    if (broker->state == STOP_RUNNING) {
        detail_read(&broker->tree, broker->clock, DETAIL_BUDGET_US * 1000, &broker->detail_cursor);
    }
    tell(broker, &look.sums);

    struct pace_gauge paced[LIMIT_COUNT];
    for (enum supervise_limit limit = 0; limit < LIMIT_COUNT; limit++) {
        paced[limit] = gauge_of(&look, limit);
    }
    int64_t cost_ns = os_processor_ns() - began_ns - links_ns;
    broker->look_at_ns = pace_next(&broker->pace, broker_now(broker), cost_ns, paced);
}
