/* What a finished sandbox hides, by its mounts; tests/adversary looks into real ones. */
#include "finished-test.h"

#define ROOT    "1 0 254:0 / / ro,nosuid - ext4 /dev/vda rw\n"
#define DEVICES "2 1 0:50 /dev /dev ro - tmpfs berm rw\n"
#define PROC    "3 1 0:42 / /proc rw - proc proc rw\n"
#define RUN     "4 1 0:41 / /run ro - tmpfs tmpfs rw\n"
#define PRIVATE                                                                                    \
    "5 4 0:50 / /run/berm/private rw - tmpfs berm rw\n"                                            \
    "6 5 0:50 /empty /run/berm/private ro - tmpfs berm rw\n"
#define HOME "7 1 0:50 /empty /home ro - tmpfs berm rw\n"
#define ALL  ROOT DEVICES PROC RUN PRIVATE HOME

/* The host has a mount at each of its own. */
#define OUTSIDE                                                                                    \
    "21 20 254:0 / / rw - ext4 /dev/vda rw\n22 21 0:6 / /dev rw - devtmpfs devtmpfs rw\n"          \
    "23 21 0:21 / /proc rw - proc proc rw\n24 21 0:25 / /run rw - tmpfs tmpfs rw\n"                \
    "25 21 0:26 / /home rw - tmpfs tmpfs rw\n"

/* SB-5 CT-2: what the launcher says is not what is believed. */
static void what_is_hidden_leads_to_a_cover(void **state)
{
    assert_int_equal(check(ALL), 0);
    refused(ROOT DEVICES PROC RUN PRIVATE, "not hidden (/home)");
    refused(ROOT DEVICES PROC RUN PRIVATE "7 1 0:50 /empty /home rw - tmpfs berm rw\n", "(/home)");
    refused(ROOT DEVICES PROC RUN PRIVATE "7 1 0:51 /empty /home ro - tmpfs x rw\n", "(/home)");
    refused(ROOT DEVICES PROC RUN PRIVATE "7 1 0:50 / /home ro - tmpfs berm rw\n", "(/home)");
    refused(ROOT DEVICES PROC RUN PRIVATE "7 1 254:0 /home /home ro - ext4 x rw\n", "(/home)");
}

/* The cover is of no use where something stands on it, in it, or before it. */
static void nothing_stands_over_a_cover(void **state)
{
    refused(ALL "8 7 254:0 /home /home ro - ext4 x rw\n", "(/home)");
    refused(ALL "8 1 254:0 /home /home ro - ext4 x rw\n", "(/home)");
    refused(ALL "8 7 254:0 /home/u /home/u ro - ext4 x rw\n", "(/home)");
    refused(ROOT DEVICES PROC RUN PRIVATE "7 9 0:50 /empty /home ro - tmpfs berm rw\n"
                                          "9 1 0:26 / /home ro - tmpfs x rw\n"
                                          "8 9 254:0 /home/u /homes ro - ext4 x rw\n"
                                          "10 7 254:0 / /home/v ro - ext4 x rw\n",
            "(/home)");
    /* What it stands over is out of sight with all that is mounted there. */
    assert_int_equal(check(ROOT DEVICES PROC RUN PRIVATE "7 9 0:50 /empty /home ro - tmpfs x rw\n"
                                                         "9 1 0:26 / /home ro - tmpfs x rw\n"
                                                         "8 9 254:0 / /home/u ro - ext4 x rw\n"),
                     0);
}

/* SB-7: and the private file system as a whole is not seen. */
static void the_private_one_is_hidden_as_a_whole(void **state)
{
    refused(ROOT DEVICES PROC RUN HOME "5 4 0:50 / /run/berm/private rw - tmpfs berm rw\n",
            "(/run/berm/private)");
    refused(ROOT DEVICES PROC RUN HOME, "(/run/berm/private)");
}

static void what_the_host_has_there_hides_nothing(void **state)
{
    refused(ROOT DEVICES RUN PRIVATE HOME "3 1 0:21 / /proc rw - proc proc rw\n", "(/proc)");
    refused(ROOT DEVICES RUN PRIVATE HOME, "(/proc)");
    refused(ROOT DEVICES PROC PRIVATE HOME "4 1 0:25 / /run ro - tmpfs tmpfs rw\n", "(/run)");
    refused(ROOT DEVICES PROC PRIVATE HOME "4 1 0:41 / /run rw - tmpfs tmpfs rw\n", "(/run)");
    refused(ROOT DEVICES PROC PRIVATE HOME "4 1 254:0 / /run ro - ext4 tmpfs rw\n", "(/run)");
    refused(ROOT PROC RUN PRIVATE HOME "2 1 0:6 / /dev ro - devtmpfs x rw\n", "(/dev)");
    refused(ROOT PROC RUN PRIVATE HOME "2 1 0:50 /empty /dev ro - tmpfs x rw\n", "(/dev)");
}

