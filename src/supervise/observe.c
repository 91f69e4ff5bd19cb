/* Looks at the tree: samples, peaks, and the limits that can only be sampled. */
#include "broker-priv.h"

#include <string.h>

#include "detail-priv.h"

enum { DETAIL_BUDGET_US = 300 };

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

static void check_limits(struct broker *broker, const struct tree_sums *sums, int64_t available)
{
    const struct supervise_limits *limits = &broker->request->limits;
    if (limits->memory_bytes > 0 && sums->rss_bytes > limits->memory_bytes) {
        decide_limit(broker, LIMIT_MEMORY, limits->memory_bytes, sums->rss_bytes);
    }
    if (limits->tasks > 0 && sums->tasks > limits->tasks) {
        decide_limit(broker, LIMIT_PIDS, limits->tasks, sums->tasks);
    }
    if (limits->reserve_bytes > 0 && available >= 0 && available < limits->reserve_bytes) {
        decide_limit(broker, LIMIT_HOST_RESERVE, limits->reserve_bytes, available);
    }
}

/* The grace is for putting things in order. Who uses it to take more than at the moment it was told
 * to stop (a sixteenth is measuring error) has had it. */
static void check_grace(struct broker *broker, const struct tree_sums *sums, int64_t available)
{
    const struct supervise_limits *limits = &broker->request->limits;
    const struct supervise_ending *ending = broker->ending;
    const struct {
        enum supervise_limit limit;
        int64_t most;
        int64_t now;
    } gauges[] = {
        {LIMIT_MEMORY, limits->memory_bytes, sums->rss_bytes},
        {LIMIT_PIDS, limits->tasks, sums->tasks},
        {LIMIT_HOST_RESERVE, -limits->reserve_bytes, available < 0 ? INT64_MIN : -available},
    };
    for (size_t i = 0; i < countof(gauges); i++) {
        int64_t most = gauges[i].most;
        int64_t margin = (most < 0 ? -most : most) / 16;
        if (ending->how == ENDED_LIMIT && ending->limit == gauges[i].limit) {
            int64_t seen =
                gauges[i].limit == LIMIT_HOST_RESERVE ? -ending->limit_seen : ending->limit_seen;
            most = seen > most ? seen : most;
        }
        if (gauges[i].most != 0 && gauges[i].now > most + margin) {
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

void observe_look(struct broker *broker)
{
    struct supervise_ending *ending = broker->ending;
    int64_t began_ns = os_processor_ns();
    int64_t now_ms = broker_elapsed_ms(broker);
    bool calm = broker->state == STOP_GATED || broker->state == STOP_RUNNING;
    struct tree_sums sums;

    /* The gate is alone; and listing every process of the host is not for runs of a moment. */
    int result = broker->state == STOP_GATED ? 0 : tree_look(&broker->tree, now_ms);
    if (result < 0) {
        decide_failure(broker, result, "cannot list processes");
    }
    tree_read(&broker->tree, now_ms, &sums);
    int64_t available = detail_host_available(&broker->tree);
    if (available >= 0 &&
        (ending->host_available_low_bytes < 0 || available < ending->host_available_low_bytes)) {
        ending->host_available_low_bytes = available;
    }
    add_sample(ending, &(struct supervise_sample){.elapsed_ms = now_ms,
                                                  .rss_bytes = sums.rss_bytes,
                                                  .tasks = sums.tasks,
                                                  .processes = sums.processes});
    peak_raise(&ending->peak_rss_bytes, sums.rss_bytes);
    peak_raise(&ending->peak_tasks, sums.tasks);
    peak_raise(&ending->peak_processes, sums.processes);
    if (calm) {
        check_limits(broker, &sums, available);
    } else if (broker->state == STOP_TERMINATING) {
        check_grace(broker, &sums, available);
    }
    if (broker->state == STOP_RUNNING) {
        detail_read(&broker->tree, broker->clock, DETAIL_BUDGET_US * 1000, &broker->detail_cursor);
    }
    tell(broker, &sums);

    const struct supervise_limits *limits = &broker->request->limits;
    const struct pace_gauge gauges[PACE_GAUGES] = {
        {sums.rss_bytes, limits->memory_bytes},
        {sums.tasks, limits->tasks},
    };
    int64_t cost_ns = os_processor_ns() - began_ns;
    broker->look_at_ns = pace_next(&broker->pace, broker_now(broker), cost_ns, gauges);
}
