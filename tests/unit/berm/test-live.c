/* On a pseudo terminal of its own, so the program makes itself a session first. */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "clock.h"
#include "live.h"
#include "memory.h"

struct terminal {
    int master;
    int slave;
    struct live live;
    struct supervise_observer observer;
    char seen[4096];
};

static int set_up(void **state)
{
    struct terminal *terminal = calloc(1, sizeof *terminal);
    terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (terminal->master < 0 || grantpt(terminal->master) < 0 || unlockpt(terminal->master) < 0) {
        return -1;
    }
    terminal->slave = open(ptsname(terminal->master), O_RDWR | O_NOCTTY);
    struct termios raw;
    if (terminal->slave < 0 || tcgetattr(terminal->slave, &raw) < 0) {
        return -1;
    }
    cfmakeraw(&raw);
    (void)tcsetattr(terminal->slave, TCSANOW, &raw);
    (void)ioctl(terminal->slave, TIOCSCTTY, 0);
    const bool passes[STREAM_COUNT] = {true, true};
    live_begin(&terminal->live, terminal->slave, passes);
    terminal->observer = live_observer(&terminal->live);
    *state = terminal;
    return 0;
}

static int tear_down(void **state)
{
    struct terminal *terminal = *state;
    (void)ioctl(terminal->slave, TIOCNOTTY); /* the next test has a terminal of its own */
    close(terminal->slave);
    close(terminal->master);
    free(terminal);
    return 0;
}

/* Everything that was written since the last look. */
static const char *look(struct terminal *terminal)
{
    ssize_t length = read(terminal->master, terminal->seen, sizeof terminal->seen - 1);
    assert_true(length >= 0 || errno == EAGAIN);
    terminal->seen[length < 0 ? 0 : length] = '\0';
    return terminal->seen;
}

static const struct supervise_limits limits = {.memory_bytes = INT64_C(14173392077), .tasks = 2048};

static void sample(struct terminal *terminal, int64_t elapsed_ms, const char *stopping)
{
    const struct supervise_view view = {.elapsed_ns = elapsed_ms * NS_PER_MS,
                                        .memory_bytes = INT64_C(2040109465),
                                        .tasks = 71,
                                        .output_bytes = 2202009,
                                        .stopping = stopping,
                                        .limits = &limits};
    terminal->observer.on_sample(terminal->observer.context, &view);
}

static void set_columns(const struct terminal *terminal, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(terminal->slave, TIOCSWINSZ, &size), 0);
}

static void shows_what_is_used_four_times_a_second_at_most(void **state)
{
    struct terminal *terminal = *state;
    set_columns(terminal, 80);
    sample(terminal, 900, NULL);
    assert_string_equal(look(terminal), ""); /* a short command is left alone */
    sample(terminal, 12400, NULL);
    assert_string_equal(look(terminal),
                        "\r\x1b[Kberm: 12.40 s  memory 1.9/13.2 GiB  tasks 71/2048  "
                        "output 2.1 MiB");
    sample(terminal, 12500, NULL);
    assert_string_equal(look(terminal), "");
    sample(terminal, 12510, "timeout"); /* news are shown at once */
    assert_non_null(strstr(look(terminal), "12.51 s  stopping: timeout  memory"));
    sample(terminal, 12760, "timeout");
    assert_non_null(strstr(look(terminal), "12.76 s"));
    terminal->observer.before_stop(terminal->observer.context);
    assert_string_equal(look(terminal), "\r\x1b[K"); /* the shell's prompt comes next */
    sample(terminal, 13260, "timeout");
    assert_non_null(strstr(look(terminal), "13.26 s")); /* and it goes on */
    live_end(&terminal->live);
    assert_string_equal(look(terminal), "\r\x1b[K");
}

static void never_touches_the_payloads_bytes(void **state)
{
    struct terminal *terminal = *state;
    const struct supervise_observer *observer = &terminal->observer;
    set_columns(terminal, 80);
    sample(terminal, 2000, NULL);
    (void)look(terminal);
    observer->before_output(observer->context, STREAM_STDOUT);
    assert_string_equal(look(terminal), "\r\x1b[K"); /* gone before they come */
    observer->after_output(observer->context, STREAM_STDOUT, 'x');
    sample(terminal, 3000, NULL);
    assert_string_equal(look(terminal), ""); /* a prompt, half a line */
    observer->before_output(observer->context, STREAM_STDERR);
    observer->after_output(observer->context, STREAM_STDERR, '\n');
    assert_string_equal(look(terminal), "");
    sample(terminal, 4000, NULL);
    assert_non_null(strstr(look(terminal), "4.00 s"));
    observer->before_output(observer->context, STREAM_STDOUT);
    (void)look(terminal);
    live_end(&terminal->live);
    assert_string_equal(look(terminal), ""); /* nothing to erase: nothing is written */
}

static void leaves_the_line_when_output_goes_elsewhere(void **state)
{
    struct terminal *terminal = *state;
    set_columns(terminal, 80);
    terminal->live.passes[STREAM_STDOUT] = false;
    sample(terminal, 2000, NULL);
    (void)look(terminal);
    terminal->observer.before_output(terminal->observer.context, STREAM_STDOUT);
    terminal->observer.after_output(terminal->observer.context, STREAM_STDOUT, 'x');
    assert_string_equal(look(terminal), "");
    sample(terminal, 3000, NULL);
    assert_non_null(strstr(look(terminal), "3.00 s"));
    live_end(&terminal->live);
}

static void keeps_to_the_width(void **state)
{
    struct terminal *terminal = *state;
    for (unsigned short columns = 10; columns < 90; columns++) {
        set_columns(terminal, columns);
        sample(terminal, 1000 * columns, "timeout");
        const char *shown = look(terminal);
        assert_true(strlen(shown) <= 4 + (size_t)columns - 1);
        assert_int_equal(shown[0] == '\0', columns < 20);
    }
    live_end(&terminal->live);
}

/* ^S: the supervisor does not wait for a terminal that takes nothing. */
static void gives_way_to_a_stopped_terminal(void **state)
{
    struct terminal *terminal = *state;
    set_columns(terminal, 80);
    assert_int_equal(tcflow(terminal->slave, TCOOFF), 0);
    sample(terminal, 2000, NULL);
    assert_string_equal(look(terminal), "");
    assert_int_equal(tcflow(terminal->slave, TCOON), 0);
    sample(terminal, 2001, NULL);
    assert_non_null(strstr(look(terminal), "2.00 s"));
    live_end(&terminal->live);
}

static void takes_no_memory_while_a_payload_lives(void **state)
{
    struct terminal *terminal = *state;
    set_columns(terminal, 200);
    memory_arm(); /* an allocation would abort */
    sample(terminal, INT64_C(360000000), "a reason that is longer than any that there really is");
    memory_disarm();
    assert_non_null(strstr(look(terminal), "100 h 00 min"));
    live_end(&terminal->live);
}

static int run_group(void)
{
#define LIVE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LIVE_TEST(shows_what_is_used_four_times_a_second_at_most),
        LIVE_TEST(never_touches_the_payloads_bytes),
        LIVE_TEST(leaves_the_line_when_output_goes_elsewhere),
        LIVE_TEST(keeps_to_the_width),
        LIVE_TEST(gives_way_to_a_stopped_terminal),
        LIVE_TEST(takes_no_memory_while_a_payload_lives),
    };
    return cmocka_run_group_tests_name("berm/live", tests, NULL, NULL);
}

int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        (void)signal(SIGHUP, SIG_IGN); /* giving a terminal up hangs up its session */
        return run_group();
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 1;
}
