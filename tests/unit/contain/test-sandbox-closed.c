/* What the rules of a finished sandbox close, by its mounts; tests/adversary looks into real ones. */
#include "finished-test.h"

#define ROOT "1 0 254:0 / / ro - ext4 x rw\n"
#define OPEN "2 1 254:0 /srv/a /srv/a rw - ext4 x rw\n"
#define WAY  "3 2 254:0 /srv/a/sub /srv/a/sub rw - ext4 x rw\n"
#define GIT  "4 3 254:0 /srv/a/sub/.git /srv/a/sub/.git ro - ext4 x rw\n"
#define SOCK "5 1 0:50 /void /etc/passwd ro - tmpfs berm rw\n"
#define DATA "6 1 0:50 /empty /etc ro - tmpfs berm rw\n"
#define ALL  ROOT OPEN WAY GIT SOCK

/* SB-5 CT-2: a socket's cover is a mount of the private file system, and not what the launcher says. */
static void what_is_covered_leads_to_something_empty(void **state)
{
    assert_int_equal(check(ALL), 0);
    refused(ROOT OPEN WAY GIT, "not hidden (/etc/passwd)");
    refused(ROOT OPEN WAY GIT "5 1 0:51 /void /etc/passwd ro - tmpfs x rw\n", "(/etc/passwd)");
    refused(ROOT OPEN WAY GIT "5 1 0:50 /tmp/x /etc/passwd ro - tmpfs x rw\n", "(/etc/passwd)");
    refused(ROOT OPEN WAY GIT "5 1 0:50 /void /etc/passwd rw - tmpfs x rw\n", "(/etc/passwd)");
    refused(ALL "6 5 254:0 /etc/passwd /etc/passwd ro - ext4 x rw\n", "(/etc/passwd)");
    refused(ROOT OPEN WAY GIT "5 1 0:50 /void /etc ro - tmpfs x rw\n", "(/etc/passwd)");
    /* A folder above it is covered, before or after: */
    assert_int_equal(check(ROOT OPEN WAY GIT DATA), 0);
    assert_int_equal(check(ROOT OPEN WAY GIT DATA "5 1 254:0 / /etc/passwd rw - ext4 x rw\n"), 0);
    refused(ROOT OPEN WAY GIT DATA "5 6 254:0 /etc/passwd /etc/passwd ro - ext4 x rw\n",
            "(/etc/passwd)");
}

static void what_is_not_there_needs_no_cover(void **state)
{
    sandbox_add_rule(&finished.sandbox, LAUNCH_MASK, "/etc/not-there/socket", NULL, "");
    assert_int_equal(check(ALL), 0);
    sandbox_add_rule(&finished.sandbox, LAUNCH_MASK, "/etc/passwd/below", NULL, "");
    assert_int_equal(check(ALL), 0);
}

/* SB-2 CT-2: what is closed cannot be written, nor anything in it, nor the way to it be moved. */
static void what_is_closed_can_neither_be_written_nor_moved(void **state)
{
    refused(ROOT OPEN WAY SOCK, "not closed (/srv/a/sub/.git)");
    refused(ROOT OPEN WAY SOCK "4 3 254:0 / /srv/a/sub/.git rw - ext4 x rw\n", "/.git)");
    refused(ALL "7 4 0:60 / /srv/a/sub/.git/x rw - tmpfs x rw\n", "not closed (/srv/a/sub/.git)");
    refused(ALL "7 4 0:60 / /srv/a/sub/.git rw - tmpfs x rw\n", "not closed (/srv/a/sub/.git)");
    refused(ROOT OPEN "4 2 254:0 /srv/a/sub/.git /srv/a/sub/.git ro - ext4 x rw\n" SOCK,
            "moved away (/srv/a/sub)");
    assert_int_equal(check(ALL "7 4 0:60 / /srv/a/sub/.git/x ro - tmpfs x rw\n"), 0);
    /* Out of sight with all that is in it. */
    assert_int_equal(check(ROOT SOCK "2 1 0:50 /empty /srv/a ro - tmpfs berm rw\n"), 0);
}

/* FZ-3 CT-2: a copy is what the payload sees, and not what it is a copy of. */
static void a_copy_is_seen_where_it_should_be(void **state)
{
    struct place *place = *state;
    char *copy = realpath(place->path, NULL);
    with_string wanted =
        memory_format(ALL "7 1 254:0 /roots%s /srv/checkout ro - ext4 x rw\n", copy);
    with_string writable =
        memory_format(ALL "7 1 254:0 /roots%s /srv/checkout rw - ext4 x rw\n", copy);
    with_string elsewhere =
        memory_format(ALL "7 1 254:1 /roots%s /srv/checkout ro - ext4 x rw\n", copy);
    sandbox_add_mount(&finished.sandbox, MOUNT_READ_ONLY, "/srv/checkout", "the frozen copy");
    finished.sandbox.mounts[0].from = copy; /* freed with the mount */
    assert_int_equal(mount_table_parse("21 20 254:0 /roots / rw - ext4 /dev/vda rw\n",
                                       &finished.sandbox.host_mounts),
                     0);
    assert_int_equal(check(wanted), 0);
    refused(ALL, "not its copy (/srv/checkout)");
    refused(writable, "not its copy");
    refused(elsewhere, "not its copy");
    refused(ALL "7 1 254:0 /roots/srv/checkout /srv/checkout ro - ext4 x rw\n", "not its copy");
    with_string over =
        memory_format("%s8 7 254:0 /roots/srv/checkout /srv/checkout ro - ext4 x rw\n", wanted);
    refused(over, "not its copy");
}

static int plan(void **state)
{
    assert_int_equal(place_make(state), 0);
    memset(&finished, 0, sizeof finished);
    finished.check = sandbox_check_closed;
    sandbox_add_rule(&finished.sandbox, LAUNCH_PIN, "/srv/a/sub", NULL, "");
    sandbox_add_rule(&finished.sandbox, LAUNCH_CLOSE, "/srv/a/sub/.git", NULL, "");
    sandbox_add_rule(&finished.sandbox, LAUNCH_MASK, "/etc/passwd", NULL, "");
    return 0;
}

static int forget(void **state)
{
    struct sandbox *sandbox = &finished.sandbox;
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        memory_free(sandbox->mounts[i].path);
        memory_free(sandbox->mounts[i].from);
    }
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        memory_free(sandbox->rules[i].path);
    }
    memory_free(sandbox->mounts);
    memory_free(sandbox->rules);
    mount_table_done(&sandbox->host_mounts);
    return place_remove(state);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, plan, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_covered_leads_to_something_empty),
        CASE(what_is_not_there_needs_no_cover),
        CASE(what_is_closed_can_neither_be_written_nor_moved),
        CASE(a_copy_is_seen_where_it_should_be),
    };
    return cmocka_run_group_tests_name("contain/sandbox-closed", tests, NULL, NULL);
}
