#include "daemon-test.h"

enum { CLIENT = 301, SERVER = 302, WORKER = 303, OTHER = 304, LAUNCHER = 300 };

static int64_t boot_ns;
static int64_t fake_boottime_ns(void)
{
    return boot_ns;
}
static const struct os_clock fake_clock = {.boottime_ns = fake_boottime_ns};

static struct fd proc_dir;
static struct file_identity executable;
static struct supervise_daemon told[DAEMON_COUNT];
static struct daemon_wish wishes[2];
static struct daemons daemons;
static struct daemon_answer answer;
static uint8_t reservation[DAEMON_RESERVATION_BYTES];

static struct watch_daemon noted; /* as the watchdog was told last */
static int note_failure;
static int noted_fd;
int __wrap_watchdog_note_daemon(struct watchdog *watchdog, size_t which,
                                const struct watch_daemon *daemon, int folder_fd, struct err *err);
int __wrap_watchdog_note_daemon(struct watchdog *watchdog, size_t which,
                                const struct watch_daemon *daemon, int folder_fd, struct err *err)
{
    assert_true(which < 2);
    noted = *daemon;
    noted_fd = folder_fd;
    return note_failure < 0 ? err_set(err, ERR_SYS, "the watchdog cannot write: no room") : 0;
}

/* The fixture has a daemon with a worker, and there is one that has nothing to do with it. */
static int begin_case(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s/root/* %s/private/*", fake_tree, fake_tree);
    assert_int_equal(system(command), 0);
    (void)mkdir(fake_path("/tmp/w"), 0700);
    (void)mkdir(fake_path("/root/run"), 0700);
    fd_close(&proc_dir);
    proc_dir = fd_adopt(open(fake_proc, O_PATH | O_DIRECTORY | O_CLOEXEC));
    const struct fake fakes[] = {
        {.pid = LAUNCHER, .namespace_pid = 1, .parent = 1, .start_ticks = 10},
        {.pid = CLIENT, .namespace_pid = 2, .parent = LAUNCHER, .start_ticks = 20},
        {.pid = SERVER, .namespace_pid = 3, .parent = CLIENT, .start_ticks = 101},
        {.pid = WORKER, .namespace_pid = 4, .parent = SERVER, .start_ticks = 102},
        {.pid = OTHER,
         .namespace_pid = 5,
         .parent = WORKER,
         .start_ticks = 103,
         .exe = "/bin/cat"}};
    for (size_t i = 0; i < countof(fakes); i++) {
        fake_member(&fakes[i]);
    }
    fake_members("300\n301\n302\n303\n304\n");
    boot_ns = NS_PER_S; /* tick 100 */
    executable = fake_identity("/bin/true");
    wishes[0] = (struct daemon_wish){"graphd", &executable, "/root/run", "s", "l"};
    wishes[1] = (struct daemon_wish){"two", &executable, "/tmp/w", "s", "l"};
    const struct daemons_request request = {.wishes = wishes,
                                            .count = 2,
                                            .clock = &fake_clock,
                                            .watchdog = (struct watchdog *)&noted,
                                            .leaf_fd = fd_num(&fake_places[FAKE_LEAF]),
                                            .leaf = fake_leaf,
                                            .told = told};
    daemons_init(&daemons, &request);
    memset(reservation, 0, sizeof reservation);
    note_failure = 0;
    return 0;
}

static int end_case(void **state)
{
    daemons_done(&daemons);
    return 0;
}

static int ask_for(const char *name, enum daemon_event event, pid_t asker, int64_t pid)
{
    struct daemon_request request = {.head.operation = (uint16_t)(CONTEXT_DAEMON + event),
                                     .pid = pid};
    struct daemon_process process = {0};
    (void)snprintf(request.name, sizeof request.name, "%s", name);
    memcpy(request.reservation, reservation, sizeof reservation);
    assert_int_equal(daemon_process_read(fd_num(&proc_dir), asker, &process), 0);
    answer = (struct daemon_answer){0};
    daemons_answer(&daemons, fd_num(&proc_dir), process.who, &request, &answer);
    daemon_process_done(&process);
    if (event == DAEMON_RESERVE && answer.refusal == DAEMON_REFUSED_NONE) {
        memcpy(reservation, answer.reservation, sizeof reservation);
    }
    assert_true((answer.refusal == DAEMON_REFUSED_NONE) == (answer.text[0] == '\0'));
    return (int)answer.refusal;
}

