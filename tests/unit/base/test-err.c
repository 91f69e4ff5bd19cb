#include "../unit.h"

#include <errno.h>

#include "err.h"

static void fills_and_returns_minus_one(void **state)
{
    struct err err = {0};
    assert_int_equal(err_set(&err, ERR_RANGE, "'%s' is above %d", "--tasks", 7), -1);
    assert_int_equal(err.code, ERR_RANGE);
    assert_string_equal(err.msg, "'--tasks' is above 7");
    assert_int_equal(err_set(NULL, ERR_RANGE, "x"), -1);
}

static void names_the_errno_of_either_sign(void **state)
{
    struct err err = {0};
    err_sys(&err, -ENOENT, "open '%s'", "x");
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.msg, "open 'x': No such file or directory (ENOENT)");
    err_sys(&err, ENOENT, "open '%s'", "x");
    assert_int_equal(err.sys, ENOENT);
}

static void wraps_keep_the_code(void **state)
{
    struct err err = {0};
    err_sys(&err, EIO, "read");
    err_wrap(&err, "slot '%s'", "r.json");
    assert_int_equal(err.code, ERR_SYS);
    assert_string_equal(err.msg, "slot 'r.json': read: Input/output error (EIO)");
}

static void a_cut_message_says_so(void **state)
{
    struct err err = {0};
    char text[2000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, ERR_USAGE, "%s", text);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
    err_wrap(&err, "context");
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
    err_sys(&err, EIO, "%s", text);
    assert_string_equal(err.msg + sizeof err.msg - 4, "...");
}

static void every_code_has_a_family(void **state)
{
    for (int code = 0; code < ERR_CODE_COUNT; code++) {
        assert_string_not_equal(err_code_family((enum err_code)code), "unknown");
    }
    assert_string_equal(err_code_family((enum err_code)999), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_and_returns_minus_one),
        cmocka_unit_test(names_the_errno_of_either_sign),
        cmocka_unit_test(wraps_keep_the_code),
        cmocka_unit_test(a_cut_message_says_so),
        cmocka_unit_test(every_code_has_a_family),
    };
    return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}
