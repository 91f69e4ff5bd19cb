#include "plan.h"

/* EP-1: editors are told what the reader refuses: unknown keys, bounds, words, shapes. */
static void the_schema_says_what_the_tables_say(void **state)
{
    static const char wanted[] =
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
        "\"additionalProperties\":false,\"description\":\"A plan.\",\"properties\":{"
        "\"flag\":{\"description\":\"an option\",\"maxLength\":1024,"
        "\"pattern\":\"^--?[A-Za-z0-9][A-Za-z0-9._-]{0,63}$\","
        "\"type\":[\"string\",\"number\",\"boolean\",\"null\"]},"
        "\"number\":{\"description\":\"a number of it\",\"maximum\":100,\"minimum\":1,"
        "\"type\":\"integer\"},"
        "\"part\":{\"additionalProperties\":false,\"description\":\"a part\",\"properties\":{"
        "\"count\":{\"description\":\"how many\",\"maximum\":9,\"minimum\":1,\"type\":\"integer\"},"
        "\"path\":";
    with_json schema = form_schema(&plan_form, "plan");
    with_buf text = buf_new(1 << 16);
    assert_int_equal(json_write(schema, JSON_CANONICAL, &text, NULL), 0);
    if (strncmp(buf_string(&text), wanted, sizeof wanted - 1) != 0) {
        fail_msg("%s", buf_string(&text));
    }
    assert_non_null(strstr(buf_string(&text), "\"word\":{\"description\":\"which\","
                                              "\"enum\":[\"first\",\"second\"]}"));
    assert_non_null(strstr(buf_string(&text), "\"required\":[\"number\"]"));
    assert_non_null(strstr(buf_string(&text), "\"maxProperties\":2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_says_what_the_tables_say),
    };
    return cmocka_run_group_tests_name("form/form-schema", tests, NULL, NULL);
}
