#include "daemon-test.h"

enum { SERVER = 402, WORKER = 403, GRANDCHILD = 404, STRANGER = 405, LAUNCHER = 400 };

static struct member members[6];
static struct tree tree;
static struct daemons daemons;
static struct supervise_daemon told[DAEMON_COUNT];
static struct daemon_wish wishes[2];
static struct file_identity executable;
static const char *why;

static struct member member_of(pid_t pid, pid_t parent, uint64_t start_ticks)
{
    return (struct member){
        .pid = pid,
        .start_ticks = start_ticks,
        .stat = {.pid = pid, .parent = parent, .start_ticks = start_ticks, .state = 'S'}};
}

static void seal_as_it_is(void)
{
    with_daemon_place place = {0};
    assert_int_equal(daemon_place_open(NULL, "/root/run", &place), 0);
    daemons.list[0].folder = place.identity;
    assert_int_equal(daemon_object_look(&place, "s", &told[0].socket), 0);
    assert_int_equal(daemon_object_look(&place, "l", &told[0].lock), 0);
    told[0].state = DAEMON_SEALED;
}

/* A sealed daemon with a child and a grandchild, beneath the launcher. */
static int begin_case(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s/root/*", fake_tree);
    assert_int_equal(system(command), 0);
    (void)mkdir(fake_path("/root/run"), 0700);
    fake_socket("/root/run/s");
    fake_file("/root/run/l", "{}");
    with_fd proc_dir = fd_adopt(open(fake_proc, O_PATH | O_DIRECTORY | O_CLOEXEC));
    fake_member(
        &(struct fake){.pid = SERVER, .namespace_pid = 3, .parent = LAUNCHER, .start_ticks = 50});
    executable = fake_identity("/bin/true");
    wishes[0] = (struct daemon_wish){"graphd", &executable, "/root/run", "s", "l"};
    wishes[1] = (struct daemon_wish){"two", &executable, "/tmp", "s", "l"};
    const struct daemons_request request = {.wishes = wishes, .count = 2, .told = told};
    daemons_init(&daemons, &request);
    assert_int_equal(daemon_process_read(fd_num(&proc_dir), SERVER, &daemons.list[0].process), 0);
    told[0].pid = SERVER;
    told[0].start_ticks = 50;
    told[0].namespace_pid = 3;
    seal_as_it_is();
    members[0] = member_of(LAUNCHER, 1, 10);
    members[0].infrastructure = true;
    members[1] = member_of(SERVER, LAUNCHER, 50);
    members[2] = member_of(WORKER, SERVER, 51);
    members[3] = member_of(GRANDCHILD, WORKER, 52);
    tree = (struct tree){.members = members, .member_limit = 4};
    return 0;
}

static int end_case(void **state)
{
    daemons_done(&daemons);
    return 0;
}

static bool judge(void)
{
    return daemons_judge(&daemons, &tree, &why);
}

/* MD-6: the daemon and whoever descends from it, and nobody else. */
static void the_family_is_accepted(void **state)
{
    assert_true(judge());
    assert_null(why);
    daemons_note_ends(&daemons, true);
    assert_int_equal(told[0].fate, DAEMON_FATE_ENDED);
    assert_int_equal(told[1].fate, DAEMON_FATE_NONE);
}

static void who_outlives_the_grace_is_named(void **state)
{
    assert_true(judge());
    daemons_note_ends(&daemons, false);
    assert_int_equal(told[0].fate, DAEMON_FATE_OUTLIVED);
    daemons_note_ends(&daemons, true);
    assert_int_equal(told[0].fate, DAEMON_FATE_OUTLIVED);
}

/* MD-1 MD-6: a process beside it, one that left its family, one whose number was the daemon's. */
static void a_stranger_is_not(void **state)
{
    members[4] = member_of(STRANGER, LAUNCHER, 60);
    tree.member_limit = 5;
    assert_false(judge());
    assert_non_null(strstr(why, "neither a sealed daemon"));
    members[4].stat.state = 'Z'; /* nobody any more */
    assert_true(judge());
    members[3].stat.parent = LAUNCHER;
    assert_false(judge());
    members[3].stat.parent = WORKER;
    assert_true(judge());
    members[1].start_ticks = 49;
    assert_false(judge());
}

static void who_cannot_be_told_apart_is_not(void **state)
{
    tree.extra.processes = 1;
    assert_false(judge());
    tree.extra.processes = 0;
    tree.overlooked = true;
    assert_false(judge());
}

/* MD-6: what was not sealed, or is another by now, is no daemon. */
static void a_mismatch_is_a_failure(void **state)
{
    told[0].state = DAEMON_CREATED;
    assert_false(judge());
    assert_int_equal(told[0].fate, DAEMON_FATE_REFUSED);
    assert_non_null(strstr(told[0].why, "not sealed"));
    told[0].state = DAEMON_SEALED;
    assert_true(judge());
    fake_link(SERVER, "exe", "/bin/cat");
    assert_false(judge());
    fake_link(SERVER, "exe", "/bin/true");
    assert_true(judge());
    assert_int_equal(unlink(fake_path("/root/run/s")), 0);
    assert_false(judge());
    fake_socket("/root/run/s");
    told[0].socket.inode++;
    assert_false(judge());
    seal_as_it_is();
    assert_true(judge());
    fake_file("/root/run/l", "{ }");
    assert_false(judge());
    seal_as_it_is();
    char aside[128];
    (void)snprintf(aside, sizeof aside, "%s", fake_path("/root/aside"));
    assert_int_equal(rename(fake_path("/root/run"), aside), 0);
    assert_false(judge());
}

/* MD-6: a daemon that has ended is none; what it left behind belongs to nobody. */
static void who_had_ended_is_gone(void **state)
{
    fake_member(&(struct fake){
        .pid = SERVER, .namespace_pid = 3, .parent = LAUNCHER, .start_ticks = 50, .state = 'Z'});
    members[1].stat.state = 'Z';
    tree.member_limit = 2;
    assert_true(judge());
    assert_int_equal(told[0].fate, DAEMON_FATE_GONE);
    tree.member_limit = 3;
    assert_false(judge());
}

static bool is_there(const char *name)
{
    struct stat stat_of;
    char path[64];
    (void)snprintf(path, sizeof path, "/root/run/%s", name);
    return lstat(fake_path(path), &stat_of) == 0;
}

/* MD-6: what was sealed goes; what is something else by now stays, and is told. */
static void only_what_is_its_own_is_removed(void **state)
{
    daemons_clear(&daemons);
    assert_false(is_there("s") || is_there("l"));
    assert_false(told[0].socket_left || told[0].lock_left);
    daemons_clear(&daemons); /* it removed them itself */
    assert_false(told[0].socket_left || told[0].lock_left);
    fake_file("/root/run/l", "another's");
    fake_socket("/root/run/s");
    told[0].socket.inode = told[0].lock.inode = 1;
    daemons_clear(&daemons);
    assert_true(is_there("s") && is_there("l"));
    assert_true(told[0].socket_left && told[0].lock_left);
}

/* Of a daemon that was not sealed only what stands with its lock is its own. */
static void without_a_seal_the_lock_decides(void **state)
{
    static const char text[] =
        "{\"pid\":3,\"safe_runner_reservation\":\""
        "0000000000000000000000000000000000000000000000000000000000000000\"}";
    told[0].socket = told[0].lock = (struct daemon_object){0};
    told[0].state = DAEMON_STARTED;
    daemons_clear(&daemons); /* its lock is none */
    assert_true(told[0].socket_left && told[0].lock_left);
    fake_file("/root/run/l", text);
    told[0].state = DAEMON_BOUND; /* it was not allowed to make any */
    daemons_clear(&daemons);
    assert_true(told[0].socket_left && told[0].lock_left);
    told[0].state = DAEMON_CREATED;
    daemons_clear(&daemons);
    assert_false(is_there("s") || is_there("l"));
    assert_false(told[0].socket_left || told[0].lock_left);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_case, end_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_family_is_accepted),
        CASE(who_outlives_the_grace_is_named),
        CASE(a_stranger_is_not),
        CASE(who_cannot_be_told_apart_is_not),
        CASE(a_mismatch_is_a_failure),
        CASE(who_had_ended_is_gone),
        CASE(only_what_is_its_own_is_removed),
        CASE(without_a_seal_the_lock_decides),
    };
    return cmocka_run_group_tests(tests, daemon_begin, daemon_end);
}
