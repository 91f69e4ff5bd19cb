#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroupfs.h"
#include "fd.h"

static void the_line_of_version_2_says_the_path(void **state)
{
    char path[CGROUP_PATH_SIZE];
    assert_int_equal(cgroup_path_parse("0::/a/b\n", path), 0);
    assert_string_equal(path, "/a/b");
    assert_int_equal(cgroup_path_parse("12:memory:/x\n1:name=systemd:/y\n0::/\n", path), 0);
    assert_string_equal(path, "/");
    assert_int_equal(cgroup_path_parse("0::/../x", path), 0);
    assert_int_equal(cgroup_path_parse("0::/a (deleted)\n", path), -ENOENT);
    assert_int_equal(cgroup_path_parse("12:memory:/0::/x\n", path), -ENODATA);
    assert_int_equal(cgroup_path_parse("10::/x\n", path), -ENODATA);
    assert_int_equal(cgroup_path_parse("", path), -ENODATA);
    assert_int_equal(cgroup_path_parse("\n\n", path), -ENODATA);
    assert_int_equal(cgroup_path_parse("0::a\n", path), -EINVAL);
    assert_int_equal(cgroup_path_parse("0::", path), -EINVAL);
    char text[CGROUP_PATH_SIZE + 8];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "0::/", 4);
    assert_int_equal(cgroup_path_parse(text, path), -EINVAL);
    text[3 + CGROUP_PATH_SIZE - 1] = '\0';
    assert_int_equal(cgroup_path_parse(text, path), 0);
    assert_int_equal(strlen(path), CGROUP_PATH_SIZE - 1);
}

static void a_component_is_a_whole_name(void **state)
{
    assert_true(cgroup_path_names("/a/b.scope", "b.scope"));
    assert_true(cgroup_path_names("/a/b.scope/anchor", "b.scope"));
    assert_false(cgroup_path_names("/a/b.scope-x/anchor", "b.scope"));
    assert_false(cgroup_path_names("/a/xb.scope", "b.scope"));
    assert_false(cgroup_path_names("/", "a"));
    assert_false(cgroup_path_names("/a", ""));
    assert_false(cgroup_path_names("a", "a"));
}

static void numbers_are_whole_and_no_larger_than_they_fit(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0\n", 0},
        {"4096", 4096},
        {"4096 1", 4096},
        {"max\n", CGROUP_NO_LIMIT},
        {"max", CGROUP_NO_LIMIT},
        {"maximum\n", -1},
        {"", -1},
        {"\n", -1},
        {"-1\n", -1},
        {" 1\n", -1},
        {"1x\n", -1},
        {"0x10\n", -1},
        {"9223372036854775806\n", INT64_MAX - 1},
        {"9223372036854775807\n", -1}, /* it would mean "no limit" */
        {"9223372036854775808\n", -1},
        {"18446744073709551616000\n", -1},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(cgroup_number(cases[i].text), cases[i].value);
    }
}

static void a_key_is_a_whole_word_at_the_start_of_a_line(void **state)
{
    const char *text = "low 0\noom 1\noom_kill 2\noom_group_kill 3\nlast 4";
    assert_int_equal(cgroup_value(text, "oom"), 1);
    assert_int_equal(cgroup_value(text, "oom_kill"), 2);
    assert_int_equal(cgroup_value(text, "last"), 4);
    assert_int_equal(cgroup_value(text, "kill"), -1);
    assert_int_equal(cgroup_value(text, "oo"), -1);
    assert_int_equal(cgroup_value("oom", "oom"), -1);
    assert_int_equal(cgroup_value("oom \n", "oom"), -1);
    assert_int_equal(cgroup_value("oom x\n", "oom"), -1);
    assert_int_equal(cgroup_value("", "oom"), -1);
}

