#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "environment.h"
#include "memory.h"

#define ENTRIES(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

static int build(char *const *inherited, char *const *overrides, bool pass_all,
                 struct environment *environment, struct err *err)
{
    with_strvec asked = {0};
    strvec_push_all(&asked, overrides);
    struct environment_request request = {
        .inherited = inherited, .overrides = overrides ? &asked : NULL, .pass_all = pass_all};
    return environment_build(&request, environment, err);
}

static void assert_child(const struct environment *environment, char *const *expected)
{
    char *const *envp = environment_envp(environment);
    for (; *expected; expected++, envp++) {
        assert_non_null(*envp);
        assert_string_equal(*envp, *expected);
    }
    assert_null(*envp);
}

static void assert_held(const struct environment *environment, const char *name,
                        enum held_reason reason)
{
    for (size_t i = 0; i < environment->held_names.count; i++) {
        if (strcmp(environment->held_names.strings[i], name) == 0) {
            assert_int_equal(environment->held_reasons[i], reason);
            return;
        }
    }
    fail_msg("%s is not among the names that were held back", name);
}

#define assert_built(call)                                                                         \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            fail_msg("%s", err.msg);                                                               \
        }                                                                                          \
    } while (0)

/* EV-1 */
static void only_listed_names_are_passed_and_the_others_reported(void **state)
{
    struct err err = {0};
    with_environment environment = {0};
    assert_built(build(ENTRIES("TERM=x", "LD_PRELOAD=evil.so", "PATH=/bin", "GITHUB_TOKEN=t",
                               "FOO=1", "CFLAGS=-O2 -DA=b", "LC_ALL=C", "EMPTY=", "TZ=",
                               "LD_FLAGS=-s", "GIT_TOKEN_FLAGS=1", "SECRET_FLAGS=1"),
                       NULL, false, &environment, &err));
    assert_child(&environment,
                 ENTRIES("CFLAGS=-O2 -DA=b", "LC_ALL=C", "PATH=/bin", "TERM=x", "TZ="));
    assert_int_equal(environment.held_names.count, 7);
    assert_held(&environment, "LD_PRELOAD", HELD_REFUSED);
    assert_held(&environment, "LD_FLAGS", HELD_REFUSED); /* EV-2: although *FLAGS would admit it */
    assert_held(&environment, "GIT_TOKEN_FLAGS", HELD_REFUSED);
    assert_held(&environment, "GITHUB_TOKEN", HELD_CREDENTIAL);
    assert_held(&environment, "SECRET_FLAGS", HELD_CREDENTIAL);
    assert_held(&environment, "FOO", HELD_NOT_LISTED);
    assert_held(&environment, "EMPTY", HELD_NOT_LISTED);
    for (size_t i = 1; i < environment.held_names.count; i++) {
        assert_true(
            strcmp(environment.held_names.strings[i - 1], environment.held_names.strings[i]) < 0);
    }
}

/* EV-2, I4: even then */
static void pass_all_passes_everything_that_is_not_refused(void **state)
{
    struct err err = {0};
    with_environment environment = {0};
    assert_built(build(ENTRIES("FOO=1", "GITHUB_TOKEN=t", "BASH_FUNC_ls%%=() { evil; }", "ENV=x",
                               "NODE_OPTIONS=--require x", "GIT_CONFIG_NOSYSTEM=1",
                               "GIT_CONFIG_GLOBAL=/tmp/x", "PYTHONHASHSEED=0", "PYTHONPATH=/x"),
                       NULL, true, &environment, &err));
    assert_child(&environment,
                 ENTRIES("FOO=1", "GITHUB_TOKEN=t", "GIT_CONFIG_NOSYSTEM=1", "PYTHONHASHSEED=0"));
    assert_int_equal(environment.held_names.count, 5);
    for (size_t i = 0; i < environment.held_names.count; i++) {
        assert_int_equal(environment.held_reasons[i], HELD_REFUSED);
    }
}

static void overrides_add_replace_and_ask_by_name(void **state)
{
    struct err err = {0};
    with_environment environment = {0};
    assert_built(build(ENTRIES("PATH=/bin", "FOO=mine", "API_KEY=k", "BAR=b"),
                       ENTRIES("PATH=/opt/bin", "FOO", "API_KEY", "NEW=n=1", "MISSING", "LAST=1",
                               "LAST=2", "BAR=", "GIT_CONFIG_GLOBAL=/dev/null"),
                       false, &environment, &err));
    assert_child(&environment,
                 ENTRIES("API_KEY=k", "BAR=", "FOO=mine", "GIT_CONFIG_GLOBAL=/dev/null", "LAST=2",
                         "NEW=n=1", "PATH=/opt/bin"));
    assert_int_equal(environment.held_names.count, 0);
}

