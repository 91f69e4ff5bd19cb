#include "parts.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { PROC_ROOT_INODE = 1 }; /* fs/proc of the kernel */

const struct view berm_view_of_the_kernel = {
    .proc = "/proc",
    .cgroups = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
    .socket = CONTEXT_PATH,
    .proc_magic = PROC_SUPER_MAGIC,
    .proc_inode = PROC_ROOT_INODE,
    .cgroup_magic = CGROUP2_SUPER_MAGIC,
};

_Static_assert((int)BERM_CONTEXT_GUARANTEES_MAX == (int)CONTEXT_GUARANTEES_MAX,
               "as many as are told");
_Static_assert((int)BERM_CONTEXT_LARGE == (int)CONTEXT_TIER_LARGE, "the same tiers");
_Static_assert(sizeof((struct berm_context *)0)->cgroup == CONTEXT_LEAF_SIZE, "room for any leaf");

static const struct {
    enum berm_context_verdict verdict;
    const char *text;
} whys[] = {
    [BERM_CONTEXT_WHY_NONE] = {BERM_CONTEXT_INSIDE, "a live run of berm holds this process"},
    [BERM_CONTEXT_WHY_NO_LEAF] = {BERM_CONTEXT_OUTSIDE,
                                  "no run of berm: this process has no cgroup of one"},
    [BERM_CONTEXT_WHY_NO_BROKER] = {BERM_CONTEXT_OUTSIDE,
                                    "no run of berm: nobody answers for this cgroup"},
    [BERM_CONTEXT_WHY_NO_MEMBER] = {BERM_CONTEXT_OUTSIDE,
                                    "a run of berm answered: this process is none of its own"},
    [BERM_CONTEXT_WHY_KERNEL] =
        {BERM_CONTEXT_NOT_PROVED,
         "not proved: the kernel cannot be asked about this process's cgroup"},
    [BERM_CONTEXT_WHY_PEER_INSIDE] = {BERM_CONTEXT_NOT_PROVED,
                                      "not proved: who answers is a process of this same cgroup"},
    [BERM_CONTEXT_WHY_PEER_STRANGE] =
        {BERM_CONTEXT_NOT_PROVED,
         "not proved: who answers is another user, or did not start this process"},
    [BERM_CONTEXT_WHY_PLACE] = {BERM_CONTEXT_NOT_PROVED,
                                "not proved: the socket lies where anybody could have put it"},
    [BERM_CONTEXT_WHY_TIMEOUT] = {BERM_CONTEXT_NOT_PROVED, "not proved: no answer in time"},
    [BERM_CONTEXT_WHY_PROTOCOL] = {BERM_CONTEXT_NOT_PROVED,
                                   "not proved: what came is no answer of berm's"},
    [BERM_CONTEXT_WHY_REFUSED] = {BERM_CONTEXT_NOT_PROVED,
                                  "not proved: the run could not identify this process"},
    [BERM_CONTEXT_WHY_CGROUP] =
        {BERM_CONTEXT_NOT_PROVED,
         "not proved: the answer is about another cgroup than this process's"},
    [BERM_CONTEXT_WHY_LIMITS] = {BERM_CONTEXT_NOT_PROVED,
                                 "not proved: the kernel holds other limits than the answer says"},
};

static int conclude(struct berm_context *context, enum berm_context_why why, int result)
{
    context->verdict = whys[why].verdict;
    context->why = why;
    context->error = result < 0 ? -result : 0;
    (void)snprintf(context->text, sizeof context->text, "%s", whys[why].text);
    return context->verdict;
}

static void take_answer(struct berm_context *context, const struct context_answer *answer)
{
    context->tier = (int)answer->tier;
    context->containment = (int)answer->containment;
    context->timeout_ms = answer->timeout_ms;
    context->output_bytes = answer->output_bytes;
    context->temporary_bytes = answer->temporary_bytes;
    context->temporary_inodes = answer->temporary_inodes;
    context->guarantee_count = (int)answer->guarantee_count;
    for (uint32_t i = 0; i < answer->guarantee_count; i++) {
        memcpy(context->guarantees[i].name, answer->guarantees[i].name,
               sizeof context->guarantees[i].name);
        context->guarantees[i].level = answer->guarantees[i].level;
    }
    memcpy(context->run, answer->run, sizeof context->run);
    memcpy(context->unit, answer->unit, sizeof context->unit);
    memcpy(context->adapter, answer->adapter, sizeof context->adapter);
}

static bool same_limits(const struct own *own, const struct context_answer *answer)
{
    return own->memory_max_bytes == answer->memory_max_bytes &&
           own->memory_high_bytes == answer->memory_high_bytes &&
           (own->swap_has_no_limit_file || own->swap_max_bytes == answer->swap_max_bytes) &&
           own->pids_max == answer->pids_max;
}

