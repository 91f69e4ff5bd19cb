/* context.h
 *
 * What the broker tells a program of the payload about the run that holds it. The supervisor fills it
 * from what it verified; nothing of it comes from the payload.
 *
 * Ownership    borrowed until supervise_run() returns.
 * Units        bytes, ms; CONTEXT_UNLIMITED: none.
 */
#pragma once

#include <stdint.h>

#include "context-message.h"
#include "guarantee.h"

struct context_facts {
    const char
        *leaf; /* path of the payload's cgroup, as /proc/PID/cgroup names it; NULL: no service */
    const char *run;
    const char *unit; /* or the folder of a delegated subtree */
    const char *adapter;
    enum context_tier tier;
    enum containment containment;
    struct guarantees guarantees;
    /* As they were read back from the leaf. */
    uint64_t memory_max_bytes;
    uint64_t memory_high_bytes;
    uint64_t swap_max_bytes;
    uint64_t pids_max;
    /* Of the run. */
    uint64_t timeout_ms;
    uint64_t output_bytes;
    uint64_t temporary_bytes;
    uint64_t temporary_inodes;
};