/* EV-2: what is dropped when it is inherited is an error when it is asked for. */
static void asking_for_what_is_refused_is_an_error_by_name(void **state)
{
    static const char *const overrides[] = {
        "LD_PRELOAD=x", "LD_PRELOAD",        "PYTHONPATH=.", "GIT_CONFIG_GLOBAL=/tmp/c",
        "BASH_ENV=",    "GIT_CONFIG_GLOBAL", "ld_preload=x",
    };
    for (size_t i = 0; i < countof(overrides); i++) {
        struct err err = {0};
        struct environment environment = {0};
        assert_int_equal(build(ENTRIES("LD_PRELOAD=y", "GIT_CONFIG_GLOBAL=/tmp/other"),
                               ENTRIES("A=b", overrides[i]), false, &environment, &err),
                         -1);
        assert_int_equal(err.code, ERR_REFUSED);
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(overrides[i], "="), overrides[i]);
        assert_non_null(strstr(err.msg, name));
        assert_int_equal(environment.child.count, 0);
    }
}

static void a_name_that_is_none_is_a_usage_error(void **state)
{
    static const char *const overrides[] = {"",      "=",         "=x",     "A B=c",
                                            "A\n=c", "\x1b[0m=x", "\xff=1", " "};
    for (size_t i = 0; i < countof(overrides); i++) {
        struct err err = {0};
        struct environment environment = {0};
        assert_int_equal(build(ENTRIES("A=b"), ENTRIES(overrides[i]), false, &environment, &err),
                         -1);
        assert_int_equal(err.code, ERR_USAGE);
    }
}

/* execve(2) takes any strings for an environment. */
static void an_ill_formed_environment_breaks_nothing(void **state)
{
    struct err err = {0};
    with_environment environment = {0};
    assert_built(build(ENTRIES("", "=", "=x", "no equals sign", "PATH=/first", "PATH=/second",
                               "PATH", "A\xff\n=\xfe", "==", "CC=a=b=c"),
                       NULL, false, &environment, &err));
    assert_child(&environment, ENTRIES("CC=a=b=c", "PATH=/first")); /* as getenv(3) finds it */
    assert_int_equal(environment.held_names.count, 1);
    assert_held(&environment, "A\xff\n", HELD_NOT_LISTED);

    with_environment all = {0};
    assert_built(build(ENTRIES("", "=x", "odd", "X=1", "X=2"), NULL, true, &all, &err));
    assert_child(&all, ENTRIES("X=1"));
    with_environment asked = {0};
    assert_built(build(ENTRIES("X=1", "X=2", "X"), ENTRIES("X"), false, &asked, &err));
    assert_child(&asked, ENTRIES("X=1"));
    with_environment none = {0};
    assert_built(build(NULL, NULL, false, &none, &err));
    assert_null(environment_envp(&none)[0]);
}

/* By name: an underscore sorts behind '=', a digit before it. */
static void the_child_is_sorted_by_name(void **state)
{
    struct err err = {0};
    with_environment environment = {0};
    assert_built(
        build(ENTRIES("A_B=1", "A=1", "A1=1", "AB=1", "a=1"), NULL, true, &environment, &err));
    assert_child(&environment, ENTRIES("A=1", "A1=1", "AB=1", "A_B=1", "a=1"));
}

static void a_huge_environment_takes_no_huge_time(void **state)
{
    struct err err = {0};
    enum { COUNT = 50000 };
    char **entries = calloc(COUNT + 1, sizeof *entries);
    for (int i = 0; i < COUNT; i++) {
        entries[i] = memory_format("V%d=%d", (i * 7919) % COUNT, i);
    }
    with_environment environment = {0};
    assert_built(build(entries, NULL, true, &environment, &err));
    assert_int_equal(environment.child.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        memory_free(entries[i]);
    }
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_listed_names_are_passed_and_the_others_reported),
        cmocka_unit_test(pass_all_passes_everything_that_is_not_refused),
        cmocka_unit_test(overrides_add_replace_and_ask_by_name),
        cmocka_unit_test(asking_for_what_is_refused_is_an_error_by_name),
        cmocka_unit_test(a_name_that_is_none_is_a_usage_error),
        cmocka_unit_test(an_ill_formed_environment_breaks_nothing),
        cmocka_unit_test(the_child_is_sorted_by_name),
        cmocka_unit_test(a_huge_environment_takes_no_huge_time),
    };
    return cmocka_run_group_tests_name("binding/environment", tests, NULL, NULL);
}
