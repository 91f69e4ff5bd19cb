/* anchor-message.h
 *
 * The anchor: the duty of the helper program (programs/helper/anchor.c) that keeps a scope alive while
 * its leaf is set up and read out, and that ends the payload when nobody else is left to do it.
 *
 *   controller, watchdog                        anchor
 *   ---- ANCHOR_UNIT, struct anchor_unit -------> ignores what a stop of its scope sends
 *        <------------------------ ANCHOR_READY
 *   ---- ANCHOR_JOIN, a cgroup -----------------> goes into it
 *        <- struct anchor_joined, ANCHOR_JOINED
 *   ---- ANCHOR_HOLD, leaf and scope -----------> holds both folders
 *        <------------------------ ANCHOR_HOLDS
 *   ---- ANCHOR_LEAVE --------------------------> exits
 *   end-of-file --------------------------------> all holders of the other end are dead: SIGKILL to the
 *                                                 leaf until it is empty, removes it, exits
 *
 * Packets over a SOCK_SEQPACKET pair: one byte, struct anchor_unit or struct anchor_joined; with ANCHOR_HOLD the
 * folders (SCM_RIGHTS), with ANCHOR_JOIN the cgroup in the place of both. The other end may be shared: it is the
 * death of the last that has it open which counts, so nobody may inherit it.
 *
 * It goes into a cgroup itself: berm would have to name it by a number, which could be another's by then, and while
 * the kernel lets the first that moves wait for all its readers (cgroupfs.h), berm can work.
 *
 * Once it has a name it does not exit before its own /proc/self/cgroup names that unit, until_ns has passed, or
 * the name "" says that there is no unit: systemd was told its number, and must not find another process under it.
 *
 * Limitations  a process of the leaf that cannot die (state D) keeps the anchor, which tries again each
 *              10 ms. SIGKILL, for instance by a stop of the unit after its TimeoutStopUSec, ends it.
 */
#pragma once

#include <stdint.h>

enum anchor_order {
    ANCHOR_UNIT = 'U',
    ANCHOR_JOIN = 'J',
    ANCHOR_HOLD = 'H',
    ANCHOR_LEAVE = 'L',
};
enum anchor_word { ANCHOR_READY = 'R', ANCHOR_JOINED = 'j', ANCHOR_HOLDS = 'h' };
enum {
    ANCHOR_CHANNEL_FD = 3,
    ANCHOR_FOLDERS = 2, /* the leaf, the scope */
    ANCHOR_UNIT_SIZE = 256,
};

struct anchor_unit {
    char order; /* ANCHOR_UNIT */
    char rest[7];
    int64_t until_ns;            /* monotonic: from then on systemd does not look for its number */
    char name[ANCHOR_UNIT_SIZE]; /* ends in NUL; "": no unit will take it */
};

struct anchor_joined {
    char word; /* ANCHOR_JOINED */
    char rest[3];
    int32_t result; /* 0, or -errno */
};

/* The leaves of a scope. */
#define ANCHOR_LEAF_NAME     "payload"
#define ANCHOR_OWN_LEAF_NAME "anchor"
