#include "binding-test.h"

#include <sys/mman.h>

static void bind_it(const struct place *place, const char *name, struct bound_file *bound)
{
    struct err err = {0};
    struct binding_request request = request_for(place, WORDS(name), WORDS("PATH=/bin"));
    assert_ok(bound_file_make(&request, POLICY_TRUSTED_HOST_TOOL, name, bound, &err));
}

static void the_identity_is_that_of_the_descriptor(void **state)
{
    struct place *place = *state;
    put_program(place, "abc", "abc");
    with_bound_file bound = {0};
    bind_it(place, "./abc", &bound);
    struct stat stat_now;
    assert_int_equal(fstat(bfs_file_fd(&bound.file), &stat_now), 0);
    assert_int_equal(bound.identity.inode, stat_now.st_ino);
    assert_int_equal(bound.identity.mode, S_IFREG | 0755);
    assert_int_equal(bound.identity.owner, geteuid());
    assert_int_equal(bound.identity.size_bytes, 3);
    assert_true(bound.identity.ctime_ns ==
                (int64_t)stat_now.st_ctim.tv_sec * 1000000000 + stat_now.st_ctim.tv_nsec);
    assert_string_equal(bound.identity.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(fcntl(bfs_file_fd(&bound.file), F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_false(fd_is_open(&bound.found.walk.target));
}

/* I1: a change that leaves every time and number as it was, as one within the same tick of a slow
 * filesystem clock does, is seen in the bytes of a file that had just been made. */
static void a_change_that_no_time_shows_is_seen_in_the_bytes(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put_program(place, "young", "#!/bin/true\n");
    with_bound_file bound = {0};
    bind_it(place, "./young", &bound);
    assert_true(bound.young);
    assert_ok(bound_file_recheck(&bound, &err));
    int fd = openat(place->fd, "young", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "#!/bin/evil\n", 12, 0), 12);
    close(fd);
    assert_int_equal(fstat(bfs_file_fd(&bound.file), &(struct stat){0}), 0);
    /* As if the clock had stood still: the facts of now are the facts of then. */
    assert_ok(bfs_facts_of(bfs_file_fd(&bound.file), &bound.file.facts, &err));
    assert_fails(bound_file_recheck(&bound, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "content"));
}

static void an_old_file_need_not_be_read_twice(void **state)
{
    struct place *place = *state;
    with_bound_file bound = {0};
    bind_it(place, "/usr/bin/true", &bound);
    assert_false(bound.young);
}

/* I1: of a file that has not just been made the facts are enough, and each of them counts. */
static void an_old_file_is_known_by_its_facts(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    for (int change = 0; change < 3; change++) {
        put_program(place, "old", "#!/bin/true\n");
        with_bound_file bound = {0};
        bind_it(place, "./old", &bound);
        bound.young = false;
        assert_ok(bound_file_recheck(&bound, &err));
        int fd = openat(place->fd, "old", O_WRONLY | O_CLOEXEC);
        struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
        if (change == 0) {
            assert_int_equal(fchmod(fd, 0700), 0);
        } else if (change == 1) {
            assert_int_equal(pwrite(fd, "#!/bin/evil\n", 12, 0), 12);
            assert_int_equal(futimens(fd, later), 0);
        } else {
            assert_int_equal(ftruncate(fd, 3), 0);
        }
        close(fd);
        assert_fails(bound_file_recheck(&bound, &err), ERR_CHANGED);
    }
}

/* The folders above are renamed, so that the path leads to another file; the inode is untouched. */
static void another_file_at_the_path_is_a_change(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "b", 0755), 0);
    put_program(place, "a/tool", "one");
    put_program(place, "b/tool", "two");
    with_bound_file bound = {0};
    bind_it(place, "a/tool", &bound);
    assert_int_equal(renameat2(place->fd, "a", place->fd, "b", RENAME_EXCHANGE), 0);
    assert_fails(bound_file_recheck(&bound, &err), ERR_CHANGED);
    assert_int_equal(renameat2(place->fd, "a", place->fd, "b", RENAME_EXCHANGE), 0);
    assert_ok(bound_file_recheck(&bound, &err));
    assert_int_equal(renameat(place->fd, "a", place->fd, "c"), 0);
    assert_int_equal(symlinkat("c", place->fd, "a"), 0);
    assert_fails(bound_file_recheck(&bound, &err), ERR_CHANGED); /* same inode, another place */
}

static int bind_in_child(const struct place *place)
{
    struct err err = {0};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 99;
    }
    struct binding_request request = request_for(place, WORDS("./secret"), WORDS("PATH=/bin"));
    struct bound_file bound = {0};
    int result = bound_file_make(&request, POLICY_TRUSTED_HOST_TOOL, "./secret", &bound, &err);
    return result == -1 && err.code == ERR_REFUSED && strstr(err.msg, "not read") ? 0 : 1;
}

static void what_cannot_be_read_cannot_be_bound(void **state)
{
    struct place *place = *state;
    assert_int_equal(fchmod(place->fd, 0755), 0);
    put_program(place, "secret", "x");
    assert_int_equal(fchmodat(place->fd, "secret", 0111, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(bind_in_child(place));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(the_identity_is_that_of_the_descriptor),
        place_test(a_change_that_no_time_shows_is_seen_in_the_bytes),
        place_test(an_old_file_need_not_be_read_twice),
        place_test(an_old_file_is_known_by_its_facts),
        place_test(another_file_at_the_path_is_a_change),
        place_test(what_cannot_be_read_cannot_be_bound),
    };
    return cmocka_run_group_tests_name("binding/bound-file", tests, NULL, NULL);
}
