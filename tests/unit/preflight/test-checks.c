#include "../unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks.h"
#include "memory.h"

static void collects_all_and_says_the_first_that_failed(void **state)
{
    with_checks checks = {0};
    assert_true(checks_ok(&checks));
    checks_add_take(&checks, "preflight.a", true, memory_copy_string("a"), memory_copy_string("b"),
                    memory_copy_string(""));
    assert_true(checks_ok(&checks));
    checks_add_take(&checks, "preflight.b", false, memory_copy_string("bad \xFF"),
                    memory_copy_string("seen"), memory_copy_string("do this"));
    checks_add_take(&checks, "preflight.c", false, memory_copy_string("c"), memory_copy_string("d"),
                    memory_copy_string("do that"));
    assert_string_equal(checks_first_failed(&checks)->code, "preflight.b");
    with_json json = checks_to_json(&checks);
    assert_int_equal(json_array_size(json), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 1), "what")),
                        "bad \xEF\xBF\xBD");
}

/* How a child ended that added such a check; 0 when it could. */
static int ends_with(bool ok, const char *remedy)
{
    pid_t child = fork();
    if (child == 0) {
        with_checks checks = {0};
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO); /* the last words of BUG() are expected */
        checks_add_take(&checks, "preflight.a", ok, memory_copy_string("a"), memory_copy_string(""),
                        memory_copy_string(remedy));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* CT-3: whoever is refused is told what would help. */
static void a_refusal_without_a_remedy_is_a_bug(void **state)
{
    assert_int_equal(ends_with(true, ""), 0);
    assert_int_equal(ends_with(false, "do this"), 0);
    assert_int_equal(ends_with(false, ""), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_all_and_says_the_first_that_failed),
        cmocka_unit_test(a_refusal_without_a_remedy_is_a_bug),
    };
    return cmocka_run_group_tests_name("preflight/checks", tests, NULL, NULL);
}
