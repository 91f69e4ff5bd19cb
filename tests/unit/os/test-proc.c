#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "proc.h"

static int parse(const char *text, struct proc_stat *stat)
{
    return proc_stat_parse(text, strlen(text), stat);
}

/* T20: a name is text of the payload's choice and may look like the rest of the line. */
static void a_name_cannot_forge_fields(void **state)
{
    struct proc_stat stat;
    const char *line = "42 (a) R 1 (b) ) S 7 8 9 0 -1 4194560 1 2 3 4 50 60 0 0 20 0 3 0 777 4096 "
                       "33 18446744073709551615 1";
    assert_int_equal(parse(line, &stat), 0);
    assert_int_equal(stat.pid, 42);
    assert_int_equal(stat.parent, 7);
    assert_int_equal(stat.session, 9);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.user_ticks, 50);
    assert_int_equal(stat.system_ticks, 60);
    assert_int_equal(stat.threads, 3);
    assert_int_equal(stat.start_ticks, 777);
    assert_int_equal(stat.rss_pages, 33);
    assert_string_equal(stat.name, "a) R 1 (b) ");
}

static void refuses_what_is_no_stat_line(void **state)
{
    struct proc_stat stat;
    const char *bad[] = {"", "42", "42 (a", "42 (a) S", "42 (a) S 1 2 x", "x (a) S 1 2 3 4 5 6"};
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(parse(bad[i], &stat), -EINVAL);
    }
}

static void an_open_file_stays_with_its_process(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    with_fd stat_file = fd_adopt(os_proc_stat_open(child));
    struct proc_stat stat;
    assert_int_equal(os_proc_stat_read(fd_num(&stat_file), &stat), 0);
    assert_true(stat.start_ticks > 0);
    assert_int_equal(stat.parent, getpid());
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(os_proc_stat_read(fd_num(&stat_file), &stat), -ESRCH);
    assert_int_equal(os_proc_stat_open(child), -ESRCH);
}

/* T19: a pid is nobody without its start. */
static void a_process_is_opened_by_its_identity(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    with_fd stat_file = fd_adopt(os_proc_stat_open(child));
    struct proc_stat stat;
    assert_int_equal(os_proc_stat_read(fd_num(&stat_file), &stat), 0);
    with_fd dir = fd_adopt(os_proc_open((struct proc_identity){child, stat.start_ticks}));
    assert_true(fd_is_open(&dir));
    assert_int_equal(os_proc_open((struct proc_identity){child, stat.start_ticks + 1}), -ESRCH);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(os_proc_open((struct proc_identity){child, stat.start_ticks}), -ESRCH);
    assert_int_equal(openat(fd_num(&dir), "status", O_RDONLY | O_CLOEXEC), -1);
}

static void a_number_stands_behind_its_name(void **state)
{
    const char *text = "Pss_Anon:  7 kB\nPss:      12 kB\nwrite_bytes: 9\nPss: 1\nlast: 5";
    assert_int_equal(proc_number(text, "Pss"), 12);
    assert_int_equal(proc_kib(text, "Pss"), 12 * 1024);
    assert_int_equal(proc_number(text, "Pss_Anon"), 7);
    assert_int_equal(proc_number(text, "bytes"), -1);
    assert_int_equal(proc_number(text, "last"), 5);
    assert_int_equal(proc_number("", "Pss"), -1);
    assert_int_equal(proc_kib("big: 9223372036854775807", "big"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_cannot_forge_fields),
        cmocka_unit_test(refuses_what_is_no_stat_line),
        cmocka_unit_test(a_process_is_opened_by_its_identity),
        cmocka_unit_test(a_number_stands_behind_its_name),
        cmocka_unit_test(an_open_file_stays_with_its_process),
    };
    return cmocka_run_group_tests_name("os/proc", tests, NULL, NULL);
}
