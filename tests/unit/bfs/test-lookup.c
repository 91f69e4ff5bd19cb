#include "bfs-test.h"

#include "bfs-priv.h"

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

/* FS-1: the same answers from openat2 and from the walk that replaces it where it is missing (the
 * suite runs once with each). */
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
    for (size_t i = 0; i < countof(cases); i++) {
        int answer = lookup(place, cases[i].path, cases[i].flags);
        if (answer != cases[i].answer) {
            fail_msg("%s: %d, not %d", cases[i].path, answer, cases[i].answer);
        }
    }
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
        cmocka_unit_test(tells_paths_from_names),
    };
    return cmocka_run_group_tests_name("bfs/lookup", tests, NULL, NULL);
}
