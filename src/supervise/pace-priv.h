/* pace-priv.h
 *
 * When to look next: pure arithmetic, tested without processes.
 *
 * The first looks come early, so that short runs have figures; then one in each interval. When a
 * figure grows so fast that its limit could be reached within two intervals, looks come every
 * 10 to 25 ms. Looking has a budget (EV-6): a pass that took long makes the next one wait, so that
 * observation takes at most 1/64 of one processor, and 1/8 near a limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "limit.h"

/* One for each limit. What has a least is given with both signs turned: it grows towards its limit,
 * too. */
struct pace_gauge {
    bool watched;
    int64_t value;
    int64_t limit;
};

struct pace {
    int64_t interval_ns;
    int64_t released_ns;
    int64_t last_ns;
    int64_t last_value[LIMIT_COUNT];
    int looks;
};

void pace_start(struct pace *pace, int64_t now_ns, int64_t interval_ns);
/* After a look that ended now and took cost_ns: when the next one is due. */
int64_t pace_next(struct pace *pace, int64_t now_ns, int64_t cost_ns,
                  const struct pace_gauge gauges[LIMIT_COUNT]);
