/* facts.h
 *
 * Facts of made-up runs, for the tests of what is made of them.
 */
#pragma once

#include <string.h>

#include "memory.h"
#include "report.h"

/* Only the broker can prove an empty tree; a test claims it. */
static inline const struct proof_tree_empty *claim_tree_empty(void)
{
    static const char claim;
    return (const struct proof_tree_empty *)(const void *)&claim;
}

/* A run of one process that ended by itself with 0. */
static inline struct supervise_ending *make_ending(void)
{
    struct supervise_ending *ending = memory_new(sizeof *ending);
    ending->how = ENDED_EXITED;
    ending->launched = true;
    ending->leader_pid = 100;
    ending->created_ns = INT64_C(1000000000);
    ending->released_ns = INT64_C(1001000000);
    ending->exited_ns = INT64_C(1501000000);
    ending->finished_ns = INT64_C(1502000000);
    ending->cpu_user_ns = 7;
    ending->largest_rss_bytes = 5000;
    memset(ending->seen, -1, sizeof ending->seen);
    ending->seen[LIMIT_MEMORY] = 6000;
    ending->peak_tree_rss_bytes = 6000;
    ending->seen[LIMIT_PIDS] = 3;
    ending->seen[LIMIT_TIMEOUT] = 500;
    ending->peak_processes = 2;
    ending->sample_total = 1;
    ending->sample_count = 1;
    ending->samples[0] = (struct supervise_sample){10, 4000, 3, 2, -1, -1, -1};
    ending->tree_empty = claim_tree_empty();
    for (int i = 0; i < STREAM_COUNT; i++) {
        ending->stream[i].tail = memory_new(TAIL_STRUCTURED_BYTES + TAIL_MARGIN_BYTES);
    }
    return ending;
}

static inline void free_ending(struct supervise_ending **ending)
{
    for (int i = 0; *ending && i < STREAM_COUNT; i++) {
        memory_free((*ending)->stream[i].tail);
    }
    memory_free(*ending);
    *ending = NULL;
}
#define with_made_ending cleanup(free_ending) struct supervise_ending *

static inline void add_survivor(struct supervise_ending *ending, pid_t pid, int sys,
                                const char *name)
{
    struct supervise_survivor *survivor = &ending->survivors[ending->survivor_count++];
    *survivor = (struct supervise_survivor){.pid = pid, .start_ticks = 77, .sys = sys};
    memcpy(survivor->name, name, strnlen(name, sizeof survivor->name));
}

static inline void add_check(struct checks *checks, bool ok)
{
    checks_add_take(checks, "preflight.memory", ok, memory_copy_string("memory is short"),
                    memory_copy_string("1 GiB available"), memory_copy_string("close something"));
}

static inline struct report_facts make_facts(void)
{
    static char sleep[] = "sleep";
    static char one[] = "1";
    static char *const command[] = {sleep, one, NULL};
    static struct contain contain;
    contain_choose(NULL, &contain);
    return (struct report_facts){
        .run_id = "k7f3aa",
        .command = command,
        .cwd = "/home/user",
        .started_realtime_ns = INT64_C(1764432000000000000),
        .duration_ns = INT64_C(600000000),
        .own_ns = INT64_C(100000000),
        .contain = &contain,
        .limits = {{LIMIT_MEMORY, 1 << 30, "--memory"},
                   {LIMIT_PIDS, 1024, "default"},
                   {LIMIT_TIMEOUT, 0, "default"}},
        .limit_count = 3,
    };
}
