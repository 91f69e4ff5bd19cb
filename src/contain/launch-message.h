/* launch-message.h
 *
 * What the controller and the launcher say to each other. The launcher is the small program that
 * bubblewrap starts as the first process of the sandbox (programs/helper/launcher.c): it finishes
 * the mounts, closes the process down, waits for its release, starts the payload as its child,
 * reaps whatever ends in the sandbox and tells the payload's exact status.
 *
 *   controller                                   launcher (pid 1 of the sandbox)
 *   ---- plan: a sealed memfd ------------------> mounts, checks, closes down; forks the payload's
 *                                                 first process, which waits
 *        <----------------------- LAUNCH_CONTEXT  a socket that the payload will reach, when asked for
 *        <------------------------- LAUNCH_READY  (or LAUNCH_FAILED, and exit)
 *   ---- LAUNCH_RELEASE ------------------------> the child executes the payload
 *        <---------------------- LAUNCH_EXECUTED  (or LAUNCH_NOT_EXECUTED, and exit)
 *   ---- LAUNCH_KILL ---------------------------> kill(-1, SIGKILL): all of the sandbox in one call
 *        <------------------------- LAUNCH_ENDED  the payload's first process ended: how
 *        <------------------------- LAUNCH_EMPTY  nothing is left in the sandbox: exit
 *   end-of-file --------------------------------> the controller is no more: exit, which ends all
 *
 * Words go over a SOCK_SEQPACKET pair, one packet each: a struct launch_word from the launcher, one
 * byte (enum launch_order) from the controller. The payload never holds an end of it.
 *
 * The plan is one block of memory: struct launch_plan, then `item_count` items, then `filter_count`
 * instructions of the system call filter, then `text_bytes` of NUL-terminated strings. Every offset
 * is checked before anything is done (launch_plan_check()); the launcher allocates nothing. The text
 * begins with an empty string, so that offset 0 says "none".
 *
 * Units        bytes; identities as fstat(2) gives them.
 * Limitations  both ends are of one build (the helper's image is part of berm), so there is no
 *              version to negotiate: a plan of another size is refused.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum { LAUNCH_MAGIC = 0x6d726562 }; /* "berm" */
enum {
    LAUNCH_ITEMS_MAX = 1024,
    LAUNCH_FILTER_MAX = 4096,
    LAUNCH_TEXT_MAX = 4 << 20,
    LAUNCH_ARGUMENTS_MAX = 65536,
};

/* Descriptors that the launcher is started with; bubblewrap hands on what it inherits. */
enum {
    LAUNCH_STDIN_FD = 3, /* 3, 4, 5: the payload's standard streams */
    LAUNCH_STDOUT_FD,
    LAUNCH_STDERR_FD,
    LAUNCH_CHANNEL_FD, /* 6 */
    LAUNCH_PLAN_FD,    /* 7 */
    LAUNCH_IMAGE_FD,   /* 8: the helper's sealed image; its path is /proc/self/fd/8 */
    LAUNCH_ARGS_FD,    /* 9: bubblewrap's arguments (--args) */
    LAUNCH_FIRST_FREE_FD,
};

/* What is done in the sandbox, in the order of the list. A path is physical: no component of it is
 * followed when it is a link. Everything but LAUNCH_MASK without a type fails when the path is not there. */
enum launch_kind {
    /* A file or folder beneath /tmp, /var/tmp, /dev/shm or /dev that stays visible there: bound into
     * the private tree at the same place, before that covers the host's. */
    LAUNCH_KEEP,
    /* Its identity (device, inode, type) must be the one that the controller held. */
    LAUNCH_EXPECT,
    /* Bound onto itself, so that nobody in the sandbox can rename or replace it. */
    LAUNCH_PIN,
    /* The same, and read-only, whatever is mounted beneath it. */
    LAUNCH_CLOSE,
    /* Covered: a folder by an empty read-only one, anything else by an unreadable empty file. A path
     * that is not there is none to reach, and passed over. */
    LAUNCH_MASK,
    /* Nothing is mounted: the payload may write beneath it (a rule of Landlock). */
    LAUNCH_WRITABLE,
    LAUNCH_KIND_COUNT
};

struct launch_item {
    uint32_t kind;
    uint32_t path;   /* offset into the text */
    uint64_t device; /* LAUNCH_EXPECT */
    uint64_t inode;
    uint32_t type; /* S_IFMT bits of LAUNCH_EXPECT; of LAUNCH_MASK: S_IFLNK, the link itself is
                                    covered; S_IFDIR, a folder that has to be there */
    uint32_t reserved;
};

/* The file that is executed, as it was hashed: the launcher opens it by its path inside and
 * compares. */
struct launch_file {
    uint32_t path; /* offset into the text */
    uint32_t mode;
    uint64_t device;
    uint64_t inode;
    int64_t size_bytes;
    int64_t mtime_ns;
    int64_t ctime_ns;
};

struct launch_plan {
    uint32_t magic;
    uint32_t total_bytes;
    uint32_t item_count;
    uint32_t filter_count; /* instructions; 0: no filter */
    uint32_t text_bytes;

    uint64_t private_bytes;  /* size= of the private file system */
    uint64_t private_inodes; /* nr_inodes= */
    uint32_t private_path;   /* where it is mounted for a moment; an empty folder */
    uint32_t home_path;      /* HOME of the payload inside the private file system; 0: none made */
    uint32_t context_path;   /* where programs ask about the run (LAUNCH_CONTEXT); 0: nowhere */

