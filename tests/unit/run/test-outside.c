#include "../bfs/bfs-test.h"

#include <sys/wait.h>

#include "memory.h"
#include "run-priv.h"

/* A program of the place's own, which waits until its standard input ends. */
static pid_t start(struct place *place, const char *name, int *ret_input)
{
    int input[2];
    int executed[2];
    char byte;
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        char path[100];
        snprintf(path, sizeof path, "%s/%s", place->path, name);
        dup2(input[0], 0);
        execl(path, name, (char *)NULL);
        _exit(1);
    }
    close(input[0]);
    close(executed[1]);
    assert_int_equal(read(executed[0], &byte, 1), 0); /* closed by its execve */
    close(executed[0]);
    *ret_input = input[1];
    return child;
}

static void copy_cat(struct place *place, const char *name)
{
    char command[200];
    snprintf(command, sizeof command, "cp /bin/cat '%s/%s'", place->path, name);
    assert_int_equal(system(command), 0);
}

static size_t judge(struct place *place, char *exec, struct checks *ret_checks)
{
    static char name[] = "graphd";
    struct project_daemon daemon = {.item = {.name = name}, .exec = exec};
    struct run *run = memory_new(sizeof *run);
    run->preparation.project.root = place->path;
    run->preparation.project.daemon = (struct form_named){.items = &daemon, .count = 1};
    run_outside_judge(run);
    *ret_checks = run->preparation.checks;
    memory_free(run);
    return ret_checks->count;
}

/* TR-5: by what it executes, wherever it was started, and whatever it is called. */
static void a_declared_daemon_that_runs_already_is_refused(void **state)
{
    struct place *place = *state;
    char exec[] = "graphd";
    char other[] = "other";
    char missing[] = "missing";
    int input = -1;
    with_checks none = {0};
    with_checks found = {0};
    with_checks elsewhere = {0};
    with_checks gone = {0};
    copy_cat(place, "graphd");
    copy_cat(place, "other");
    assert_int_equal(judge(place, exec, &none), 0);
    assert_int_equal(judge(place, missing, &none), 0);
    pid_t child = start(place, "graphd", &input);
    assert_int_equal(judge(place, exec, &found), 1);
    assert_string_equal(found.list[0].code, CHECK_ACTIVE);
    char what[100];
    snprintf(what, sizeof what, "daemon 'graphd' runs outside of this run: process %d", child);
    assert_string_equal(found.list[0].what, what);
    assert_int_equal(judge(place, other, &elsewhere), 0);
    close(input);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(judge(place, exec, &gone), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_declared_daemon_that_runs_already_is_refused),
    };
    return cmocka_run_group_tests_name("run/outside", tests, NULL, NULL);
}
