#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory.h"
#include "redact-priv.h"
#include "redact.h"
#include "strvec.h"
#include "text.h"

/* R59, RP-5: every form is proved by the pairs of docs/redaction.md, so that the page is true. */

static char *redacted(struct span in)
{
    with_buf out = buf_new(4 * in.n + 64);
    redact_text(in, &out);
    assert_true(buf_fits(&out)); /* never longer than documented */
    if (redact_leaves(in)) {     /* a quick look does not pass over what would be hidden */
        assert_int_equal(buf_length(&out), in.n);
        assert_memory_equal(buf_string(&out), in.p, in.n);
    }
    return memory_copy_string(buf_string(&out));
}

static char *read_page(void)
{
    FILE *file = fopen("../../docs/redaction.md", "re");
    assert_non_null(file);
    char *text = memory_new(1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 1000);
    fclose(file);
    return text;
}

/* The mark of a line's end becomes one. */
static char *with_line_ends(const char *line)
{
    with_buf out = buf_new(1 << 16);
    for (; *line; line++) {
        if (strncmp(line, "\u23CE", 3) == 0) {
            buf_add_char(&out, '\n');
            line += 2;
        } else {
            buf_add_char(&out, *line);
        }
    }
    return memory_copy_string(buf_string(&out));
}

struct page {
    char form[64];
    bool inside;
    char *before; /* the first line of a pair that has not met its second */
    int pairs;
    struct strvec forms;
};

static void check_pair(struct page *page, const char *before, const char *after)
{
    with_string seen = redacted(span_of_string(before));
    if (strcmp(seen, after) != 0) {
        fail_msg("%s: '%s' became '%s' and not '%s'", page->form, before, seen, after);
    }
    with_string again = redacted(span_of_string(seen));
    assert_string_equal(again, seen);
    page->pairs++;
}

static void take_line(struct page *page, const char *line)
{
    if (strncmp(line, "### ", 4) == 0) {
        snprintf(page->form, sizeof page->form, "%s", line + 4);
        strvec_push(&page->forms, page->form);
    } else if (strncmp(line, "```", 3) == 0) {
        page->inside = strcmp(line, "```redaction") == 0;
        assert_null(page->before);
    } else if (page->inside && !page->before) {
        page->before = with_line_ends(line);
    } else if (page->inside) {
        with_string after = with_line_ends(line);
        check_pair(page, page->before, after);
        memory_free(page->before);
        page->before = NULL;
    }
}

static void the_page_tells_the_truth(void **state)
{
    with_string text = read_page();
    struct page page = {0};
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        take_line(&page, line);
    }
    printf("# %d pairs of docs/redaction.md\n", page.pairs);
    assert_true(page.pairs >= 60);
    /* Every form of the table stands there, in its order, and no other. */
    for (size_t i = 0; i < page.forms.count; i++) {
        assert_non_null(redact_form_name(i));
        assert_string_equal(page.forms.strings[i], redact_form_name(i));
    }
    assert_null(redact_form_name(page.forms.count));
    strvec_done(&page.forms);
}

/* The secret of each line must not be in what is left, wherever it stands in the text. */
static const char *const secrets[] = {
    "--token S3CR3T",
    "--token=S3CR3T",
    "TOKEN=S3CR3T",
    "token: S3CR3T",
    "\"password\": \"S3CR3T\"",
    "'password': 'S3CR3T'",
    "\\\"password\\\": \\\"S3CR3T\\\"",
    "Authorization: Bearer S3CR3T",
    "authorization: basic S3CR3T",
    "AUTHORIZATION: S3CR3T",
    "Bearer S3CR3T",
    "x-api-key: S3CR3T",
    "Cookie: a=b; c=S3CR3T",
    "Set-Cookie: S3CR3T; Path=/",
    "https://joe:S3CR3T@example.org/",
    "https://S3CR3T@example.org/",
    "joe:S3CR3T@example.org",
    "ghp_S3CR3Tabcdefghijklmnop",
    "AKIAS3CR3TABCDEFGHIJK",
    "sk-abcdefghijklmnopqrstuS3CR3T",
    "-----BEGIN PRIVATE KEY-----\nabc\nS3CR3T\n-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nabc\nS3CR3T",
    "mysql -pS3CR3T",
    "curl -u joe:S3CR3T",
    "<token>S3CR3T</token>",
    "login joe password S3CR3T",
    "AccountKey=S3CR3T;EndpointSuffix=x",
    "?api_key=S3CR3T&a=b",
    "clientSecret => \"S3CR3T\"",
    "DB_PASS=S3CR3T",
};

static void no_planted_secret_survives(void **state)
{
    static const char *const around[] = {
        "",         "x",    " ",  "\n",     "\"",       "'", "{",  "a=b, ", "\"a\": 1,",
        "\xC3\xA9", "\xff", "--", "don't ", "\"q\" \"", "`", "\\", "://",   "[REDACTED]"};
    int count = 0;
    for (size_t i = 0; i < countof(secrets); i++) {
        for (size_t j = 0; j < countof(around); j++) {
            with_string text = memory_format("%s %s\n%s", around[j], secrets[i], around[j]);
            with_string seen = redacted(span_of_string(text));
            if (strstr(seen, "S3CR3T")) {
                fail_msg("'%s' became '%s'", text, seen);
            }
            with_string again = redacted(span_of_string(seen));
            assert_string_equal(again, seen);
            count++;
        }
    }
    printf("# %d texts with a secret in %zu forms\n", count, countof(secrets));
}

