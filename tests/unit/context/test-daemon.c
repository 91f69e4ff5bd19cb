#include "view-test.h"

#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static int finds_left = -1; /* before there is no time any more; -1: there is */

int __real_berm_exchange_find(const struct view *view, const struct own *own, int64_t until_ns,
                              bool *ret_in_sandbox);
int __wrap_berm_exchange_find(const struct view *view, const struct own *own, int64_t until_ns,
                              bool *ret_in_sandbox);
int __wrap_berm_exchange_find(const struct view *at, const struct own *own, int64_t until_ns,
                              bool *ret_in_sandbox)
{
    if (finds_left == 0) {
        return -ETIMEDOUT;
    }
    finds_left -= finds_left > 0;
    return __real_berm_exchange_find(at, own, until_ns, ret_in_sandbox);
}

static struct daemon_answer granted(void)
{
    return (struct daemon_answer){.magic = CONTEXT_MAGIC,
                                  .version = CONTEXT_VERSION,
                                  .state = DAEMON_BOUND,
                                  .reservation = {0, 0x11, 0x22},
                                  .pid = 700,
                                  .namespace_pid = 7,
                                  .start_ticks = 9,
                                  .socket = "/tmp/w/s",
                                  .lock = "/tmp/w/l"};
}

static struct fd listening(void)
{
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    struct fd listener = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
    assert_int_equal(os_socket_listen(fd_num(&listener), 4), 0);
    return listener;
}

/* The supervisor, by hand: what it was asked. */
static struct daemon_request answer_once(const struct fd *listener, uint16_t greeting,
                                         const void *answer, size_t size)
{
    static char frame[sizeof(struct daemon_answer)];
    struct daemon_request request = {0};
    assert_true(os_poll(fd_num(listener), POLLIN, patience_ms) > 0);
    with_fd peer = fd_adopt(os_socket_accept(fd_num(listener)));
    struct context_hello hello = {.magic = CONTEXT_MAGIC,
                                  .version = CONTEXT_VERSION,
                                  .status = greeting,
                                  .nonce = "fifteen letters"};
    assert_int_equal(os_send(fd_num(&peer), &hello, sizeof hello), sizeof hello);
    if (greeting != CONTEXT_OK) {
        return request;
    }
    assert_true(os_poll(fd_num(&peer), POLLIN, patience_ms) > 0);
    assert_int_equal(os_recv(fd_num(&peer), &request, sizeof request), sizeof request);
    memcpy(frame, answer, size);
    memcpy(frame + offsetof(struct context_answer, nonce), request.head.nonce,
           sizeof request.head.nonce);
    assert_int_equal(os_send(fd_num(&peer), frame, size), size);
    return request;
}
_Static_assert(offsetof(struct context_answer, nonce) == offsetof(struct daemon_answer, nonce),
               "the head of both is the same");

struct asked {
    struct berm_daemon daemon;
    int result;
};

/* A program in the leaf takes a step, and we are above it and outside. */
static pid_t begin(enum berm_daemon_step step, int patience, int pipes[2][2])
{
    assert_int_equal(pipe(pipes[0]), 0);
    assert_int_equal(pipe(pipes[1]), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        struct asked asked;
        (void)!read(pipes[0][0], &byte, 1);
        asked.result = berm_daemon_step_in(&view, step, "graphd", HEX, 7, &asked.daemon, patience);
        _exit(write(pipes[1][1], &asked, sizeof asked) != sizeof asked);
    }
    close(pipes[1][1]);
    view_process(child, getpid());
    fake_process(getpid(), "/user/session-1.scope", 7);
    return child;
}

static struct asked end(pid_t child, int pipes[2][2])
{
    struct asked asked;
    size_t used = 0;
    ssize_t got;
    while (used < sizeof asked &&
           (got = read(pipes[1][0], (char *)&asked + used, sizeof asked - used)) > 0) {
        used += (size_t)got;
    }
    assert_int_equal(used, sizeof asked);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(pipes[0][0]);
    close(pipes[0][1]);
    close(pipes[1][0]);
    view_process(getpid(), 1);
    return asked;
}

