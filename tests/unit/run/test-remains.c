/* What is healed, and what is left alone, is tried in tests/crash. */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "proc.h"
#include "process.h"
#include "remains-priv.h"

/* The next call of that name fails with that error; 0: none does. */
static struct {
    int pidfd_open;
    int proc_open;
    int poll;
    int openat;
    int fstat;
} fails;

static int failure(int *error)
{
    int taken = *error;
    *error = 0;
    return taken;
}

int __real_os_pidfd_open(pid_t pid);
int __wrap_os_pidfd_open(pid_t pid);
int __real_os_proc_open(struct proc_identity who);
int __wrap_os_proc_open(struct proc_identity who);
int __real_os_poll(int fd, short events, int timeout_ms);
int __wrap_os_poll(int fd, short events, int timeout_ms);
int __real_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __real_os_fstat(int fd, struct stat *ret_stat);
int __wrap_os_fstat(int fd, struct stat *ret_stat);

int __wrap_os_pidfd_open(pid_t pid)
{
    int error = failure(&fails.pidfd_open);
    return error ? error : __real_os_pidfd_open(pid);
}

int __wrap_os_proc_open(struct proc_identity who)
{
    int error = failure(&fails.proc_open);
    return error ? error : __real_os_proc_open(who);
}

int __wrap_os_poll(int fd, short events, int timeout_ms)
{
    int error = failure(&fails.poll);
    return error ? error : __real_os_poll(fd, events, timeout_ms);
}

int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    int error = failure(&fails.openat);
    return error ? error : __real_os_openat(dir_fd, path, flags, mode);
}

int __wrap_os_fstat(int fd, struct stat *ret_stat)
{
    int error = failure(&fails.fstat);
    return error ? error : __real_os_fstat(fd, ret_stat);
}

/* Errors that say that a thing is no more, and some that say nothing about it. */
static const int gone[] = {-ESRCH, -ENOENT, -ENODEV, -ENOTDIR, -ELOOP};
static const int unseen[] = {-EACCES, -EPERM, -EMFILE, -ENFILE, -ENOMEM, -EIO, -ENOSYS, -ESTALE};

static struct watch_process self(void)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(getpid()));
    assert_int_equal(os_proc_stat_read(fd_num(&file), &stat), 0);
    return (struct watch_process){getpid(), stat.start_ticks};
}

static void who_lives_is_alive(void **state)
{
    struct watch_manifest *manifest = calloc(1, sizeof *manifest);
    enum remains_life life;
    struct err err = {0};
    assert_int_equal(remains_life(manifest, 0, &life, &err), 0);
    assert_int_equal(life, REMAINS_DEAD);
    manifest->watchdog = self();
    assert_int_equal(remains_life(manifest, 1, &life, &err), 0);
    assert_int_equal(life, REMAINS_FINISHING);
    manifest->controller = self();
    assert_int_equal(remains_life(manifest, 0, &life, &err), 0);
    assert_int_equal(life, REMAINS_RUNNING);
    manifest->controller.start_ticks--; /* another had the number */
    manifest->watchdog.start_ticks--;
    assert_int_equal(remains_life(manifest, 0, &life, &err), 0);
    assert_int_equal(life, REMAINS_DEAD);
    free(manifest);
}

/* One call fails that would have found a process. */
static void try_process(int *which, int error, bool is_dead)
{
    struct watch_manifest *manifest = calloc(1, sizeof *manifest);
    enum remains_life life = REMAINS_RUNNING;
    struct err err = {0};
    manifest->controller = self();
    *which = error;
    int result = remains_life(manifest, 0, &life, &err);
    assert_int_equal(*which, 0);
    assert_int_equal(result, is_dead ? 0 : -1);
    if (is_dead) {
        assert_int_equal(life, REMAINS_DEAD);
    } else {
        assert_non_null(strstr(err.msg, "cannot look at process"));
    }
    free(manifest);
}

/* WD-5: a run whose processes could not be looked at is not taken for dead. */
static void a_process_that_cannot_be_seen_is_not_dead(void **state)
{
    for (size_t i = 0; i < countof(gone); i++) {
        try_process(&fails.pidfd_open, gone[i], true);
        try_process(&fails.proc_open, gone[i], true);
    }
    try_process(&fails.pidfd_open, -EINVAL, true); /* the number is a thread's by now */
    for (size_t i = 0; i < countof(unseen); i++) {
        try_process(&fails.pidfd_open, unseen[i], false);
        try_process(&fails.proc_open, unseen[i], false);
        try_process(&fails.poll, unseen[i], false);
    }
}

static char path[64];

static int make_place(void **state)
{
    (void)snprintf(path, sizeof path, "/tmp/berm-test-XXXXXX");
    return mkdtemp(path) ? 0 : -1;
}

static int remove_place(void **state)
{
    return rmdir(path);
}

static struct watch_identity identity(void)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return (struct watch_identity){facts.st_dev, facts.st_ino, facts.st_uid, 0};
}

enum kind { SLOT, DIRECTORY, DAEMON, SCOPE, KINDS };

