#include "../unit.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "scope-wait-priv.h"

/* Who may ask to stop: what is in a pipe is heard, and taken out of it. */
struct somebody {
    int ends[2];
    int count;
    int deaf;   /* so many questions come before anybody asks */
    bool stays; /* like a descriptor that is never read */
};

static int asked(void *context)
{
    struct somebody *somebody = context;
    char byte;
    struct pollfd ready = {.fd = somebody->ends[0], .events = POLLIN};
    if (somebody->deaf > 0) {
        somebody->deaf--;
        return somebody->count;
    }
    while (!somebody->stays && poll(&ready, 1, 0) > 0 && read(somebody->ends[0], &byte, 1) == 1) {
        somebody->count++;
    }
    return somebody->count;
}

static struct patience patience_of(struct somebody *somebody)
{
    assert_int_equal(pipe2(somebody->ends, O_CLOEXEC), 0);
    return (struct patience){
        .who = {.fds = {somebody->ends[0], -1}, .asked = asked, .context = somebody}};
}

static void done(struct somebody *somebody)
{
    close(somebody->ends[0]);
    close(somebody->ends[1]);
}

static int64_t now_ns(void)
{
    return os_clock_real.monotonic_ns();
}

/* LC-3: whoever asks is heard in the wait itself, and systemd has so long for what it was asked before. */
static void who_asks_cuts_a_wait_short(void **state)
{
    struct somebody somebody = {0};
    struct patience patience = patience_of(&somebody);
    int64_t deadline_ns = now_ns() + 600 * NS_PER_S;
    assert_int_equal(patience_until(&patience, deadline_ns), deadline_ns);
    assert_false(patience_is_lost(&patience));
    assert_int_equal(write(somebody.ends[1], "1", 1), 1);
    somebody.deaf = 1; /* it comes while the wait goes on */
    int64_t before_ns = now_ns();
    assert_int_equal(patience_wait(&patience, -1, POLLIN, deadline_ns), 0);
    assert_true(patience_is_lost(&patience));
    int64_t until_ns = patience_until(&patience, deadline_ns);
    assert_true(until_ns >= before_ns + SCOPE_SETTLE_MS * NS_PER_MS);
    assert_true(until_ns <= now_ns() + SCOPE_SETTLE_MS * NS_PER_MS);
    assert_int_equal(patience_until(&patience, before_ns), before_ns); /* never longer */

    /* And who asks again does not wait at all. */
    assert_int_equal(write(somebody.ends[1], "2", 1), 1);
    somebody.deaf = 1;
    assert_int_equal(patience_wait(&patience, -1, POLLIN, deadline_ns), 0);
    assert_true(patience_until(&patience, deadline_ns) <= now_ns());
    done(&somebody);
}

static void for_another_matter_it_is_asked_anew(void **state)
{
    struct somebody somebody = {.count = 3};
    struct patience patience = patience_of(&somebody);
    int64_t deadline_ns = now_ns() + 600 * NS_PER_S;
    assert_true(patience_until(&patience, deadline_ns) < deadline_ns);
    patience_renew(&patience);
    assert_int_equal(patience_until(&patience, deadline_ns), deadline_ns);
    somebody.count++;
    assert_true(patience_until(&patience, deadline_ns) < deadline_ns);
    done(&somebody);
}

/* A descriptor that stays ready must not make a wait a loop. */
static void what_was_said_is_said_once(void **state)
{
    struct somebody somebody = {.stays = true};
    struct patience patience = patience_of(&somebody);
    int other[2];
    assert_int_equal(pipe2(other, O_CLOEXEC), 0);
    assert_int_equal(write(somebody.ends[1], "1", 1), 1);
    int64_t deadline_ns = now_ns() + 600 * NS_PER_S;
    assert_int_equal(patience_wait(&patience, other[0], POLLIN, deadline_ns), 0);
    assert_int_equal(patience.who.fds[0], -1);
    assert_int_equal(write(other[1], "x", 1), 1);
    assert_int_equal(patience_wait(&patience, other[0], POLLIN, deadline_ns), POLLIN);
    assert_int_equal(patience_wait(&patience, -1, POLLIN, now_ns() + NS_PER_MS), 0);
    close(other[0]);
    close(other[1]);
    done(&somebody);
}

static void nobody_may_ask(void **state)
{
    struct patience patience = {.who = {.fds = {-1, -1}}};
    assert_false(patience_is_lost(&patience));
    assert_int_equal(patience_wait(&patience, -1, POLLIN, now_ns()), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_cuts_a_wait_short),
        cmocka_unit_test(for_another_matter_it_is_asked_anew),
        cmocka_unit_test(what_was_said_is_said_once),
        cmocka_unit_test(nobody_may_ask),
    };
    return cmocka_run_group_tests_name("contain/scope-wait", tests, NULL, NULL);
}
