/* What is believed of a finished sandbox; tests/adversary looks at real ones. */
#include "sandbox-test.h"

#include "confine.h"

static int kernel_abi;

int __wrap_os_landlock_abi(void);
int __wrap_os_landlock_abi(void)
{
    return kernel_abi;
}

static struct proc_identity own_identity(void)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(getpid()));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    return (struct proc_identity){getpid(), stat.start_ticks};
}

/* An ordinary process is no sandbox, whatever its launcher says. */
static void a_process_without_walls_is_refused(void **state)
{
    struct trial trial = {0};
    struct err err = {0};
    const struct launch_word word = {.said = LAUNCH_READY, .value = 7, .extra = -1};
    trial_plan(&trial, *state);
    const struct proc_identity own = own_identity();
    assert_int_equal(sandbox_verify(trial.sandbox, own, own, &word, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "not as planned"));
    /* By its first property that is another: what it may do, before where it lies. */
    assert_true(strstr(err.msg, "capabilities are left") || strstr(err.msg, "privileges"));
    assert_false(sandbox_verified(trial.sandbox));
    struct guarantees guarantees = {0};
    sandbox_raise(trial.sandbox, &guarantees);
    assert_int_equal(guarantees_label(&guarantees), CONTAINMENT_UNCONTAINED);
    /* One that has the pid now is not the one that was found. */
    const struct proc_identity before = {own.pid, own.start_ticks - 1};
    assert_int_equal(sandbox_verify(trial.sandbox, before, own, &word, &err), -1);
    assert_int_equal(err.sys, ESRCH);
    trial_done(&trial);
}

static bool is_refused_for_its_scopes(bool offered, bool network, bool said, void **state)
{
    const struct proc_identity own = own_identity();
    const struct launch_word word = {.said = LAUNCH_READY,
                                     .extra = said ? LAUNCH_FACT_SCOPES : ~LAUNCH_FACT_SCOPES};
    struct trial trial = {.request = {.host_network = network}};
    struct err err = {0};
    kernel_abi = OS_LANDLOCK_ABI_OF_SCOPES - (offered ? 0 : 1);
    trial_plan(&trial, *state);
    assert_int_equal(sandbox_verify(trial.sandbox, own, own, &word, &err), -1);
    trial_done(&trial);
    return strstr(err.msg, "abstract sockets") != NULL;
}

/* What was promised is refused before the release when the launcher did not see it. */
static void scopes_that_were_promised_must_be_in_force(void **state)
{
    for (int i = 0; i < 8; i++) {
        bool offered = i & 1;
        bool network = i & 2;
        bool said = i & 4;
        assert_int_equal(is_refused_for_its_scopes(offered, network, said, state),
                         offered && network && !said);
    }
}

static void use_is_known_while_it_is_held(void **state)
{
    struct place *place = *state;
    struct trial trial = {0};
    struct sandbox_use use;
    trial_plan(&trial, place);
    assert_int_equal(sandbox_use_read(trial.sandbox, &use), -EBADF);
    trial.sandbox->private_dirs[PRIVATE_TMP] = fd_adopt(dup(place->fd));
    assert_int_equal(sandbox_use_read(trial.sandbox, &use), 0);
    assert_true(use.bytes >= 0 && use.bytes <= use.bytes_limit);
    sandbox_let_go(trial.sandbox);
    assert_int_equal(sandbox_use_read(trial.sandbox, &use), -EBADF);
    trial_done(&trial);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_process_without_walls_is_refused),
        IN_PLACE(scopes_that_were_promised_must_be_in_force),
        IN_PLACE(use_is_known_while_it_is_held),
    };
    return cmocka_run_group_tests_name("contain/sandbox-verify", tests, NULL, NULL);
}