static struct asked ask(enum berm_daemon_step step, uint16_t greeting, const void *answer,
                        size_t size, struct daemon_request *ret_request)
{
    int pipes[2][2];
    pid_t child = begin(step, patience_ms, pipes);
    with_fd listener = listening();
    assert_int_equal(write(pipes[0][1], "x", 1), 1);
    *ret_request = answer_once(&listener, greeting, answer, size);
    return end(child, pipes);
}

/* MD-2 MD-3: the step, the name, the reservation and a pid go out; what was found comes back. */
static void a_step_is_asked_for_and_told(void **state)
{
    struct daemon_request request;
    struct daemon_answer answer = granted();
    struct asked asked = ask(BERM_DAEMON_BIND, CONTEXT_OK, &answer, sizeof answer, &request);
    assert_int_equal(asked.result, 0);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_DONE);
    assert_int_equal(asked.daemon.state, DAEMON_BOUND);
    assert_int_equal(asked.daemon.pid, 700);
    assert_int_equal(asked.daemon.namespace_pid, 7);
    assert_int_equal(asked.daemon.start_ticks, 9);
    assert_string_equal(asked.daemon.socket, "/tmp/w/s");
    assert_string_equal(asked.daemon.lock, "/tmp/w/l");
    assert_memory_equal(asked.daemon.reservation, "001122000", 9);
    assert_int_equal(strlen(asked.daemon.reservation), 64);
    assert_string_equal(asked.daemon.text, "");
    assert_int_equal(request.head.operation, CONTEXT_DAEMON + DAEMON_BIND);
    assert_string_equal(request.name, "graphd");
    assert_int_equal(request.pid, 7);
    assert_int_equal(request.reservation[1], 0x11);
    assert_int_equal(request.reservation[31], 0xff);
}

static void a_refusal_says_why(void **state)
{
    struct daemon_request request;
    struct daemon_answer answer = granted();
    answer.refusal = DAEMON_REFUSED_LOCK;
    memcpy(answer.text, "no lock", 8);
    struct asked asked = ask(BERM_DAEMON_SEAL, CONTEXT_OK, &answer, sizeof answer, &request);
    assert_int_equal(asked.result, -1);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_REFUSED);
    assert_int_equal(asked.daemon.refusal, DAEMON_REFUSED_LOCK);
    assert_string_equal(asked.daemon.text, "no lock");
    assert_string_equal(asked.daemon.reservation, "");
    assert_int_equal(asked.daemon.pid, 0);
    answer.refusal = DAEMON_REFUSED_NOT_DECLARED;
    asked = ask(BERM_DAEMON_SEAL, CONTEXT_OK, &answer, sizeof answer, &request);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_OUTSIDE);
}

static void what_is_no_answer_proves_nothing(void **state)
{
    struct daemon_request request;
    struct daemon_answer answer = granted();
    struct asked asked = ask(BERM_DAEMON_SEAL, CONTEXT_OK, &answer, sizeof answer - 1, &request);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_NOT_PROVED);
    assert_int_equal(asked.daemon.error, EPROTO);
    answer.refusal = DAEMON_REFUSAL_COUNT;
    asked = ask(BERM_DAEMON_SEAL, CONTEXT_OK, &answer, sizeof answer, &request);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_NOT_PROVED);
    answer = granted();
    memset(answer.lock, 'x', sizeof answer.lock);
    asked = ask(BERM_DAEMON_SEAL, CONTEXT_OK, &answer, sizeof answer, &request);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_NOT_PROVED);
    /* A broker that could not tell who asked answers as it does to everybody. */
    const struct context_answer refusal = {
        .magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION, .status = CONTEXT_GONE};
    asked = ask(BERM_DAEMON_SEAL, CONTEXT_OK, &refusal, sizeof refusal, &request);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_NOT_PROVED);
    assert_int_equal(asked.daemon.error, 0);
    asked = ask(BERM_DAEMON_SEAL, CONTEXT_NOT_A_MEMBER, NULL, 0, &request);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_OUTSIDE);
}

