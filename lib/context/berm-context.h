/* berm-context.h - ask whether this process is held by a live run of berm, and within which limits
 *
 * For programs that use much memory, many processes or much time, and want to know before they begin
 * that somebody will stop them and clean up after them.
 *
 * Calling sequence
 *   struct berm_context context;
 *   if (berm_context_read(&context, sizeof context, 2000) != BERM_CONTEXT_INSIDE ||
 *       context.memory_max_bytes > 4ULL << 30) {
 *       fprintf(stderr, "%s\n", context.text);     says what is missing, for a person
 *       return 3;
 *   }
 *   ... context.memory_max_bytes is what the kernel enforces ...
 *
 * Link with    -lberm-context (pkg-config berm-context); it needs libc and nothing else, starts no thread,
 *              allocates nothing, leaves errno alone, needs 64 KiB of stack, and can be called by several
 *              threads.
 * Asks         the supervisor of the run, over a socket. In a sandbox that is /run/berm/context; else the
 *              address follows from the process's own cgroup. No variable, file or argument is read.
 * Compares     with the kernel: the own cgroup (/proc), that it holds this very process (cgroup.procs), and
 *              its memory.max, memory.high, memory.swap.max and pids.max. One difference, and it is not proved.
 * Units        bytes, milliseconds, counts; BERM_CONTEXT_UNLIMITED: none.
 * Compatible   a kernel without memory.swap.max (swapaccount=0) limits no swap: BERM_CONTEXT_UNLIMITED.
 * Errors       none: what cannot be found out is BERM_CONTEXT_NOT_PROVED or BERM_CONTEXT_OUTSIDE; `why` and
 *              `text` say it.
 *
 * Limitations
 *   - It proves by the kernel's word: which cgroup holds this process, what limits it has at this moment,
 *     and that who answered is not one of the payload's own processes. Outside of a sandbox it proves that
 *     the other end has the same user (or is root), is an ancestor of this process and stands outside of
 *     its cgroup. In a sandbox it proves that the other end lives outside of it, and that the socket lies
 *     where only the maker of the sandbox could put it. A payload without berm's sandbox can make user and
 *     mount namespaces, put a socket at that place and answer to its own children: they read the limits of
 *     the kernel still, and the word of that payload for all the rest.
 *   - It does not prove that the other end is berm. Whoever has the same user, outside of every run, can
 *     build the same cgroup with the same limits, start this program in it and answer. The limits are then
 *     as real as berm's; tier, guarantees and run id are that user's word.
 *   - Who can change what this process sees (a debugger of the same user, LD_PRELOAD, a mount namespace that
 *     shows another kernel interface) can make it believe anything. Mounts over /proc and the cgroup tree
 *     are noticed.
 *   - Where berm only *limits* (a run without the sandbox), a process of the same user may raise the limit
 *     files later. What was read is as of now.
 *   - It needs Linux 5.6 (openat2) and cgroup v2, and a /proc of the own PID namespace.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERM_CONTEXT_UNLIMITED UINT64_MAX
#define BERM_CONTEXT_UNKNOWN   (UINT64_MAX - 1)

enum berm_context_verdict {
    BERM_CONTEXT_OUTSIDE,    /* no run holds this process */
    BERM_CONTEXT_INSIDE,     /* one does, and everything that it says agrees with the kernel */
    BERM_CONTEXT_NOT_PROVED, /* something says so, or cannot be asked: treat it as outside */
};

enum berm_context_tier {
    BERM_CONTEXT_PLAIN, /* a run without a tier */
    BERM_CONTEXT_SMALL,
    BERM_CONTEXT_MEDIUM,
    BERM_CONTEXT_LARGE,
};

enum berm_context_why {
    BERM_CONTEXT_WHY_NONE,
    BERM_CONTEXT_WHY_NO_LEAF,   /* the own cgroup is none that a run could have */
    BERM_CONTEXT_WHY_NO_BROKER, /* nobody listens */
    BERM_CONTEXT_WHY_NO_MEMBER, /* a broker answered: this process is none of its run */
    BERM_CONTEXT_WHY_KERNEL, /* /proc or the cgroup tree cannot be read, or is not the kernel's own */
    BERM_CONTEXT_WHY_PEER_INSIDE,  /* who answers is a process of this very cgroup */
    BERM_CONTEXT_WHY_PEER_STRANGE, /* another user, or no ancestor of this process */
    BERM_CONTEXT_WHY_PLACE,        /* the socket lies where anybody could have put it */
    BERM_CONTEXT_WHY_TIMEOUT,      /* no answer came */
    BERM_CONTEXT_WHY_PROTOCOL,     /* what was heard is no answer */
    BERM_CONTEXT_WHY_REFUSED,      /* the broker could not identify this process */
    BERM_CONTEXT_WHY_CGROUP,       /* it says another cgroup than the kernel */
    BERM_CONTEXT_WHY_LIMITS,       /* it says other limits than the kernel */
};

enum berm_context_level {
    BERM_CONTEXT_NONE,
    BERM_CONTEXT_OBSERVED,
    BERM_CONTEXT_LIMITED,
    BERM_CONTEXT_ENFORCED,
};

enum { BERM_CONTEXT_GUARANTEES_MAX = 24 };

/* What is not known is empty, 0 or BERM_CONTEXT_UNKNOWN. Later versions add at the end only. */
struct berm_context {
    int verdict;     /* enum berm_context_verdict */
    int why;         /* enum berm_context_why */
    int error;       /* an errno, or 0 */
    int tier;        /* enum berm_context_tier */
    int containment; /* 0 uncontained, 1 partial, 2 managed */

    int guarantee_count;
    struct {
        char name[31]; /* "memory", "network" and so on */
        uint8_t level; /* enum berm_context_level */
    } guarantees[BERM_CONTEXT_GUARANTEES_MAX];

    /* Of the own cgroup, by the kernel. */
    uint64_t memory_max_bytes;
    uint64_t memory_high_bytes;
    uint64_t swap_max_bytes;
    uint64_t pids_max;
    /* Of the run, by the supervisor. */
    uint64_t timeout_ms;
    uint64_t output_bytes;
    uint64_t temporary_bytes;
    uint64_t temporary_inodes;

    char run[64];
    char unit[256];
    char adapter[64];
    char cgroup[4096]; /* the own one, by the kernel */
    char text[256];    /* a sentence for a person */
};

/* size: sizeof(struct berm_context) of the caller. Answers the verdict, which stands in *ret_context too.
 * It comes back after timeout_ms at the latest. */
int berm_context_read(struct berm_context *ret_context, size_t size, int timeout_ms);

#ifdef __cplusplus
}
#endif