static void pairs_of_lines_are_summed(void **state)
{
    const char *io = "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n"
                     "259:1 rbytes=5 wbytes=7 rios=3 wios=4 dbytes=0 dios=0\n"
                     "254:0\n";
    assert_int_equal(cgroup_nested_sum(io, "", "rbytes"), 15);
    assert_int_equal(cgroup_nested_sum(io, "", "wios"), 6);
    assert_int_equal(cgroup_nested_sum(io, "8:0 ", "wbytes"), 20);
    assert_int_equal(cgroup_nested_sum(io, "", "bytes"), -1);
    assert_int_equal(cgroup_nested_sum(io, "9:", "rbytes"), -1);
    assert_int_equal(cgroup_nested_sum("", "", "rbytes"), -1);
    const char *pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=804\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=7";
    assert_int_equal(cgroup_nested_sum(pressure, "some ", "total"), 804);
    assert_int_equal(cgroup_nested_sum(pressure, "full ", "total"), 7);
    assert_int_equal(cgroup_nested_sum(pressure, "some ", "avg10"), -1); /* no whole number */
    assert_int_equal(cgroup_nested_sum("a x=9223372036854775806\nb x=9\n", "", "x"), INT64_MAX);
    assert_int_equal(cgroup_nested_sum("x=1\n", "", "x"), -1); /* the name comes first */
}

static void words_stand_between_blanks(void **state)
{
    assert_true(cgroup_has_word("cpu memory pids\n", "memory"));
    assert_true(cgroup_has_word("memory", "memory"));
    assert_false(cgroup_has_word("memoryx pids\n", "memory"));
    assert_false(cgroup_has_word("", "memory"));
    assert_false(cgroup_has_word("cpu\n", "pids"));
}

/* On a folder that is no cgroup nothing is taken for one, and files are read as what they are. */
static void another_file_system_is_no_cgroup(void **state)
{
    char folder[] = "/tmp/berm-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    with_fd dir = fd_adopt(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
    assert_int_equal(os_cgroup_open(folder), -EXDEV);
    assert_int_equal(os_cgroup_open("/tmp/berm-test-missing"), -ENOENT);
    assert_int_equal(os_cgroup_new(fd_num(&dir), "made"), -EXDEV);
    struct stat facts;
    assert_int_equal(fstatat(fd_num(&dir), "made", &facts, 0), -1); /* it was taken away again */
    assert_int_equal(os_cgroup_move(fd_num(&dir), 0), -EINVAL);
    assert_int_equal(os_cgroup_move(fd_num(&dir), -1), -EINVAL);
    assert_int_equal(os_cgroup_kill(fd_num(&dir)), -ENOENT);

    int file = openat(fd_num(&dir), "cgroup.procs", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    char text[64];
    assert_int_equal(os_cgroup_move(fd_num(&dir), 1234567890), 0);
    assert_int_equal(os_cgroup_read(fd_num(&dir), "cgroup.procs", text, sizeof text), 10);
    assert_string_equal(text, "1234567890");
    assert_int_equal(os_cgroup_reread(file, text, 5), 4);
    assert_string_equal(text, "1234");
    assert_int_equal(os_cgroup_populated(file), -EIO); /* neither 0 nor 1: nothing is known */
    assert_int_equal(pwrite(file, "populated 0", 11, 0), 11);
    assert_int_equal(os_cgroup_populated(file), 0);
    assert_int_equal(pwrite(file, "populated 1", 11, 0), 11);
    assert_int_equal(os_cgroup_populated(file), 1);
    assert_int_equal(pwrite(file, "populated 2", 11, 0), 11);
    assert_int_equal(os_cgroup_populated(file), -EIO);
    with_fd again = fd_adopt(os_cgroup_open_file(fd_num(&dir), "cgroup.procs"));
    assert_true(fd_is_open(&again));
    close(file);
    assert_int_equal(unlinkat(fd_num(&dir), "cgroup.procs", 0), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_true(cgroup_is_gone(-ENOENT) && cgroup_is_gone(-ENODEV) && !cgroup_is_gone(-EACCES));
}

static void the_own_cgroup_can_be_read(void **state)
{
    char path[CGROUP_PATH_SIZE];
    with_fd self = fd_adopt(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
    int result = os_cgroup_of(fd_num(&self), path);
    assert_true(result == -ENODATA || (result == 0 && path[0] == '/'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_version_2_says_the_path),
        cmocka_unit_test(a_component_is_a_whole_name),
        cmocka_unit_test(numbers_are_whole_and_no_larger_than_they_fit),
        cmocka_unit_test(a_key_is_a_whole_word_at_the_start_of_a_line),
        cmocka_unit_test(pairs_of_lines_are_summed),
        cmocka_unit_test(words_stand_between_blanks),
        cmocka_unit_test(another_file_system_is_no_cgroup),
        cmocka_unit_test(the_own_cgroup_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
