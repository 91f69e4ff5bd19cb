#include "binding-test.h"

#define system_path WORDS("PATH=/usr/bin:/bin")

/* EX-1, EX-2: what was hashed is what runs */
static void a_program_is_found_hashed_and_run_by_its_descriptor(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char *const *argv = WORDS("echo", "a b", "--");
    struct binding_request request = request_for(place, argv, system_path);
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    assert_string_equal(binding->files[0].found.invocation, "/usr/bin/echo");
    assert_string_equal(binding->files[0].found.walk.canonical, "/usr/bin/echo");
    const struct file_identity *identity = &binding->files[0].identity;
    struct stat stat_now;
    assert_int_equal(stat("/usr/bin/echo", &stat_now), 0);
    assert_int_equal(identity->inode, stat_now.st_ino);
    assert_int_equal(identity->device, stat_now.st_dev);
    assert_int_equal(identity->size_bytes, stat_now.st_size);
    assert_int_equal(identity->mode, stat_now.st_mode);
    assert_int_equal(strlen(identity->sha256), 64);
    assert_argv(binding, argv);
    assert_ok(binding_revalidate(binding, &err));
    char output[100];
    assert_int_equal(run_it(place, binding, NULL, system_path, output, sizeof output), 0);
    assert_string_equal(output, "a b --\n");
}

/* The same argv and output as the kernel gives, for each way to name an interpreter. */
static void a_script_runs_as_the_kernel_would_run_it(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "bin", 0755), 0);
    char path_line[128];
    snprintf(path_line, sizeof path_line, "PATH=%s/bin:/usr/bin:/bin", place->path);
    char *const *environment = WORDS(path_line);
    put_program(place, "bin/show", "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done\n");
    put_program(place, "bin/plain", "#!/bin/sh\necho \"$0\" \"$@\"\n");
    put_program(place, "bin/argument", "#!/bin/sh -e -u \nfalse\necho not reached\n");
    put_program(place, "bin/blanks", "#! \t /bin/echo \t one two  \t\nx\n");
    put_program(place, "bin/env", "#!/usr/bin/env sh\necho \"$0\" \"$@\"\n");
    put_program(place, "bin/env-script", "#!/usr/bin/env show\n");
    put_program(place, "bin/relative", "#!bin/show\n");
    put_program(place, "bin/split", "#!/usr/bin/env -S echo -n x\n");
    put_program(place, "bin/chain", "#!bin/blanks a b\n");
    put_program(place, "bin/no-newline", "#!/bin/echo");
    const char *names[] = {"plain",    "argument", "blanks", "env",       "env-script",
                           "relative", "split",    "chain",  "no-newline"};
    for (size_t i = 0; i < countof(names); i++) {
        char name[64];
        snprintf(name, sizeof name, "./bin/%s", names[i]);
        char *const *argv = WORDS(name, "one", "-t w o", "");
        struct binding_request request = request_for(place, argv, environment);
        with_binding binding = binding_resolve(&request, &err);
        assert_made(binding);
        char expected[400];
        char seen[400];
        int status = run_it(place, NULL, argv, environment, expected, sizeof expected);
        assert_int_equal(run_it(place, binding, NULL, environment, seen, sizeof seen), status);
        assert_string_equal(seen, expected);
        assert_int_not_equal(status, 200);
    }
}

static void a_script_from_path_sees_its_path_as_its_name(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put_program(place, "script", "#!/bin/sh\n");
    char *const *argv = WORDS("script", "x");
    char path_line[128];
    snprintf(path_line, sizeof path_line, "PATH=/nowhere:%s", place->path);
    char *const *environment = WORDS(path_line);
    char script[128];
    snprintf(script, sizeof script, "%s/script", place->path);
    struct binding_request request = request_for(place, argv, environment);
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    assert_string_equal(binding->files[0].found.invocation, script);
    assert_argv(binding, WORDS("/bin/sh", script, "x"));
}

/* R9: the file is there, so it is 126 and not 127, and the reason is named */
static void a_missing_interpreter_is_no_missing_command(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put_program(place, "dos", "#!/bin/sh\r\necho hi\r\n");
    put_program(place, "dos-env", "#!/usr/bin/env sh\r\necho hi\r\n");
    put_program(place, "gone", "#!/no/such/interpreter\n");
    put_program(place, "not-allowed", "#!/etc/passwd\n");
    const char *names[] = {"./dos", "./dos-env", "./gone", "./not-allowed"};
    for (size_t i = 0; i < countof(names); i++) {
        char *const *argv = WORDS(names[i]);
        struct binding_request request = request_for(place, argv, system_path);
        assert_null_with(binding_resolve(&request, &err), ERR_NOT_EXECUTABLE);
        assert_true((strstr(err.msg, "CR LF") != NULL) == (i < 2));
    }
}

