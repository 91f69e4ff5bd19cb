#include "view-test.h"

/* What a run says that holds the leaf of the test. */
static struct context_answer true_answer(void)
{
    struct context_answer answer = {
        .magic = CONTEXT_MAGIC,
        .version = CONTEXT_VERSION,
        .tier = CONTEXT_TIER_MEDIUM,
        .containment = 1,
        .memory_max_bytes = 64 << 20,
        .memory_high_bytes = CONTEXT_UNLIMITED,
        .swap_max_bytes = 0,
        .pids_max = 32,
        .timeout_ms = 30000,
        .output_bytes = CONTEXT_UNLIMITED,
        .temporary_bytes = CONTEXT_UNLIMITED,
        .temporary_inodes = CONTEXT_UNLIMITED,
        .guarantee_count = 1,
        .guarantees = {{.name = "memory", .level = BERM_CONTEXT_LIMITED}},
        .run = "k7f3",
        .unit = "berm-k7f3.scope",
        .adapter = "linux-systemd-cgroup-v2",
    };
    memcpy(answer.leaf, fake_leaf, sizeof fake_leaf);
    return answer;
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

/* The supervisor, by hand. */
static void answer_once(const struct fd *listener, uint16_t greeting, struct context_answer *answer)
{
    assert_true(os_poll(fd_num(listener), POLLIN, patience_ms) > 0);
    with_fd peer = fd_adopt(os_socket_accept(fd_num(listener)));
    struct context_hello hello = {.magic = CONTEXT_MAGIC,
                                  .version = CONTEXT_VERSION,
                                  .status = greeting,
                                  .nonce = "fifteen letters"};
    struct context_request request;
    assert_int_equal(os_send(fd_num(&peer), &hello, sizeof hello), sizeof hello);
    if (greeting != CONTEXT_OK || !answer) {
        return;
    }
    assert_true(os_poll(fd_num(&peer), POLLIN, patience_ms) > 0);
    assert_int_equal(os_recv(fd_num(&peer), &request, sizeof request), sizeof request);
    memcpy(answer->nonce, request.nonce, sizeof answer->nonce);
    assert_int_equal(os_send(fd_num(&peer), answer, sizeof *answer), sizeof *answer);
}

enum how {
    HOW_NOBODY, /* listens */
    HOW_SILENT,
    HOW_TURNED_AWAY,
    HOW_UNKNOWN, /* the broker cannot tell who it is */
    HOW_CUT,     /* closes before it answers */
    HOW_ANSWERS,
};

/* A program in the leaf asks, and we are above it and outside. */
static struct berm_context asked(enum how how, struct context_answer *answer,
                                 const char *own_cgroup)
{
    struct berm_context context;
    char text[128];
    int pipes[2][2];
    with_fd listener = {0};
    assert_int_equal(pipe(pipes[0]), 0);
    assert_int_equal(pipe(pipes[1]), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        (void)!read(pipes[0][0], &byte, 1);
        (void)berm_context_read_in(&view, &context, how == HOW_SILENT ? 20 : patience_ms);
        _exit(write(pipes[1][1], &context, sizeof context) != sizeof context);
    }
    close(pipes[1][1]);
    view_process(child, getpid());
    (void)snprintf(text, sizeof text, "0::%s\n", own_cgroup);
    fake_write(child, "cgroup", text);
    fake_process(getpid(), "/user/session-1.scope", 7);
    listener = how == HOW_NOBODY ? (struct fd){0} : listening();
    assert_int_equal(write(pipes[0][1], "x", 1), 1);
    if (how > HOW_SILENT) {
        answer_once(&listener,
                    how == HOW_TURNED_AWAY ? CONTEXT_NOT_A_MEMBER
                    : how == HOW_UNKNOWN   ? CONTEXT_FAILED
                                           : CONTEXT_OK,
                    how == HOW_ANSWERS ? answer : NULL);
    }
    size_t used = 0;
    ssize_t got;
    while (used < sizeof context &&
           (got = read(pipes[1][0], (char *)&context + used, sizeof context - used)) > 0) {
        used += (size_t)got;
    }
    assert_int_equal(used, sizeof context);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(pipes[0][0]);
    close(pipes[0][1]);
    close(pipes[1][0]);
    view_process(getpid(), 1);
    return context;
}

/* CX-1: the supervisor's word and the kernel's agree. */
static void inside_is_what_both_say(void **state)
{
    struct context_answer answer = true_answer();
    struct berm_context context = asked(HOW_ANSWERS, &answer, fake_leaf);
    assert_int_equal(context.verdict, BERM_CONTEXT_INSIDE);
    assert_int_equal(context.why, BERM_CONTEXT_WHY_NONE);
    assert_int_equal(context.tier, BERM_CONTEXT_MEDIUM);
    assert_int_equal(context.memory_max_bytes, 64 << 20);
    assert_int_equal(context.memory_high_bytes, BERM_CONTEXT_UNLIMITED);
    assert_int_equal(context.pids_max, 32);
    assert_int_equal(context.timeout_ms, 30000);
    assert_string_equal(context.run, "k7f3");
    assert_string_equal(context.unit, "berm-k7f3.scope");
    assert_string_equal(context.cgroup, fake_leaf);
    assert_int_equal(context.guarantee_count, 1);
    assert_string_equal(context.guarantees[0].name, "memory");
    assert_int_equal(context.guarantees[0].level, BERM_CONTEXT_LIMITED);
}

static void is_not_proved(const struct berm_context *context, enum berm_context_why why)
{
    assert_int_equal(context->verdict, BERM_CONTEXT_NOT_PROVED);
    assert_int_equal(context->why, why);
    assert_int_equal(context->tier, BERM_CONTEXT_PLAIN);
    assert_string_equal(context->run, "");
    assert_int_equal(context->guarantee_count, 0);
}

/* CX-1: the kernel holds another limit than is told: one difference, and nothing is handed on. */
static void a_limit_that_differs_is_no_proof(void **state)
{
    static const char *const names[] = {"memory.max", "memory.high", "memory.swap.max", "pids.max"};
    static const char *const values[] = {"67108864\n", "max\n", "0\n", "32\n"};
    struct context_answer answer = true_answer();
    for (size_t i = 0; i < countof(names); i++) {
        view_limit(names[i], "4096\n");
        struct berm_context context = asked(HOW_ANSWERS, &answer, fake_leaf);
        is_not_proved(&context, BERM_CONTEXT_WHY_LIMITS);
        view_limit(names[i], values[i]);
    }
}

/* A kernel that does not account for swap has no such file: nothing can differ from it, and nothing is limited. */
static void swap_that_cannot_be_limited_is_no_difference(void **state)
{
    char path[256];
    struct context_answer answer = true_answer();
    (void)snprintf(path, sizeof path, "%s%s/memory.swap.max", view_cgroups, fake_leaf);
    assert_int_equal(unlink(path), 0);
    struct berm_context context = asked(HOW_ANSWERS, &answer, fake_leaf);
    assert_int_equal(context.verdict, BERM_CONTEXT_INSIDE);
    assert_true(context.swap_max_bytes == BERM_CONTEXT_UNLIMITED);
    view_limit("memory.swap.max", "0\n");
}

/* CX-2: whoever stands above and outside, has the name and speaks as berm does, can say what he likes. */
static void a_forged_broker_cannot_forge_the_kernel(void **state)
{
    struct context_answer answer = true_answer();
    answer.pids_max = 1;
    struct berm_context context = asked(HOW_ANSWERS, &answer, fake_leaf);
    is_not_proved(&context, BERM_CONTEXT_WHY_LIMITS);
    answer = true_answer();
    memcpy(answer.leaf, "/a/b", sizeof "/a/b");
    context = asked(HOW_ANSWERS, &answer, fake_leaf);
    is_not_proved(&context, BERM_CONTEXT_WHY_CGROUP);
    answer = true_answer();
    answer.guarantee_count = CONTEXT_GUARANTEES_MAX + 1;
    context = asked(HOW_ANSWERS, &answer, fake_leaf);
    is_not_proved(&context, BERM_CONTEXT_WHY_PROTOCOL);
    context = asked(HOW_CUT, NULL, fake_leaf); /* nothing came, and that is no word of a stranger */
    is_not_proved(&context, BERM_CONTEXT_WHY_TIMEOUT);
    context = asked(HOW_UNKNOWN, NULL, fake_leaf);
    is_not_proved(&context, BERM_CONTEXT_WHY_REFUSED);
}

/* CX-2: nobody, silence, and a program that vouches for itself. */
static void without_a_broker_nothing_is_proved(void **state)
{
    struct berm_context context = asked(HOW_NOBODY, NULL, fake_leaf);
    assert_int_equal(context.verdict, BERM_CONTEXT_OUTSIDE);
    assert_int_equal(context.why, BERM_CONTEXT_WHY_NO_BROKER);
    assert_int_equal(context.pids_max, BERM_CONTEXT_UNKNOWN);
    context = asked(HOW_NOBODY, NULL, "/");
    assert_int_equal(context.verdict, BERM_CONTEXT_OUTSIDE);
    assert_int_equal(context.why, BERM_CONTEXT_WHY_NO_LEAF);
    context = asked(HOW_TURNED_AWAY, NULL, fake_leaf);
    assert_int_equal(context.verdict, BERM_CONTEXT_OUTSIDE);
    assert_int_equal(context.why, BERM_CONTEXT_WHY_NO_MEMBER);
    context = asked(HOW_SILENT, NULL, fake_leaf);
    is_not_proved(&context, BERM_CONTEXT_WHY_TIMEOUT);
    with_fd listener = listening();
    (void)berm_context_read_in(&view, &context, 1000);
    is_not_proved(&context, BERM_CONTEXT_WHY_PEER_INSIDE);
}

/* A caller that was built with another version has a struct of another size. */
static void the_caller_says_how_much_it_knows(void **state)
{
    struct {
        struct berm_context context;
        char more[64];
    } place;
    memset(&place, 'x', sizeof place);
    int verdict = berm_context_read(&place.context, sizeof place, 100);
    assert_int_equal(place.context.verdict, verdict);
    assert_true(place.context.text[0]);
    assert_int_equal(place.more[0], 0);
    assert_int_equal(place.more[63], 0);
    memset(&place, 'x', sizeof place);
    (void)berm_context_read(&place.context, 2 * sizeof(int), 100);
    assert_int_equal(place.context.verdict, verdict);
    assert_int_equal(((char *)&place)[2 * sizeof(int)], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_is_what_both_say),
        cmocka_unit_test(a_limit_that_differs_is_no_proof),
        cmocka_unit_test(swap_that_cannot_be_limited_is_no_difference),
        cmocka_unit_test(a_forged_broker_cannot_forge_the_kernel),
        cmocka_unit_test(without_a_broker_nothing_is_proved),
        cmocka_unit_test(the_caller_says_how_much_it_knows),
    };
    return cmocka_run_group_tests_name("context/context", tests, view_begin, fake_end);
}
