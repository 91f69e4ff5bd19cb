#include "context-test.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "parts.h"

enum { LINGER_S = 20 };

static struct context context;
static int64_t now_ns;
static struct fd no_listener;

static int count_open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static void start(void)
{
    struct err err = {0};
    struct context_facts facts = fake_facts();
    now_ns = 1000 * NS_PER_S;
    fake_process(getpid(), fake_leaf, 7);
    assert_int_equal(context_open(&context, &facts, &no_listener, fake_proc, &err), 0);
}

static void serve(void)
{
    context_serve(&context, now_ns);
    assert_int_equal(context.failure.code, ERR_NONE);
}

static int open_peers(void)
{
    int count = 0;
    for (size_t i = 0; i < CONTEXT_PEERS; i++) {
        count += fd_is_open(&context.peers[i].socket);
    }
    return count;
}

/* Connected, accepted and greeted. */
static struct fd greeted(struct context_hello *hello)
{
    struct fd client = ask_connect();
    assert_true(fd_is_open(&client));
    serve();
    assert_int_equal(ask_hello(&client, hello), CONTEXT_OK);
    return client;
}

/* CX-1: what the supervisor knows, and nothing of it from the one who asks. CX-4 on both kernels. */
static void a_member_is_told(void **state)
{
    for (int round = 0; round < 2; round++) {
        old_kernel = round == 1;
        int files = count_open_files();
        struct context_hello hello;
        struct context_answer answer;
        start();
        assert_int_equal(os_poll(context_events(&context), POLLIN, 0), 0);
        with_fd client = ask_connect();
        assert_int_equal(os_poll(context_events(&context), POLLIN, patience_ms), POLLIN);
        serve();
        assert_int_equal(ask_hello(&client, &hello), CONTEXT_OK);
        assert_int_equal(os_poll(context_events(&context), POLLIN, 0), 0);
        struct context_request request = ask_frame(&hello);
        assert_int_equal(os_send(fd_num(&client), &request, sizeof request), sizeof request);
        assert_int_equal(os_poll(context_events(&context), POLLIN, patience_ms), POLLIN);
        serve();
        assert_int_equal(ask_answer(&client, &answer), CONTEXT_OK);
        assert_memory_equal(answer.nonce, hello.nonce, sizeof hello.nonce);
        assert_string_equal(answer.run, "k7f3");
        assert_string_equal(answer.unit, "berm-k7f3.scope");
        assert_string_equal(answer.leaf, fake_leaf);
        assert_int_equal(answer.memory_max_bytes, 64 << 20);
        assert_int_equal(answer.swap_max_bytes, 0);
        assert_int_equal(answer.pids_max, 32);
        assert_int_equal(answer.guarantee_count, GUARANTEE_COUNT);
        assert_string_equal(answer.guarantees[GUARANTEE_MEMORY].name, "memory");
        assert_int_equal(answer.guarantees[GUARANTEE_MEMORY].level, LEVEL_LIMITED);
        /* CX-3: one request, and it is berm that closes, whatever the other end does. */
        assert_int_equal(open_peers(), 0);
        assert_int_equal(ask_answer(&client, &answer), -2);
        fd_close(&client);
        context_done(&context);
        assert_int_equal(count_open_files(), files);
    }
    old_kernel = false;
}

/* CX-3: what may wait for the watchdog is done once, and then the loop goes on before the next. */
static void one_request_of_a_daemon_is_answered_at_a_turn(void **state)
{
    enum { ASKERS = 3 };
    struct fd clients[ASKERS];
    struct context_hello hello[ASKERS];
    start();
    for (int i = 0; i < ASKERS; i++) {
        clients[i] = greeted(&hello[i]);
    }
    for (int i = 0; i < ASKERS; i++) {
        struct daemon_request request = {.head = ask_frame(&hello[i]), .name = "graphd"};
        request.head.operation = CONTEXT_DAEMON;
        assert_int_equal(os_send(fd_num(&clients[i]), &request, sizeof request), sizeof request);
    }
    for (int i = 0; i < ASKERS; i++) {
        serve();
        assert_int_equal(open_peers(), ASKERS - 1 - i);
    }
    for (int i = 0; i < ASKERS; i++) {
        fd_close(&clients[i]);
    }
    context_done(&context);
}

