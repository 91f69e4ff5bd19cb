#include "../unit.h"

#include <errno.h>
#include <signal.h>

#include "memory.h"
#include "words-priv.h"

static void signals_by_name(void **state)
{
    char word[WORD_SIZE];
    assert_string_equal(words_signal(SIGSEGV, word), "SIGSEGV");
    assert_string_equal(words_signal(SIGTERM, word), "SIGTERM");
    assert_string_equal(words_signal(SIGRTMIN, word), "SIGRTMIN+0");
    assert_string_equal(words_signal(SIGRTMIN + 3, word), "SIGRTMIN+3");
    assert_string_equal(words_signal(0, word), "signal 0");
    assert_string_equal(words_signal(999, word), "signal 999");
    assert_string_equal(words_signal(-2147483647, word), "signal -2147483647");
}

static void errnos_by_name(void **state)
{
    char word[WORD_SIZE];
    assert_string_equal(words_errno(EPERM, word), "EPERM");
    assert_string_equal(words_errno(EPIPE, word), "EPIPE");
    assert_string_equal(words_errno(99999, word), "errno 99999");
    assert_string_equal(words_errno(-1, word), "errno -1");
}

/* FS-7: what a process calls itself is shown, and obeyed by nothing. */
static void survivors(void **state)
{
    struct supervise_survivor survivor = {.pid = 42, .sys = EPERM, .name = "a\x1b[31m\xff"};
    with_string refused = words_survivor(&survivor);
    assert_string_equal(refused, "pid 42 (a\\x1b[31m\\xff): EPERM");
    survivor.sys = 0;
    memcpy(survivor.name, "0123456789abcdef", 16); /* as long as it gets, without a NUL */
    with_string stayed = words_survivor(&survivor);
    assert_string_equal(stayed, "pid 42 (0123456789abcdef): signalled and still there");
}

static void paths(void **state)
{
    char longest[LINK_PATH_SIZE];
    memset(longest, 1, sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    with_string path = words_path("a/\xe2\x80\xae\n");
    with_string whole = words_path(longest);
    assert_string_equal(path, "a/\\u202e\\n");
    assert_int_equal(strlen(whole), 4 * (sizeof longest - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_by_name),
        cmocka_unit_test(errnos_by_name),
        cmocka_unit_test(survivors),
        cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests_name("report/words", tests, NULL, NULL);
}