static void most_of_a_record_needs_a_quick_look_only(void **state)
{
    static const char *const plain[] = {"",
                                        "completed",
                                        "/usr/bin/true",
                                        "XDG_RUNTIME_DIR",
                                        "berm-k7f3ab-0123456789abcdef.scope",
                                        "7.5%"};
    for (size_t i = 0; i < countof(plain); i++) {
        assert_true(redact_leaves(span_of_string(plain[i])));
        with_string seen = redacted(span_of_string(plain[i]));
        assert_string_equal(seen, plain[i]);
    }
    assert_false(redact_leaves(span_of_string("two words")));
    assert_false(redact_leaves(span_of_string("/ghp_0123456789abcdefghij")));
}

static void valid_text_stays_valid(void **state)
{
    static const char text[] = "p\xC3\xA4sswort TOKEN=\xE2\x82\xAC\xF0\x9F\x92\xA9 \xE2\x82\xAC, "
                               "\xE2\x80\x9Ctoken\xE2\x80\x9D: \xE2\x82\xAC";
    with_string seen = redacted(span_of_string(text));
    assert_true(text_is_utf8(span_of_string(seen)));
    assert_non_null(strstr(seen, "TOKEN=[REDACTED] \xE2\x82\xAC"));
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
    }
    struct buf out = buf_new(2048);
    redact_text(span_of(bytes, sizeof bytes), &out);
    assert_int_equal(buf_length(&out), sizeof bytes);
    assert_memory_equal(buf_string(&out), bytes, sizeof bytes);
    buf_done(&out);
}

static int64_t time_of(const char *pattern, size_t n)
{
    with_string text = memory_new(n + 1);
    size_t length = strlen(pattern);
    for (size_t i = 0; i < n; i++) {
        text[i] = pattern[i % length];
    }
    struct timespec start;
    struct timespec end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    with_string seen = redacted(span_of(text, n));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (end.tv_sec - start.tv_sec) * INT64_C(1000000000) + end.tv_nsec - start.tv_nsec;
}

/* Twice the text takes about twice the time, whatever it is made of. */
static void the_time_is_linear(void **state)
{
    static const char *const patterns[] = {"a",
                                           "a-",
                                           "a.b_",
                                           "-",
                                           "=",
                                           ":",
                                           "\"",
                                           "'",
                                           "\\",
                                           "[",
                                           "{",
                                           "(",
                                           "@",
                                           "://",
                                           "a://b:c/",
                                           "a:b",
                                           "a:",
                                           "token",
                                           "token=",
                                           "token:",
                                           "token=[",
                                           "token=\"",
                                           "token=\\",
                                           "\"token\":",
                                           "--token ",
                                           "--token --",
                                           "Bearer ",
                                           "Bearer a ",
                                           "Basic ",
                                           "sk-",
                                           "sk-a-",
                                           "eyJ",
                                           "ghp_",
                                           "-----BEGIN ",
                                           "-----BEGIN PRIVATE KEY-----",
                                           "-----END PRIVATE KEY----",
                                           "login a password",
                                           "password ",
                                           "mysql -p",
                                           "curl -u ",
                                           "curl -u a",
                                           "<token>",
                                           "cookie: ",
                                           "a\n",
                                           "a:b@",
                                           "x://a:/",
                                           "-",
                                           "PRIVATE KEY-----",
                                           "-----BEGIN a-----BEGIN PRIVATE KEY"};
    int64_t worst_ns_a_byte = 0;
    for (size_t i = 0; i < countof(patterns); i++) {
        enum { SMALL = 1 << 17, LARGE = 1 << 20 };
        int64_t small = time_of(patterns[i], SMALL) / (SMALL >> 10);
        int64_t large = time_of(patterns[i], LARGE) / (LARGE >> 10);
        worst_ns_a_byte = large / 1024 > worst_ns_a_byte ? large / 1024 : worst_ns_a_byte;
        if (large > 4 * small + 200000) {
            fail_msg("'%s': %lld ns a KiB of %d, %lld of %d", patterns[i], (long long)small, SMALL,
                     (long long)large, LARGE);
        }
    }
    printf("# at most %lld ns a byte in %zu patterns of 1 MiB\n", (long long)worst_ns_a_byte,
           countof(patterns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_tells_the_truth),
        cmocka_unit_test(no_planted_secret_survives),
        cmocka_unit_test(most_of_a_record_needs_a_quick_look_only),
        cmocka_unit_test(valid_text_stays_valid),
        cmocka_unit_test(the_time_is_linear),
    };
    return cmocka_run_group_tests_name("report/redact", tests, NULL, NULL);
}
