/* The high mark of memory: what is held above it for so many samples in a row ends the run. With a leaf the
 * kernel notices, and only then it is looked at; cached files, which the kernel takes back by itself, do not
 * count. Without one it is what the looks at the tree see. */
#include "broker-priv.h"

static void judge(struct broker *broker, int64_t mark_bytes, int64_t bytes)
{
    const struct supervise_limits *limits = &broker->request->limits;
    peak_raise(&broker->ending->seen[LIMIT_MEMORY_HIGH], bytes);
    int64_t count =
        sustain_look(&broker->high, broker_now(broker), limits->sample_ns, bytes >= mark_bytes);
    if (count >= limits->high_samples && count > 0) {
        decide_limit(broker, LIMIT_MEMORY_HIGH, limits->memory_high_bytes, bytes);
    }
}

void high_notice(struct broker *broker)
{
    if (broker->request->limits.memory_high_bytes > 0) {
        sustain_begin(&broker->high, broker_now(broker));
    }
}

int64_t high_moment_ns(const struct broker *broker)
{
    return broker->hold.holds ? sustain_moment(&broker->high, broker->request->limits.sample_ns)
                              : INT64_MAX;
}

void high_weigh(struct broker *broker)
{
    if (broker_now(broker) < high_moment_ns(broker)) {
        return;
    }
    int64_t bytes = 0;
    struct scope_limits held;
    scope_limits(broker->hold.scope, &held);
    int result = scope_memory_kept(broker->hold.scope, &bytes);
    if (cgroup_is_gone(result)) {
        broker->high = (struct sustain){0};
    } else if (result < 0) {
        decide_failure(broker, result, "cannot read what the run's memory consists of");
    } else {
        judge(broker, held.memory_high_bytes, bytes);
    }
}

void high_look(struct broker *broker, int64_t rss_bytes)
{
    int64_t mark_bytes = broker->request->limits.memory_high_bytes;
    if (mark_bytes <= 0 || broker->hold.holds) {
        return;
    }
    if (rss_bytes >= mark_bytes) {
        high_notice(broker);
    }
    judge(broker, mark_bytes, rss_bytes);
}
