/* Each case acts in a child with namespaces of its own, where those can be had. */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "unit.h"

enum { NO_NAMESPACE = 77 };

/* In the child: 0, or the line that did not hold. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static char folder[] = "/tmp/berm-sandbox-XXXXXX";

static bool write_text(const char *path, const char *text)
{
    size_t length = strlen(text);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    close(fd);
    return done;
}

/* Whoever has no number in a user namespace can make no file there. */
static bool enter(int namespaces)
{
    char uids[64];
    char gids[64];
    (void)snprintf(uids, sizeof uids, "%u %u 1", getuid(), getuid());
    (void)snprintf(gids, sizeof gids, "%u %u 1", getgid(), getgid());
    if (os_unshare(namespaces) < 0) {
        return false;
    }
    return !(namespaces & CLONE_NEWUSER) ||
           (write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", uids) &&
            write_text("/proc/self/gid_map", gids));
}

static void in_child(int (*act)(void), int namespaces)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (!enter(namespaces)) {
            _exit(NO_NAMESPACE);
        }
        _exit(act());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int hold(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return os_openat(AT_FDCWD, path, O_PATH, 0);
}

static int mounts(void)
{
    HOLDS(os_mounts_private() == 0);
    int outside = hold("a");
    HOLDS(outside >= 0 && os_mount_memory(outside, "size=65536,nr_inodes=3,mode=0700") == 0);
    int inside = hold("a");
    struct os_place before;
    struct os_place after;
    HOLDS(os_place_of(outside, &before) == 0 && os_place_of(inside, &after) == 0);
    HOLDS(before.mount_id != after.mount_id && before.inode != after.inode);
    HOLDS(memcmp(before.device, after.device, sizeof before.device) != 0);
    HOLDS(os_mkdirat(inside, "one", 0700) == 0);
    HOLDS(os_mkdirat(inside, "two", 0700) == 0);
    HOLDS(os_mkdirat(inside, "three", 0700) == -ENOSPC); /* the root is one of the three */

    int place = hold("b");
    int copy = os_mount_copy(inside);
    struct os_place copied;
    struct os_place found;
    HOLDS(copy >= 0 && os_place_of(copy, &copied) == 0 && copied.mount_id != after.mount_id);
    HOLDS(os_mount_attach(place, place) < 0); /* it is no copy */
    HOLDS(os_mount_attach(copy, place) == 0);
    int bound = hold("b");
    HOLDS(os_place_of(bound, &found) == 0 && found.mount_id == copied.mount_id);
    HOLDS(found.inode == after.inode);
    struct statfs facts;
    HOLDS(os_mount_read_only(bound) == 0 && os_fstatfs(bound, &facts) == 0);
    HOLDS(facts.f_flags & ST_RDONLY && facts.f_flags & ST_NOSUID && facts.f_flags & ST_NODEV);
    HOLDS(os_unlinkat(bound, "one", AT_REMOVEDIR) == -EROFS);
    HOLDS(os_unlinkat(inside, "one", AT_REMOVEDIR) == 0); /* the other mount is as it was */
    HOLDS(os_mount_read_only(hold("b/two")) == -EINVAL);  /* not the root of a mount */
    return 0;
}

static void mounts_are_made_and_closed_by_descriptor(void **state)
{
    in_child(mounts, CLONE_NEWUSER | CLONE_NEWNS);
}

static int all_mounts(void)
{
    HOLDS(os_mounts_private() == 0);
    HOLDS(os_mount_memory(hold("a"), "mode=0700") == 0);
    int upper = hold("a");
    HOLDS(os_mkdirat(upper, "deep", 0700) == 0);
    HOLDS(os_mount_memory(hold("a/deep"), "mode=0700") == 0);
    int result = os_mounts_read_only(upper);
    if (result == -ENOSYS) {
        return NO_NAMESPACE;
    }
    HOLDS(result == 0);
    HOLDS(os_mkdirat(upper, "x", 0700) == -EROFS);
    struct statfs facts;
    HOLDS(os_fstatfs(upper, &facts) == 0 && facts.f_flags & ST_NODEV);
    HOLDS(os_mount_with_devices(upper) == 0 && os_fstatfs(upper, &facts) == 0);
    HOLDS(!(facts.f_flags & ST_NODEV) && facts.f_flags & ST_RDONLY && facts.f_flags & ST_NOSUID);
    HOLDS(os_fstatfs(hold("a/deep"), &facts) == 0 && facts.f_flags & ST_NODEV);
    HOLDS(os_mounts_with_devices(upper) == 0 && os_fstatfs(hold("a/deep"), &facts) == 0);
    HOLDS(!(facts.f_flags & ST_NODEV));
    HOLDS(os_mkdirat(hold("a/deep"), "x", 0700) == -EROFS);
    int copy = os_mount_copy(upper);
    HOLDS(copy >= 0 && os_mount_attach(copy, hold("b")) == 0);
    HOLDS(os_mkdirat(hold("b"), "x", 0700) == -EROFS); /* and in its copy */
    HOLDS(os_mkdirat(hold("b/deep"), "x", 0700) == -EROFS);
    return 0;
}