static void what_is_opened_again_is_not_hidden(void **state)
{
    sandbox_add_mount(&finished.sandbox, MOUNT_READ_ONLY, "/home", "--readable");
    assert_int_equal(check(ROOT DEVICES PROC RUN PRIVATE), 0);
}

/* A part of it is shown: then it has a file system of bubblewrap's, which is not the host's. */
static void what_is_shown_in_it_opens_nothing_else(void **state)
{
    sandbox_add_mount(&finished.sandbox, MOUNT_READ_ONLY, "/home/u/project", "the project");
    assert_int_equal(check(ROOT DEVICES PROC RUN PRIVATE
                           "7 1 0:60 / /home ro - tmpfs x rw\n"
                           "8 7 254:0 / /home/u/project ro - x x x\n"),
                     0);
    refused(ROOT DEVICES PROC RUN PRIVATE "8 1 254:0 / /home/u/project ro - x x x\n", "(/home)");
    refused(ROOT DEVICES PROC RUN PRIVATE "7 1 0:26 / /home ro - tmpfs x rw\n", "(/home)");
}

/* Whoever becomes another user may not pass there at all; the launcher, who does not either, covers nothing. */
static void a_place_out_of_reach_needs_no_cover(void **state)
{
    struct place *place = *state;
    with_string deep = memory_format("%s/closed/home", place->path);
    with_string closed = memory_format("%s/closed", place->path);
    assert_int_equal(fchmod(place->fd, 0711), 0);
    assert_int_equal(mkdirat(place->fd, "closed", 0700), 0);
    sandbox_add_mount(&finished.sandbox, MOUNT_EMPTY, deep, "the caller's home");
    refused(ALL, deep);
    finished.sandbox.become = true;
    finished.sandbox.uid = geteuid() + 1;
    finished.sandbox.gid = getegid() + 1;
    assert_int_equal(check(ALL), 0);
    assert_int_equal(chmod(closed, 0701), 0);
    refused(ALL, deep);
    finished.sandbox.gid = getegid();
    assert_int_equal(check(ALL), 0);
    finished.sandbox.uid = geteuid();
    refused(ALL, deep);
}

static int plan(void **state)
{
    assert_int_equal(place_make(state), 0);
    memset(&finished, 0, sizeof finished);
    finished.check = sandbox_check_hidden;
    assert_int_equal(mount_table_parse(OUTSIDE, &finished.sandbox.host_mounts), 0);
    sandbox_add_mount(&finished.sandbox, MOUNT_READ_ONLY, "/", "the host, read-only");
    sandbox_add_mount(&finished.sandbox, MOUNT_EMPTY, "/run", "");
    sandbox_add_mount(&finished.sandbox, MOUNT_FOLDER, SANDBOX_PRIVATE, "");
    sandbox_add_mount(&finished.sandbox, MOUNT_DEVICES, "/dev", "");
    sandbox_add_mount(&finished.sandbox, MOUNT_PROCESSES, "/proc", "");
    sandbox_add_mount(&finished.sandbox, MOUNT_EMPTY, "/home", "");
    return 0;
}
static int forget(void **state)
{
    for (size_t i = 0; i < finished.sandbox.mount_count; i++) {
        memory_free(finished.sandbox.mounts[i].path);
    }
    memory_free(finished.sandbox.mounts);
    mount_table_done(&finished.sandbox.host_mounts);
    return place_remove(state);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, plan, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_hidden_leads_to_a_cover),      CASE(nothing_stands_over_a_cover),
        CASE(the_private_one_is_hidden_as_a_whole), CASE(what_the_host_has_there_hides_nothing),
        CASE(what_is_opened_again_is_not_hidden),   CASE(what_is_shown_in_it_opens_nothing_else),
        CASE(a_place_out_of_reach_needs_no_cover),
    };
    return cmocka_run_group_tests_name("contain/sandbox-hidden", tests, NULL, NULL);
}
