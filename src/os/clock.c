#include "clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* these clocks always exist */
    return clock_timespec_ns(now);
}

static int64_t monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int64_t boottime(void)
{
#ifdef CLOCK_BOOTTIME
    return read_clock(CLOCK_BOOTTIME);
#else /* a host on which nothing is run */
    return read_clock(CLOCK_MONOTONIC);
#endif
}

static int64_t realtime(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t os_processor_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

const struct os_clock os_clock_real = {monotonic, boottime, realtime};

/* The date of a day counted from 1970-01-01, in the Gregorian calendar. libc's gmtime_r would read the
 * file that TZ names, which is neither needed nor ours to open. */
struct date {
    int64_t year;
    int64_t month;
    int64_t day;
};

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static struct date date_of(int64_t day)
{
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    enum { DAYS_IN_400_YEARS = 146097 };
    struct date date = {.year = 1970 + 400 * (day / DAYS_IN_400_YEARS)};
    day %= DAYS_IN_400_YEARS;
    for (; day >= 365 + is_leap(date.year); date.year++) {
        day -= 365 + is_leap(date.year);
    }
    for (; day >= lengths[date.month] + (date.month == 1 && is_leap(date.year)); date.month++) {
        day -= lengths[date.month] + (date.month == 1 && is_leap(date.year));
    }
    date.month++;
    date.day = day + 1;
    return date;
}

void clock_format_utc(int64_t realtime_ns, char text[CLOCK_TEXT_SIZE])
{
    enum { SECONDS_IN_DAY = 86400 };
    int64_t since = realtime_ns < 0 ? 0 : realtime_ns; /* nothing of berm's is older than 1970 */
    int64_t seconds = since / NS_PER_S;
    struct date date = date_of(seconds / SECONDS_IN_DAY);
    int64_t second = seconds % SECONDS_IN_DAY;
    (void)snprintf(text, CLOCK_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)date.year,
                   (int)date.month, (int)date.day, (int)(second / 3600), (int)(second / 60 % 60),
                   (int)(second % 60), (int)(since % NS_PER_S / NS_PER_MS));
}
