#include "sandbox-test.h"

#include <sys/mman.h>

static const char *string_at(const struct launch_plan *plan, uint32_t offset, uint32_t index)
{
    const char *text = launch_plan_string(plan, offset);
    for (; index > 0; index--) {
        text += strlen(text) + 1;
    }
    return text;
}

static void the_plan_is_what_was_planned(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS(".")}};
    struct err err = {0};
    trial_plan(&trial, place);
    with_buf bytes = buf_new(1 << 20);
    assert_int_equal(sandbox_render_plan(trial.sandbox, &bytes, &err), 0);
    const struct launch_plan *plan = (const void *)buf_string(&bytes);
    assert_true(launch_plan_check(plan, buf_length(&bytes)));
    assert_string_equal(launch_plan_string(plan, plan->cwd), trial.path);
    assert_string_equal(launch_plan_string(plan, plan->home_path), SANDBOX_HOME);
    assert_int_equal(plan->private_bytes, 1 << 20);
    assert_int_equal(plan->private_inodes, 500);
    assert_int_equal(plan->argument_count, 2);
    assert_string_equal(string_at(plan, plan->arguments, 1), "a b");
    assert_int_equal(plan->variable_count, trial.sandbox->environment.count);
    assert_true(plan->item_count >= trial.sandbox->rule_count); /* and what is hidden as a whole */
    assert_true(plan->filter_count > 0);
    struct stat stat;
    assert_int_equal(fstat(place->fd, &stat), 0);
    assert_int_equal(plan->cwd_inode, stat.st_ino);
    const char *file = launch_plan_string(plan, plan->file.path);
    assert_int_equal(lstat(file, &stat), 0);
    assert_int_equal(plan->file.inode, stat.st_ino);
    assert_int_equal(plan->file.size_bytes, stat.st_size);
    /* Any other size is no plan. */
    assert_false(launch_plan_check(plan, buf_length(&bytes) - 1));
    trial_done(&trial);
}

static void assert_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    assert_int_equal(seals & (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW),
                     F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
}

/* CVE-2019-5736: what is executed lies in memory that nobody can change. */
static void what_is_handed_on_is_sealed(void **state)
{
    struct trial trial = {0};
    struct err err = {0};
    trial_plan(&trial, *state);
    assert_int_equal(sandbox_image_fd(trial.sandbox),
                     -1); /* 0 would be a descriptor of somebody's */
    assert_int_equal(sandbox_open(trial.sandbox, &err), 0);
    assert_int_equal(sandbox_ready(trial.sandbox, &err), 0);
    assert_sealed(sandbox_plan_fd(trial.sandbox));
    assert_sealed(sandbox_image_fd(trial.sandbox));
    assert_sealed(sandbox_args_fd(trial.sandbox));
    assert_string_equal(sandbox_tool_argv(trial.sandbox)[0], "bwrap");
    assert_null(sandbox_tool_environment(trial.sandbox)[0]); /* IB-3 */
    uid_t uid;
    gid_t gid;
    assert_int_equal(sandbox_becomes(trial.sandbox, &uid, &gid), geteuid() == 0);
    assert_int_equal(uid, 1000);
    trial_done(&trial);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(the_plan_is_what_was_planned),
        IN_PLACE(what_is_handed_on_is_sealed),
    };
    return cmocka_run_group_tests_name("contain/sandbox-launch", tests, NULL, NULL);
}
