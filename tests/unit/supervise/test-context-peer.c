#include "context-test.h"

static struct fd proc_dir;

static int alarms; /* that come while it is asked */
int __real_os_poll(int fd, short events, int timeout_ms);
int __wrap_os_poll(int fd, short events, int timeout_ms);
int __wrap_os_poll(int fd, short events, int timeout_ms)
{
    return alarms > 0 ? alarms--, -EINTR : __real_os_poll(fd, events, timeout_ms);
}

static int begin(void **state)
{
    int result = fake_begin(state);
    proc_dir = fd_adopt(os_openat(AT_FDCWD, fake_proc, O_PATH | O_DIRECTORY, 0));
    return result;
}

static int end(void **state)
{
    fd_close(&proc_dir);
    return fake_end(state);
}

/* A connection of this process to itself; the peer's side is in `peer`. */
static void meet(struct context_peer *peer, struct fd *ret_client)
{
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    with_fd listener = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
    assert_int_equal(os_socket_listen(fd_num(&listener), 1), 0);
    *ret_client = ask_connect();
    *peer = (struct context_peer){.socket = fd_adopt(os_socket_accept(fd_num(&listener)))};
    assert_int_equal(os_socket_name_senders(fd_num(&peer->socket), true), 0);
}

static void part(struct context_peer *peer, struct fd *client)
{
    fd_close(&peer->socket);
    fd_close(&peer->pidfd);
    fd_close(client);
}

/* CX-4: in the leaf or beneath it, and what only looks like that is not. */
static void membership_is_of_whole_components(void **state)
{
    char text[256];
    const struct {
        const char *before;
        const char *after;
        enum context_status status;
    } rows[] = {
        {"0::", "\n", CONTEXT_OK},
        {"1:name=systemd:/\n0::", "\n", CONTEXT_OK},
        {"0::", "/below\n", CONTEXT_OK},
        {"0::", "2\n", CONTEXT_NOT_A_MEMBER},
        {"0::/other", "\n", CONTEXT_NOT_A_MEMBER},
        {"0::/..", "\n", CONTEXT_NOT_A_MEMBER},
        {"0::", "/../other\n", CONTEXT_NOT_A_MEMBER},
        {"0::", "/..\n", CONTEXT_NOT_A_MEMBER},
        {"0::", " (deleted)\n", CONTEXT_NOT_A_MEMBER},
        {"0::", "/below (deleted)\n", CONTEXT_NOT_A_MEMBER},
        {"0::", "", CONTEXT_NOT_A_MEMBER}, /* cut */
        {"10::", "\n", CONTEXT_NOT_A_MEMBER},
        {"1:memory:", "\n0::/\n", CONTEXT_NOT_A_MEMBER},
        {"1:memory:", "\n", CONTEXT_NOT_A_MEMBER},
    };
    struct context_peer peer;
    with_fd client = {0};
    fake_process(getpid(), fake_leaf, 7);
    meet(&peer, &client);
    assert_int_equal(context_peer_identify(fd_num(&proc_dir), &peer), CONTEXT_OK);
    assert_int_equal(peer.who.pid, getpid());
    assert_int_equal(peer.who.start_ticks, 7);
    for (size_t i = 0; i < countof(rows); i++) {
        (void)snprintf(text, sizeof text, "%s%s%s", rows[i].before, fake_leaf, rows[i].after);
        fake_write(getpid(), "cgroup", text);
        assert_int_equal(context_peer_check(fd_num(&proc_dir), &peer, fake_leaf), rows[i].status);
    }
    fake_write(getpid(), "cgroup", "0::/\n");
    assert_int_equal(context_peer_check(fd_num(&proc_dir), &peer, fake_leaf), CONTEXT_NOT_A_MEMBER);
    part(&peer, &client);
}

