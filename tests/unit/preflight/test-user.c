#include "../unit.h"

#include <stdio.h>

#include "user.h"

#define ENVIRONMENT(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
                             "toor:x:0:0::/root:/bin/sh\n"
                             "+::0:0:::\n"
                             "odd line\n"
                             "half:x:12\n"
                             "big:x:4294967295:5:::\n"
                             "kim:x:1000:100:Kim:/home/kim:/bin/sh\n"
                             "1000:x:1001:101:a name of digits:/:/bin/sh\n"
                             "late:x:1002:0:no newline at the end";

/* SB: a payload is never root, by whatever name. */
static void accounts_are_found_and_root_is_refused(void **state)
{
    static const struct {
        const char *name;
        enum err_code code;
        unsigned uid;
        unsigned gid;
        const char *account;
    } cases[] = {
        {"kim", ERR_NONE, 1000, 100, "kim"},
        {"1000", ERR_NONE, 1001, 101, "1000"}, /* a name before a number */
        {"1001", ERR_NONE, 1001, 101, "1000"},
        {"late", ERR_NONE, 1002, 0, "late"},
        {"1000:7", ERR_NONE, 1000, 7, ""},
        {"77:88", ERR_NONE, 77, 88, ""},
        {"root", ERR_REFUSED, 0, 0, NULL},
        {"toor", ERR_REFUSED, 0, 0, NULL},
        {"0", ERR_REFUSED, 0, 0, NULL},
        {"00", ERR_REFUSED, 0, 0, NULL},
        {"0:5", ERR_REFUSED, 0, 0, NULL},
        {"nobody-here", ERR_NOT_FOUND, 0, 0, NULL},
        {"77", ERR_NOT_FOUND, 0, 0, NULL},
        {"half", ERR_NOT_FOUND, 0, 0, NULL},
        {"big", ERR_NOT_FOUND, 0, 0, NULL},
        {"4294967295:1", ERR_USAGE, 0, 0, NULL},
        {"4294967296:1", ERR_USAGE, 0, 0, NULL},
        {"-1:1", ERR_USAGE, 0, 0, NULL},
        {"1:", ERR_USAGE, 0, 0, NULL},
        {"1:2:3", ERR_USAGE, 0, 0, NULL},
        {"kim:100", ERR_USAGE, 0, 0, NULL},
        {"", ERR_USAGE, 0, 0, NULL},
        {"/etc", ERR_USAGE, 0, 0, NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct user user = {0};
        struct err err = {0};
        int result = user_find(span_of_string(passwd), cases[i].name, &user, &err);
        if (err.code != cases[i].code || result != (cases[i].code ? -1 : 0)) {
            fail_msg("'%s': %d, code %d: %s", cases[i].name, result, (int)err.code, err.msg);
        }
        if (result == 0) {
            assert_int_equal(user.uid, cases[i].uid);
            assert_int_equal(user.gid, cases[i].gid);
            assert_string_equal(user.name, cases[i].account);
        }
    }
}

static void the_person_behind_sudo(void **state)
{
    struct user user = {0};
    struct err err = {0};
    assert_int_equal(
        user_resolve(NULL, ENVIRONMENT("SUDO_UID=71234", "SUDO_GID=71235"), &user, &err), 0);
    assert_int_equal(user.uid, 71234);
    assert_int_equal(user.gid, 71235);
    const struct {
        char *const *environment;
        enum err_code code;
    } bad[] = {
        {ENVIRONMENT("HOME=/"), ERR_UNAVAILABLE},
        {ENVIRONMENT("SUDO_UID=0", "SUDO_GID=0"), ERR_REFUSED},
        {ENVIRONMENT("SUDO_UID=1000"), ERR_USAGE},
        {ENVIRONMENT("SUDO_UID=1000", "SUDO_GID="), ERR_USAGE},
        {ENVIRONMENT("SUDO_UID=1000:5", "SUDO_GID=5"), ERR_USAGE},
        {ENVIRONMENT("SUDO_UID=kim", "SUDO_GID=5"), ERR_USAGE},
    };
    for (size_t i = 0; i < countof(bad); i++) {
        err = (struct err){0};
        assert_int_equal(user_resolve(NULL, bad[i].environment, &user, &err), -1);
        assert_int_equal(err.code, bad[i].code);
    }
}

static void this_host_has_a_root_and_it_is_refused(void **state)
{
    struct user user = {0};
    struct err err = {0};
    assert_int_equal(user_resolve("root", ENVIRONMENT("A=B"), &user, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, "--user"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_found_and_root_is_refused),
        cmocka_unit_test(the_person_behind_sudo),
        cmocka_unit_test(this_host_has_a_root_and_it_is_refused),
    };
    return cmocka_run_group_tests_name("preflight/user", tests, NULL, NULL);
}
