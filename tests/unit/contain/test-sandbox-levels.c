/* CT-3: what a plan promises, and what was verified. */
#include "sandbox-test.h"

#include "confine.h"
#include "contain.h"

static int kernel_abi;

int __wrap_os_landlock_abi(void);
int __wrap_os_landlock_abi(void)
{
    return kernel_abi;
}

/* CT-3: what the plan would enforce, and what a network of the host costs. */
static void levels_follow_from_the_plan(void **state)
{
    struct trial isolated = {0};
    struct trial host = {.request = {.host_network = true}};
    struct guarantees guarantees = {0};
    trial_plan(&isolated, *state);
    trial_plan(&host, *state);
    sandbox_promise(isolated.sandbox, &guarantees);
    assert_int_equal(guarantees.level[GUARANTEE_NETWORK], LEVEL_ENFORCED);
    assert_int_equal(guarantees.level[GUARANTEE_CONTROL_SOCKETS], LEVEL_ENFORCED);
    assert_int_equal(guarantees.level[GUARANTEE_MEMORY], LEVEL_NONE);
    guarantees = (struct guarantees){0};
    sandbox_promise(host.sandbox, &guarantees);
    assert_int_equal(guarantees.level[GUARANTEE_NETWORK], LEVEL_NONE);
    assert_non_null(guarantees.why[GUARANTEE_NETWORK]);
    assert_int_equal(guarantees.level[GUARANTEE_CONTROL_SOCKETS], LEVEL_NONE);
    /* With Landlock's scope the abstract ones are closed all the same. */
    host.sandbox->verified = true;
    host.sandbox->facts = LAUNCH_FACT_SCOPES;
    sandbox_raise(host.sandbox, &guarantees);
    assert_int_equal(guarantees.level[GUARANTEE_CONTROL_SOCKETS], LEVEL_ENFORCED);
    /* A socket that could not be covered leaves it open. */
    host.sandbox->sockets_closed = false;
    guarantees = (struct guarantees){0};
    sandbox_raise(host.sandbox, &guarantees);
    assert_int_equal(guarantees.level[GUARANTEE_CONTROL_SOCKETS], LEVEL_NONE);
    trial_done(&isolated);
    trial_done(&host);
}

static void remedy_is(struct trial *trial, const char *saw, const char *remedy)
{
    struct contain contain = {.adapter_id = "a", .sandbox = trial->sandbox};
    with_checks checks = {0};
    sandbox_promise(trial->sandbox, &contain.guarantees);
    contain_require(&contain, 1U << GUARANTEE_CONTROL_SOCKETS, &checks);
    assert_int_equal(checks.count, 1);
    assert_int_equal(checks.list[0].ok, remedy == NULL);
    if (remedy) {
        assert_non_null(strstr(checks.list[0].saw, saw));
        assert_string_equal(checks.list[0].remedy, remedy);
    }
}

/* CT-3: a declared network is promised to close sockets where this kernel can, and the remedy is of what is open. */
static void abstract_sockets_are_closed_by_what_this_kernel_can(void **state)
{
#define END_IT     "end that daemon, or do not require it"
#define DO_WITHOUT "use Linux 6.12 or later with Landlock, or do without the network of the host"
    static const struct {
        int abi;
        bool paths_closed;
        const char *saw;
        const char *remedy;
    } rows[] = {
        {OS_LANDLOCK_ABI_OF_SCOPES, true, NULL, NULL},
        {OS_LANDLOCK_ABI_OF_SCOPES + 1, true, NULL, NULL},
        {OS_LANDLOCK_ABI_OF_SCOPES - 1, true, "Linux 6.12", DO_WITHOUT},
        {-ENOSYS, true, "Linux 6.12", DO_WITHOUT},
        {OS_LANDLOCK_ABI_OF_SCOPES, false, "not every socket", END_IT},
        {OS_LANDLOCK_ABI_OF_SCOPES - 1, false, "Linux 6.12", END_IT "; and " DO_WITHOUT},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct trial trial = {.request = {.host_network = true}};
        kernel_abi = rows[i].abi;
        trial_plan(&trial, *state);
        trial.sandbox->sockets_closed = rows[i].paths_closed;
        remedy_is(&trial, rows[i].saw, rows[i].remedy);
        trial.sandbox->host_network = false; /* no kernel is asked then */
        remedy_is(&trial, "not every socket", rows[i].paths_closed ? NULL : END_IT);
        trial_done(&trial);
    }
}

static int start(void **state)
{
    kernel_abi = OS_LANDLOCK_ABI_OF_SCOPES - 1;
    return place_make(state);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, start, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(levels_follow_from_the_plan),
        IN_PLACE(abstract_sockets_are_closed_by_what_this_kernel_can),
    };
    return cmocka_run_group_tests_name("contain/sandbox-levels", tests, NULL, NULL);
}