static enum berm_context_why why_of_status(uint16_t status)
{
    return status == CONTEXT_OK             ? BERM_CONTEXT_WHY_NONE
           : status == CONTEXT_NOT_A_MEMBER ? BERM_CONTEXT_WHY_NO_MEMBER
                                            : BERM_CONTEXT_WHY_REFUSED;
}

/* A broker closes a connection whose time is over, and those of a run that ends. */
static enum berm_context_why why_of_failure(int result)
{
    bool nothing_came = result == -ETIMEDOUT || result == -ECONNRESET || result == -EPIPE;
    return nothing_came ? BERM_CONTEXT_WHY_TIMEOUT : BERM_CONTEXT_WHY_PROTOCOL;
}

static int ask(const struct view *view, struct own *own, struct berm_context *context, int fd,
               bool in_sandbox, int64_t until_ns)
{
    struct context_answer answer;
    enum berm_context_why why = berm_peer_judge(view, own, fd, in_sandbox);
    if (why != BERM_CONTEXT_WHY_NONE) {
        return conclude(context, why, 0);
    }
    int result = berm_exchange_ask(fd, until_ns, &answer);
    why = result < 0 ? why_of_failure(result) : why_of_status(answer.status);
    if (why != BERM_CONTEXT_WHY_NONE) {
        return conclude(context, why, result);
    }
    if (strcmp(answer.leaf, own->cgroup) != 0) {
        return conclude(context, BERM_CONTEXT_WHY_CGROUP, 0);
    }
    result = berm_own_limits(view, own);
    if (result < 0) {
        return conclude(context, BERM_CONTEXT_WHY_KERNEL, result);
    }
    context->memory_max_bytes = own->memory_max_bytes;
    context->memory_high_bytes = own->memory_high_bytes;
    context->swap_max_bytes = own->swap_max_bytes;
    context->pids_max = own->pids_max;
    if (!same_limits(own, &answer)) {
        return conclude(context, BERM_CONTEXT_WHY_LIMITS, 0);
    }
    take_answer(context, &answer);
    return conclude(context, BERM_CONTEXT_WHY_NONE, 0);
}

int berm_context_read_in(const struct view *view, struct berm_context *context, int timeout_ms)
{
    *context = (struct berm_context){.memory_max_bytes = BERM_CONTEXT_UNKNOWN,
                                     .memory_high_bytes = BERM_CONTEXT_UNKNOWN,
                                     .swap_max_bytes = BERM_CONTEXT_UNKNOWN,
                                     .pids_max = BERM_CONTEXT_UNKNOWN,
                                     .timeout_ms = BERM_CONTEXT_UNKNOWN,
                                     .output_bytes = BERM_CONTEXT_UNKNOWN,
                                     .temporary_bytes = BERM_CONTEXT_UNKNOWN,
                                     .temporary_inodes = BERM_CONTEXT_UNKNOWN};
    int64_t until_ns =
        berm_exchange_now_ns() + (timeout_ms > 0 ? (int64_t)timeout_ms * 1000000 : 0);
    struct own own;
    bool in_sandbox = false;
    int result = berm_own_open(view, &own);
    if (result < 0) {
        berm_own_close(&own);
        return conclude(context, BERM_CONTEXT_WHY_KERNEL, result);
    }
    memcpy(context->cgroup, own.cgroup, sizeof context->cgroup);
    if (!context_is_leaf(own.cgroup)) {
        berm_own_close(&own);
        return conclude(context, BERM_CONTEXT_WHY_NO_LEAF, 0);
    }
    int fd = berm_exchange_find(view, &own, until_ns, &in_sandbox);
    if (fd < 0) {
        berm_own_close(&own);
        return conclude(
            context, fd == -ETIMEDOUT ? BERM_CONTEXT_WHY_TIMEOUT : BERM_CONTEXT_WHY_NO_BROKER, fd);
    }
    int verdict = ask(view, &own, context, fd, in_sandbox, until_ns);
    close(fd);
    berm_own_close(&own);
    return verdict;
}

EXPORTED int berm_context_read(struct berm_context *ret_context, size_t size, int timeout_ms)
{
    struct berm_context context;
    int errno_of_the_caller = errno;
    int verdict = berm_context_read_in(&berm_view_of_the_kernel, &context, timeout_ms);
    errno = errno_of_the_caller;
    memset(ret_context, 0, size);
    memcpy(ret_context, &context, size < sizeof context ? size : sizeof context);
    return verdict;
}
