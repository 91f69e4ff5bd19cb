/* boundary.h
 *
 * The boundaries of a run: the moments after which something durable, or something that must be ended, is
 * there or is gone. A death at any of them must leave what docs/crash-points.md says. Each is shown to whoever
 * traces the process as a system call that does nothing, so that a test can stop berm exactly there, from
 * outside, in the very program that is installed (tests/lib/kill-at --point).
 *
 * Calling sequence   os_boundary(BOUNDARY_SLOT_TAKEN) right after it is so
 * Allocates          nothing; may be called while memory is armed
 * Limitations        costs one refused prctl(2), a fraction of a microsecond
 */
#pragma once

/* X(number, NAME): numbers stay; docs/crash-points.md has a row for each, and a test compares them. */
#define BOUNDARIES(X)                                                                              \
    X(1, SLOT_TAKEN)                                                                               \
    X(2, WATCHDOG_STARTED)                                                                         \
    X(3, DIRECTORY_MADE)                                                                           \
    X(4, WATCHDOG_READY)                                                                           \
    X(5, SCOPE_BEGUN)                                                                              \
    X(6, LEAF_READY)                                                                               \
    X(7, ARMED)                                                                                    \
    X(8, ADMITTED)                                                                                 \
    X(9, RELEASED)                                                                                 \
    X(10, LIMIT_SEEN)                                                                              \
    X(11, STOPPING)                                                                                \
    X(12, TREE_EMPTY)                                                                              \
    X(13, COUNTERS_READ)                                                                           \
    X(14, LEAF_REMOVED)                                                                            \
    X(15, SCOPE_GONE)                                                                              \
    X(16, REPORT_RENAMED)                                                                          \
    X(17, DISARMED)                                                                                \
    X(18, DAEMON_RESERVED)                                                                         \
    X(19, DAEMON_BOUND)                                                                            \
    X(20, DAEMON_CREATED)                                                                          \
    X(21, DAEMON_SEALED)                                                                           \
    X(22, SNAPSHOT_TAKEN)                                                                          \
    X(23, LOCK_CLAIMED)                                                                            \
    X(24, FENCE_WRITTEN)                                                                           \
    X(25, FENCE_CLEARED)                                                                           \
    X(26, PROMOTED)

enum boundary {
#define X(number, name) BOUNDARY_##name = (number),
    BOUNDARIES(X)
#undef X
};

/* First argument of the call that nobody else makes: "berm". */
enum { BOUNDARY_MAGIC = 0x6d726562 };

void os_boundary(enum boundary boundary);
