#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json-file.h"

static char folder[] = "/tmp/berm-json-file-XXXXXX";

static int enter_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    const char *const names[] = {"out.json", "link", "fifo", "victim", "text"};
    for (size_t i = 0; i < countof(names); i++) {
        (void)unlink(names[i]);
    }
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int write_value(const char *path, struct err *err)
{
    with_json value = json_pack("{s:i}", "a", 7);
    with_json_file file = {0};
    return json_file_open(path, &file, err) < 0 ? -1 : json_file_write(&file, value, err);
}

static void put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void expect_seven(const char *path)
{
    struct err err = {0};
    with_json value = json_file_read(path, &err);
    if (!value) {
        fail_msg("%s", err.msg);
    }
    assert_int_equal(json_integer_value(json_object_get(value, "a")), 7);
}

static void writes_privately_and_whole(void **state)
{
    struct stat stat_of;
    assert_int_equal(write_value("out.json", NULL), 0);
    assert_int_equal(stat("out.json", &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 07777, 0600);
    expect_seven("out.json");
    put("out.json", "older");
    assert_int_equal(write_value("out.json", NULL), 0);
    expect_seven("out.json");
    char absolute[200];
    (void)snprintf(absolute, sizeof absolute, "%s/out.json", folder);
    assert_int_equal(write_value(absolute, NULL), 0);
}

/* D9: a link is replaced, what it leads to is not touched. */
static void replaces_a_link(void **state)
{
    put("victim", "{\"a\": 1}");
    assert_int_equal(symlink("victim", "link"), 0);
    assert_int_equal(write_value("link", NULL), 0);
    expect_seven("link");
    with_json victim = json_file_read("victim", NULL);
    assert_int_equal(json_integer_value(json_object_get(victim, "a")), 1);
}

/* Opened and then left: the name is as it was. */
static void leaves_nothing_when_it_is_not_written(void **state)
{
    (void)unlink("out.json");
    {
        with_json_file file = {0};
        assert_int_equal(json_file_open("out.json", &file, NULL), 0);
    }
    assert_int_equal(access("out.json", F_OK), -1);
}

static void writes_to_a_pipe_that_somebody_reads(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char path[40];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(write_value(path, NULL), 0);
    char text[100] = "";
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_string_equal(text, "{\n  \"a\": 7\n}\n");
    close(ends[0]);
    close(ends[1]);
}

static void refuses_early(void **state)
{
    struct err err = {0};
    assert_int_equal(write_value("missing/out.json", &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(write_value(folder, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(write_value("fifo", &err), -1); /* nobody reads: no waiting */
    assert_int_equal(err.code, ERR_SYS);
}

static void reads_only_what_is_json_in_a_file(void **state)
{
    struct err err = {0};
    assert_null(json_file_read("missing", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_null(json_file_read("fifo", &err)); /* FS-4: no waiting */
    assert_int_equal(err.code, ERR_REFUSED);
    assert_null(json_file_read("/dev/zero", &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_null(json_file_read(folder, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    put("text", "no json");
    assert_null(json_file_read("text", &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "'text'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_privately_and_whole),
        cmocka_unit_test(replaces_a_link),
        cmocka_unit_test(leaves_nothing_when_it_is_not_written),
        cmocka_unit_test(writes_to_a_pipe_that_somebody_reads),
        cmocka_unit_test(refuses_early),
        cmocka_unit_test(reads_only_what_is_json_in_a_file),
    };
    return cmocka_run_group_tests_name("berm/json-file", tests, enter_folder, leave_folder);
}
