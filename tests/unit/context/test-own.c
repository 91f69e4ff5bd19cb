#include "view-test.h"

#include <sched.h>
#include <sys/mount.h>

static void the_kernel_says_where_this_process_is(void **state)
{
    struct own own;
    assert_int_equal(berm_own_open(&view, &own), 0);
    assert_string_equal(own.cgroup, fake_leaf);
    assert_int_equal(berm_own_limits(&view, &own), 0);
    assert_int_equal(own.memory_max_bytes, 64 << 20);
    assert_int_equal(own.memory_high_bytes, CONTEXT_UNLIMITED);
    assert_int_equal(own.swap_max_bytes, 0);
    assert_int_equal(own.pids_max, 32);
    assert_int_equal(berm_own_parent_of(&own, getpid()), 1);
    assert_int_equal(berm_own_parent_of(&own, 1), 0);
    berm_own_close(&own);
}

static int without_file(const char *name, const char *text, struct own *own)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s%s/%s", view_cgroups, fake_leaf, name);
    assert_int_equal(unlink(path), 0);
    int result = berm_own_limits(&view, own);
    view_limit(name, text);
    return result;
}

/* CX-2: what is no number, or not the folder of this process, is no limit. */
static void a_limit_is_a_number_of_the_own_folder(void **state)
{
    static const char *const wrong[] = {
        "",          "max",     "-1\n", "1", "1 \n", "0x10\n", "99999999999999999999\n",
        "maximum\n", "12\n13\n"};
    struct own own;
    char text[64];
    assert_int_equal(berm_own_open(&view, &own), 0);
    for (size_t i = 0; i < countof(wrong); i++) {
        view_limit("pids.max", wrong[i]);
        assert_int_equal(berm_own_limits(&view, &own), -ENODATA);
    }
    view_limit("pids.max", "32\n");
    assert_int_equal(without_file("pids.max", "32\n", &own), -ENOENT);
    assert_int_equal(without_file("memory.swap.max", "0\n", &own), 0);
    assert_true(own.swap_has_no_limit_file && own.swap_max_bytes == CONTEXT_UNLIMITED);
    view_limit("cgroup.procs", "1\n2\n");
    assert_int_equal(berm_own_limits(&view, &own), -ESRCH);
    (void)snprintf(text, sizeof text, "%d7\n7%d\n", getpid(), getpid());
    view_limit("cgroup.procs", text);
    assert_int_equal(berm_own_limits(&view, &own), -ESRCH);
    view_process(getpid(), 1);
    assert_int_equal(berm_own_limits(&view, &own), 0);
    berm_own_close(&own);
}

/* CX-2: a folder that looks like /proc or like the tree is neither. */
static void only_the_kernel_is_asked(void **state)
{
    struct own own;
    struct view other = view;
    other.proc_magic++;
    assert_int_equal(berm_own_open(&other, &own), -EPERM);
    berm_own_close(&own);
    other = view;
    other.proc_inode++;
    assert_int_equal(berm_own_open(&other, &own), -EPERM);
    berm_own_close(&own);
    other = view;
    other.cgroup_magic++;
    assert_int_equal(berm_own_open(&other, &own), 0);
    assert_int_equal(berm_own_limits(&other, &own), -EPERM);
    berm_own_close(&own);

    char path[96];
    (void)snprintf(path, sizeof path, "%s/%d/cgroup", fake_proc, getpid());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(berm_own_open(&view, &own), -ELOOP);
    berm_own_close(&own);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/self", fake_proc);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("1", path), 0);
    assert_int_equal(berm_own_open(&view, &own), -EPERM); /* the /proc of another namespace */
    berm_own_close(&own);
    view_process(getpid(), 1);
}

/* Exit statuses of a child that has mounts of its own. */
enum { CANNOT = 77, FOOLED = 1 };

static int in_a_namespace_of_mounts(int (*look)(void))
{
    uid_t uid = getuid();
    pid_t child = fork();
    if (child == 0) {
        char map[32];
        (void)snprintf(map, sizeof map, "0 %u 1", uid);
        if (uid != 0) {
            if (unshare(CLONE_NEWUSER) < 0) {
                _exit(CANNOT);
            }
            int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
            if (fd < 0 || write(fd, map, strlen(map)) < 0) {
                _exit(CANNOT);
            }
            close(fd);
        }
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
            _exit(CANNOT);
        }
        _exit(look());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT) {
        print_message("no mounts of its own can be had here\n");
        skip();
    }
    return WEXITSTATUS(status);
}

static int open_real(void)
{
    struct own own;
    int result = berm_own_open(&berm_view_of_the_kernel, &own);
    berm_own_close(&own);
    return result;
}

/* CX-2: a file of somebody's, mounted over the one that says the cgroup. */
static int behind_a_forged_file(void)
{
    char real[64];
    char forged[64];
    (void)snprintf(real, sizeof real, "/proc/%d/cgroup", getpid());
    (void)snprintf(forged, sizeof forged, "%s/%d/cgroup", fake_proc, getppid());
    if (open_real() != 0 || mount(forged, real, NULL, MS_BIND, NULL) < 0) {
        return CANNOT;
    }
    int fd = open(real, O_RDONLY | O_CLOEXEC); /* an ordinary reader is fooled */
    char text[256] = "";
    bool fooled = read(fd, text, sizeof text - 1) > 0 && strstr(text, fake_leaf);
    close(fd);
    return fooled && open_real() == -EPERM ? 0 : FOOLED;
}

/* The same with another process's file of the kernel's own. */
static int behind_anothers_file(void)
{
    char real[64];
    char another[64];
    (void)snprintf(real, sizeof real, "/proc/%d/cgroup", getpid());
    (void)snprintf(another, sizeof another, "/proc/%d/cgroup", getppid());
    if (mount(another, real, NULL, MS_BIND, NULL) < 0) {
        return CANNOT;
    }
    return open_real() == -EPERM ? 0 : FOOLED;
}

static int behind_a_forged_proc(void)
{
    if (mount(fake_proc, "/proc", NULL, MS_BIND, NULL) < 0) {
        return CANNOT;
    }
    return open_real() == -EPERM ? 0 : FOOLED;
}

static void mounts_over_the_kernel_are_noticed(void **state)
{
    assert_int_equal(in_a_namespace_of_mounts(behind_a_forged_file), 0);
    assert_int_equal(in_a_namespace_of_mounts(behind_anothers_file), 0);
    assert_int_equal(in_a_namespace_of_mounts(behind_a_forged_proc), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_says_where_this_process_is),
        cmocka_unit_test(a_limit_is_a_number_of_the_own_folder),
        cmocka_unit_test(only_the_kernel_is_asked),
        cmocka_unit_test(mounts_over_the_kernel_are_noticed),
    };
    return cmocka_run_group_tests_name("context/own", tests, view_begin, fake_end);
}
