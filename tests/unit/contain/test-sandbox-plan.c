#include "sandbox-test.h"

static void a_plain_plan_opens_the_project_only(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.inherited = WORDS("HOME=/nobody's")}};
    trial_plan(&trial, place);
    const struct sandbox *sandbox = trial.sandbox;
    assert_true(checks_ok(&trial.checks));
    assert_true(has_mount(sandbox, MOUNT_READ_ONLY, "/"));
    assert_true(has_mount(sandbox, MOUNT_EMPTY, "/run"));
    assert_true(has_mount(sandbox, MOUNT_EMPTY, "/root"));
    assert_true(has_mount(sandbox, MOUNT_READ_ONLY, trial.path));
    assert_true(has_rule(sandbox, LAUNCH_KEEP, trial.path));
    assert_true(has_rule(sandbox, LAUNCH_EXPECT, trial.path));
    assert_int_equal(sandbox->root_count, 0);
    assert_true(sandbox_hides(sandbox, "/root/.ssh"));
    assert_true(sandbox_hides(sandbox, "/tmp/other"));
    assert_true(sandbox_hides(sandbox, "/run/docker.sock"));
    assert_false(sandbox_hides(sandbox, trial.path));
    assert_false(sandbox_hides(sandbox, "/usr/bin/true"));
    trial_done(&trial);
}

/* The project is the nearest folder above that holds .git, so that `make` in a part of it finds the
 * rest. */
static void the_project_is_the_whole_of_it(void **state)
{
    struct place *place = *state;
    struct trial trial = {0};
    struct place part = {0};
    assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "part", 0755), 0);
    snprintf(part.path, sizeof part.path, "%s/part", place->path);
    part.fd = openat(place->fd, "part", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    trial_plan(&trial, &part);
    char whole[4096];
    assert_non_null(realpath(place->path, whole));
    assert_true(has_mount(trial.sandbox, MOUNT_READ_ONLY, whole));
    trial_done(&trial);
    close(part.fd);
}

/* What lies in a folder comes after it, or the folder would cover it; of one place the writable wins. */
static void folders_come_before_what_lies_in_them(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS("out"), .readable = WORDS(".")}};
    assert_int_equal(mkdirat(place->fd, "out", 0755), 0);
    trial_plan(&trial, place);
    size_t project = 0;
    size_t out = 0;
    with_string path = memory_format("%s/out", trial.path);
    for (size_t i = 0; i < trial.sandbox->mount_count; i++) {
        const struct sandbox_mount *one = &trial.sandbox->mounts[i];
        project = strcmp(one->path, trial.path) == 0 ? i : project;
        out = strcmp(one->path, path) == 0 ? i : out;
    }
    assert_true(project > 0 && out > project);
    assert_int_equal(trial.sandbox->mounts[out].kind, MOUNT_WRITABLE);
    assert_true(has_rule(trial.sandbox, LAUNCH_WRITABLE, path));
    trial_done(&trial);
}

/* What holds a hidden place would bring it back, and be mounted over the sandbox's own. */
static void what_holds_a_hidden_place_is_not_shown(void **state)
{
    struct place *place = *state;
    static const char *const wanted[] = {"/",    "/run",     "/dev",     "/proc",
                                         "/tmp", "/var/tmp", "/dev/shm", "/sys"};
    for (size_t i = 0; i < countof(wanted); i++) {
        struct trial trial = {.request = {.readable = WORDS(wanted[i])}};
        trial_plan(&trial, place);
        if (!was_refused(&trial.checks, CHECK_ROOTS, "--readable")) {
            fail_msg("%s is shown", wanted[i]);
        }
        assert_false(has_mount(trial.sandbox, MOUNT_READ_ONLY, wanted[i]) && i > 0);
        trial_done(&trial);
    }
}

/* The private folder covers it there, so that it must be kept all the same. */
static void a_temporary_place_in_a_shown_folder_is_kept(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.readable = WORDS("/var")}};
    char path[] = "/var/tmp/berm-plan-XXXXXX";
    assert_non_null(mkdtemp(path));
    trial.request.writable = WORDS(path);
    trial_plan(&trial, place);
    assert_true(has_mount(trial.sandbox, MOUNT_WRITABLE, path));
    assert_true(has_rule(trial.sandbox, LAUNCH_KEEP, path));
    trial_done(&trial);
    trial = (struct trial){.request = {.readable = WORDS("/var", path)}};
    trial_plan(&trial, place);
    assert_true(has_rule(trial.sandbox, LAUNCH_KEEP, path));
    assert_false(sandbox_hides(trial.sandbox, path));
    assert_true(sandbox_hides(trial.sandbox, "/var/tmp/berm-other"));
    trial_done(&trial);
    assert_int_equal(rmdir(path), 0);
}