/* CX-1 CX-3: nor does a reader wait behind them, or is dropped since one of them took its time; and they are
 * not, since others did. */
static void who_reads_is_answered_before_the_steps_of_daemons(void **state)
{
    enum { ASKERS = 3 };
    struct fd clients[ASKERS];
    struct context_hello hello[ASKERS];
    struct context_hello late;
    struct context_answer answer;
    static struct daemon_answer taken;
    start();
    for (int i = 0; i < ASKERS; i++) {
        clients[i] = greeted(&hello[i]);
    }
    with_fd reader = greeted(&late);
    for (int i = 0; i < ASKERS; i++) {
        struct daemon_request request = {.head = ask_frame(&hello[i]), .name = "graphd"};
        request.head.operation = CONTEXT_DAEMON;
        assert_int_equal(os_send(fd_num(&clients[i]), &request, sizeof request), sizeof request);
    }
    struct context_request request = ask_frame(&late);
    assert_int_equal(os_send(fd_num(&reader), &request, sizeof request), sizeof request);
    serve();
    assert_int_equal(ask_answer(&reader, &answer), CONTEXT_OK);
    assert_int_equal(context_moment_ns(&context), 0);
    now_ns += 2 * CONTEXT_DEADLINE_NS;
    serve();
    serve();
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(os_recv(fd_num(&clients[i]), &taken, sizeof taken), sizeof taken);
        fd_close(&clients[i]);
    }
    assert_int_equal(context_moment_ns(&context), INT64_MAX);
    context_done(&context);
}

/* CX-4: who is no member is told so, is not read from and holds no place. */
static void others_are_turned_away(void **state)
{
    struct context_hello hello;
    start();
    for (int i = 0; i < 2 * CONTEXT_PEERS; i++) {
        fake_process(getpid(), "/user/session-1.scope", 7);
        with_fd client = ask_connect();
        serve();
        assert_int_equal(ask_hello(&client, &hello), CONTEXT_NOT_A_MEMBER);
        assert_int_equal(ask_hello(&client, &hello), -2);
        assert_int_equal(open_peers(), 0);
    }
    context_done(&context);
}

/* CX-4: the cgroup and the start are read again when the request is there. */
static void a_member_that_left_meanwhile_is_none(void **state)
{
    struct context_hello hello;
    struct context_answer answer;
    start();
    const struct {
        const char *suffix;
        int start_ticks;
        enum context_status status;
    } rows[] = {{"", 7, CONTEXT_OK}, {"2", 7, CONTEXT_NOT_A_MEMBER}, {"", 8, CONTEXT_GONE}};
    for (size_t i = 0; i < countof(rows); i++) {
        char path[96];
        fake_process(getpid(), fake_leaf, 7);
        with_fd client = greeted(&hello);
        (void)snprintf(path, sizeof path, "%s%s", fake_leaf, rows[i].suffix);
        fake_process(getpid(), path, rows[i].start_ticks);
        struct context_request request = ask_frame(&hello);
        assert_int_equal(os_send(fd_num(&client), &request, sizeof request), sizeof request);
        serve();
        assert_int_equal(ask_answer(&client, &answer), rows[i].status);
        if (rows[i].status != CONTEXT_OK) {
            assert_string_equal(answer.run, "");
            assert_string_equal(answer.leaf, "");
        }
    }
    context_done(&context);
}

/* CX-4: the process that connected has ended; its child has the connection, and the number is free for
 * anybody. With the pidfd of the peer and without. */