static int ask(enum daemon_event event, pid_t asker, int64_t pid)
{
    return ask_for("graphd", event, asker, pid);
}

static void write_lock(const char *path, int pid, int change)
{
    char text[160];
    int at = snprintf(text, sizeof text, "{\"pid\":%d,\"safe_runner_reservation\":\"", pid);
    for (size_t i = 0; i < sizeof reservation; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at, "%02x",
                       reservation[i] ^ (i == 31 ? change : 0));
    }
    (void)snprintf(text + at, sizeof text - (size_t)at, "\"}");
    fake_file(path, text);
}

static void go_to(enum daemon_state state)
{
    static const struct {
        enum daemon_event event;
        pid_t asker;
        int64_t pid;
    } steps[] = {{DAEMON_RESERVE, CLIENT, 0},
                 {DAEMON_BIND, CLIENT, 3},
                 {DAEMON_START, SERVER, 0},
                 {DAEMON_LOCK_READY, SERVER, 0},
                 {DAEMON_SEAL, SERVER, 0}};
    while (told[0].state < state) {
        if (told[0].state == DAEMON_STARTED) {
            write_lock("/root/run/l", 3, 0);
        }
        if (told[0].state == DAEMON_CREATED) {
            fake_socket("/root/run/s");
        }
        assert_int_equal(
            ask(steps[told[0].state].event, steps[told[0].state].asker, steps[told[0].state].pid),
            DAEMON_REFUSED_NONE);
    }
}

/* MD-2 MD-3 MD-4: what a run has on record of a daemon that went by the rules. */
static void the_whole_way(void **state)
{
    struct stat lock;
    go_to(DAEMON_SEALED);
    assert_int_equal(answer.state, DAEMON_SEALED);
    assert_int_equal(answer.pid, SERVER);
    assert_int_equal(answer.namespace_pid, 3);
    assert_string_equal(answer.socket, "/root/run/s");
    assert_string_equal(answer.lock, "/root/run/l");
    assert_int_equal(told[0].pid, SERVER);
    assert_int_equal(told[0].namespace_pid, 3);
    assert_int_equal(told[0].start_ticks, 101);
    assert_int_equal(told[0].lock_pid, 3);
    assert_int_equal(told[0].refused, 0);
    assert_string_equal(told[0].cwd, fake_path("/tmp"));
    assert_int_equal(stat(fake_path("/root/run/l"), &lock), 0);
    assert_int_equal(told[0].lock.inode, lock.st_ino);
    assert_int_equal(told[0].lock.mode, lock.st_mode);
    assert_int_equal(told[0].lock.size_bytes, lock.st_size);
    assert_true(S_ISSOCK(told[0].socket.mode));
}

