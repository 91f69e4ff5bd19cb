#include "../unit.h"

#include <stdio.h>

#include "clock.h"
#include "memory.h"
#include "run-priv.h"

/* A scope without a kernel: what it read back. */
static struct scope_limits held;

void scope_limits(const struct scope *scope, struct scope_limits *ret_limits)
{
    *ret_limits = held;
}
enum scope_adapter scope_adapter(const struct scope *scope)
{
    return SCOPE_SYSTEMD_USER;
}
const char *scope_adapter_id(enum scope_adapter adapter)
{
    return adapter == SCOPE_SYSTEMD_USER ? "linux-systemd-cgroup-v2" : NULL;
}
const char *scope_unit(const struct scope *scope)
{
    return "berm-k7f3-0123456789abcdef.scope";
}
const char *scope_path(const struct scope *scope)
{
    return "/sys/fs/cgroup/user.slice/berm-k7f3-0123456789abcdef.scope";
}

/* CX-1: what is told are the limits that the kernel holds, and not what was asked for. */
static void what_was_read_back_is_told(void **state)
{
    const struct run_request request = run_request_plain();
    struct run *run = memory_new(sizeof *run);
    struct run_context *context = memory_new(sizeof *context);
    run->request = &request;
    memcpy(run->id, "k7f3", sizeof "k7f3");
    run->preparation.limits.values.memory_bytes = 1 << 30;
    run->preparation.limits.values.timeout_ns = 30 * NS_PER_S;
    run->preparation.contain.guarantees.level[GUARANTEE_MEMORY] = LEVEL_LIMITED;
    held = (struct scope_limits){
        .memory_max_bytes = 1 << 29, .memory_high_bytes = CGROUP_NO_LIMIT, .pids_max = 64};
    run_context_fill(run, NULL, context);
    const struct context_facts *facts = &context->facts;
    assert_string_equal(context->folder,
                        "/sys/fs/cgroup/user.slice/berm-k7f3-0123456789abcdef.scope/payload");
    assert_string_equal(facts->leaf, "/user.slice/berm-k7f3-0123456789abcdef.scope/payload");
    assert_string_equal(facts->run, "k7f3");
    assert_string_equal(facts->adapter, "linux-systemd-cgroup-v2");
    assert_int_equal(facts->memory_max_bytes, 1 << 29);
    assert_int_equal(facts->memory_high_bytes, CONTEXT_UNLIMITED);
    assert_int_equal(facts->swap_max_bytes, 0);
    assert_int_equal(facts->pids_max, 64);
    assert_int_equal(facts->timeout_ms, 30000);
    assert_int_equal(facts->output_bytes, CONTEXT_UNLIMITED);
    assert_int_equal(facts->temporary_bytes, CONTEXT_UNLIMITED);
    assert_int_equal(facts->tier, CONTEXT_TIER_NONE);
    assert_int_equal(facts->containment, CONTAINMENT_PARTIAL);
    /* CX-1: and the guarantees are those of what holds it. */
    assert_int_equal(facts->guarantees.level[GUARANTEE_PIDS], LEVEL_LIMITED);
    assert_int_equal(facts->guarantees.level[GUARANTEE_SWAP], LEVEL_LIMITED);
    held.swap_max_bytes = CGROUP_NO_LIMIT;
    run_context_fill(run, NULL, context);
    assert_int_equal(facts->guarantees.level[GUARANTEE_SWAP], LEVEL_NONE);
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(facts->leaf, address));
    assert_string_equal(address, "@berm/berm-k7f3-0123456789abcdef.scope");
    memory_free(context);
    memory_free(run);
}

/* The longest name of a scope: run id, 64 random bits (scope_name()). */
static void every_scope_has_an_address(void **state)
{
    char leaf[128];
    char address[CONTEXT_ADDRESS_SIZE];
    (void)snprintf(leaf, sizeof leaf, "/berm-%0*d-%016d.scope/payload", (int)RUN_ID_SIZE - 1, 0, 0);
    assert_true(context_address(leaf, address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_back_is_told),
        cmocka_unit_test(every_scope_has_an_address),
    };
    return cmocka_run_group_tests_name("run/context", tests, NULL, NULL);
}