static void an_heir_of_the_connection_is_not_the_peer(void **state)
{
    for (int round = 0; round < 2; round++) {
        old_kernel = round == 1;
        start();
        with_fd a = {0};
        with_fd b = {0};
        with_fd from_parent = {0};
        with_fd go_on = {0};
        assert_int_equal(os_socket_pair(&a, &b), 0);
        assert_int_equal(os_pipe(&from_parent, &go_on), 0);
        pid_t parent = fork();
        if (parent == 0) {
            char byte;
            with_fd client = ask_connect();
            int number = fd_num(&client);
            (void)!os_send_fds(fd_num(&b), "c", 1, &number, 1); /* the heir */
            (void)fcntl(fd_num(&from_parent), F_SETFL, 0);
            fd_close(&go_on);
            (void)!os_read(fd_num(&from_parent), &byte, 1);
            _exit(0);
        }
        fake_process(parent, fake_leaf, 7);
        assert_int_equal(os_poll(context_events(&context), POLLIN, patience_ms), POLLIN);
        serve();
        assert_int_equal(open_peers(), 1);
        char byte;
        with_fd client = {0};
        assert_true(os_poll(fd_num(&a), POLLIN, patience_ms) > 0);
        assert_int_equal(os_recv_fds(fd_num(&a), &byte, 1, &client, 1), 1);
        struct context_hello hello;
        struct context_answer answer;
        assert_int_equal(ask_hello(&client, &hello), CONTEXT_OK);
        fd_close(&go_on);
        assert_int_equal(waitpid(parent, NULL, 0), parent);
        /* Its files in this /proc are there still, as if a member had its number now. */
        struct context_request request = ask_frame(&hello);
        assert_int_equal(os_send(fd_num(&client), &request, sizeof request), sizeof request);
        serve();
        assert_int_equal(ask_answer(&client, &answer), CONTEXT_NOT_THE_PEER);
        context_done(&context);
    }
    old_kernel = false;
}

/* CX-3: frames of one byte, of too many, of other numbers, with a descriptor: refused and closed. */
static void only_the_one_frame_is_a_request(void **state)
{
    static char huge[65536];
    const int standard_input = 0;
    struct context_hello hello;
    struct context_answer answer;
    old_kernel = true; /* a younger one does not let a descriptor come at all */
    start();
    for (int i = 0; i < 9; i++) {
        with_fd client = greeted(&hello);
        int files = count_open_files();
        struct context_request request = ask_frame(&hello);
        const void *frame = &request;
        size_t size = sizeof request;
        switch (i) {
        case 0:
            size = 1;
            break;
        case 1:
            size = sizeof request - 1;
            break;
        case 2:
            memcpy(huge, &request, sizeof request);
            frame = huge;
            size = sizeof huge;
            break;
        case 3:
            request.magic++;
            break;
        case 4:
            request.version++;
            break;
        case 5:
            request.operation = CONTEXT_DAEMON + DAEMON_EVENT_COUNT;
            break;
        case 6:
            request.nonce[CONTEXT_NONCE_BYTES - 1] ^= 1;
            break;
        case 7:
            request.operation = 0;
            break;
        default:
            break;
        }
        if (i == 8) {
            assert_int_equal(os_send_fds(fd_num(&client), frame, size, &standard_input, 1), size);
        } else {
            assert_int_equal(os_send(fd_num(&client), frame, size), size);
        }
        serve();
        assert_int_equal(ask_answer(&client, &answer), CONTEXT_MALFORMED);
        assert_int_equal(open_peers(), 0);
        /* The connection and the pidfd of its peer are gone, and no descriptor was taken. */
        assert_int_equal(count_open_files(), files - 2);
    }
    context_done(&context);
    old_kernel = false;
}

