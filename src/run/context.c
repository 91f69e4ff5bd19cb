/* What programs of the payload may be told about a run in a scope. */
#include "run-priv.h"

#include <stdio.h>
#include <string.h>

#include "anchor-message.h"

#define TREE "/sys/fs/cgroup"

static uint64_t limit_of(int64_t value)
{
    return value == CGROUP_NO_LIMIT || value < 0 ? CONTEXT_UNLIMITED : (uint64_t)value;
}

/* Of a plain run 0 says that there is none. */
static uint64_t wish_of(int64_t value)
{
    return value <= 0 ? CONTEXT_UNLIMITED : (uint64_t)value;
}

/* Those that were verified count, and nobody is answered before: the release comes after the
 * verification. */
static struct guarantees guarantees_of(const struct preparation *preparation,
                                       const struct scope_limits *held)
{
    struct guarantees guarantees = preparation->contain.guarantees;
    if (preparation->sandbox) {
        sandbox_promise(preparation->sandbox, &guarantees);
    }
    contain_hold(preparation->sandbox != NULL, held->swap_max_bytes == 0, &guarantees);
    return guarantees;
}

void run_context_fill(const struct run *run, const struct scope *scope,
                      struct run_context *ret_context)
{
    const struct supervise_limits *limits = &run->preparation.limits.values;
    const struct sandbox *sandbox = run->preparation.sandbox;
    const char *path = scope_path(scope);
    struct scope_limits held;
    BUG_IF(strncmp(path, TREE, sizeof TREE - 1) != 0);
    int length =
        snprintf(ret_context->folder, sizeof ret_context->folder, "%s/%s", path, ANCHOR_LEAF_NAME);
    BUG_IF(length < 0 || (size_t)length >= sizeof ret_context->folder);
    scope_limits(scope, &held);
    ret_context->facts = (struct context_facts){
        .leaf = ret_context->folder + sizeof TREE - 1,
        .run = run->id,
        .unit = scope_unit(scope),
        .adapter = scope_adapter_id(scope_adapter(scope)),
        .tier = run->request->tier,
        .guarantees = guarantees_of(&run->preparation, &held),
        .memory_max_bytes = limit_of(held.memory_max_bytes),
        .memory_high_bytes = limit_of(held.memory_high_bytes),
        .swap_max_bytes = limit_of(held.swap_max_bytes),
        .pids_max = limit_of(held.pids_max),
        .timeout_ms = wish_of(limits->timeout_ns / NS_PER_MS),
        .output_bytes = wish_of(limits->output_bytes),
        .temporary_bytes = sandbox ? wish_of(limits->temporary_bytes) : CONTEXT_UNLIMITED,
        .temporary_inodes = sandbox ? wish_of(limits->temporary_files) : CONTEXT_UNLIMITED,
    };
    ret_context->facts.containment = guarantees_label(&ret_context->facts.guarantees);
}
