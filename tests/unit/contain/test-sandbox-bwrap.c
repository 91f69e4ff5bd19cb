#include "sandbox-test.h"

#include "file.h"

/* The words in their order, joined by blanks. */
static char *arguments_of(const struct sandbox *sandbox)
{
    with_buf out = buf_new(1 << 16);
    sandbox_render_arguments(sandbox, &out);
    assert_true(buf_fits(&out));
    char *text = memory_new(buf_length(&out) + 1);
    memcpy(text, buf_string(&out), buf_length(&out));
    for (size_t i = 0; i + 1 < buf_length(&out); i++) {
        text[i] = text[i] ? text[i] : ' ';
    }
    return text;
}

/* R15: both rules for the death of berm; SB-1: namespaces; no capability but the launcher's two. */
static void every_sandbox_has_its_walls(void **state)
{
    struct trial trial = {0};
    trial_plan(&trial, *state);
    with_string words = arguments_of(trial.sandbox);
    static const char *const wanted[] = {
        "--unshare-user", "--unshare-pid",  "--unshare-ipc",
        "--unshare-uts",  "--unshare-net",  "--die-with-parent",
        "--as-pid-1",     "--cap-drop ALL", "--ro-bind / / --tmpfs /run",
        "--proc /proc"};
    for (size_t i = 0; i < countof(wanted); i++) {
        if (!strstr(words, wanted[i])) {
            fail_msg("'%s' is missing in: %s", wanted[i], words);
        }
    }
    trial_done(&trial);
}

/* SB-2, FZ-3: the copy is seen by the repository's path, as itself, and the repository not at all. */
static void a_copy_stands_in_the_place_of_its_repository(void **state)
{
    const struct place *place = *state;
    struct trial trial = {0};
    assert_int_equal(mkdirat(place->fd, "work", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "copy", 0755), 0);
    with_string work = memory_format("%s/work", place->path);
    with_string copy = memory_format("%s/copy", place->path);
    with_fd top = fd_adopt(os_openat(place->fd, "copy", O_PATH | O_DIRECTORY, 0));
    const struct sandbox_source source = {
        .fd = fd_num(&top), .copy = copy, .place = work, .is_project = true};
    struct place of_copy = {.fd = fd_num(&top)};
    (void)snprintf(of_copy.path, sizeof of_copy.path, "%s", copy);
    trial.request.sources[0] = source;
    trial_plan(&trial, &of_copy);
    with_string words = arguments_of(trial.sandbox);
    with_string bind = memory_format("--ro-bind %s %s", copy, work);
    assert_non_null(strstr(words, bind));
    assert_true(has_rule(trial.sandbox, LAUNCH_EXPECT, work));
    for (size_t i = 0; i < trial.sandbox->rule_count; i++) {
        const struct sandbox_rule *rule = &trial.sandbox->rules[i];
        struct stat stat;
        if (rule->kind == LAUNCH_EXPECT && strcmp(rule->path, work) == 0) {
            assert_int_equal(os_fstat(fd_num(&top), &stat), 0);
            assert_int_equal(rule->stat.st_ino, stat.st_ino);
        }
    }
    with_string file = memory_format("%s/bin/x", copy);
    with_string inside = memory_format("%s/bin/x", work);
    with_string seen = sandbox_inside(trial.sandbox, file);
    assert_string_equal(seen, inside);
    with_string other = sandbox_inside(trial.sandbox, "/usr/bin/x");
    assert_string_equal(other, "/usr/bin/x");
    trial_done(&trial);
}

static bool covers(const struct sandbox *sandbox, const char *path)
{
    with_buf items = buf_new(1 << 16);
    with_buf text = buf_new(1 << 16);
    sandbox_render_items(sandbox, &items, &text);
    const struct launch_item *item = (const void *)buf_string(&items);
    for (size_t i = 0; i < buf_length(&items) / sizeof *item; i++) {
        if (item[i].kind == LAUNCH_MASK && strcmp(buf_string(&text) + item[i].path, path) == 0) {
            assert_int_equal(item[i].type, S_IFDIR); /* it has to be there */
            return true;
        }
    }
    return false;
}

static struct sandbox_mount mount_of(enum mount_kind kind, const char *path)
{
    return (struct sandbox_mount){.kind = kind, .path = (char *)(uintptr_t)path};
}