/* MD-5 CX-3 CX-4: a step of a daemon has a frame of its own, and the manners of every other request. */
static void a_step_of_a_daemon_is_a_request(void **state)
{
    struct context_hello hello;
    static struct daemon_answer answer;
    struct context_answer refusal;
    start();
    for (int i = 0; i < 4; i++) {
        with_fd client = greeted(&hello);
        struct daemon_request request = {.head = ask_frame(&hello), .name = "graphd"};
        request.head.operation = i < 3 ? CONTEXT_DAEMON + DAEMON_SEAL : CONTEXT_READ;
        size_t size = sizeof request - (i == 1);
        request.head.nonce[0] ^= (uint8_t)(i == 2);
        assert_int_equal(os_send(fd_num(&client), &request, size), size);
        serve();
        if (i > 0) {
            assert_int_equal(ask_answer(&client, &refusal), CONTEXT_MALFORMED);
        } else {
            assert_int_equal(os_recv(fd_num(&client), &answer, sizeof answer), sizeof answer);
            assert_int_equal(answer.status, CONTEXT_OK);
            assert_memory_equal(answer.nonce, hello.nonce, sizeof hello.nonce);
            assert_int_equal(answer.refusal, DAEMON_REFUSED_NOT_DECLARED);
            assert_non_null(strstr(answer.text, "daemon 'graphd'"));
        }
        assert_int_equal(open_peers(), 0);
    }
    context_done(&context);
}