static const char *value_of(const struct sandbox *sandbox, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sandbox->environment.count; i++) {
        if (strncmp(sandbox->environment.strings[i], name, n) == 0 &&
            sandbox->environment.strings[i][n] == '=') {
            return sandbox->environment.strings[i] + n + 1;
        }
    }
    return NULL;
}

/* SB-5, IB-3: nothing of the environment leads to a daemon or out of sight. */
static void the_environment_leads_nowhere(void **state)
{
    struct place *place = *state;
    struct trial trial = {
        .request = {.environment = WORDS("HOME=/root", "TMPDIR=/x", "DOCKER_HOST=unix:///d",
                                         "XDG_RUNTIME_DIR=/run/user/1", "XDG_CACHE_HOME=/root/c",
                                         "XDG_DATA_DIRS=/usr/share", "CC=gcc")}};
    trial_plan(&trial, place);
    assert_string_equal(value_of(trial.sandbox, "HOME"), SANDBOX_HOME);
    assert_string_equal(value_of(trial.sandbox, "TMPDIR"), "/tmp");
    assert_string_equal(value_of(trial.sandbox, "CC"), "gcc");
    assert_string_equal(value_of(trial.sandbox, "XDG_DATA_DIRS"), "/usr/share");
    assert_null(value_of(trial.sandbox, "DOCKER_HOST"));
    assert_null(value_of(trial.sandbox, "XDG_RUNTIME_DIR"));
    assert_null(value_of(trial.sandbox, "XDG_CACHE_HOME"));
    trial_done(&trial);
}

static void a_home_that_is_open_stays_home(void **state)
{
    struct place *place = *state;
    with_string home = memory_format("HOME=%s", place->path);
    struct trial trial = {
        .request = {.environment = WORDS(home), .inherited = WORDS(home), .readable = WORDS(".")}};
    trial_plan(&trial, place);
    assert_string_equal(value_of(trial.sandbox, "HOME"), place->path);
    assert_null(trial.sandbox->home_inside);
    trial_done(&trial);
}

/* A home within the project stays hidden; as the place to work it is refused. */
static void a_home_is_never_the_project(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "home", 0755), 0);
    with_string home = memory_format("HOME=%s/home", place->path);
    with_string path = memory_format("%s/home", place->path);
    struct trial trial = {.request = {.inherited = WORDS(home)}};
    trial_plan(&trial, place);
    assert_true(checks_ok(&trial.checks));
    assert_true(has_rule(trial.sandbox, LAUNCH_MASK, path));
    trial_done(&trial);

    struct place inside = {.fd = openat(place->fd, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    snprintf(inside.path, sizeof inside.path, "%s/home", place->path);
    struct trial other = {.request = {.inherited = WORDS(home)}};
    trial_plan(&other, &inside);
    assert_true(was_refused(&other.checks, CHECK_CWD, "/home"));
    trial_done(&other);
    close(inside.fd);
}

static void half_a_pin_is_refused_with_a_remedy(void **state)
{
    struct trial trial = {.request = {.inherited = WORDS("BERM_BWRAP_PATH=/usr/bin/bwrap")}};
    trial_plan(&trial, *state);
    assert_null(trial.sandbox);
    const struct check *failed = checks_first_failed(&trial.checks);
    assert_non_null(failed);
    assert_string_equal(failed->code, CHECK_SANDBOX);
    assert_non_null(strstr(failed->remedy, "BERM_BWRAP_SHA256"));
    trial_done(&trial);
}

static void root_is_nobody_to_be(void **state)
{
    struct place *place = *state;
    struct trial trial = {0};
    trial_plan(&trial, place);
    trial.request.become = true;
    trial.request.uid = 0;
    with_sandbox none = sandbox_plan(&trial.request, &trial.checks);
    assert_null(none);
    assert_true(was_refused(&trial.checks, CHECK_USER, "as root"));
    trial_done(&trial);
}

static void a_whole_temporary_folder_is_no_place_to_work(void **state)
{
    struct trial trial = {0};
    struct place tmp = {.path = "/tmp", .fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    trial_plan(&trial, &tmp);
    assert_true(was_refused(&trial.checks, CHECK_CWD, "/tmp"));
    trial_done(&trial);
    close(tmp.fd);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_plain_plan_opens_the_project_only),
        IN_PLACE(the_project_is_the_whole_of_it),
        IN_PLACE(folders_come_before_what_lies_in_them),
        IN_PLACE(what_holds_a_hidden_place_is_not_shown),
        IN_PLACE(a_temporary_place_in_a_shown_folder_is_kept),
        IN_PLACE(the_environment_leads_nowhere),
        IN_PLACE(a_home_that_is_open_stays_home),
        IN_PLACE(a_home_is_never_the_project),
        IN_PLACE(half_a_pin_is_refused_with_a_remedy),
        IN_PLACE(root_is_nobody_to_be),
        cmocka_unit_test(a_whole_temporary_folder_is_no_place_to_work),
    };
    return cmocka_run_group_tests_name("contain/sandbox-plan", tests, NULL, NULL);
}