/* SB-5: a place is hidden by a file system of its own where something in it is shown, else by a cover. */
static void what_is_hidden_as_a_whole_is_covered(void **state)
{
    struct sandbox_mount mounts[] = {
        mount_of(MOUNT_EMPTY, "/home"),        mount_of(MOUNT_EMPTY, "/root"),
        mount_of(MOUNT_EMPTY, "/srv/a"),       mount_of(MOUNT_READ_ONLY, "/srv/ab"),
        mount_of(MOUNT_WRITABLE, "/home/u/p"), mount_of(MOUNT_DEVICES, "/dev"),
        mount_of(MOUNT_EMPTY, "/opt/u"),       mount_of(MOUNT_READ_ONLY, "/opt")};
    const struct sandbox sandbox = {.mounts = mounts, .mount_count = countof(mounts)};
    with_string words = arguments_of(&sandbox);
    assert_non_null(strstr(words, "--tmpfs /home --ro-bind /srv/ab /srv/ab --bind /home/u/p"));
    assert_null(strstr(words, "/root"));
    assert_null(strstr(words, "/dev"));
    assert_true(covers(&sandbox, "/root") && covers(&sandbox, "/srv/a"));
    assert_false(covers(&sandbox, "/home") || covers(&sandbox, "/dev"));
    /* What is opened as a whole afterwards stays open. */
    assert_non_null(strstr(words, "--tmpfs /opt/u --ro-bind /opt /opt"));
    assert_false(covers(&sandbox, "/opt/u"));
}

/* SB-7: only that one, after the tree was covered, and nothing in it can be written. */
static void the_own_control_group_is_shown(void **state)
{
    struct trial trial = {0};
    trial_plan(&trial, *state);
    while (trial.sandbox->mount_count > 0) { /* what else is planned depends on this host */
        memory_free(trial.sandbox->mounts[--trial.sandbox->mount_count].path);
    }
    sandbox_add_mount(trial.sandbox, MOUNT_READ_ONLY, "/", "");
    sandbox_add_mount(trial.sandbox, MOUNT_EMPTY, "/sys/fs/cgroup", "");
    sandbox_show_cgroup(trial.sandbox, "/sys/fs/cgroup/berm-x.scope/payload");
    with_string words = arguments_of(trial.sandbox);
    const char *mounts = strstr(words, "--ro-bind / /");
    assert_non_null(mounts);
    assert_string_equal(mounts, "--ro-bind / / --tmpfs /sys/fs/cgroup "
                                "--ro-bind /sys/fs/cgroup/berm-x.scope/payload "
                                "/sys/fs/cgroup/berm-x.scope/payload");
    assert_false(covers(trial.sandbox, "/sys/fs/cgroup")); /* it would cover that one too */
    trial_done(&trial);
}

/* SB-7: and the tree is covered wherever there is one. */
static void the_tree_of_control_groups_is_hidden(void **state)
{
    struct trial trial = {0};
    trial_plan(&trial, *state);
    assert_int_equal(has_mount(trial.sandbox, MOUNT_EMPTY, "/sys/fs/cgroup"),
                     access("/sys/fs/cgroup", F_OK) == 0);
    trial_done(&trial);
}

static void the_network_is_the_hosts_when_asked_for(void **state)
{
    struct trial trial = {.request = {.host_network = true}};
    trial_plan(&trial, *state);
    with_string words = arguments_of(trial.sandbox);
    assert_null(strstr(words, "--unshare-net"));
    trial_done(&trial);
}

/* I5: a folder whose name looks like an option is a folder. */
static void names_are_no_options(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.writable = WORDS("--bind")}};
    assert_int_equal(mkdirat(place->fd, "--bind", 0755), 0);
    trial_plan(&trial, place);
    with_string words = arguments_of(trial.sandbox);
    with_string wanted = memory_format("--bind %s/--bind %s/--bind", trial.path, trial.path);
    assert_non_null(strstr(words, wanted));
    trial_done(&trial);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(every_sandbox_has_its_walls),
        IN_PLACE(a_copy_stands_in_the_place_of_its_repository),
        IN_PLACE(the_network_is_the_hosts_when_asked_for),
        cmocka_unit_test(what_is_hidden_as_a_whole_is_covered),
        IN_PLACE(the_own_control_group_is_shown),
        IN_PLACE(the_tree_of_control_groups_is_hidden),
        IN_PLACE(names_are_no_options),
    };
    return cmocka_run_group_tests_name("contain/sandbox-bwrap", tests, NULL, NULL);
}
