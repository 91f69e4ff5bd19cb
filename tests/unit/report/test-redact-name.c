#include "../unit.h"

#include "redact-priv.h"

static bool is_credential(const char *name)
{
    return redact_is_credential(span_of_string(name));
}

/* RP-5: what a value is hidden behind. */
static void names_of_credentials(void **state)
{
    static const char *const names[] = {
        "password",
        "PASSWORD",
        "db.password",
        "DB_PASSWORD_2",
        "old-password-old",
        "userPassword",
        "token",
        "GITHUB_TOKEN",
        "accessToken",
        "x-auth-token",
        "secret",
        "client_secret",
        "clientSecret",
        "secret_key_base",
        "api_key",
        "apiKey",
        "API-KEY",
        "x-api-key",
        "aws_secret_access_key",
        "private.key",
        "authorization",
        "Proxy-Authorization",
        "auth",
        "basic_auth",
        "cookie",
        "Set-Cookie",
        "PHPSESSID",
        "jwt",
        "credential",
        "credentials",
        "X-Amz-Signature",
        "DB_PASS",
        "db.pwd",
        "--pass",
        "-pw",
        "--db-pass",
        "passphrase",
        "token_value",
        "licenseKey",
    };
    for (size_t i = 0; i < countof(names); i++) {
        if (!is_credential(names[i])) {
            fail_msg("'%s' is not seen", names[i]);
        }
    }
}

static void names_of_other_things(void **state)
{
    static const char *const names[] = {
        "",
        "-",
        "a",
        "pass",
        "PASS",
        "PWD",
        "OLDPWD",
        "bypass",
        "first-pass",
        "compass",
        "key",
        "KEY",
        "monkey",
        "tokens",
        "max_tokens",
        "--max-tokens",
        "tokenizer",
        "token_file",
        "--token-file",
        "password-stdin",
        "passwordless",
        "secretary",
        "author",
        "authority",
        "cookies_accepted",
        "path",
        "user",
        "host",
        "public_key",
        "keyboard",
        "hash",
        "value",
    };
    for (size_t i = 0; i < countof(names); i++) {
        if (is_credential(names[i])) {
            fail_msg("'%s' is taken for a credential's", names[i]);
        }
    }
}

static void only_the_end_of_a_long_name_counts(void **state)
{
    char name[5000];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - 6, "_token", 6);
    assert_true(redact_is_credential(span_of(name, sizeof name)));
    memset(name, '_', sizeof name);
    assert_false(redact_is_credential(span_of(name, sizeof name)));
}

static void headers(void **state)
{
    assert_true(redact_is_header(span_of_string("Authorization")));
    assert_true(redact_is_header(span_of_string("-HProxy-Authorization")));
    assert_true(redact_is_header(span_of_string("set-cookie")));
    assert_false(redact_is_header(span_of_string("X-Api-Key")));
    assert_false(redact_is_header(span_of_string("")));
}

static enum flag_form form_of(const char *program, const char *text, size_t *ret_flag,
                              bool *ret_colon)
{
    return redact_program_flag(redact_programs(span_of_string(program)), span_of_string(text),
                               ret_flag, ret_colon);
}

static void flags_of_programs(void **state)
{
    size_t flag;
    bool colon;
    assert_int_equal(form_of("mysql", "-psecret", &flag, &colon), FLAG_ATTACHED);
    assert_int_equal(flag, 2);
    assert_false(colon);
    assert_int_equal(form_of("MYSQL", "-p", &flag, &colon), FLAG_NONE); /* asks for it */
    assert_int_equal(form_of("sshpass", "-p secret", &flag, &colon), FLAG_SEPARATE);
    assert_int_equal(form_of("curl", "-ujoe:x", &flag, &colon), FLAG_ATTACHED);
    assert_true(colon);
    assert_int_equal(form_of("curl", "--user", &flag, &colon), FLAG_SEPARATE);
    assert_int_equal(form_of("curl", "--user=joe:x", &flag, &colon), FLAG_ATTACHED);
    assert_int_equal(form_of("curl", "--user-agent x", &flag, &colon), FLAG_NONE);
    assert_int_equal(form_of("make", "-p", &flag, &colon), FLAG_NONE);
    assert_int_equal(form_of("", "-p", &flag, &colon), FLAG_NONE);
    assert_int_equal(redact_programs(span_of_string("cur")), 0);
    assert_int_equal(redact_programs(span_of_string("curls")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_credentials),
        cmocka_unit_test(names_of_other_things),
        cmocka_unit_test(only_the_end_of_a_long_name_counts),
        cmocka_unit_test(headers),
        cmocka_unit_test(flags_of_programs),
    };
    return cmocka_run_group_tests_name("report/redact-name", tests, NULL, NULL);
}
