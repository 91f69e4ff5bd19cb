#include "../unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

static int calls_made;

static int call_that_works(void)
{
    calls_made++;
    return 7;
}

static int call_that_fails(void)
{
    errno = EBADF;
    return -1;
}

static void a_call_answers_its_result_or_its_errno(void **state)
{
    assert_int_equal(OS_CALL(write, call_that_works()), 7);
    assert_int_equal(OS_CALL(write, call_that_fails()), -EBADF);
}

#ifdef BERM_FAULTS

/* What five calls (three of write, then two of fsync) answered under a specification, and the log.
 * In a child, because the table reads its specification once. */
struct answers {
    int result[5];
    int made;
};

static struct answers under(const char *spec, const char *role, char *log, size_t log_size)
{
    int answers_pipe[2], log_pipe[2];
    assert_int_equal(pipe(answers_pipe), 0);
    assert_int_equal(pipe(log_pipe), 0);
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", log_pipe[1]);
        (void)setenv("BERM_FAULT", spec, 1);
        (void)setenv("BERM_FAULT_LOG", number, 1);
        if (role) {
            (void)OS_CALL(read, call_that_works());
            fault_role(role);
        }
        struct answers answers = {0};
        calls_made = 0;
        for (int i = 0; i < 3; i++) {
            answers.result[i] = (int)OS_CALL(write, call_that_works());
        }
        for (int i = 3; i < 5; i++) {
            answers.result[i] = (int)OS_CALL(fsync, call_that_works());
        }
        answers.made = calls_made;
        (void)!write(answers_pipe[1], &answers, sizeof answers);
        _exit(0);
    }
    (void)close(answers_pipe[1]);
    (void)close(log_pipe[1]);
    struct answers answers = {0};
    assert_int_equal(read(answers_pipe[0], &answers, sizeof answers), sizeof answers);
    assert_int_equal(waitpid(child, NULL, 0), child);
    ssize_t length = read(log_pipe[0], log, log_size - 1);
    log[length > 0 ? length : 0] = '\0';
    (void)close(answers_pipe[0]);
    (void)close(log_pipe[0]);
    return answers;
}

static void faults_hit_what_they_name(void **state)
{
    static const struct {
        const char *spec;
        const char *role;
        struct answers expected;
    } rows[] = {
        {"controller:2:EIO", NULL, {{7, -EIO, 7, 7, 7}, 4}},
        {"controller:2:noop", NULL, {{7, 0, 7, 7, 7}, 4}},
        {"controller:4:ENOSPC:from", NULL, {{7, 7, 7, -ENOSPC, -ENOSPC}, 3}},
        {"controller:fsync:EINTR", NULL, {{7, 7, 7, -EINTR, -EINTR}, 3}},
        {"controller:fsync:noop", NULL, {{7, 7, 7, 0, 0}, 3}},
        {"controller:9:EIO", NULL, {{7, 7, 7, 7, 7}, 5}},
        {"child:2:EIO", NULL, {{7, 7, 7, 7, 7}, 5}},
        {"child:2:EIO", "child", {{7, -EIO, 7, 7, 7}, 4}}, /* a role counts from its own start */
        {"controller:2:EIO", "child", {{7, 7, 7, 7, 7}, 5}},
    };
    char log[512];
    for (size_t i = 0; i < countof(rows); i++) {
        struct answers seen = under(rows[i].spec, rows[i].role, log, sizeof log);
        assert_memory_equal(&seen, &rows[i].expected, sizeof seen);
    }
}

static void every_call_is_logged_with_its_number(void **state)
{
    char log[512];
    (void)under("child:99:EIO", "child", log, sizeof log);
    assert_string_equal(log, "controller 1 read\nchild 1 write\nchild 2 write\nchild 3 write\n"
                             "child 4 fsync\nchild 5 fsync\n");
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef BERM_FAULTS
        /* First, while this process has not read the specification itself. */
        cmocka_unit_test(faults_hit_what_they_name),
        cmocka_unit_test(every_call_is_logged_with_its_number),
#endif
        cmocka_unit_test(a_call_answers_its_result_or_its_errno),
    };
    return cmocka_run_group_tests_name("os/fault", tests, NULL, NULL);
}
