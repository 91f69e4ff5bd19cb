#include "../bfs/bfs-test.h"

#include <sys/wait.h>

#include "memory.h"
#include "run-priv.h"

/* Whether the kernel shows what a process executes; and what is reached by "PID/...", which may be another's by then. */
static bool hidden;
static size_t by_path;

static bool is_below_a_process(const char *path)
{
    size_t n = strspn(path, "0123456789");
    return n > 0 && path[n] == '/';
}

int __real_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    by_path += is_below_a_process(path);
    return hidden && strcmp(path, "exe") == 0 ? -EACCES
                                              : __real_os_openat(dir_fd, path, flags, mode);
}

ssize_t __real_os_read_small(int dir_fd, const char *path, char *text, size_t size);
ssize_t __wrap_os_read_small(int dir_fd, const char *path, char *text, size_t size);
ssize_t __wrap_os_read_small(int dir_fd, const char *path, char *text, size_t size)
{
    by_path += is_below_a_process(path);
    return __real_os_read_small(dir_fd, path, text, size);
}

ssize_t __real_os_readlinkat(int dir_fd, const char *path, char *target, size_t size);
ssize_t __wrap_os_readlinkat(int dir_fd, const char *path, char *target, size_t size);
ssize_t __wrap_os_readlinkat(int dir_fd, const char *path, char *target, size_t size)
{
    by_path += is_below_a_process(path);
    return __real_os_readlinkat(dir_fd, path, target, size);
}

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
    static char socket[] = "d/socket";
    static char lock[] = "d/lock";
    struct project_daemon daemon = {
        .item = {.name = name}, .exec = exec, .socket = socket, .lock = lock};
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

static size_t count(struct place *place, char *exec)
{
    with_checks checks = {0};
    return judge(place, exec, &checks);
}

/* TR-5: whatever became of its file meanwhile. */
static void a_daemon_whose_file_is_another_by_now_is_refused(void **state)
{
    struct place *place = *state;
    char exec[] = "graphd";
    int input = -1;
    copy_cat(place, "graphd");
    pid_t child = start(place, "graphd", &input);
    assert_int_equal(renameat(place->fd, "graphd", place->fd, "graphd.old"), 0);
    assert_int_equal(count(place, exec), 1); /* moved, and nothing is in its place */
    copy_cat(place, "graphd");
    assert_int_equal(count(place, exec), 1);
    assert_int_equal(unlinkat(place->fd, "graphd.old", 0), 0);
    assert_int_equal(count(place, exec), 1); /* and unlinked */
    close(input);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count(place, exec), 0);
    child = start(place, "graphd", &input);
    copy_cat(place, "new");
    assert_int_equal(renameat(place->fd, "new", place->fd, "graphd"), 0);
    assert_int_equal(count(place, exec), 1); /* replaced */
    assert_int_equal(unlinkat(place->fd, "graphd", 0), 0);
    assert_int_equal(count(place, exec), 1);
    close(input);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count(place, exec), 0);
}

/* TR-5: who hides what it executes is taken for what it is called. */
static void what_cannot_be_looked_at_is_no_stranger(void **state)
{
    struct place *place = *state;
    char exec[] = "graphd";
    char other[] = "other";
    int input = -1;
    copy_cat(place, "graphd");
    copy_cat(place, "other");
    pid_t child = start(place, "graphd", &input);
    hidden = true;
    assert_int_equal(count(place, exec), 1);
    assert_int_equal(count(place, other), 0);
    close(input);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(count(place, exec), 0);
    hidden = false;
}

/* TR-5: all that is seen of a process is of one. */
static void a_number_that_is_given_again_is_no_process(void **state)
{
    struct place *place = *state;
    char exec[] = "graphd";
    int input = -1;
    copy_cat(place, "graphd");
    pid_t child = start(place, "graphd", &input);
    by_path = 0;
    assert_int_equal(count(place, exec), 1);
    assert_int_equal(by_path, 0);
    close(input);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* TR-5 */
static void a_socket_or_a_lock_that_is_there_is_refused(void **state)
{
    struct place *place = *state;
    char exec[] = "graphd";
    assert_int_equal(count(place, exec), 0);
    assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
    assert_int_equal(count(place, exec), 0);
    assert_int_equal(mkfifoat(place->fd, "d/socket", 0600), 0);
    assert_int_equal(count(place, exec), 1);
    put(place, "d/lock", "");
    assert_int_equal(count(place, exec), 2);
    assert_int_equal(unlinkat(place->fd, "d/socket", 0), 0);
    with_checks found = {0};
    assert_int_equal(judge(place, exec, &found), 1);
    assert_string_equal(found.list[0].code, CHECK_ACTIVE);
    assert_non_null(strstr(found.list[0].what, "/d/lock'"));
    assert_non_null(strstr(found.list[0].remedy, "remove its socket and its lock"));
}

/* A project that cannot be looked at is not one without daemons. */
static void a_project_that_cannot_be_looked_at_is_refused(void **state)
{
    struct place *place = *state;
    char exec[] = "graphd";
    struct place nowhere = *place;
    snprintf(nowhere.path, sizeof nowhere.path, "/nowhere");
    assert_int_equal(count(&nowhere, exec), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_declared_daemon_that_runs_already_is_refused),
        place_test(a_daemon_whose_file_is_another_by_now_is_refused),
        place_test(what_cannot_be_looked_at_is_no_stranger),
        place_test(a_number_that_is_given_again_is_no_process),
        place_test(a_socket_or_a_lock_that_is_there_is_refused),
        place_test(a_project_that_cannot_be_looked_at_is_refused),
    };
    return cmocka_run_group_tests_name("run/outside", tests, NULL, NULL);
}
