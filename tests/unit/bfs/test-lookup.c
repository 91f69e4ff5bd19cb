#include "bfs-test.h"

#include "bfs-priv.h"

/* In between: os_openat2() can be missing, and a test steps in before one call of os_openat(). */
static struct {
    bool no_openat2;
    int at_call;
    int calls;
    void (*meddle)(void);
} hook;

int __real_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    if (hook.meddle && hook.calls++ == hook.at_call) {
        hook.meddle();
    }
    return __real_os_openat(dir_fd, path, flags, mode);
}

int __real_os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve);
int __wrap_os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve);
int __wrap_os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    return hook.no_openat2 ? -ENOSYS : __real_os_openat2(dir_fd, path, flags, mode, resolve);
}

static int lookup(const struct place *place, const char *path, int flags)
{
    int fd = bfs_lookup(place->fd, path, flags);
    if (fd >= 0) {
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
        return 0;
    }
    return fd;
}

/* FS-1, FS-3: the same answers from openat2 and from the walk that replaces it where it is missing. */
static void the_kernel_and_the_walk_give_the_same_answers(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "a/b", 0755), 0);
    put(place, "a/b/file", "x");
    assert_int_equal(symlinkat("b", place->fd, "a/link"), 0);
    assert_int_equal(symlinkat("file", place->fd, "a/b/link"), 0);
    const struct {
        const char *path;
        int flags;
        int answer;
    } cases[] = {
        {"a", O_PATH, 0},
        {"a/b/file", O_PATH, 0},
        {"a/b/link", O_PATH, 0}, /* the link itself */
        {"a/b/link", O_RDONLY, -ELOOP},
        {"a/link/file", O_PATH, -ELOOP},
        {"a/link", O_RDONLY | O_DIRECTORY, -ELOOP},
        {"a/b", O_RDONLY | O_DIRECTORY, 0},
        {"a/b/file", O_RDONLY | O_DIRECTORY, -ENOTDIR},
        {"a/b/file/x", O_PATH, -ENOTDIR},
        {"a/none", O_PATH, -ENOENT},
        {"none/none", O_PATH, -ENOENT},
    };
    for (size_t i = 0; i < 2 * countof(cases); i++) {
        hook.no_openat2 = i >= countof(cases);
        const size_t n = i % countof(cases);
        int answer = lookup(place, cases[n].path, cases[n].flags);
        if (answer != cases[n].answer) {
            fail_msg("%s: %d, not %d", cases[n].path, answer, cases[n].answer);
        }
    }
    hook.no_openat2 = false;
}

/* A link that leads out is refused even where it leads back in. */
static void no_link_is_followed_however_harmless(void **state)
{
    struct place *place = *state;
    put(place, "file", "x");
    assert_int_equal(symlinkat(".", place->fd, "here"), 0);
    assert_int_equal(symlinkat("/proc/self/cwd", place->fd, "magic"), 0);
    assert_int_equal(lookup(place, "here/file", O_PATH), -ELOOP);
    assert_int_equal(lookup(place, "magic/file", O_PATH), -ELOOP);
    int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(bfs_lookup(proc, "root/etc", O_PATH), -ELOOP);
    close(proc);
}

static const struct place *swapped;

static void put_a_link_to_the_outside(void)
{
    assert_int_equal(renameat(swapped->fd, "root/a", swapped->fd, "moved"), 0);
    assert_int_equal(symlinkat("../outside", swapped->fd, "root/a"), 0);
}

static void put_a_link_for_the_file(void)
{
    assert_int_equal(unlinkat(swapped->fd, "root/a/file", 0), 0);
    assert_int_equal(symlinkat("../../outside/file", swapped->fd, "root/a/file"), 0);
}

static void move_the_folder_out(void)
{
    assert_int_equal(renameat(swapped->fd, "root/a", swapped->fd, "outside/a"), 0);
}

/* FS-1, FS-3, I2: a component is swapped before each step in turn. The file outside is never reached. */
static void a_component_that_is_swapped_under_way(void **state)
{
    struct place *place = *state;
    swapped = place;
    hook.no_openat2 = true;
    void (*const meddlers[])(void) = {put_a_link_to_the_outside, put_a_link_for_the_file,
                                      move_the_folder_out};
    for (size_t m = 0; m < countof(meddlers); m++) {
        for (int at = 0; at < 3; at++) {
            struct stat outside;
            struct stat seen;
            assert_int_equal(mkdirat(place->fd, "root", 0755), 0);
            assert_int_equal(mkdirat(place->fd, "root/a", 0755), 0);
            assert_int_equal(mkdirat(place->fd, "outside", 0755), 0);
            put(place, "root/a/file", "inside");
            put(place, "outside/file", "outside");
            assert_int_equal(fstatat(place->fd, "outside/file", &outside, 0), 0);
            with_fd root = fd_adopt(openat(place->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
            hook.at_call = at;
            hook.calls = 0;
            hook.meddle = meddlers[m];
            with_fd found = fd_adopt(bfs_lookup(fd_num(&root), "a/file", O_PATH));
            hook.meddle = NULL;
            if (fd_is_open(&found)) {
                assert_int_equal(fstat(fd_num(&found), &seen), 0);
                assert_int_not_equal(seen.st_ino, outside.st_ino);
            } else {
                int error = fd_error(&found);
                assert_true(error == -ELOOP || error == -ENOENT);
            }
            fd_close(&found);
            fd_close(&root);
            remove_all(place->fd);
        }
    }
    hook.no_openat2 = false;
}

static void tells_paths_from_names(void **state)
{
    struct err err = {0};
    assert_ok(bfs_check_path("a/b", &err));
    assert_ok(bfs_check_name("a", &err));
    assert_ok(bfs_check_name("..a", &err));
    assert_fails(bfs_check_name("a/b", &err), ERR_REFUSED);
    assert_fails(bfs_check_path("a/../b", &err), ERR_REFUSED);
    assert_fails(bfs_check_path("/a", &err), ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(the_kernel_and_the_walk_give_the_same_answers),
        place_test(no_link_is_followed_however_harmless),
        place_test(a_component_that_is_swapped_under_way),
        cmocka_unit_test(tells_paths_from_names),
    };
    return cmocka_run_group_tests_name("bfs/lookup", tests, NULL, NULL);
}