/* MD-2: what is there is not reserved, whatever it is; nor is a folder that is not there. */
static void only_what_is_absent_is_reserved(void **state)
{
    assert_int_equal(symlink("nowhere", fake_path("/root/run/s")), 0);
    assert_int_equal(ask(DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_PRESENT);
    assert_int_equal(unlink(fake_path("/root/run/s")), 0);
    fake_file("/root/run/l", "");
    assert_int_equal(ask(DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_PRESENT);
    assert_int_equal(unlink(fake_path("/root/run/l")), 0);
    assert_int_equal(rmdir(fake_path("/root/run")), 0);
    assert_int_equal(ask(DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_FOLDER);
    assert_int_equal(symlink("../private", fake_path("/root/run")), 0);
    assert_int_equal(ask(DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_FOLDER);
    assert_int_equal(told[0].state, DAEMON_DECLARED);
    assert_int_equal(ask_for("none", DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_NOT_DECLARED);
    assert_int_equal(ask_for("", DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_NOT_DECLARED);
    assert_int_equal(told[0].refused, 4);
}

/* MD-2 MD-3 MD-4: each step that is not the next is refused by name, and changes nothing. */
static void no_step_comes_out_of_turn(void **state)
{
    for (int at = 0; at < DAEMON_STATE_COUNT; at++) {
        go_to((enum daemon_state)at);
        for (int event = 0; event < DAEMON_EVENT_COUNT; event++) {
            bool may_wait = at == DAEMON_RESERVED && event == DAEMON_START;
            if (event == at || may_wait) {
                continue;
            }
            told[0].refused = 0;
            assert_int_equal(ask((enum daemon_event)event, SERVER, 3), DAEMON_REFUSED_ORDER);
            assert_int_equal(told[0].state, at);
            assert_non_null(strstr(answer.text, daemon_event_name((enum daemon_event)event)));
            assert_non_null(strstr(answer.text, daemon_state_name((enum daemon_state)at)));
            assert_int_equal(answer.pid, 0);
        }
    }
}

/* MD-2: a reservation is shown; who has another, or none, is not let on. */
static void a_reservation_is_asked_for(void **state)
{
    go_to(DAEMON_RESERVED);
    reservation[31] ^= 1;
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_RESERVATION);
    assert_int_equal(ask(DAEMON_START, CLIENT, 3), DAEMON_REFUSED_RESERVATION);
    reservation[31] ^= 1;
    go_to(DAEMON_BOUND);
    uint8_t first[DAEMON_RESERVATION_BYTES];
    memcpy(first, reservation, sizeof first);
    begin_case(state);
    go_to(DAEMON_RESERVED);
    assert_memory_not_equal(first, reservation, sizeof first);
}

/* Who waits for its binding is not counted; who is refused too often is heard no more. */
static void refusals_are_counted(void **state)
{
    go_to(DAEMON_RESERVED);
    for (int i = 0; i < 2 * DAEMON_TRIES; i++) {
        assert_int_equal(ask(DAEMON_START, SERVER, 0), DAEMON_REFUSED_NOT_YET);
    }
    for (int i = 0; i < DAEMON_TRIES; i++) {
        assert_int_equal(ask(DAEMON_BIND, CLIENT, 99), DAEMON_REFUSED_NO_PROCESS);
    }
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_TOO_MANY);
    assert_int_equal(told[0].state, DAEMON_RESERVED);
}

/* MD-3 MD-5: a claimed pid is bound only as what the kernel shows. */
static void only_the_right_process_is_bound(void **state)
{
    struct fake server = {.pid = SERVER, .namespace_pid = 3, .parent = CLIENT, .start_ticks = 101};
    go_to(DAEMON_RESERVED);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 0), DAEMON_REFUSED_NO_PROCESS);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, -1), DAEMON_REFUSED_NO_PROCESS);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, INT64_MAX), DAEMON_REFUSED_NO_PROCESS);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, SERVER), DAEMON_REFUSED_NO_PROCESS);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 2), DAEMON_REFUSED_TOO_OLD);
    assert_int_equal(ask(DAEMON_BIND, WORKER, 5), DAEMON_REFUSED_EXECUTABLE);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 5), DAEMON_REFUSED_PARENT); /* another's child */
    server.start_ticks = 99;
    fake_member(&server);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_TOO_OLD);
    server.start_ticks = 101;
    server.state = 'Z';
    fake_member(&server);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_NO_PROCESS);
    server.state = 'S';
    fake_member(&server);
    fake_write(SERVER, "cgroup", "0::/elsewhere\n");
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_NO_PROCESS);
    server.parent = LAUNCHER; /* it lost its own */
    fake_member(&server);
    fake_file("/root/run/l", "");
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_PRESENT);
    assert_int_equal(unlink(fake_path("/root/run/l")), 0);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_NONE);
    assert_int_equal(ask_for("two", DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_NONE);
    assert_int_equal(ask_for("two", DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_TAKEN);
}

/* MD-3: what it executes is known when it has executed something. */
static void a_process_is_bound_when_it_has_executed(void **state)
{
    struct fake server = {.pid = SERVER,
                          .namespace_pid = 3,
                          .parent = CLIENT,
                          .start_ticks = 101,
                          .forked_only = true};
    go_to(DAEMON_RESERVED);
    fake_member(&server);
    for (int i = 0; i < DAEMON_WAITS; i++) { /* who binds may be faster than its execve */
        assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_NOT_YET);
    }
    assert_int_equal(told[0].refused, 0);
    server.exe = "/bin/cat";
    fake_member(&server);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_EXECUTABLE);
    server.forked_only = false;
    server.exe = NULL;
    fake_member(&server);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_NONE);
}

