/* context-message.h
 *
 * What the context broker of a run and a program of its payload say to each other (docs/adr/0011).
 *
 *   program (libberm-context)                     broker (in berm)
 *   ---- connect -------------------------------> who is it? the kernel says; is it in the leaf?
 *        <------------------- struct context_hello   a number that nobody can know before
 *   ---- struct context_request ----------------> the number, said by the process that connected
 *        <------------------ struct context_answer   and the connection is closed
 *
 * A request about a managed daemon is longer, and so is its answer: daemon-message.h.
 *
 * SOCK_SEQPACKET: one packet is one frame, of exactly the size of its struct; a shorter or longer one
 * ends the connection. A frame that refuses is the last one. Both ends are on one machine, so numbers
 * are in its own order; `version` is the format's, and another one is refused.
 *
 * Where          in a sandbox at CONTEXT_PATH, which its maker put there, on a mount that nobody inside
 *                can write to. Else at an abstract name that follows from the leaf (context_address()),
 *                so that there is nothing to hand over, to forge or to leave behind.
 * Units          bytes, milliseconds; CONTEXT_UNLIMITED: none.
 * Limitations    the abstract name is reached from the run's own network namespace only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CONTEXT_PATH      "/run/berm/context"
#define CONTEXT_PREFIX    "@berm/"
#define CONTEXT_UNLIMITED UINT64_MAX

enum {
    CONTEXT_MAGIC = 0x78746362, /* "bctx" */
    CONTEXT_VERSION = 1,
    CONTEXT_NONCE_BYTES = 16,
    CONTEXT_GUARANTEES_MAX = 24,
    CONTEXT_ADDRESS_SIZE = 108, /* of a socket, with its NUL */
    CONTEXT_LEAF_SIZE = 4096,
};

enum context_operation {
    CONTEXT_READ = 1,
    CONTEXT_DAEMON, /* and the next, by enum daemon_event: daemon-message.h */
};

enum context_status {
    CONTEXT_OK,
    CONTEXT_NOT_A_MEMBER, /* the process does not belong to the run's payload */
    CONTEXT_NOT_THE_PEER, /* another process spoke than the one that connected */
    CONTEXT_GONE,         /* it has ended, or is not who it was */
    CONTEXT_MALFORMED,
    CONTEXT_FAILED, /* berm could not find out */
    CONTEXT_STATUS_COUNT
};

enum context_tier {
    CONTEXT_TIER_NONE, /* a plain run */
    CONTEXT_TIER_SMALL,
    CONTEXT_TIER_MEDIUM,
    CONTEXT_TIER_LARGE,
    CONTEXT_TIER_COUNT
};

struct context_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t status; /* enum context_status */
    uint8_t nonce[CONTEXT_NONCE_BYTES];
};

struct context_request {
    uint32_t magic;
    uint16_t version;
    uint16_t operation;
    uint8_t nonce[CONTEXT_NONCE_BYTES];
};

struct context_guarantee {
    char name[31];
    uint8_t level; /* 0 none, 1 observed, 2 limited, 3 enforced */
};

struct context_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t status;
    uint8_t nonce[CONTEXT_NONCE_BYTES];
    uint32_t tier;
    uint32_t containment; /* 0 uncontained, 1 partial, 2 managed */

    uint64_t memory_max_bytes; /* of the leaf, as the kernel holds them */
    uint64_t memory_high_bytes;
    uint64_t swap_max_bytes;
    uint64_t pids_max;

    uint64_t timeout_ms; /* of the run */
    uint64_t output_bytes;
    uint64_t temporary_bytes;
    uint64_t temporary_inodes;

    uint32_t guarantee_count;
    uint32_t reserved;
    struct context_guarantee guarantees[CONTEXT_GUARANTEES_MAX];

    char run[64];
    char unit[256];
    char adapter[64];
    char leaf[CONTEXT_LEAF_SIZE]; /* in the cgroup tree, as /proc/PID/cgroup names it */
};

/* A path of the cgroup tree that can be one's own leaf: absolute, below the root, of plain components.
 * The kernel shows ".." where a namespace hides what lies above, and " (deleted)" behind what is no
 * more: neither names a place. */
static inline bool context_is_leaf(const char *path)
{
    static const char gone[] = " (deleted)";
    size_t length = strlen(path);
    if (length < 2 || path[0] != '/' || path[length - 1] == '/' || length >= CONTEXT_LEAF_SIZE) {
        return false;
    }
    if (length >= sizeof gone - 1 && strcmp(path + length - (sizeof gone - 1), gone) == 0) {
        return false;
    }
    for (const char *at = path; *at; at += strcspn(at, "/")) {
        at++;
        size_t part = strcspn(at, "/");
        if (part == 0 || (part == 1 && at[0] == '.') || (part == 2 && memcmp(at, "..", 2) == 0)) {
            return false;
        }
    }
    return true;
}

/* The line of the one hierarchy in the text of /proc/PID/cgroup: "0::/path". */
static inline bool context_parse_cgroup(const char *text, size_t length,
                                        char path[CONTEXT_LEAF_SIZE])
{
    const char *end = text + length;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) {
            return false; /* cut */
        }
        if (stop - text > 3 && memcmp(text, "0::", 3) == 0) {
            size_t size = (size_t)(stop - text) - 3;
            if (size >= CONTEXT_LEAF_SIZE || memchr(text + 3, '\0', size)) {
                return false;
            }
            memcpy(path, text + 3, size);
            path[size] = '\0';
            return true;
        }
        text = stop + 1;
    }
    return false;
}

/* Where the broker of a leaf listens outside of a sandbox: the name of the folder above the leaf is the
 * run's own, and has a part that nobody could foresee. */
static inline bool context_address(const char *leaf, char address[CONTEXT_ADDRESS_SIZE])
{
    const char *last = context_is_leaf(leaf) ? strrchr(leaf, '/') : NULL;
    const char *first = last;
    while (first && first > leaf && first[-1] != '/') {
        first--;
    }
    size_t length = last ? (size_t)(last - first) : 0;
    size_t prefix = sizeof CONTEXT_PREFIX - 1;
    if (length == 0 || prefix + length >= CONTEXT_ADDRESS_SIZE) {
        return false;
    }
    memcpy(address, CONTEXT_PREFIX, prefix);
    memcpy(address + prefix, first, length);
    address[prefix + length] = '\0';
    return true;
}
