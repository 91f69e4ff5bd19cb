/* What is healed, and what is left alone, is tried in tests/crash. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "recover.h"

static char path[] = "/tmp/berm-test-XXXXXX";
static char variable[64];
static char *environment[] = {variable, NULL};

static int make_place(void **state)
{
    (void)snprintf(path, sizeof path, "/tmp/berm-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    (void)snprintf(variable, sizeof variable, "XDG_STATE_HOME=%s", path);
    return 0;
}

static int remove_place(void **state)
{
    static const char *const names[] = {"berm/watch/a.watch", "berm/watch/b.txt", "berm/watch",
                                        "berm/runs", "berm"};
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    for (size_t i = 0; i < countof(names); i++) {
        if (unlinkat(fd_num(&dir), names[i], 0) < 0) {
            (void)unlinkat(fd_num(&dir), names[i], AT_REMOVEDIR);
        }
    }
    return rmdir(path);
}

static void without_manifests_there_is_nothing_to_do(void **state)
{
    struct err err = {0};
    with_recovery recovery = {0};
    assert_int_equal(recover_runs(environment, &os_clock_real, &recovery, &err), 0);
    assert_int_equal(recovery.count, 0);
}

static void one_that_cannot_be_read_is_told_and_stays(void **state)
{
    struct err err = {0};
    struct bfs_facts facts;
    with_bfs_dir folder = {0};
    assert_int_equal(recover_open_folder(environment, &folder, &err), 0);
    static const char *const names[] = {"a.watch", "b.txt"};
    for (size_t i = 0; i < countof(names); i++) {
        with_fd file = fd_adopt(os_openat(bfs_dir_fd(&folder), names[i], O_WRONLY | O_CREAT, 0600));
        assert_int_equal(os_write_all(fd_num(&file), "rubbish", 7), 0);
    }
    with_recovery recovery = {0};
    assert_int_equal(recover_runs(environment, &os_clock_real, &recovery, &err), 0);
    assert_int_equal(recovery.count, 1);
    assert_int_equal(recovery.counts[RECOVER_LEFT], 1);
    assert_string_equal(recover_state_name(recovery.runs[0].state), "left");
    assert_non_null(strstr(recovery.runs[0].what, "a.watch"));
    assert_int_equal(bfs_stat(&folder, "a.watch", &facts, &err), 0);
}

static void without_a_home_there_is_no_place(void **state)
{
    char *nothing[] = {NULL};
    struct err err = {0};
    struct recovery recovery;
    assert_int_equal(recover_runs(nothing, &os_clock_real, &recovery, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
}

int main(void)
{
#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        PLACED(without_manifests_there_is_nothing_to_do),
        PLACED(one_that_cannot_be_read_is_told_and_stays),
        PLACED(without_a_home_there_is_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
