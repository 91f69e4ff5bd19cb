#include "pace-priv.h"

#include "attributes.h"
#include "clock.h"

static const int64_t early_ms[] = {5, 20, 60, 120}; /* after the release */

enum { NEAR_MIN_MS = 10, NEAR_MAX_MS = 25, SHARE = 64, SHARE_NEAR = 8 };

void pace_start(struct pace *pace, int64_t now_ns, int64_t interval_ns)
{
    *pace = (struct pace){.interval_ns = interval_ns, .released_ns = now_ns, .last_ns = now_ns};
}

/* How long until a gauge that grows as it did since the last look reaches its limit. */
static int64_t time_to_limit(const struct pace_gauge *gauge, int64_t last_value, int64_t passed_ns)
{
    if (gauge->watched && gauge->value >= gauge->limit) {
        return 0;
    }
    if (!gauge->watched || gauge->value <= last_value || passed_ns <= 0) {
        return INT64_MAX;
    }
    double growth = (double)(gauge->value - last_value) / (double)passed_ns;
    double left = (double)(gauge->limit - gauge->value) / growth;
    return left < 1e18 ? (int64_t)left : INT64_MAX;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

int64_t pace_next(struct pace *pace, int64_t now_ns, int64_t cost_ns,
                  const struct pace_gauge gauges[LIMIT_COUNT])
{
    int64_t wait_ns = pace->interval_ns;
    for (size_t i = 0; i < countof(early_ms); i++) {
        int64_t until = pace->released_ns + early_ms[i] * NS_PER_MS - now_ns;
        if (until > 0 && until < wait_ns) {
            wait_ns = until;
            break;
        }
    }
    int64_t share = SHARE;
    for (int i = 0; i < LIMIT_COUNT; i++) {
        int64_t left = time_to_limit(&gauges[i], pace->last_value[i], now_ns - pace->last_ns);
        if (pace->looks > 0 && left < 2 * pace->interval_ns) {
            int64_t near = clamp(left / 4, NEAR_MIN_MS * NS_PER_MS, NEAR_MAX_MS * NS_PER_MS);
            wait_ns = near < wait_ns ? near : wait_ns;
            share = SHARE_NEAR;
        }
        pace->last_value[i] = gauges[i].value;
    }
    pace->last_ns = now_ns;
    pace->looks++;
    int64_t least = cost_ns < INT64_MAX / share ? cost_ns * share : INT64_MAX / 2;
    return now_ns + (wait_ns > least ? wait_ns : least);
}
