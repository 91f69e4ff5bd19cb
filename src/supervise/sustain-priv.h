/* sustain-priv.h
 *
 * Whether something goes on: it was so at so many looks in a row, each at least an interval after the
 * last. Pure arithmetic, tested without processes.
 *
 * Calling sequence
 *   sustain_begin(&sustain, now)               somebody noticed: from now on it is looked at
 *   sustain_look(&sustain, now, interval, so)  a look; how many in a row there were now. A look that comes too
 *                                              early counts only when it is not so any more, which ends
 *                                              it until somebody notices again
 *   sustain_moment(&sustain, interval)         when the next look counts; INT64_MAX: nobody noticed
 *
 * All zero: nobody noticed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sustain {
    bool noticed;
    int64_t last_ns; /* when it was noticed, or looked at so that it counted */
    int64_t count;
};

/* Nothing, when it was noticed already. */
void sustain_begin(struct sustain *sustain, int64_t now_ns);
int64_t sustain_look(struct sustain *sustain, int64_t now_ns, int64_t interval_ns, bool so);
int64_t sustain_moment(const struct sustain *sustain, int64_t interval_ns);
