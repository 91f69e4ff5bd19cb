#include "../unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "run-priv.h"

static struct run_request request_of(char *const *argv)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const environment[] = {path, NULL};
    struct run_request request = run_request_plain();
    request.argv = argv;
    request.environment = environment;
    return request;
}

static bool failed_with(const struct preparation *preparation, const char *code)
{
    for (size_t i = 0; i < preparation->checks.count; i++) {
        if (!preparation->checks.list[i].ok &&
            strcmp(preparation->checks.list[i].code, code) == 0) {
            return true;
        }
    }
    return false;
}

static void an_ordinary_run_has_nothing_in_its_way(void **state)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    struct run_request request = request_of(argv);
    with_preparation preparation = {0};
    prepare(&request, &preparation);
    assert_true(checks_ok(&preparation.checks));
    assert_non_null(preparation.binding);
    assert_true(preparation.envelope_known);
}

/* CT-3: every reason is collected, not the first alone; nothing was started. */
static void all_refusals_are_collected(void **state)
{
    char *const argv[] = {(char[]){"no-such-program-anywhere"}, NULL};
    struct run_request request = request_of(argv);
    request.stdin_mode = RUN_STDIN_FILE;
    request.stdin_path = "/nonexistent/input";
    request.memory_bytes = INT64_C(1) << 50;
    request.require = 1u << GUARANTEE_NETWORK;
    strvec_push(&request.overrides, "LD_PRELOAD=/x.so");
    with_preparation preparation = {0};
    prepare(&request, &preparation);
    strvec_done(&request.overrides);
    assert_true(failed_with(&preparation, "preflight.executable"));
    assert_true(failed_with(&preparation, "preflight.stdin"));
    assert_true(failed_with(&preparation, "preflight.memory"));
    assert_true(failed_with(&preparation, "preflight.guarantee.network"));
    assert_true(failed_with(&preparation, "preflight.environment"));
}

/* CT-3 */
static void a_command_that_cannot_be_bound_is_refused_with_a_remedy(void **state)
{
    static const struct {
        const char *name;
        const char *remedy;
    } rows[] = {
        {"no-such-program", "PATH"},
        {"/no/such/program", "PATH"},
        {"/etc/passwd", "make it executable"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        with_string name = memory_copy_string(rows[i].name);
        char *const argv[] = {name, NULL};
        struct run_request request = request_of(argv);
        with_preparation preparation = {0};
        prepare(&request, &preparation);
        const struct check *failed = checks_first_failed(&preparation.checks);
        assert_string_equal(failed->code, "preflight.executable");
        assert_non_null(strstr(failed->remedy, rows[i].remedy));
    }
}

/* I7: a working folder that was removed is refused, not used. */
static void a_removed_working_folder_is_refused(void **state)
{
    char folder[] = "/tmp/berm-prepare-XXXXXX";
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(rmdir(folder), 0);
    char *const argv[] = {(char[]){"true"}, NULL};
    struct run_request request = request_of(argv);
    with_preparation preparation = {0};
    prepare(&request, &preparation);
    assert_int_equal(chdir(before), 0);
    assert_true(failed_with(&preparation, "preflight.cwd"));
}

/* EX-5: cwd must lie in one of the working roots, by its physical name. */
static void a_working_folder_outside_the_roots_is_refused(void **state)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    char *const roots[] = {(char[]){"/usr/bin"}, (char[]){"/tmp"}, NULL};
    struct run_request request = request_of(argv);
    request.roots = roots;
    request.cwd = "/usr/bin/..";
    with_preparation outside = {0};
    prepare(&request, &outside);
    assert_true(failed_with(&outside, "preflight.cwd"));
    request.cwd = "/tmp/.";
    with_preparation inside = {0};
    prepare(&request, &inside);
    assert_false(failed_with(&inside, "preflight.cwd"));
    assert_string_equal(inside.cwd_path, "/tmp");
}

/* A FIFO without a writer as standard input must not hold berm up. */
static void a_fifo_as_input_does_not_block(void **state)
{
    char folder[] = "/tmp/berm-prepare-XXXXXX";
    assert_non_null(mkdtemp(folder));
    with_buf path = buf_new(100);
    buf_add_format(&path, "%s/fifo", folder);
    assert_int_equal(mkfifo(buf_string(&path), 0600), 0);
    char *const argv[] = {(char[]){"true"}, NULL};
    struct run_request request = request_of(argv);
    request.stdin_mode = RUN_STDIN_FILE;
    request.stdin_path = buf_string(&path);
    with_preparation preparation = {0};
    prepare(&request, &preparation);
    assert_true(checks_ok(&preparation.checks));
    unlink(buf_string(&path));
    rmdir(folder);
}

/* SB-8: of declared work only. */
static void the_sandbox_of_declared_work_bars_links(void **state)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    struct run_request request = request_of(argv);
    char *const roots[] = {(char[]){"/usr"}, NULL};
    request.sandbox = true;
    request.cwd = "/usr";
    request.roots = roots;
    request.user = geteuid() == 0 ? "65534:65534" : NULL;
    for (int declared = 0; declared < 2; declared++) {
        with_preparation preparation = {0};
        request.authority = declared ? AUTHORITY_DECLARED : AUTHORITY_PERSON;
        prepare(&request, &preparation);
        assert_non_null(preparation.sandbox);
        assert_int_equal(sandbox_bars_links(preparation.sandbox), declared);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sandbox_of_declared_work_bars_links),
        cmocka_unit_test(an_ordinary_run_has_nothing_in_its_way),
        cmocka_unit_test(all_refusals_are_collected),
        cmocka_unit_test(a_command_that_cannot_be_bound_is_refused_with_a_remedy),
        cmocka_unit_test(a_removed_working_folder_is_refused),
        cmocka_unit_test(a_working_folder_outside_the_roots_is_refused),
        cmocka_unit_test(a_fifo_as_input_does_not_block),
    };
    return cmocka_run_group_tests_name("run/prepare", tests, NULL, NULL);
}