/* A socket whose last close waits for LINGER_S: its peer takes nothing more. */
static struct fd lingering(struct fd *ret_peer)
{
    static char bytes[65536];
    const struct linger wait = {.l_onoff = 1, .l_linger = LINGER_S};
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    *ret_peer = fd_adopt(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    assert_int_equal(bind(fd_num(ret_peer), (const struct sockaddr *)&place, size), 0);
    assert_int_equal(listen(fd_num(ret_peer), 1), 0);
    assert_int_equal(getsockname(fd_num(ret_peer), (struct sockaddr *)&place, &size), 0);
    struct fd full = fd_adopt(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    assert_int_equal(connect(fd_num(&full), (const struct sockaddr *)&place, size), 0);
    assert_int_equal(fcntl(fd_num(&full), F_SETFL, O_NONBLOCK), 0);
    while (write(fd_num(&full), bytes, sizeof bytes) > 0) {
    }
    assert_int_equal(setsockopt(fd_num(&full), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    return full;
}

/* CX-3: whoever may connect, a member or not, cannot make berm wait for the close of what it sends along. */
static void no_descriptor_holds_the_loop(void **state)
{
    struct context_hello hello;
    for (int round = 0; round < 4; round++) {
        bool is_member = round & 1;
        old_kernel = round >= 2;
        start();
        if (!is_member) {
            fake_process(getpid(), "/user/session-1.scope", 7);
        }
        with_fd peer = {0};
        struct fd passed = lingering(&peer);
        with_fd client = is_member ? greeted(&hello) : ask_connect();
        int number = fd_num(&passed);
        ssize_t sent = os_send_fds(fd_num(&client), "x", 1, &number, 1);
        assert_true(sent == 1 || (sent == -EPERM && !context.takes_descriptors));
        assert_true(sent == 1 || !old_kernel);
        const int64_t began_ns = os_clock_real.monotonic_ns();
        if (sent == 1) {
            fd_close(&passed); /* the last one is on its way */
        }
        serve();
        context_done(&context);
        const int64_t took_ns = os_clock_real.monotonic_ns() - began_ns;
        assert_true(took_ns < LINGER_S * NS_PER_S / 2);
        const struct linger none = {.l_onoff = 1};
        if (fd_is_open(&passed)) {
            assert_int_equal(setsockopt(number, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
        }
        fd_close(&passed);
    }
    old_kernel = false;
}

/* CX-3: who speaks before it was greeted has not read the number; what comes behind is not read. */
static void a_request_that_comes_too_soon_or_twice(void **state)
{
    struct context_hello hello = {0};
    struct context_answer answer;
    start();
    with_fd client = ask_connect();
    struct context_request request = ask_frame(&hello);
    assert_int_equal(os_send(fd_num(&client), &request, sizeof request), sizeof request);
    serve();
    assert_int_equal(ask_hello(&client, &hello), CONTEXT_OK);
    serve();
    assert_int_equal(ask_answer(&client, &answer), CONTEXT_MALFORMED);

    with_fd second = greeted(&hello);
    request = ask_frame(&hello);
    assert_int_equal(os_send(fd_num(&second), &request, sizeof request), sizeof request);
    assert_int_equal(os_send(fd_num(&second), &request, sizeof request), sizeof request);
    serve();
    assert_int_equal(open_peers(), 0);
    assert_int_equal(ask_answer(&second, &answer), CONTEXT_OK);
    assert_int_equal(ask_answer(&second, &answer), -2);
    context_done(&context);
}

/* CX-3: a connection lives for so long and no longer, whether it says something or not. */
static void silence_has_a_deadline(void **state)
{
    struct context_hello hello;
    start();
    assert_int_equal(context_moment_ns(&context), INT64_MAX);
    with_fd client = greeted(&hello);
    assert_int_equal(context_moment_ns(&context), now_ns + CONTEXT_DEADLINE_NS);
    now_ns += CONTEXT_DEADLINE_NS - 1;
    serve();
    assert_int_equal(open_peers(), 1);
    now_ns++;
    serve();
    assert_int_equal(open_peers(), 0);
    assert_int_equal(ask_hello(&client, &hello), -2);
    assert_int_equal(context_moment_ns(&context), INT64_MAX);
    context_done(&context);
}

/* CX-3: so many at a time; the next waits in the kernel's queue, costs nothing, and is served later. */
static void places_are_counted(void **state)
{
    struct fd clients[CONTEXT_PEERS] = {{0}};
    struct context_hello hello;
    start();
    for (int i = 0; i < CONTEXT_PEERS; i++) {
        clients[i] = greeted(&hello);
    }
    with_fd late = ask_connect();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(os_poll(context_events(&context), POLLIN, 0), 0);
        serve();
        assert_int_equal(ask_hello(&late, &hello), -1);
    }
    fd_close(&clients[3]);
    serve(); /* a place is free */
    serve();
    assert_int_equal(ask_hello(&late, &hello), CONTEXT_OK);
    for (int i = 0; i < CONTEXT_PEERS; i++) {
        fd_close(&clients[i]);
    }
    context_done(&context);
}

/* CX-3: and so many a second, whoever they are. */
static void the_rate_is_bounded(void **state)
{
    struct context_hello hello;
    start();
    fake_process(getpid(), "/user/session-1.scope", 7);
    int answered = 0;
    for (int i = 0; i < CONTEXT_RATE + 5; i++) {
        with_fd client = ask_connect();
        serve();
        answered += ask_hello(&client, &hello) == CONTEXT_NOT_A_MEMBER;
    }
    assert_int_equal(answered, CONTEXT_RATE);
    assert_int_equal(os_poll(context_events(&context), POLLIN, 0), 0);
    int64_t moment_ns = context_moment_ns(&context);
    assert_int_equal(moment_ns, now_ns + CONTEXT_WINDOW_NS);
    fake_process(getpid(), fake_leaf, 7);
    with_fd client = ask_connect();
    serve();
    assert_int_equal(ask_hello(&client, &hello), -1);
    now_ns = moment_ns;
    serve();
    serve();
    assert_int_equal(ask_hello(&client, &hello), CONTEXT_OK);
    context_done(&context);
}

/* CX-1: the two ends that are built apart: the library asks, and gets what was told. What the kernel says is
 * the library's own matter (tests/unit/context). */
static void the_library_is_understood(void **state)
{
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    start();
    for (int member = 1; member >= 0; member--) {
        pid_t child = fork();
        if (child == 0) {
            struct context_answer answer;
            int64_t until_ns = berm_exchange_now_ns() + patience_ms * NS_PER_MS;
            int fd = berm_exchange_connect(address, until_ns);
            bool heard = fd >= 0 && berm_exchange_ask(fd, until_ns, &answer) == 0;
            bool told = heard && (member ? answer.status == CONTEXT_OK && answer.pids_max == 32
                                         : answer.status == CONTEXT_NOT_A_MEMBER);
            _exit(!told);
        }
        fake_process(child, member ? fake_leaf : "/user/session-1.scope", 7);
        with_fd pidfd = fd_adopt(__real_os_pidfd_open(child));
        struct pollfd ready[] = {{.fd = fd_num(&pidfd), .events = POLLIN},
                                 {.fd = context_events(&context), .events = POLLIN}};
        while (poll(ready, 2, patience_ms) > 0 && !ready[0].revents) {
            serve();
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    context_done(&context);
}

/* A name that somebody took is no reason to end a run; neither is a run that has no leaf. */
static void what_cannot_be_served_says_why(void **state)
{
    struct err err = {0};
    struct context_facts facts = fake_facts();
    start();
    struct context second;
    assert_int_equal(context_open(&second, &facts, &no_listener, fake_proc, &err), -1);
    assert_int_equal(err.sys, EADDRINUSE);
    context_done(&context);
    facts.leaf = "/";
    assert_int_equal(context_open(&second, &facts, &no_listener, fake_proc, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    facts = fake_facts();
    char unit[300];
    memset(unit, 'u', sizeof unit - 1);
    unit[sizeof unit - 1] = '\0';
    facts.unit = unit;
    assert_int_equal(context_open(&second, &facts, &no_listener, fake_proc, &err), -1);
    assert_int_equal(err.code, ERR_OVER_BUDGET);
    assert_int_equal(context_moment_ns(&second), INT64_MAX);
    context_serve(&second, now_ns);
}

/* In a sandbox the launcher made the socket; the kernel names as its owner who listens. */
static void a_listener_that_was_made_elsewhere(void **state)
{
    char address[CONTEXT_ADDRESS_SIZE];
    struct err err = {0};
    struct context_facts facts = fake_facts();
    assert_true(context_address(fake_leaf, address));
    with_fd a = {0};
    with_fd b = {0};
    assert_int_equal(os_socket_pair(&a, &b), 0);
    pid_t child = fork();
    if (child == 0) {
        with_fd made = fd_adopt(os_socket_new());
        int number = fd_num(&made);
        bool done = os_socket_bind(number, address) == 0 &&
                    os_send_fds(fd_num(&b), "l", 1, &number, 1) == 1;
        _exit(!done);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    char byte;
    with_fd listener = {0};
    assert_int_equal(os_recv_fds(fd_num(&a), &byte, 1, &listener, 1), 1);
    fake_process(getpid(), fake_leaf, 7);
    assert_int_equal(context_open(&context, &facts, &listener, fake_proc, &err), 0);
    assert_false(fd_is_open(&listener));
    with_fd client = ask_connect();
    struct os_peer peer;
    assert_int_equal(os_socket_peer(fd_num(&client), &peer), 0);
    assert_int_equal(peer.pid, getpid());
    context_done(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_told),
        cmocka_unit_test(one_request_of_a_daemon_is_answered_at_a_turn),
        cmocka_unit_test(who_reads_is_answered_before_the_steps_of_daemons),
        cmocka_unit_test(others_are_turned_away),
        cmocka_unit_test(a_member_that_left_meanwhile_is_none),
        cmocka_unit_test(an_heir_of_the_connection_is_not_the_peer),
        cmocka_unit_test(only_the_one_frame_is_a_request),
        cmocka_unit_test(a_step_of_a_daemon_is_a_request),
        cmocka_unit_test(a_request_that_comes_too_soon_or_twice),
        cmocka_unit_test(silence_has_a_deadline),
        cmocka_unit_test(no_descriptor_holds_the_loop),
        cmocka_unit_test(places_are_counted),
        cmocka_unit_test(the_rate_is_bounded),
        cmocka_unit_test(the_library_is_understood),
        cmocka_unit_test(what_cannot_be_served_says_why),
        cmocka_unit_test(a_listener_that_was_made_elsewhere),
    };
    return cmocka_run_group_tests_name("supervise/context", tests, fake_begin, fake_end);
}
