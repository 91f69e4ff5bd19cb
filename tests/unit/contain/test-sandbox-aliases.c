#include "sandbox-test.h"

/* A file with two names stands for a place that two mounts show: one path of it each. */
struct twins {
    char *mounts;
    char *hidden;
    char *other;
    struct sandbox sandbox;
};

static void twins_make(struct twins *twins, const struct place *place, const char *other_device)
{
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "b", 0755), 0);
    put(place, "a/f", "");
    assert_int_equal(linkat(place->fd, "a/f", place->fd, "b/f", 0), 0);
    *twins = (struct twins){
        .mounts = memory_format("1 0 9:1 / / rw - ext4 x rw\n"
                                "2 1 9:9 /x %s/a rw - ext4 x rw\n3 1 %s /x %s/b rw - ext4 x rw\n",
                                place->path, other_device, place->path),
        .hidden = memory_format("%s/a/f", place->path),
        .other = memory_format("%s/b/f", place->path),
    };
    assert_int_equal(mount_table_parse(twins->mounts, &twins->sandbox.host_mounts), 0);
    twins->sandbox.hidden[twins->sandbox.hidden_count++] = memory_copy_string(twins->hidden);
    const struct host_path all = {.path = (char *)(uintptr_t)place->path};
    sandbox_show(&twins->sandbox, &all, false, "the project"); /* a temporary place is hidden */
}

static void twins_done(struct twins *twins)
{
    memory_free(twins->mounts);
    memory_free(twins->hidden);
    memory_free(twins->other);
    struct sandbox *sandbox = memory_new(sizeof *sandbox);
    *sandbox = twins->sandbox;
    sandbox_free(sandbox);
}

/* I10: what is hidden is covered by its other path. */
static void a_hidden_place_is_covered_by_every_path(void **state)
{
    struct twins twins;
    with_checks checks = {0};
    twins_make(&twins, *state, "9:9");
    aliases_close(&twins.sandbox, &checks);
    assert_true(checks_ok(&checks));
    assert_true(has_rule(&twins.sandbox, LAUNCH_MASK, twins.other));
    assert_false(has_rule(&twins.sandbox, LAUNCH_MASK, twins.hidden));
    twins_done(&twins);
}

static void another_file_system_shows_another_place(void **state)
{
    struct twins twins;
    with_checks checks = {0};
    with_strvec found = {0};
    twins_make(&twins, *state, "9:8");
    sandbox_aliases(&twins.sandbox, twins.hidden, &found);
    assert_int_equal(found.count, 0);
    aliases_close(&twins.sandbox, &checks);
    assert_false(has_rule(&twins.sandbox, LAUNCH_MASK, twins.other));
    twins_done(&twins);
}

/* Covered, or gone: what its path leads to is not the place any more. */
static void what_is_not_the_same_is_no_other_path(void **state)
{
    struct place *place = *state;
    struct twins twins;
    with_strvec found = {0};
    twins_make(&twins, place, "9:9");
    assert_int_equal(unlinkat(place->fd, "b/f", 0), 0);
    put(place, "b/f", "another");
    sandbox_aliases(&twins.sandbox, twins.hidden, &found);
    assert_int_equal(found.count, 0);
    twins_done(&twins);
}

static void what_is_opened_by_name_stays_open(void **state)
{
    struct twins twins;
    with_checks checks = {0};
    twins_make(&twins, *state, "9:9");
    const struct host_path opened = {.path = twins.other};
    sandbox_show(&twins.sandbox, &opened, false, "--readable");
    aliases_close(&twins.sandbox, &checks);
    assert_true(checks_ok(&checks));
    assert_false(has_rule(&twins.sandbox, LAUNCH_MASK, twins.other));
    twins_done(&twins);
}

/* It could only be shown together with all that is hidden there. */
static void a_project_within_is_refused(void **state)
{
    struct twins twins;
    with_checks checks = {0};
    twins_make(&twins, *state, "9:9");
    const struct host_path project = {.path = twins.other};
    sandbox_show(&twins.sandbox, &project, false, "the project");
    aliases_close(&twins.sandbox, &checks);
    assert_true(was_refused(&checks, CHECK_ROOTS, "second mount"));
    twins_done(&twins);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_hidden_place_is_covered_by_every_path),
        IN_PLACE(another_file_system_shows_another_place),
        IN_PLACE(what_is_not_the_same_is_no_other_path),
        IN_PLACE(what_is_opened_by_name_stays_open),
        IN_PLACE(a_project_within_is_refused),
    };
    return cmocka_run_group_tests_name("contain/sandbox-aliases", tests, NULL, NULL);
}