static void what_is_a_leaf_and_where_its_broker_listens(void **state)
{
    static const char *const none[] = {
        "",        "/",   "leaf",           "//leaf", "/a//leaf", "/a/",      "/a/./b",
        "/a/../b", "/..", "/a/b (deleted)", "/./a",   "/a/b/..",  "/../../a", "/a (deleted)"};
    for (size_t i = 0; i < countof(none); i++) {
        assert_false(context_is_leaf(none[i]));
    }
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_is_leaf("/a..b/...") && context_is_leaf("/a"));
    assert_false(context_address("/a", address)); /* nothing above it that is the run's own */
    assert_true(context_address("/x.slice/berm-k7f3.scope/payload", address));
    assert_string_equal(address, "@berm/berm-k7f3.scope");
    char leaf[160] = "/";
    memset(leaf + 1, 'u', 101);
    memcpy(leaf + 102, "/payload", sizeof "/payload");
    assert_true(context_address(leaf, address));
    assert_int_equal(strlen(address), CONTEXT_ADDRESS_SIZE - 1);
    memset(leaf + 1, 'u', 102);
    memcpy(leaf + 103, "/payload", sizeof "/payload");
    assert_false(context_address(leaf, address));
}

/* CX-4: on both kinds of kernel. A process that has ended, and one with another start, is none. */
static void a_process_that_ended_is_no_peer(void **state)
{
    for (int round = 0; round < 4; round++) {
        old_kernel = round % 2;
        struct context_peer peer;
        with_fd client = {0};
        fake_process(getpid(), fake_leaf, 7);
        meet(&peer, &client);
        assert_int_equal(context_peer_identify(fd_num(&proc_dir), &peer), CONTEXT_OK);
        assert_int_equal(context_peer_check(fd_num(&proc_dir), &peer, fake_leaf), CONTEXT_OK);
        if (round < 2) {
            fake_process(getpid(), fake_leaf, 8); /* the number has been given to another */
        } else {
            pid_t child = fork();
            if (child == 0) {
                _exit(0);
            }
            fd_close(&peer.pidfd);
            peer.pidfd = fd_adopt(__real_os_pidfd_open(child));
            assert_int_equal(waitpid(child, NULL, 0), child);
        }
        assert_int_equal(context_peer_check(fd_num(&proc_dir), &peer, fake_leaf), CONTEXT_GONE);
        part(&peer, &client);
    }
    old_kernel = false;
}

/* CX-4: in the moment between "who connected" and "open a pidfd of that number" it ended, and the
 * number is a member's now. The member never spoke: what comes is sent by somebody else. */
static void a_recycled_number_does_not_speak_for_another(void **state)
{
    old_kernel = true;
    struct context_peer peer;
    with_fd client = {0};
    fake_process(getpid(), fake_leaf, 7);
    meet(&peer, &client);
    stand_in = __real_os_pidfd_open(getppid());
    assert_int_equal(context_peer_identify(fd_num(&proc_dir), &peer), CONTEXT_OK);
    assert_int_equal(stand_in, 0);

    struct context_hello hello = {0};
    struct context_request request = ask_frame(&hello);
    bool heard = false;
    union context_frame frame;
    assert_int_equal(context_peer_hear(&peer, &frame, &heard), CONTEXT_FAILED);
    assert_false(heard);  /* nothing there yet */
    pid_t child = fork(); /* it holds the connection of the one that ended */
    if (child == 0) {
        _exit(os_send(fd_num(&client), &request, sizeof request) != sizeof request);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(context_peer_hear(&peer, &frame, &heard), CONTEXT_NOT_THE_PEER);
    assert_true(heard);
    assert_int_equal(os_send(fd_num(&client), &request, sizeof request), sizeof request);
    assert_int_equal(context_peer_hear(&peer, &frame, &heard), CONTEXT_OK);
    old_kernel = false;
    part(&peer, &client);
}

/* CX-4: the signal that bounds the time of a close is not the peer's end. */
static void a_signal_of_our_own_is_no_death(void **state)
{
    struct context_peer peer;
    with_fd client = {0};
    fake_process(getpid(), fake_leaf, 7);
    meet(&peer, &client);
    assert_int_equal(context_peer_identify(fd_num(&proc_dir), &peer), CONTEXT_OK);
    alarms = 2;
    assert_int_equal(context_peer_check(fd_num(&proc_dir), &peer, fake_leaf), CONTEXT_OK);
    assert_int_equal(alarms, 0);
    part(&peer, &client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_of_our_own_is_no_death),
        cmocka_unit_test(membership_is_of_whole_components),
        cmocka_unit_test(what_is_a_leaf_and_where_its_broker_listens),
        cmocka_unit_test(a_process_that_ended_is_no_peer),
        cmocka_unit_test(a_recycled_number_does_not_speak_for_another),
    };
    return cmocka_run_group_tests_name("supervise/context-peer", tests, begin, end);
}