/* What names the folder that is there. */
static struct remains *naming(enum kind kind)
{
    struct remains *remains = calloc(1, sizeof *remains);
    struct watch_manifest *manifest = &remains->manifest;
    struct watch_entry entry = {.parent = identity(), .name = "x"};
    remains->this_boot = true;
    (void)snprintf(entry.path, sizeof entry.path, "%s", path);
    if (kind == SCOPE) {
        manifest->leaf = (struct watch_leaf){.scope = identity(), .self = identity(), .name = "."};
        (void)snprintf(manifest->leaf.path, sizeof manifest->leaf.path, "%s", path);
    } else if (kind == DAEMON) {
        manifest->daemons[0] = (struct watch_daemon){
            .state = WATCH_DAEMON_SEALED, .on_host = true, .place = entry, .lock_name = "l"};
    } else {
        *(kind == SLOT ? &manifest->slots[0] : &manifest->directories[0]) = entry;
    }
    return remains;
}

static bool is_held(const struct remains *remains, enum kind kind)
{
    return kind == SCOPE    ? fd_is_open(&remains->scope) && fd_is_open(&remains->leaf)
           : kind == SLOT   ? fd_is_open(&remains->slots[0])
           : kind == DAEMON ? fd_is_open(&remains->daemons[0])
                            : fd_is_open(&remains->parents[0]);
}

static void forget(struct remains *remains)
{
    remains_done(remains);
    free(remains);
}

static void what_is_there_is_held(void **state)
{
    struct err err = {0};
    for (enum kind kind = SLOT; kind < KINDS; kind++) {
        struct remains *remains = naming(kind);
        assert_int_equal(remains_open(remains, &err), 0);
        assert_true(is_held(remains, kind));
        forget(remains);
    }
}

/* T19: of the path, and another by now; a scope too, which else could never be healed. */
static void what_is_another_by_now_is_not_held(void **state)
{
    struct err err = {0};
    for (enum kind kind = SLOT; kind < KINDS; kind++) {
        struct remains *remains = naming(kind);
        remains->manifest.slots[0].parent.inode++;
        remains->manifest.directories[0].parent.inode++;
        remains->manifest.daemons[0].place.parent.inode++;
        remains->manifest.leaf.scope.inode++;
        assert_int_equal(remains_open(remains, &err), 0);
        assert_false(is_held(remains, kind));
        assert_false(fd_is_open(&remains->scope));
        assert_int_equal(remains->manifest.slots[0].path[0], 0);
        assert_int_equal(remains->manifest.directories[0].path[0], 0);
        assert_int_equal(remains->manifest.daemons[0].state, WATCH_DAEMON_NONE);
        forget(remains);
    }
}

/* What a daemon had in the file system of a sandbox went with it; on the host its objects are known by the device
 * that their folder has after a reboot. */
static void a_daemon_is_its_folder(void **state)
{
    struct err err = {0};
    struct remains *remains = naming(DAEMON);
    remains->this_boot = false;
    remains->manifest.daemons[0].place.parent.device++;
    remains->manifest.daemons[0].lock.self.inode = 5;
    assert_int_equal(remains_open(remains, &err), 0);
    assert_true(is_held(remains, DAEMON));
    assert_int_equal(remains->manifest.daemons[0].lock.self.device, identity().device);
    assert_int_equal(remains->manifest.daemons[0].socket.self.device, 0);
    forget(remains);
    remains = naming(DAEMON);
    remains->manifest.daemons[0].on_host = false;
    assert_int_equal(remains_open(remains, &err), 0);
    assert_false(is_held(remains, DAEMON));
    assert_int_equal(remains->manifest.daemons[0].state, WATCH_DAEMON_NONE);
    forget(remains);
}

/* WD-5: what could not be looked at is there as far as anybody knows. */
static void a_folder_that_cannot_be_seen_is_not_gone(void **state)
{
    int *const calls[] = {&fails.openat, &fails.fstat};
    for (enum kind kind = SLOT; kind < KINDS; kind++) {
        for (size_t i = 0; i < countof(gone) + countof(unseen); i++) {
            bool is_gone = i < countof(gone);
            int error = is_gone ? gone[i] : unseen[i - countof(gone)];
            for (size_t call = 0; call < countof(calls); call++) {
                struct err err = {0};
                struct remains *remains = naming(kind);
                *calls[call] = error;
                assert_int_equal(remains_open(remains, &err), is_gone ? 0 : -1);
                assert_int_equal(*calls[call], 0);
                assert_true(is_gone || strstr(err.msg, "cannot look at '"));
                assert_true(is_gone || strstr(err.msg, path));
                forget(remains);
            }
        }
    }
}

int main(void)
{
#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lives_is_alive),
        cmocka_unit_test(a_process_that_cannot_be_seen_is_not_dead),
        PLACED(what_is_there_is_held),
        PLACED(what_is_another_by_now_is_not_held),
        PLACED(a_daemon_is_its_folder),
        PLACED(a_folder_that_cannot_be_seen_is_not_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