/* As the kernel: five interpreters, not six. */
static void a_chain_of_interpreters_has_an_end(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put_program(place, "s1", "#!/bin/echo\n");
    for (int i = 2; i <= 6; i++) {
        char name[8];
        char text[16];
        snprintf(name, sizeof name, "s%d", i);
        snprintf(text, sizeof text, "#!./s%d\n", i - 1);
        put_program(place, name, text);
    }
    put_program(place, "self", "#!./self\n");
    char *const *five = WORDS("./s5");
    struct binding_request request = request_for(place, five, system_path);
    with_binding binding = binding_resolve(&request, &err);
    assert_made(binding);
    char expected[200];
    char seen[200];
    assert_int_equal(run_it(place, NULL, five, system_path, expected, sizeof expected), 0);
    assert_int_equal(run_it(place, binding, NULL, system_path, seen, sizeof seen), 0);
    assert_string_equal(seen, expected);
    const char *names[] = {"./s6", "./self"};
    for (size_t i = 0; i < countof(names); i++) {
        char *const *argv = WORDS(names[i]);
        struct binding_request too_long = request_for(place, argv, system_path);
        assert_null_with(binding_resolve(&too_long, &err), ERR_NOT_EXECUTABLE);
        assert_int_equal(run_it(place, NULL, argv, system_path, seen, sizeof seen), 200);
    }
}

/* I1 and I3: whatever is done to the program, the script or the interpreter in between */
static void what_was_planned_is_what_runs_or_nothing(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const char *targets[] = {"program", "script", "interpreter"};
    const char *names[] = {"./program", "./script", "./script"};
    for (size_t i = 0; i < countof(targets); i++) {
        for (int change = 0; change < 6; change++) {
            copy_program(place, "/bin/true", "program");
            copy_program(place, "/bin/true", "interpreter");
            put_program(place, "script", "#!./interpreter\n");
            char *const *argv = WORDS(names[i]);
            struct binding_request request = request_for(place, argv, system_path);
            with_binding binding = binding_resolve(&request, &err);
            assert_made(binding);
            assert_ok(binding_revalidate(binding, &err));
            int fd = -1;
            switch (change) {
            case 0: /* another file under its name */
                copy_program(place, "/bin/false", "other");
                assert_int_equal(renameat(place->fd, "other", place->fd, targets[i]), 0);
                break;
            case 1: /* content changed in place, same size */
                fd = openat(place->fd, targets[i], O_WRONLY | O_CLOEXEC);
                assert_int_equal(pwrite(fd, "X", 1, 3), 1);
                break;
            case 2: /* longer */
                fd = openat(place->fd, targets[i], O_WRONLY | O_APPEND | O_CLOEXEC);
                assert_int_equal(write(fd, "X", 1), 1);
                break;
            case 3:
                assert_int_equal(fchmodat(place->fd, targets[i], 0700, 0), 0);
                break;
            case 4:
                assert_int_equal(unlinkat(place->fd, targets[i], 0), 0);
                break;
            default: /* moved away, a link in its place: the very inode, by another way */
                assert_int_equal(renameat(place->fd, targets[i], place->fd, "moved"), 0);
                assert_int_equal(symlinkat("moved", place->fd, targets[i]), 0);
                break;
            }
            if (fd >= 0) {
                close(fd);
            }
            assert_fails(binding_revalidate(binding, &err), ERR_CHANGED);
            (void)unlinkat(place->fd, targets[i], 0);
            (void)unlinkat(place->fd, "moved", 0);
        }
    }
}

/* I7 */
static void a_removed_working_directory_names_nothing_relative(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "cwd", 0755), 0);
    struct place gone = {.fd = openat(place->fd, "cwd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    snprintf(gone.path, sizeof gone.path, "%s/cwd", place->path);
    assert_int_equal(unlinkat(place->fd, "cwd", AT_REMOVEDIR), 0);
    char *const *relative = WORDS("./program");
    struct binding_request request = request_for(&gone, relative, system_path);
    assert_null_with(binding_resolve(&request, &err), ERR_NOT_FOUND);
    char *const *searched = WORDS("true");
    char *const *environment = WORDS("PATH=:.:/usr/bin");
    struct binding_request other = request_for(&gone, searched, environment);
    with_binding binding = binding_resolve(&other, &err);
    assert_made(binding);
    assert_string_equal(binding->files[0].found.walk.canonical, "/usr/bin/true");
    close(gone.fd);
}

/* I8 */
static void a_set_id_program_is_refused_under_every_policy(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const char *const roots[] = {place->path, NULL};
    copy_program(place, "/bin/true", "program");
    char path[128];
    snprintf(path, sizeof path, "%s/program", place->path);
    char *const *argv = WORDS(path);
    const mode_t modes[] = {04755, 02755, 06755};
    for (size_t i = 0; i < countof(modes); i++) {
        assert_int_equal(fchmodat(place->fd, "program", modes[i], 0), 0);
        for (int policy = POLICY_TRUSTED_HOST_TOOL; policy <= POLICY_EXACT_PATH; policy++) {
            struct binding_request request = request_for(place, argv, system_path);
            request.policy = (enum binding_policy)policy;
            request.roots = roots;
            assert_null_with(binding_resolve(&request, &err), ERR_REFUSED);
            assert_non_null(strstr(err.msg, "set-id"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_program_is_found_hashed_and_run_by_its_descriptor),
        place_test(a_script_runs_as_the_kernel_would_run_it),
        place_test(a_script_from_path_sees_its_path_as_its_name),
        place_test(a_missing_interpreter_is_no_missing_command),
        place_test(a_chain_of_interpreters_has_an_end),
        place_test(what_was_planned_is_what_runs_or_nothing),
        place_test(a_removed_working_directory_names_nothing_relative),
        place_test(a_set_id_program_is_refused_under_every_policy),
    };
    return cmocka_run_group_tests_name("binding/binding", tests, NULL, NULL);
}
