/* envelope.h
 *
 * What this host can give a run: memory and disk, the limits that follow from them, and where the
 * process stands (EN-1…EN-3). Reads only: creates no scope, launches nothing.
 *
 * Calling sequence
 *   envelope_read(cwd_fd, &envelope, err)
 *   envelope_to_json(&envelope, cwd)        lamina.safe-runner-envelope/v1
 *
 * Two sets of limits come from it. `tier` are the ceilings of qualified and agent work: memory
 * min(3 GiB, 25 % of RAM) rounded down to a page, 64 tasks, one run at a time. `plain` are the
 * defaults of a person's run: what is available less the reserve, max(1024, 128 x processors) tasks.
 * Memory always is the minimum over /proc/meminfo and every ancestor cgroup. The reserve is the host's: it
 * comes off what /proc/meminfo says. What a cgroup leaves is for the run but for what berm itself takes.
 *
 * Limitations  available memory is the kernel's estimate (MemAvailable), and a moment's picture.
 * Source       proc_meminfo(5).
 */
#pragma once

#include <stdint.h>

#include "cgroup.h"
#include "checks.h"
#include "err.h"
#include "json.h"

#define ENVELOPE_RESERVE_BYTES (INT64_C(2) << 30)
/* In a cgroup that berm, its watchdog and their reports share with the run. */
#define ENVELOPE_OWN_BYTES (INT64_C(64) << 20)

struct envelope_limits {
    int64_t memory_max_bytes;
    int64_t memory_high_bytes;
    int64_t memory_page_bytes;
    int64_t os_reserve_bytes;
    int64_t pids_max;
    int64_t timeout_ms;
    int64_t output_max_bytes;
    int64_t temporary_max_bytes;
    int64_t temporary_max_inodes;
    int64_t minimum_free_disk_bytes;
    int64_t sample_interval_ms;
    int64_t sustained_high_samples;
    int64_t graceful_stop_ms;
    int64_t concurrency;
};

struct envelope {
    int64_t inspected_realtime_ns;
    int64_t total_memory_bytes;        /* MemTotal, or the smallest ancestor limit below it */
    int64_t host_available_bytes;      /* MemAvailable */
    int64_t available_memory_bytes;    /* that, or what the tightest ancestor leaves */
    char memory_bound_by[640];         /* "/proc/meminfo" or the cgroup's folder */
    int64_t free_disk_bytes;           /* for this user, where cwd lies; -1: unknown */
    int64_t temporary_free_disk_bytes; /* where /tmp lies; -1: unknown */
    int64_t processors;
    char host_name[65];
    char kernel_release[65];
    char architecture[65];
    struct cgroup_facts cgroup;
    struct envelope_limits tier;
    int64_t plain_memory_bytes; /* can be 0 or less: then no run is possible */
    int64_t plain_tasks;
};

int envelope_read(int cwd_fd, int64_t realtime_ns, struct envelope *ret_envelope,
                  struct err *err) must_check;
/* The limits that follow from a machine of that size; pure. */
void envelope_derive(struct envelope *envelope);
/* The highest mark of declared work beneath such a limit; 0: it leaves room for none. */
int64_t envelope_high_bytes(int64_t memory_bytes);
/* The fields that a report keeps as preflight.envelope. */
json_t *envelope_to_json(const struct envelope *envelope, const char *cwd) must_check;
/* "preflight.memory": the limit fits into what is available, with the reserve or what berm needs for itself. */
void envelope_check_memory(const struct envelope *envelope, int64_t memory_bytes,
                           const char *source, struct checks *checks);