static void what_is_mounted_beneath_is_closed_too(void **state)
{
    in_child(all_mounts, CLONE_NEWUSER | CLONE_NEWNS);
}

/* SB-8: of one mount, by either call; what it is mounted elsewhere goes on. */
static int links(void)
{
    HOLDS(os_mounts_private() == 0);
    HOLDS(os_mount_memory(hold("a"), "mode=0700") == 0);
    int held = hold("a");
    HOLDS(os_symlinkat("/", held, "root") == 0);
    int copy = os_mount_copy(held);
    HOLDS(copy >= 0 && os_mount_attach(copy, hold("b")) == 0);
    HOLDS(os_mount_is_without_links(held) == 0 && hold("a/root/.") >= 0);
    HOLDS(os_mount_without_links(held) == 0 && os_mount_is_without_links(held) == 1);
    HOLDS(hold("a/root/.") == -ELOOP && hold("b/root/.") >= 0);
    struct statfs facts;
    HOLDS(os_fstatfs(held, &facts) == 0 && facts.f_flags & ST_NOSUID && facts.f_flags & ST_NODEV);
    HOLDS(!(facts.f_flags & ST_RDONLY));
    HOLDS(os_mkdirat(held, "one", 0700) == 0);
    HOLDS(os_mount_without_links(hold("a/one")) == -EINVAL); /* not the root of a mount */
    HOLDS(os_mount_read_only(held) == 0 && os_mount_is_without_links(held) == 1);
    return 0;
}

static void links_of_a_mount_lead_nowhere(void **state)
{
    in_child(links, CLONE_NEWUSER | CLONE_NEWNS);
}

static int capabilities(void)
{
    HOLDS(os_capabilities_gone() == -EPERM);
    int held = 1;
    int last = 0;
    for (; (held = os_capability_in_bounds(last)) >= 0; last++) {
        HOLDS(held == 0 || os_capability_unbound(last) == 0);
        HOLDS(os_capability_in_bounds(last) == 0);
    }
    HOLDS(held == -EINVAL && last > 30);
    HOLDS(os_capabilities_drop() == 0);
    HOLDS(os_capabilities_gone() == 0);
    HOLDS(os_mounts_private() == -EPERM);
    HOLDS(os_has_no_new_privileges() == 0);
    HOLDS(os_set_no_new_privileges() == 0);
    HOLDS(os_has_no_new_privileges() == 1);
    return 0;
}

static void capabilities_are_given_up_for_good(void **state)
{
    in_child(capabilities, CLONE_NEWUSER);
}

static int landlock(void)
{
    int abi = os_landlock_abi();
    if (abi < 1) {
        return NO_NAMESPACE;
    }
    const uint64_t rights = OS_LANDLOCK_MAKE_DIR | OS_LANDLOCK_WRITE_FILE;
    int ruleset = os_landlock_new(rights, 0);
    HOLDS(ruleset >= 0 && os_landlock_allow(ruleset, hold("a"), rights) == 0);
    HOLDS(os_capabilities_drop() == 0 && os_landlock_enforce(ruleset) == -EPERM);
    HOLDS(os_set_no_new_privileges() == 0 && os_landlock_enforce(ruleset) == 0);
    HOLDS(os_mkdirat(hold("a"), "allowed", 0700) == 0);
    HOLDS(os_mkdirat(hold("b"), "denied", 0700) == -EACCES);
    HOLDS(os_unlinkat(hold("a"), "allowed", AT_REMOVEDIR) == 0);
    if (abi >= 6) {
        HOLDS(os_landlock_new(rights, OS_LANDLOCK_SCOPE_ABSTRACT | OS_LANDLOCK_SCOPE_SIGNAL) >= 0);
    }
    return 0;
}

