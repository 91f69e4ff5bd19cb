#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

/* Standard output or error is a pipe for the time of a test. */
struct caught {
    int number;
    int saved;
    int ends[2];
};

static void catch_output(struct caught *caught, int number)
{
    caught->number = number;
    caught->saved = dup(number);
    assert_int_equal(pipe(caught->ends), 0);
    assert_int_equal(dup2(caught->ends[1], number), number);
}

static void give_back(struct caught *caught, char *text, size_t size)
{
    assert_int_equal(dup2(caught->saved, caught->number), caught->number);
    close(caught->ends[1]);
    ssize_t length = read(caught->ends[0], text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    close(caught->ends[0]);
    close(caught->saved);
}

/* FS-7: a message may quote anything. */
static void says_errors_on_one_line_of_berms_own(void **state)
{
    struct err err = {0};
    (void)err_set(&err, ERR_USAGE, "unknown option '--\x1b[31m\nberm: ok'");
    struct caught caught;
    catch_output(&caught, STDERR_FILENO);
    say_error(&err);
    char text[500];
    give_back(&caught, text, sizeof text);
    assert_string_equal(text, "berm: unknown option '--\\x1b[31m\\nberm: ok'\n");
}

static void says_json_readably(void **state)
{
    with_json value = json_pack("{s:i}", "a", 1);
    struct caught caught;
    catch_output(&caught, STDOUT_FILENO);
    int result = say_json(value, NULL);
    char text[500];
    give_back(&caught, text, sizeof text);
    assert_int_equal(result, 0);
    assert_string_equal(text, "{\n  \"a\": 1\n}\n");
}

/* D7: a result that does not arrive is a failure. */
static void a_lost_result_is_an_error(void **state)
{
    int full = open("/dev/full", O_WRONLY);
    int saved = dup(STDOUT_FILENO);
    assert_int_equal(dup2(full, STDOUT_FILENO), STDOUT_FILENO);
    with_buf text = buf_new(100);
    buf_add_string(&text, "result\n");
    struct err err = {0};
    int result = say_result(&text, &err);
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    close(saved);
    close(full);
    assert_int_equal(result, -1);
    assert_int_equal(err.sys, ENOSPC);

    with_buf cut = buf_new(3);
    buf_add_string(&cut, "longer");
    assert_int_equal(say_result(&cut, &err), -1);
    assert_int_equal(err.code, ERR_OVER_BUDGET);
}

/* A parent that set O_NONBLOCK on the shared pipe gets every byte all the same. */
static void waits_for_a_non_blocking_reader(void **state)
{
    enum { SIZE = 300000 };
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        with_buf text = buf_new(SIZE);
        for (int i = 0; i < SIZE; i++) {
            buf_add_char(&text, 'x');
        }
        _exit(say_whole(ends[1], &text) == 0 ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(fcntl(ends[0], F_SETFL, 0), 0);
    static char bytes[4096];
    size_t total = 0;
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;) {
        total += (size_t)n;
    }
    close(ends[0]);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(total, SIZE);
}

static void colours_only_a_terminal(void **state)
{
    int file = open("/dev/null", O_WRONLY);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    assert_false(say_in_colour(file));
    close(file);

    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_true(say_in_colour(terminal));
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    assert_false(say_in_colour(terminal));
    assert_int_equal(setenv("NO_COLOR", "", 1), 0);
    assert_true(say_in_colour(terminal));
    assert_int_equal(setenv("TERM", "dumb", 1), 0);
    assert_false(say_in_colour(terminal));
    close(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_errors_on_one_line_of_berms_own),
        cmocka_unit_test(says_json_readably),
        cmocka_unit_test(a_lost_result_is_an_error),
        cmocka_unit_test(waits_for_a_non_blocking_reader),
        cmocka_unit_test(colours_only_a_terminal),
    };
    return cmocka_run_group_tests_name("berm/say", tests, NULL, NULL);
}
