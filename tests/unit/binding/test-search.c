#include "binding-test.h"

#include <sys/resource.h>

static int find(const struct place *place, const char *name, const char *path, struct found *found,
                struct err *err)
{
    char line[1024];
    snprintf(line, sizeof line, "PATH=%s", path ? path : "");
    char *const *environment =
        path ? WORDS("A=b", line, "PATH=/second/never/counts") : WORDS("A=b");
    struct binding_request request = request_for(place, WORDS(name), environment);
    return search_find(&request, name, found, err);
}

static void make_tree(const struct place *place)
{
    const char *folders[] = {"one", "two", "three", "four"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    put(place, "one/tool", "not executable");
    assert_int_equal(mkdirat(place->fd, "two/tool", 0755), 0);
    put_program(place, "three/tool", "#!/bin/sh\n");
    put_program(place, "four/tool", "#!/bin/sh\n");
    put_program(place, "tool", "#!/bin/sh\n");
    assert_int_equal(symlinkat("../three/tool", place->fd, "one/link"), 0);
    assert_int_equal(mkfifoat(place->fd, "one/fifo", 0755), 0);
}

/* EX-1, EX-3 */
static void the_first_that_can_be_run_is_found(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    make_tree(place);
    char path[512];
    char expected[256];
    snprintf(path, sizeof path, "/nowhere:%s/one:%s/two/:%s/three/:%s/four", place->path,
             place->path, place->path, place->path);
    with_found found = {0};
    assert_ok(find(place, "tool", path, &found, &err));
    snprintf(expected, sizeof expected, "%s/three/tool", place->path);
    assert_string_equal(found.invocation, expected);
    assert_string_equal(found.exec_path, expected);
    assert_string_equal(found.walk.canonical, expected);
    assert_int_equal(found.origin, ORIGIN_PATH_SEARCH);
    snprintf(expected, sizeof expected, "%s/three/", place->path);
    assert_string_equal(found.matched_entry, expected);

    with_found link = {0};
    assert_ok(find(place, "link", path, &link, &err));
    snprintf(expected, sizeof expected, "%s/one/link", place->path);
    assert_string_equal(link.invocation, expected);
    snprintf(expected, sizeof expected, "%s/three/tool", place->path);
    assert_string_equal(link.walk.canonical, expected);
}

static void empty_and_relative_elements_start_at_the_working_directory(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    make_tree(place);
    const struct {
        const char *path;
        const char *exec_path;
        const char *invocation;
        const char *entry;
    } cases[] = {
        {"", "./tool", "/tool", ""},
        {":/nowhere", "./tool", "/tool", ""},
        {"/nowhere:", "./tool", "/tool", ""},
        {"/nowhere::three", "./tool", "/tool", ""},
        {".", "./tool", "/tool", "/."},
        {"three", "three/tool", "/three/tool", "/three"},
        {"./three:four", "./three/tool", "/three/tool", "/three"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_found found = {0};
        char expected[256];
        assert_ok(find(place, "tool", cases[i].path, &found, &err));
        assert_string_equal(found.exec_path, cases[i].exec_path);
        snprintf(expected, sizeof expected, "%s%s", place->path, cases[i].invocation);
        assert_string_equal(found.invocation, expected);
        snprintf(expected, sizeof expected, "%s%s", place->path, cases[i].entry);
        assert_string_equal(found.matched_entry, expected);
    }
}

/* 127 and 126 apart */
static void missing_is_one_thing_and_not_executable_another(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    make_tree(place);
    char path[256];
    snprintf(path, sizeof path, "/nowhere:%s/one:%s/two", place->path, place->path);
    with_found found = {0};
    assert_fails(find(place, "tool", path, &found, &err), ERR_NOT_EXECUTABLE);
    assert_non_null(strstr(err.msg, "/one/tool")); /* the first, not the last */
    assert_fails(find(place, "fifo", path, &found, &err), ERR_NOT_EXECUTABLE);
    assert_fails(find(place, "none", path, &found, &err), ERR_NOT_FOUND);
    assert_fails(find(place, "tool", NULL, &found, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "no PATH"));
    assert_fails(find(place, "", path, &found, &err), ERR_NOT_FOUND);

    assert_fails(find(place, "./none", path, &found, &err), ERR_NOT_FOUND);
    assert_fails(find(place, "one/tool/x", path, &found, &err), ERR_NOT_FOUND);
    assert_fails(find(place, "one/tool", path, &found, &err), ERR_NOT_EXECUTABLE);
    assert_fails(find(place, "two/tool", path, &found, &err), ERR_NOT_EXECUTABLE);
    assert_non_null(strstr(err.msg, "a directory"));
    assert_fails(find(place, "one/fifo", path, &found, &err), ERR_NOT_EXECUTABLE);
    assert_fails(find(place, "/dev/null", path, &found, &err), ERR_NOT_EXECUTABLE);
    assert_int_equal(symlinkat("itself", place->fd, "itself"), 0);
    assert_fails(find(place, "./itself", path, &found, &err), ERR_NOT_EXECUTABLE);
}

static void a_name_with_a_slash_is_a_path(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    make_tree(place);
    char path[128];
    snprintf(path, sizeof path, "%s/one", place->path);
    char expected[256];
    const char *names[] = {"./tool", "three/../tool"};
    const char *absolute[] = {"/tool", "/three/../tool"};
    for (size_t i = 0; i < countof(names); i++) {
        with_found found = {0};
        assert_ok(find(place, names[i], path, &found, &err));
        assert_int_equal(found.origin, ORIGIN_EXPLICIT_PATH);
        assert_null(found.matched_entry);
        assert_string_equal(found.exec_path, names[i]);
        snprintf(expected, sizeof expected, "%s%s", place->path, absolute[i]);
        assert_string_equal(found.invocation, expected);
    }
}

/* Nothing of the process's own environment or directory takes part. */
static void only_the_request_counts(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(setenv("PATH", "/usr/bin:/bin", 1), 0);
    with_found found = {0};
    assert_fails(find(place, "true", "/nowhere", &found, &err), ERR_NOT_FOUND);
    assert_fails(find(place, "true", NULL, &found, &err), ERR_NOT_FOUND);
}

static int in_child_as_nobody(int (*test)(const struct place *place), const struct place *place)
{
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(99);
        }
        _exit(test(place));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int codes_without_permission(const struct place *place)
{
    struct err err = {0};
    with_found found = {0};
    if (find(place, "./locked/tool", "/bin", &found, &err) != -1 ||
        err.code != ERR_NOT_EXECUTABLE || !strstr(err.msg, "may not be searched")) {
        return 1;
    }
    if (find(place, "tool", "locked", &found, &err) != -1 || err.code != ERR_NOT_EXECUTABLE) {
        return 2;
    }
    return find(place, "tool", "locked:open", &found, &err) == 0 ? 0 : 3;
}

static void a_folder_that_may_not_be_searched_is_not_a_missing_one(void **state)
{
    struct place *place = *state;
    assert_int_equal(fchmod(place->fd, 0755), 0);
    assert_int_equal(mkdirat(place->fd, "locked", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "open", 0755), 0);
    put_program(place, "locked/tool", "#!/bin/sh\n");
    put_program(place, "open/tool", "#!/bin/sh\n");
    assert_int_equal(fchmodat(place->fd, "locked", 0, 0), 0);
    assert_int_equal(in_child_as_nobody(codes_without_permission, place), 0);
    assert_int_equal(fchmodat(place->fd, "locked", 0755, 0), 0);
}

/* D11: a kernel that fails is not a file that is missing. */
static void out_of_descriptors_is_an_error_of_its_own(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    with_found found = {0};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = find(place, "true", "/nowhere:/usr/bin", &found, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(result, -1);
    assert_int_equal(err.code, ERR_SYS);
    assert_int_equal(err.sys, EMFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(the_first_that_can_be_run_is_found),
        place_test(empty_and_relative_elements_start_at_the_working_directory),
        place_test(missing_is_one_thing_and_not_executable_another),
        place_test(a_name_with_a_slash_is_a_path),
        place_test(only_the_request_counts),
        place_test(a_folder_that_may_not_be_searched_is_not_a_missing_one),
        place_test(out_of_descriptors_is_an_error_of_its_own),
    };
    return cmocka_run_group_tests_name("binding/search", tests, NULL, NULL);
}
