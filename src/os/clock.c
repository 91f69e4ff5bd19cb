#include "clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* these clocks always exist */
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int64_t boottime(void)
{
    return read_clock(CLOCK_BOOTTIME);
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

void clock_format_utc(int64_t realtime_ns, char text[CLOCK_TEXT_SIZE])
{
    time_t seconds = realtime_ns / NS_PER_S;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts)) {
        parts = (struct tm){.tm_mday = 1, .tm_year = 70};
    }
    (void)snprintf(text, CLOCK_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                   parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, (int)(realtime_ns % NS_PER_S / NS_PER_MS));
}