    struct launch_file file;
    uint32_t cwd; /* physical path */
    uint32_t argument_count;
    uint32_t arguments; /* offset into the text: that many strings in a row */
    uint32_t variable_count;
    uint32_t variables; /* the environment, in the same way */
    uint64_t cwd_device;
    uint64_t cwd_inode;

    bool scopes;   /* of Landlock, where the kernel has them: signals and abstract sockets */
    bool no_links; /* in /tmp, /var/tmp and /dev/shm none is followed (nosymfollow) */
};

enum launch_order { LAUNCH_RELEASE = 'R', LAUNCH_KILL = 'K' };

enum launch_said {
    LAUNCH_FAILED, /* sys, text: which step could not be done; nothing was released */
    LAUNCH_READY,  /* value: Landlock's ABI, 0 none; extra: bits of enum launch_fact */
    LAUNCH_EXECUTED,
    LAUNCH_NOT_EXECUTED, /* sys: why execveat failed */
    LAUNCH_ENDED,        /* value: exit code, or extra: signal; left: others are still there */
    LAUNCH_EMPTY,        /* the usage of all that was reaped inside */
    LAUNCH_CONTEXT, /* with a descriptor: a socket, bound at the plan's context_path and not listening */
};

/* What the launcher saw, besides what the controller reads for itself. */
enum launch_fact {
    LAUNCH_FACT_USERNS_CLOSED = 1, /* unshare(CLONE_NEWUSER) was tried and failed */
    LAUNCH_FACT_LANDLOCK = 2,      /* its rules are in force */
    LAUNCH_FACT_SCOPES = 4,        /* and its scopes: signals, abstract sockets */
    LAUNCH_FACT_FILTER = 8,        /* the system call filter is loaded */
};

struct launch_word {
    uint32_t said;
    int32_t value;
    int32_t extra;
    int32_t sys; /* a positive errno, or 0 */
    bool left;
    int64_t took_ns; /* LAUNCH_READY: the launcher's own part of the set-up */
    int64_t user_ns; /* of the children that were reaped (getrusage(2)) */
    int64_t system_ns;
    int64_t largest_rss_bytes;
    char text[240];
};

static inline const struct launch_item *launch_plan_items(const struct launch_plan *plan)
{
    return (const struct launch_item *)(const void *)(plan + 1);
}
static inline const struct sock_filter *launch_plan_filter(const struct launch_plan *plan)
{
    return (const struct sock_filter *)(const void *)(launch_plan_items(plan) + plan->item_count);
}
static inline const char *launch_plan_text(const struct launch_plan *plan)
{
    return (const char *)(launch_plan_filter(plan) + plan->filter_count);
}
static inline const char *launch_plan_string(const struct launch_plan *plan, uint32_t offset)
{
    return launch_plan_text(plan) + offset;
}

/* `count` strings in a row from an offset on lie within the text. */
static inline bool launch_plan_has_strings(const struct launch_plan *plan, uint32_t offset,
                                           uint32_t count)
{
    const char *text = launch_plan_text(plan);
    if (offset > plan->text_bytes) {
        return false; /* none, from nowhere, is an offset out of range all the same */
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *end = offset < plan->text_bytes
                              ? memchr(text + offset, '\0', plan->text_bytes - offset)
                              : NULL;
        if (!end) {
            return false;
        }
        offset = (uint32_t)(end - text) + 1;
    }
    return true;
}

static inline bool launch_plan_has_path(const struct launch_plan *plan, uint32_t offset)
{
    return launch_plan_has_strings(plan, offset, 1) && launch_plan_string(plan, offset)[0] == '/';
}

/* Everything that the plan points to lies in its `bytes`. */
static inline bool launch_plan_check(const struct launch_plan *plan, size_t bytes)
{
    if (bytes < sizeof *plan || plan->magic != LAUNCH_MAGIC || plan->total_bytes != bytes ||
        plan->item_count > LAUNCH_ITEMS_MAX || plan->filter_count > LAUNCH_FILTER_MAX ||
        plan->text_bytes > LAUNCH_TEXT_MAX || plan->argument_count > LAUNCH_ARGUMENTS_MAX ||
        plan->variable_count > LAUNCH_ARGUMENTS_MAX || plan->argument_count == 0) {
        return false;
    }
    size_t wanted = sizeof *plan + plan->item_count * sizeof(struct launch_item) +
                    plan->filter_count * sizeof(struct sock_filter) + plan->text_bytes;
    if (wanted != bytes) {
        return false;
    }
    for (uint32_t i = 0; i < plan->item_count; i++) {
        const struct launch_item *item = &launch_plan_items(plan)[i];
        if (item->kind >= LAUNCH_KIND_COUNT || !launch_plan_has_path(plan, item->path)) {
            return false;
        }
    }
    return launch_plan_has_path(plan, plan->private_path) &&
           (plan->home_path == 0 || launch_plan_has_path(plan, plan->home_path)) &&
           (plan->context_path == 0 || launch_plan_has_path(plan, plan->context_path)) &&
           launch_plan_has_path(plan, plan->file.path) && launch_plan_has_path(plan, plan->cwd) &&
           launch_plan_has_strings(plan, plan->arguments, plan->argument_count) &&
           launch_plan_has_strings(plan, plan->variables, plan->variable_count);
}