/* MD-3: the folder that was reserved is the one, not another that has its name by now. */
static void a_replaced_folder_is_seen(void **state)
{
    go_to(DAEMON_RESERVED);
    char aside[128];
    (void)snprintf(aside, sizeof aside, "%s", fake_path("/root/aside"));
    assert_int_equal(rename(fake_path("/root/run"), aside), 0);
    assert_int_equal(mkdir(fake_path("/root/run"), 0700), 0);
    assert_int_equal(ask(DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_FOLDER);
}

/* MD-7: in the private file system the folder lies below the daemon's own working folder. */
static void a_private_folder_lies_below_the_working_folder(void **state)
{
    struct fake server = {.pid = SERVER, .namespace_pid = 3, .parent = CLIENT, .start_ticks = 101};
    assert_int_equal(ask_for("two", DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_NONE);
    server.cwd = "/";
    fake_member(&server);
    assert_int_equal(ask_for("two", DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_CWD);
    server.cwd = fake_path("/tmp/w");
    fake_member(&server);
    assert_int_equal(ask_for("two", DAEMON_BIND, CLIENT, 3), DAEMON_REFUSED_NONE);
}

/* MD-5: the daemon's own steps are its own, or its descendants'. */
static void nobody_else_takes_the_daemons_steps(void **state)
{
    go_to(DAEMON_BOUND);
    assert_int_equal(ask(DAEMON_START, CLIENT, 0), DAEMON_REFUSED_NOT_BOUND);
    fake_file("/root/run/l", "");
    assert_int_equal(ask(DAEMON_START, SERVER, 0), DAEMON_REFUSED_PRESENT);
    assert_int_equal(unlink(fake_path("/root/run/l")), 0);
    assert_int_equal(ask(DAEMON_START, WORKER, 0), DAEMON_REFUSED_NONE);
    write_lock("/root/run/l", 3, 0);
    assert_int_equal(ask(DAEMON_LOCK_READY, CLIENT, 0), DAEMON_REFUSED_NOT_BOUND);
    fake_link(SERVER, "exe", "/bin/cat");
    assert_int_equal(ask(DAEMON_LOCK_READY, SERVER, 0), DAEMON_REFUSED_GONE);
    fake_link(SERVER, "exe", "/bin/true");
    const struct fake another = {
        .pid = SERVER, .namespace_pid = 3, .parent = CLIENT, .start_ticks = 150};
    fake_member(&another); /* the number was given away */
    assert_int_equal(ask(DAEMON_LOCK_READY, SERVER, 0), DAEMON_REFUSED_GONE);
}

/* MD-4: pid and reservation in the lock, when it is made and when it is sealed. */
static void a_forged_lock_is_none(void **state)
{
    go_to(DAEMON_STARTED);
    assert_int_equal(ask(DAEMON_LOCK_READY, SERVER, 0), DAEMON_REFUSED_LOCK);
    write_lock("/root/run/l", 3, 1);
    assert_int_equal(ask(DAEMON_LOCK_READY, SERVER, 0), DAEMON_REFUSED_LOCK);
    write_lock("/root/run/l", 4, 0);
    assert_int_equal(ask(DAEMON_LOCK_READY, SERVER, 0), DAEMON_REFUSED_LOCK);
    write_lock("/root/run/l", SERVER, 0); /* its number on the host is its own as well */
    assert_int_equal(ask(DAEMON_LOCK_READY, SERVER, 0), DAEMON_REFUSED_NONE);
    assert_int_equal(told[0].lock.inode, 0); /* not sealed */
    fake_socket("/root/run/s");
    write_lock("/root/run/l", 2, 0);
    assert_int_equal(ask(DAEMON_SEAL, SERVER, 0), DAEMON_REFUSED_LOCK);
    write_lock("/root/run/l", 3, 0);
    assert_int_equal(unlink(fake_path("/root/run/s")), 0);
    assert_int_equal(ask(DAEMON_SEAL, SERVER, 0), DAEMON_REFUSED_SOCKET);
    fake_file("/root/run/s", "");
    assert_int_equal(ask(DAEMON_SEAL, SERVER, 0), DAEMON_REFUSED_SOCKET);
    assert_int_equal(unlink(fake_path("/root/run/s")), 0);
    fake_socket("/root/run/s");
    assert_int_equal(ask(DAEMON_SEAL, CLIENT, 0), DAEMON_REFUSED_NONE); /* the fixture may */
}

/* WD-4 MD-2: each step is on record before it is answered; what cannot be is refused, and was never taken. */
static void each_step_is_durable_before_it_is_answered(void **state)
{
    for (int at = DAEMON_DECLARED; at < DAEMON_SEALED; at++) {
        note_failure = -1;
        if (at == DAEMON_STARTED) {
            write_lock("/root/run/l", 3, 0);
        }
        if (at == DAEMON_CREATED) {
            fake_socket("/root/run/s");
        }
        pid_t asker = at < DAEMON_BOUND ? CLIENT : SERVER;
        assert_int_equal(ask((enum daemon_event)at, asker, 3), DAEMON_REFUSED_UNRECORDED);
        assert_non_null(strstr(answer.text, "made durable: the watchdog cannot write: no room"));
        assert_int_equal(told[0].state, at);
        assert_int_equal(noted.state, at + 1);
        note_failure = 0;
        assert_int_equal(ask((enum daemon_event)at, asker, 3), DAEMON_REFUSED_NONE);
        assert_int_equal(told[0].state, at + 1);
        assert_int_equal(noted.state, at + 1);
        assert_true(noted.on_host && noted_fd >= 0);
        assert_true(watch_daemon_check(&noted));
        assert_memory_equal(noted.reservation, reservation, sizeof reservation);
    }
    assert_int_equal(noted.process.pid, SERVER);
    assert_int_equal(noted.process.start_ticks, 101);
    assert_int_equal(noted.namespace_pid, 3);
    assert_string_equal(noted.place.path, "/root/run");
    assert_string_equal(noted.place.name, "s");
    assert_string_equal(noted.lock_name, "l");
    assert_int_equal(noted.socket.self.inode, told[0].socket.inode);
    assert_int_equal(noted.lock.self.inode, told[0].lock.inode);
    assert_int_equal(noted.lock.size_bytes, told[0].lock.size_bytes);
    assert_int_equal(ask_for("two", DAEMON_RESERVE, CLIENT, 0), DAEMON_REFUSED_NONE);
    assert_true(!noted.on_host && noted_fd < 0); /* the private file system is not held open */
}

static void a_run_without_daemons_declares_none(void **state)
{
    struct daemon_request request = {.head.operation = CONTEXT_DAEMON, .name = "graphd"};
    answer = (struct daemon_answer){0};
    daemons_answer(NULL, fd_num(&proc_dir), (struct proc_identity){CLIENT, 20}, &request, &answer);
    assert_int_equal(answer.refusal, DAEMON_REFUSED_NOT_DECLARED);
    memset(request.name, 'x', sizeof request.name); /* without an end */
    daemons_answer(&daemons, fd_num(&proc_dir), (struct proc_identity){CLIENT, 20}, &request,
                   &answer);
    assert_int_equal(answer.refusal, DAEMON_REFUSED_NOT_DECLARED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_case, end_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_whole_way),
        CASE(only_what_is_absent_is_reserved),
        CASE(no_step_comes_out_of_turn),
        CASE(a_reservation_is_asked_for),
        CASE(refusals_are_counted),
        CASE(only_the_right_process_is_bound),
        CASE(a_process_is_bound_when_it_has_executed),
        CASE(a_replaced_folder_is_seen),
        CASE(a_private_folder_lies_below_the_working_folder),
        CASE(nobody_else_takes_the_daemons_steps),
        CASE(a_forged_lock_is_none),
        CASE(each_step_is_durable_before_it_is_answered),
        CASE(a_run_without_daemons_declares_none),
    };
    return cmocka_run_group_tests(tests, daemon_begin, daemon_end);
}