/* The daemon is started before it can be bound, so it asks until it is, or has no time left. */
static void a_start_waits_for_the_binding(void **state)
{
    int pipes[2][2];
    struct daemon_answer answer = granted();
    answer.refusal = DAEMON_REFUSED_NOT_YET;
    answer.state = DAEMON_RESERVED;
    pid_t child = begin(BERM_DAEMON_START, patience_ms, pipes);
    with_fd listener = listening();
    assert_int_equal(write(pipes[0][1], "x", 1), 1);
    for (int i = 0; i < 3; i++) {
        (void)answer_once(&listener, CONTEXT_OK, &answer, sizeof answer);
    }
    answer.refusal = DAEMON_REFUSED_NONE;
    (void)answer_once(&listener, CONTEXT_OK, &answer, sizeof answer);
    struct asked asked = end(child, pipes);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_DONE);
}

/* And when it has none left, it is the last answer that is told. */
static void an_answer_outlives_the_time(void **state)
{
    int pipes[2][2];
    struct daemon_answer answer = granted();
    answer.refusal = DAEMON_REFUSED_NOT_YET;
    answer.state = DAEMON_RESERVED;
    memcpy(answer.text, "not bound yet", 14);
    finds_left = 1;
    pid_t child = begin(BERM_DAEMON_START, patience_ms, pipes);
    finds_left = -1;
    with_fd listener = listening();
    assert_int_equal(write(pipes[0][1], "x", 1), 1);
    (void)answer_once(&listener, CONTEXT_OK, &answer, sizeof answer);
    struct asked asked = end(child, pipes);
    assert_int_equal(asked.result, -1);
    assert_int_equal(asked.daemon.result, BERM_DAEMON_REFUSED);
    assert_int_equal(asked.daemon.refusal, DAEMON_REFUSED_NOT_YET);
    assert_int_equal(asked.daemon.state, DAEMON_RESERVED);
    assert_string_equal(asked.daemon.text, "not bound yet");
}

static void errno_is_the_callers(void **state)
{
    struct berm_daemon daemon;
    errno = EXDEV;
    assert_int_equal(berm_daemon_reserve("graphd", &daemon, sizeof daemon, 0), -1);
    assert_int_equal(errno, EXDEV);
    assert_true(daemon.error != 0);
}

static void nobody_is_asked_for_what_is_malformed(void **state)
{
    struct berm_daemon daemon;
    assert_int_equal(berm_daemon_step_in(&view, BERM_DAEMON_SEAL, "graphd", "00", 0, &daemon, 0),
                     -1);
    assert_int_equal(daemon.result, BERM_DAEMON_REFUSED);
    assert_int_equal(daemon.state, -1);
    assert_int_equal(berm_daemon_step_in(&view, BERM_DAEMON_SEAL, "graphd", NULL, 0, &daemon, 0),
                     -1);
    assert_int_equal(daemon.result, BERM_DAEMON_REFUSED);
    assert_int_equal(berm_daemon_step_in(&view, BERM_DAEMON_RESERVE,
                                         "a-name-that-is-longer-than-may-be-", NULL, 0, &daemon, 0),
                     -1);
    assert_int_equal(daemon.result, BERM_DAEMON_REFUSED);
    view_process(getpid(), 1);
    assert_int_equal(
        berm_daemon_step_in(&view, BERM_DAEMON_RESERVE, "graphd", NULL, 0, &daemon, patience_ms),
        -1);
    assert_int_equal(daemon.result, BERM_DAEMON_OUTSIDE);
    assert_non_null(strstr(daemon.text, "no run of berm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_asked_for_and_told),
        cmocka_unit_test(a_refusal_says_why),
        cmocka_unit_test(what_is_no_answer_proves_nothing),
        cmocka_unit_test(a_start_waits_for_the_binding),
        cmocka_unit_test(an_answer_outlives_the_time),
        cmocka_unit_test(errno_is_the_callers),
        cmocka_unit_test(nobody_is_asked_for_what_is_malformed),
    };
    return cmocka_run_group_tests(tests, view_begin, fake_end);
}