static void landlock_allows_beneath_a_folder_only(void **state)
{
    in_child(landlock, CLONE_NEWUSER);
}

static int filter(void)
{
    const struct sock_filter no_umask[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_umask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    HOLDS(os_set_no_new_privileges() == 0);
    HOLDS(os_filter_load(no_umask, 0) == -EINVAL);
    HOLDS(os_filter_load(no_umask, countof(no_umask)) == 0);
    HOLDS(syscall(SYS_umask, 0) == -1 && errno == EDOM);
    return 0;
}

static void a_filter_answers_for_the_kernel(void **state)
{
    in_child(filter, 0);
}

static int first_process(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pid_t other = fork();
        if (other == 0) {
            (void)pause();
            _exit(0);
        }
        bool all = os_signal_namespace(SIGKILL) == 0;
        int status = 0;
        all = all && waitpid(other, &status, 0) == other && WIFSIGNALED(status);
        _exit(all ? 0 : 1);
    }
    int status = 0;
    HOLDS(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

static void only_the_first_process_signals_its_namespace(void **state)
{
    assert_int_equal(os_signal_namespace(0), -EPERM);
    in_child(first_process, CLONE_NEWUSER | CLONE_NEWPID);
}

/* What is not dumpable belongs to root in /proc, but for the folder itself. */
static int undumpable(void)
{
    struct stat facts;
    HOLDS(os_capabilities_drop() == 0 && os_set_undumpable() == 0);
    HOLDS(stat("/proc/self/status", &facts) == 0 && facts.st_uid != getuid());
    return 0;
}

static void it_closes_itself_to_others(void **state)
{
    if (getuid() == 0) {
        skip();
    }
    in_child(undumpable, 0);
}

static void the_mask_of_before_is_told(void **state)
{
    mode_t before = os_umask(027);
    assert_int_equal(os_umask(before), 027);
}

static void a_file_is_sealed_or_not(void **state)
{
    with_fd file = fd_adopt(os_memfd("plan"));
    assert_int_equal(os_write_all(fd_num(&file), "bytes", 5), 0);
    assert_int_equal(os_is_sealed(fd_num(&file)), -EPERM);
    assert_int_equal(os_memfd_seal(fd_num(&file)), 0);
    assert_int_equal(os_is_sealed(fd_num(&file)), 0);
    const char *bytes = os_map_read_only(fd_num(&file), 5);
    assert_memory_equal(bytes, "bytes", 5);
    assert_null(os_map_read_only(-1, 5));
    assert_int_equal(munmap((void *)(uintptr_t)bytes, 5), 0);
}

static void the_working_folder_has_a_path(void **state)
{
    char path[4096];
    char *expected = getcwd(NULL, 0);
    assert_int_equal(os_getcwd(path, sizeof path), 0);
    assert_string_equal(path, expected);
    assert_int_equal(os_getcwd(path, 1), -ERANGE);
    free(expected);
}

static int set_up(void **state)
{
    char path[256];
    int result = mkdtemp(folder) ? 0 : -1;
    for (const char *name = "ab"; result == 0 && *name != '\0'; name++) {
        (void)snprintf(path, sizeof path, "%s/%c", folder, *name);
        result = mkdir(path, 0700);
    }
    return result;
}

static int tear_down(void **state)
{
    char path[256];
    for (const char *name = "ab"; *name != '\0'; name++) {
        (void)snprintf(path, sizeof path, "%s/%c", folder, *name);
        (void)rmdir(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_are_made_and_closed_by_descriptor),
        cmocka_unit_test(what_is_mounted_beneath_is_closed_too),
        cmocka_unit_test(links_of_a_mount_lead_nowhere),
        cmocka_unit_test(capabilities_are_given_up_for_good),
        cmocka_unit_test(landlock_allows_beneath_a_folder_only),
        cmocka_unit_test(a_filter_answers_for_the_kernel),
        cmocka_unit_test(only_the_first_process_signals_its_namespace),
        cmocka_unit_test(it_closes_itself_to_others),
        cmocka_unit_test(the_mask_of_before_is_told),
        cmocka_unit_test(a_file_is_sealed_or_not),
        cmocka_unit_test(the_working_folder_has_a_path),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
