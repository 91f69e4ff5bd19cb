#include "daemon-test.h"

static struct fd proc_dir;

static int find(pid_t namespace_pid, struct daemon_process *process)
{
    if (!fd_is_open(&proc_dir)) {
        proc_dir = fd_adopt(open(fake_proc, O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    return daemon_process_find(fd_num(&proc_dir), fd_num(&fake_places[FAKE_LEAF]), namespace_pid,
                               process);
}

/* MD-3: a number of the payload's namespace leads to a member of the leaf, and to nobody else. */
static void a_number_is_that_of_a_member(void **state)
{
    with_daemon_process process = {0};
    fake_member(&(struct fake){.pid = 101, .namespace_pid = 5, .parent = 100, .start_ticks = 10});
    fake_member(&(struct fake){.pid = 102, .namespace_pid = 6, .parent = 100, .start_ticks = 11});
    fake_member(&(struct fake){.pid = 103, .namespace_pid = 7, .parent = 100, .start_ticks = 12});
    fake_members("101\n102\n77777\n");
    assert_int_equal(find(6, &process), 0);
    assert_int_equal(process.who.pid, 102);
    assert_int_equal(process.who.start_ticks, 11);
    assert_int_equal(process.parent, 100);
    assert_int_equal(process.user, geteuid());
    daemon_process_done(&process);
    assert_int_equal(find(7, &process), -ESRCH);   /* not in the leaf */
    assert_int_equal(find(102, &process), -ESRCH); /* its number on the host */
    assert_int_equal(find(99, &process), -ESRCH);
    fake_members("");
    assert_int_equal(find(6, &process), -ESRCH);
}

static void the_search_has_an_end(void **state)
{
    static char list[DAEMON_PROCESSES * 4 + 8];
    with_daemon_process process = {0};
    for (size_t i = 0; i < DAEMON_PROCESSES; i++) {
        memcpy(list + 4 * i, "999\n", 4);
    }
    memcpy(list + sizeof list - 8, "101\n", 5);
    fake_members(list);
    assert_int_equal(find(5, &process), -E2BIG);
}

/* MD-6: a zombie is nobody, and a number that was given away is another's. */
static void who_has_ended_does_not_live(void **state)
{
    with_daemon_process process = {0};
    struct fake fake = {.pid = 104, .namespace_pid = 8, .parent = 1, .start_ticks = 20};
    fake_member(&fake);
    fake_members("104\n");
    assert_int_equal(find(8, &process), 0);
    assert_true(daemon_process_lives(&process));
    fake.start_ticks = 21;
    fake_member(&fake);
    assert_false(daemon_process_lives(&process));
    fake.start_ticks = 20;
    fake.state = 'Z';
    fake_member(&fake);
    assert_false(daemon_process_lives(&process));
    struct daemon_process other = {0};
    assert_int_equal(find(8, &other), -ESRCH);
}

/* MD-3: what it executes is compared as a file, not as a name; command and working folder are the kernel's. */
static void what_it_is_is_read(void **state)
{
    with_daemon_process process = {0};
    struct supervise_daemon told = {0};
    struct stat cwd;
    const struct file_identity wanted = fake_identity("/bin/true");
    struct fake fake = {.pid = 105, .namespace_pid = 9, .parent = 1, .start_ticks = 30};
    fake_member(&fake);
    fake_members("105\n");
    assert_int_equal(find(9, &process), 0);
    assert_true(daemon_process_executes(&process, &wanted));
    assert_int_equal(daemon_process_command(&process, &told), 0);
    assert_int_equal(told.command_bytes, strlen("graphd --serve"));
    assert_false(told.command_cut);
    assert_int_equal(daemon_process_cwd(&process, told.cwd, &cwd), 0);
    assert_string_equal(told.cwd, fake_path("/tmp"));
    assert_true(daemon_process_is_member(&process, fake_leaf));
    assert_false(daemon_process_is_member(&process, "/user"
                                                    "/other"));
    struct file_identity touched = wanted;
    touched.ctime_ns++;
    assert_false(daemon_process_executes(&process, &touched));
    fake.exe = "/bin/cat";
    fake_member(&fake);
    assert_false(daemon_process_executes(&process, &wanted));
    static char many[DAEMON_COMMAND_BYTES + 10];
    memset(many, 'x', sizeof many - 1);
    fake_write(105, "cmdline", many);
    assert_int_equal(daemon_process_command(&process, &told), 0);
    assert_true(told.command_cut);
    assert_int_equal(told.command_bytes, DAEMON_COMMAND_BYTES - 1);
}

/* MD-5: the way up is the kernel's; a parent that is younger than its child is another by that number. */
static void descent_is_read_from_the_kernel(void **state)
{
    const struct fake fakes[] = {{.pid = 200, .namespace_pid = 1, .parent = 1, .start_ticks = 5},
                                 {.pid = 201, .namespace_pid = 2, .parent = 200, .start_ticks = 6},
                                 {.pid = 202, .namespace_pid = 3, .parent = 201, .start_ticks = 7},
                                 {.pid = 203, .namespace_pid = 4, .parent = 204, .start_ticks = 7},
                                 {.pid = 204, .namespace_pid = 5, .parent = 201, .start_ticks = 8}};
    struct daemon_process ignored = {0};
    (void)find(0, &ignored);
    for (size_t i = 0; i < countof(fakes); i++) {
        fake_member(&fakes[i]);
    }
    const struct proc_identity root = {201, 6};
    int dir = fd_num(&proc_dir);
    static const struct {
        struct proc_identity who;
        bool result;
    } cases[] = {{{202, 7}, true},
                 {{201, 6}, true},
                 {{200, 5}, false},
                 {{203, 7}, false},
                 {{299, 7}, false},
                 /* Whoever asked is no more, and its number is another's by now. */
                 {{202, 6}, false},
                 {{201, 7}, false}};
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(daemon_process_descends(dir, cases[i].who, root), cases[i].result);
    }
    assert_false(daemon_process_descends(dir, cases[0].who, (struct proc_identity){201, 5}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_that_of_a_member),    cmocka_unit_test(the_search_has_an_end),
        cmocka_unit_test(who_has_ended_does_not_live),     cmocka_unit_test(what_it_is_is_read),
        cmocka_unit_test(descent_is_read_from_the_kernel),
    };
    return cmocka_run_group_tests(tests, daemon_begin, daemon_end);
}
