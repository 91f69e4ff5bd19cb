#include "sandbox-test.h"

static void a_path_is_what_it_leads_to(void **state)
{
    struct place *place = *state;
    put(place, "file", "");
    assert_int_equal(symlinkat("file", place->fd, "link"), 0);
    with_host_path file = {0};
    with_host_path through = {0};
    assert_int_equal(host_path_open(place->fd, "file", &file), 0);
    assert_int_equal(host_path_open(place->fd, "link", &through), 0);
    assert_string_equal(file.path, through.path);
    assert_int_equal(file.stat.st_ino, through.stat.st_ino);
    with_host_path none = {0};
    assert_int_equal(host_path_open(place->fd, "missing", &none), -ENOENT);
    int held = openat(place->fd, "file", O_PATH | O_CLOEXEC);
    assert_int_equal(unlinkat(place->fd, "file", 0), 0);
    char own[32];
    snprintf(own, sizeof own, "/proc/self/fd/%d", held);
    assert_int_equal(host_path_open(AT_FDCWD, own, &none), -ENOENT); /* it has no name any more */
    close(held);
}

static void beneath_is_a_matter_of_whole_names(void **state)
{
    assert_true(path_is_beneath("/a/b", "/a"));
    assert_true(path_is_beneath("/a", "/a"));
    assert_true(path_is_beneath("/a", "/"));
    assert_true(path_is_beneath("/", "/"));
    assert_true(path_is_beneath("/a/b", "/a/"));
    assert_false(path_is_beneath("/ab", "/a"));
    assert_false(path_is_beneath("/ab", "/a/"));
    assert_false(path_is_beneath("a/b", "/"));
    assert_false(path_is_beneath("/a", "/a/b"));
    assert_true(path_is_temporary("/var/tmp/x"));
    assert_true(path_is_temporary("/dev/shm"));
    assert_false(path_is_temporary("/tmpx"));
}

/* What does not fit is an error: half of a list would be a list without the rest. */
static void a_text_is_read_whole_or_not(void **state)
{
    struct place *place = *state;
    put(place, "file", "0123456789");
    with_buf enough = buf_new(10);
    with_buf small = buf_new(9);
    assert_int_equal(host_text_read(place->fd, "file", &enough), 0);
    assert_string_equal(buf_string(&enough), "0123456789");
    assert_int_equal(host_text_read(place->fd, "file", &small), -EFBIG);
    assert_int_equal(host_text_read(place->fd, "missing", &small), -ENOENT);
    assert_int_equal(host_text_read(place->fd, ".", &small), -EISDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_path_is_what_it_leads_to, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_text_is_read_whole_or_not, place_make, place_remove),
        cmocka_unit_test(beneath_is_a_matter_of_whole_names),
    };
    return cmocka_run_group_tests_name("contain/host-path", tests, NULL, NULL);
}
