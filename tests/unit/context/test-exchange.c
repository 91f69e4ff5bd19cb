#include "view-test.h"

#include <poll.h>

#include "clock.h"

static struct context_hello good_hello(void)
{
    return (struct context_hello){
        .magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION, .nonce = "fifteen letters"};
}

static struct context_answer good_answer(void)
{
    struct context_answer answer = {.magic = CONTEXT_MAGIC,
                                    .version = CONTEXT_VERSION,
                                    .nonce = "fifteen letters",
                                    .guarantee_count = 1,
                                    .guarantees = {{.name = "memory", .level = 3}},
                                    .run = "k7f3",
                                    .leaf = "/a/b"};
    return answer;
}

/* The kernel's wait is cut into pieces: one that ends is no end of the time that was given. */
static int waits_that_end_early;

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    return waits_that_end_early > 0 ? waits_that_end_early--,
           0                        : __real_poll(fds, count, timeout_ms);
}

/* The other end has said all this already, and then nothing more. */
static int asked(const void *hello, size_t hello_size, const void *answer, size_t answer_size,
                 bool hang_up, struct context_answer *ret_answer)
{
    with_fd a = {0};
    with_fd b = {0};
    assert_int_equal(os_socket_pair(&a, &b), 0);
    if (hello) {
        assert_int_equal(os_send(fd_num(&b), hello, hello_size), hello_size);
    }
    if (answer) {
        assert_int_equal(os_send(fd_num(&b), answer, answer_size), answer_size);
    }
    if (hang_up) {
        assert_int_equal(shutdown(fd_num(&b), SHUT_WR), 0);
    }
    int64_t wait_ms = hang_up || answer ? patience_ms : 20;
    return berm_exchange_ask(fd_num(&a), berm_exchange_now_ns() + wait_ms * NS_PER_MS, ret_answer);
}

static void frames_are_of_one_size_and_in_their_ranges(void **state)
{
    static char huge[sizeof(struct context_answer) + 1];
    struct context_hello hello = good_hello();
    struct context_answer answer = good_answer();
    struct context_answer got;
    assert_int_equal(asked(&hello, sizeof hello, &answer, sizeof answer, false, &got), 0);
    assert_string_equal(got.leaf, "/a/b");
    assert_int_equal(asked(&hello, sizeof hello - 1, &answer, sizeof answer, false, &got), -EPROTO);
    assert_int_equal(asked(&hello, 1, &answer, sizeof answer, false, &got), -EPROTO);
    assert_int_equal(asked(&answer, sizeof answer, &answer, sizeof answer, false, &got), -EPROTO);
    assert_int_equal(asked(&hello, sizeof hello, &answer, sizeof answer - 1, false, &got), -EPROTO);
    memcpy(huge, &answer, sizeof answer);
    assert_int_equal(asked(&hello, sizeof hello, huge, sizeof huge, false, &got), -EPROTO);
    hello.version++;
    assert_int_equal(asked(&hello, sizeof hello, &answer, sizeof answer, false, &got), -EPROTO);
    hello = good_hello();
    hello.nonce[3] ^= 1; /* the answer is to another question */
    assert_int_equal(asked(&hello, sizeof hello, &answer, sizeof answer, false, &got), -EPROTO);
}

static void an_answer_has_ends_and_ranges(void **state)
{
    const uint8_t nonce[CONTEXT_NONCE_BYTES] = "fifteen letters";
    struct context_answer answer = good_answer();
    assert_true(berm_exchange_check_answer(&answer, sizeof answer, nonce));
    for (int i = 0; i < 10; i++) {
        answer = good_answer();
        switch (i) {
        case 0:
            memset(answer.run, 'r', sizeof answer.run);
            break;
        case 1:
            memset(answer.unit, 'u', sizeof answer.unit);
            break;
        case 2:
            memset(answer.adapter, 'a', sizeof answer.adapter);
            break;
        case 3:
            memset(answer.leaf, 'l', sizeof answer.leaf);
            break;
        case 4:
            answer.tier = CONTEXT_TIER_COUNT;
            break;
        case 5:
            answer.containment = 3;
            break;
        case 6:
            answer.guarantee_count = CONTEXT_GUARANTEES_MAX + 1;
            break;
        case 7:
            answer.guarantees[0].level = 4;
            break;
        case 8:
            memset(answer.guarantees[0].name, 'n', sizeof answer.guarantees[0].name);
            break;
        default:
            answer.status = CONTEXT_STATUS_COUNT;
            break;
        }
        assert_false(berm_exchange_check_answer(&answer, sizeof answer, nonce));
    }
}

static void a_wait_that_ends_is_not_the_end(void **state)
{
    struct context_hello hello = good_hello();
    struct context_answer answer = good_answer();
    struct context_answer got;
    waits_that_end_early = 2;
    assert_int_equal(asked(&hello, sizeof hello, &answer, sizeof answer, false, &got), 0);
    assert_int_equal(waits_that_end_early, 0);
}

/* A refusal is an answer; silence and an end are none, and are not waited for longer than asked. */
static void silence_ends_in_time(void **state)
{
    struct context_hello hello = good_hello();
    struct context_answer got;
    assert_int_equal(asked(NULL, 0, NULL, 0, false, &got), -ETIMEDOUT);
    assert_int_equal(asked(NULL, 0, NULL, 0, true, &got), -ECONNRESET);
    assert_int_equal(asked(&hello, sizeof hello, NULL, 0, false, &got), -ETIMEDOUT);
    assert_int_equal(asked(&hello, sizeof hello, NULL, 0, true, &got), -ECONNRESET);
    hello.status = CONTEXT_NOT_A_MEMBER;
    assert_int_equal(asked(&hello, sizeof hello, NULL, 0, true, &got), 0);
    assert_int_equal(got.status, CONTEXT_NOT_A_MEMBER);
    assert_string_equal(got.leaf, "");
}

/* A queue that is full is waited for, and no longer than asked. */
static void nobody_takes_the_connection(void **state)
{
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    int64_t until_ns = berm_exchange_now_ns() + 20 * NS_PER_MS;
    assert_int_equal(berm_exchange_connect(address, until_ns), -ECONNREFUSED);
    assert_int_equal(berm_exchange_connect("/nowhere/context", until_ns), -ENOENT);
    with_fd listener = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
    assert_int_equal(os_socket_listen(fd_num(&listener), 0), 0);
    with_fd first = ask_connect();
    assert_int_equal(berm_exchange_connect(address, berm_exchange_now_ns() + 20 * NS_PER_MS),
                     -ETIMEDOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_of_one_size_and_in_their_ranges),
        cmocka_unit_test(an_answer_has_ends_and_ranges),
        cmocka_unit_test(a_wait_that_ends_is_not_the_end),
        cmocka_unit_test(silence_ends_in_time),
        cmocka_unit_test(nobody_takes_the_connection),
    };
    return cmocka_run_group_tests_name("context/exchange", tests, view_begin, fake_end);
}
