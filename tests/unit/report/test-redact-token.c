#include "../unit.h"

#include <stdio.h>

#include "redact-priv.h"

static size_t token_in(const char *text)
{
    return redact_token(span_of_string(text));
}

static void shapes_of_tokens(void **state)
{
    static const char *const tokens[] = {
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdef",
        "gho_0123456789abcdef",
        "ghu_0123456789abcdef",
        "ghs_0123456789abcdef",
        "ghr_0123456789abcdef",
        "github_pat_0123456789abcdef",
        "glpat-0123456789abcdef",
        "gldt-0123456789abcdef",
        "xoxb-0123456789",
        "xoxp-0123456789",
        "xoxa-0123456789",
        "xoxs-0123456789",
        "xapp-0123456789",
        "sk-0123456789abcdefghij",
        "sk-ant-api03-0123456789abc",
        "sk_live_0123456789abcdef",
        "sk_test_0123456789abcdef",
        "rk_live_0123456789abcdef",
        "AIza0123456789abcdefghijklmnopqrst",
        "ya29.0123456789abcdefghij",
        "npm_0123456789abcdefghijklmnopqrst",
        "pypi-0123456789abcdefghijklmnopqrstuvwxyz0123",
        "hf_0123456789abcdefghijklmnopqrst",
        "dckr_pat_0123456789abcdef",
        "SG.0123456789abcdefghij.0123456789abcdefghij",
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln",
        "AGE-SECRET-KEY-10123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123",
        "hvs.0123456789abcdefghij",
        "dop_v1_0123456789abcdefghijklmnopqrstuvwxyz0123",
    };
    for (size_t i = 0; i < countof(tokens); i++) {
        assert_int_equal(token_in(tokens[i]), strlen(tokens[i]));
        char shorter[64];
        snprintf(shorter, sizeof shorter, "%.*s", (int)(strlen(tokens[i]) / 2), tokens[i]);
        assert_int_equal(token_in(shorter), 0);
        char followed[96];
        snprintf(followed, sizeof followed, "%s, and", tokens[i]);
        assert_int_equal(token_in(followed), strlen(tokens[i]));
    }
}

static void words_that_begin_alike(void **state)
{
    static const char *const words[] = {"",        "A",
                                        "AKIA",    "sk-learn-is-a-fine-library",
                                        "sk",      "ghp",
                                        "ghp_",    "eyJust-a-very-long-word",
                                        "hf_",     "npm_config_registry_is_a_long_variable",
                                        "Skeleton"};
    for (size_t i = 0; i < countof(words); i++) {
        assert_int_equal(token_in(words[i]), 0);
    }
}

#define BEGIN "-----BEGIN RSA PRIVATE KEY-----"
#define END   "-----END RSA PRIVATE KEY-----"

static size_t key_in(const char *text)
{
    bool no_end = false;
    return redact_private_key(span_of_string(text), &no_end);
}

static void private_keys(void **state)
{
    assert_int_equal(key_in(BEGIN "\nab\n" END "\nafter"), strlen(BEGIN "\nab\n" END));
    assert_int_equal(key_in("-----BEGIN PRIVATE KEY-----"), strlen("-----BEGIN PRIVATE KEY-----"));
    assert_int_equal(key_in("-----BEGIN CERTIFICATE-----\nab"), 0);
    assert_int_equal(key_in("-----BEGIN PUBLIC KEY-----"), 0);
    assert_int_equal(key_in("-----BEGIN X PRIVATE KEY---"), 0);
    assert_int_equal(key_in("-----BEGIN"), 0);
    assert_int_equal(key_in(""), 0);
    /* Without its end: the lines that still look like it, whole ones only. */
    assert_int_equal(key_in(BEGIN "\nMIIE/+=\nab12\ntoken: x"), strlen(BEGIN "\nMIIE/+=\nab12"));
    assert_int_equal(key_in(BEGIN "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\nMIIE\n- x"),
                     strlen(BEGIN "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\nMIIE"));
    assert_int_equal(key_in(BEGIN "\\nMIIE\\n\" x"), strlen(BEGIN "\\nMIIE\\n"));
    /* The end of another thing is none. */
    assert_int_equal(key_in(BEGIN "\nab\n-----END CERTIFICATE-----"), strlen(BEGIN "\nab"));
}

static void the_end_is_looked_for_in_vain_once(void **state)
{
    bool no_end = false;
    assert_int_equal(redact_private_key(span_of_string(BEGIN "\nab"), &no_end),
                     strlen(BEGIN "\nab"));
    assert_true(no_end);
    /* It believes what it was told. */
    assert_int_equal(redact_private_key(span_of_string(BEGIN "\nab\n" END), &no_end),
                     strlen(BEGIN "\nab"));
}

static size_t rest_in(const char *text)
{
    return redact_private_key_rest(span_of_string(text));
}

/* O5: a key whose beginning lies before the window. */
static void the_rest_of_a_key(void **state)
{
    assert_int_equal(rest_in("ab\ncd\n" END "\nafter"), strlen("ab\ncd\n" END));
    assert_int_equal(rest_in("ab\n" BEGIN "\ncd\n" END), 0);
    assert_int_equal(rest_in("-----BEGIN CERTIFICATE-----\n" END),
                     strlen("-----BEGIN CERTIFICATE-----\n" END));
    assert_int_equal(rest_in("ab"), 0);
    assert_int_equal(rest_in(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_tokens),  cmocka_unit_test(words_that_begin_alike),
        cmocka_unit_test(private_keys),      cmocka_unit_test(the_end_is_looked_for_in_vain_once),
        cmocka_unit_test(the_rest_of_a_key),
    };
    return cmocka_run_group_tests_name("report/redact-token", tests, NULL, NULL);
}
