/* guarantee.h
 *
 * What containment can promise, and how far a promise holds in one run. The words are the ones that
 * summaries, reports, --require and policies use.
 *
 * A level is a claim: it may only be raised by the code that verified it in this run (a read-back,
 * a launcher's report), never by configuration.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "json.h"

/* X(enumerator, name, what it promises) */
#define GUARANTEES(X)                                                                              \
    X(GUARANTEE_FILESYSTEM, "filesystem", "sees only the files that it may")                       \
    X(GUARANTEE_WRITABLE_ROOTS, "writable-roots", "writes only beneath the declared folders")      \
    X(GUARANTEE_NETWORK, "network", "reaches no network unless asked for")                         \
    X(GUARANTEE_DESCENDANTS, "descendants", "every process that it starts is found and ended")     \
    X(GUARANTEE_MEMORY, "memory", "memory of the whole tree stays below the limit")                \
    X(GUARANTEE_PIDS, "pids", "tasks of the whole tree stay below the limit")                      \
    X(GUARANTEE_SWAP, "swap", "no memory of the tree goes to swap")                                \
    X(GUARANTEE_TEMP_BYTES, "temp-bytes", "temporary bytes stay below the quota")                  \
    X(GUARANTEE_TEMP_INODES, "temp-inodes", "temporary files stay below the quota")                \
    X(GUARANTEE_CONTROL_SOCKETS, "control-sockets", "no daemon that acts for it can be reached")   \
    X(GUARANTEE_SYSCALLS, "syscalls", "kernel interfaces beyond ordinary programs are closed")

enum guarantee {
#define X(enumerator, name, promise) enumerator,
    GUARANTEES(X)
#undef X
        GUARANTEE_COUNT
};

enum guarantee_level {
    LEVEL_NONE,
    LEVEL_OBSERVED, /* berm looks and reacts; a burst between two looks can pass */
    LEVEL_LIMITED,  /* the kernel enforces it; a hostile process of the same user could lift it */
    LEVEL_ENFORCED,
};

enum containment { CONTAINMENT_UNCONTAINED, CONTAINMENT_PARTIAL, CONTAINMENT_MANAGED };

struct guarantees {
    enum guarantee_level level[GUARANTEE_COUNT];
    const char *why[GUARANTEE_COUNT]; /* why it is not stronger; static text or NULL */
};

/* A set of guarantees: bit n stands for enum guarantee n. */
#define GUARANTEE_ALL ((UINT32_C(1) << GUARANTEE_COUNT) - 1)

const char *guarantee_name(enum guarantee guarantee);
const char *guarantee_level_name(enum guarantee_level level);
const char *containment_name(enum containment containment);
/* "managed", or names separated by commas. ERR_USAGE names the unknown one and lists the known. */
int guarantee_parse_set(const char *text, uint32_t *ret_set, struct err *err) must_check;
/* managed: all enforced; partial: some enforced or limited; uncontained: none. */
enum containment guarantees_label(const struct guarantees *guarantees);
/* {"memory": {"level": "observed", "why": "..."}, ...} */
json_t *guarantees_to_json(const struct guarantees *guarantees) must_check;
