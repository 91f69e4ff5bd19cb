#include "binding-test.h"

static void check(const char *head, size_t n, const char *interpreter, const char *argument)
{
    struct shebang shebang;
    shebang_parse(span_of(head, n), &shebang);
    assert_string_equal(shebang.interpreter, interpreter);
    assert_string_equal(shebang.argument, argument);
}

#define CHECK(literal, interpreter, argument)                                                      \
    check(literal, sizeof literal - 1, interpreter, argument)

static void lines_are_taken_apart_as_the_kernel_does(void **state)
{
    CHECK("#!/bin/sh\n", "/bin/sh", "");
    CHECK("#!/bin/sh", "/bin/sh", "");
    CHECK("#! /bin/sh -e\nrest", "/bin/sh", "-e");
    CHECK("#!\t /bin/sh \t -e  -x \t\nrest", "/bin/sh", "-e  -x"); /* one argument */
    CHECK("#!/bin/sh\r\n", "/bin/sh\r", "");
    CHECK("#!/bin/sh -e\r\n", "/bin/sh", "-e\r");
    CHECK("#!sh\n", "sh", "");
    CHECK("#!/bin/sh\0ignored\n", "/bin/sh", "");
    CHECK("#!/bin/sh a\0b\n", "/bin/sh", "a");
    CHECK("#!\n", "", "");
    CHECK("#! \t\n/bin/sh\n", "", "");
    CHECK("#!", "", "");
    CHECK("#", "", "");
    CHECK("", "", "");
    CHECK(" #!/bin/sh\n", "", "");
    CHECK("\x7f"
          "ELF",
          "", "");
}

/* The kernel sees 256 bytes: a name that may go on beyond them is refused, an argument is cut. */
static void only_the_first_256_bytes_count(void **state)
{
    char head[SHEBANG_BYTES + 44];
    memset(head, 'x', sizeof head);
    memcpy(head, "#!/", 3);
    check(head, sizeof head, "", "");
    check(head, SHEBANG_BYTES, "", "");

    memcpy(head, "#!/i ", 5);
    char argument[SHEBANG_BYTES];
    memset(argument, 'x', sizeof argument);
    argument[SHEBANG_BYTES - 1 - 5] = '\0';
    check(head, sizeof head, "/i", argument);

    memset(head, 'x', sizeof head);
    memcpy(head, "#!/", 3);
    head[SHEBANG_BYTES - 1] = '\n'; /* the last byte that is looked at */
    char name[SHEBANG_BYTES];
    memset(name, 'x', sizeof name);
    name[0] = '/';
    name[SHEBANG_BYTES - 3] = '\0';
    check(head, sizeof head, name, "");
    head[SHEBANG_BYTES - 1] = 'x';
    head[SHEBANG_BYTES] = '\n'; /* one too late */
    check(head, sizeof head, "", "");
}

/* Bytes at the edge of what the kernel reads, compared with the kernel: which of two programs runs. */
static void the_kernel_agrees_about_the_edge(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    for (int length = 245; length <= 262; length++) {
        for (int form = 0; form < 3; form++) {
            /* #!//////...//bin/echo  or  #!/bin/echo xxxx, with and without a newline */
            char text[300];
            memset(text, form == 0 ? '/' : 'x', sizeof text);
            memcpy(text, form == 0 ? "#!" : "#!/bin/echo ", form == 0 ? 2 : 12);
            if (form == 0) {
                memcpy(text + length - 9, "/bin/echo", 9);
            }
            text[length] = '\0';
            if (form == 1) {
                text[length - 1] = '\n';
            }
            put_program(place, "script", text);
            char *const *argv = WORDS("./script", "a");
            struct binding_request request = request_for(place, argv, WORDS("PATH=/bin"));
            char expected[400];
            char seen[400];
            int status = run_it(place, NULL, argv, WORDS("A=b"), expected, sizeof expected);
            with_binding binding = binding_resolve(&request, &err);
            assert_made(binding);
            assert_int_equal(run_it(place, binding, NULL, WORDS("A=b"), seen, sizeof seen), status);
            assert_string_equal(seen, expected);
        }
    }
}

static void env_is_seen_through_only_when_it_is_plain(void **state)
{
    const struct {
        const char *line;
        const char *name;
    } cases[] = {
        {"#!/usr/bin/env python3\n", "python3"},
        {"#!/bin/env  sh \n", "sh"},
        {"#!/usr/bin/env ./tool\n", "./tool"},
        {"#!/usr/bin/env -S sh -e\n", NULL},
        {"#!/usr/bin/env -i\n", NULL},
        {"#!/usr/bin/env A=b sh\n", NULL},
        {"#!/usr/bin/env sh -e\n", NULL}, /* one argument "sh -e": no such program */
        {"#!/usr/bin/env\n", NULL},
        {"#!env sh\n", NULL},
        {"#!/opt/env sh\n", NULL},
        {"#!/usr/bin/envx sh\n", NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct shebang shebang;
        shebang_parse(span_of_string(cases[i].line), &shebang);
        const char *name = shebang_env_name(&shebang);
        if (cases[i].name) {
            assert_non_null(name);
            assert_string_equal(name, cases[i].name);
        } else {
            assert_null(name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_taken_apart_as_the_kernel_does),
        cmocka_unit_test(only_the_first_256_bytes_count),
        place_test(the_kernel_agrees_about_the_edge),
        cmocka_unit_test(env_is_seen_through_only_when_it_is_plain),
    };
    return cmocka_run_group_tests_name("binding/shebang", tests, NULL, NULL);
}
