/* clock.h
 *
 * Time, in nanoseconds, from three clocks: monotonic (deadlines and durations; stands still while
 * the machine sleeps), boottime (counts sleep) and realtime (dates only; may be stepped).
 *
 * A `struct os_clock` can be replaced by a test's own; os_clock_real is the kernel's.
 * Source: clock_gettime(2).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

static inline int64_t clock_timespec_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}
static inline int64_t clock_timeval_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * NS_PER_S + (int64_t)time.tv_usec * 1000;
}

struct os_clock {
    int64_t (*monotonic_ns)(void);
    int64_t (*boottime_ns)(void);
    int64_t (*realtime_ns)(void);
};

extern const struct os_clock os_clock_real;
/* Processor time that this process has used. */
int64_t os_processor_ns(void);

enum { CLOCK_TEXT_SIZE = 32 };
/* "2026-11-29T15:54:11.123Z" (RFC 3339, UTC, milliseconds) of a realtime in nanoseconds. */
void clock_format_utc(int64_t realtime_ns, char text[CLOCK_TEXT_SIZE]);
