#include "../unit.h"

#include "../files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

static char top[] = "/tmp/berm-config-XXXXXX";

static int make_tree(void **state)
{
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    write_file("run", "#!/bin/sh\n", 0700);
    write_file("bad", "#!/bin/sh\ndocker ps\n", 0700);
    return 0;
}

static int remove_tree(void **state)
{
    assert_int_equal(unlink("run"), 0);
    assert_int_equal(unlink("bad"), 0);
    (void)unlink("berm.yaml");
    assert_int_equal(chdir("/"), 0);
    return rmdir(top);
}

static const char *text_of(const json_t *list, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(list, i), key));
}

/* EP-1, SB-3, SB-6: what is declared is shown with its authority, and what would be refused with its rule. */
static void declarations_are_shown_and_judged(void **state)
{
    struct err err = {0};
    with_json nothing = run_config(top, &err);
    assert_true(json_is_null(json_object_get(nothing, "file")));
    write_file("berm.yaml",
               "schema: 1\nrequire: [memory]\n"
               "entrypoint:\n  good: { argv: [run], network: required, network_reason: why }\n"
               "  bad: { argv: [bad], scratch: out, scratch_reason: because }\n"
               "workload:\n  w: { argv: [sh, run] }\n"
               "daemon:\n  d: { exec: none, socket: s, lock: l }\n",
               0600);
    with_json config = run_config(top, &err);
    const json_t *entrypoints = json_object_get(config, "entrypoints");
    assert_string_equal(text_of(entrypoints, 0, "network"), "required");
    assert_string_equal(text_of(entrypoints, 0, "network_reason"), "why");
    assert_string_equal(text_of(entrypoints, 1, "network"), "isolated");
    assert_string_equal(text_of(entrypoints, 1, "scratch"), "out");
    const json_t *refused = json_object_get(json_array_get(entrypoints, 1), "refused");
    assert_string_equal(json_string_value(json_object_get(refused, "rule")), "external-daemon");
    assert_string_equal(json_string_value(json_object_get(refused, "where")), "bad:2");
    const json_t *daemon = json_array_get(json_object_get(config, "daemons"), 0);
    refused = json_object_get(daemon, "refused");
    assert_string_equal(json_string_value(json_object_get(refused, "rule")), "outside");
    assert_int_equal(json_integer_value(json_object_get(config, "refusals")), 2);

    static char run[] = "run";
    char *const good[] = {run, NULL};
    char *const more[] = {run, run, NULL};
    with_json yes = run_config_check(top, good, &err);
    assert_string_equal(json_string_value(json_object_get(yes, "entrypoint")), "good");
    assert_string_equal(json_string_value(json_object_get(yes, "network")), "required");
    assert_true(json_is_null(json_object_get(yes, "refused")));
    with_json no = run_config_check(top, more, &err);
    refused = json_object_get(no, "refused");
    assert_string_equal(json_string_value(json_object_get(refused, "rule")), "undeclared");
}

static void a_wrong_file_is_an_error(void **state)
{
    struct err err = {0};
    write_file("berm.yaml", "schema: 1\nx: 1\n", 0600);
    assert_null(run_config(top, &err));
    assert_non_null(strstr(err.msg, "berm.yaml:2:1: there is no key 'x'"));
    assert_null(run_config("/nonexistent", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_are_shown_and_judged),
        cmocka_unit_test(a_wrong_file_is_an_error),
    };
    return cmocka_run_group_tests_name("run/config", tests, make_tree, remove_tree);
}
