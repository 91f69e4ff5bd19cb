#include "../unit.h"

#include "config-words.h"

static json_t *read_value(const char *text)
{
    struct err err = {0};
    json_t *value = json_read(span_of_string(text), &json_budget_control, &err);
    if (!value) {
        fail_msg("%s", err.msg);
    }
    return value;
}

static const char config[] =
    "{\"file\":\"/p/berm.yaml\",\"require\":[\"memory\",\"pids\"],\"entrypoints\":[{\"name\":\"e\","
    "\"line\":4,\"argv\":[\"run\",\"--size={n}\"],\"parameters\":{\"n\":[\"1\",\"2\"]},"
    "\"network\":\"required\",\"network_reason\":\"why\",\"scratch\":null,\"scratch_reason\":null,"
    "\"toolchain\":\"py\",\"environment\":[\"A=\\u001b\"],\"dependencies\":[\"lib\"],"
    "\"sealed\":[{\"name\":\"m\",\"flag\":\"--m\",\"of\":null,\"max_mib\":64,\"executable\":true},"
    "{\"name\":\"d\",\"flag\":\"--d\",\"of\":\"m\"}],\"refused\":{\"rule\":\"link\","
    "\"where\":\"run\",\"saw\":\"a \\u001b[31m\",\"what\":\"x\",\"why\":\"y\",\"instead\":\"z\"}}],"
    "\"workloads\":[],\"daemons\":[{\"name\":\"g\",\"line\":9,\"exec\":\"b/g\",\"refused\":null}],"
    "\"refusals\":1}";

/* FS-7: all of it is told, and text of others is shown and not obeyed. */
static void a_project_in_words(void **state)
{
    with_json json = read_value(config);
    with_buf text = buf_new(CONFIG_WORDS_BYTES);
    config_words(json, &text);
    assert_string_equal(buf_string(&text), "project    /p/berm.yaml\n"
                                           "require    memory pids\n"
                                           "entrypoint e (line 4)\n"
                                           "  argv     run --size={n}\n"
                                           "  {n}      1 2\n"
                                           "  network  required: why\n"
                                           "  runtime  py\n"
                                           "  set      A=\\x1b\n"
                                           "  needs    lib\n"
                                           "  sealed   --m FILE, at most 64 MiB, executable\n"
                                           "  sealed   --d DIGEST of m\n"
                                           "  REFUSED  run: 'a \\x1b[31m': x [link]\n"
                                           "  because  y\n"
                                           "  instead  z\n"
                                           "daemon     g (line 9)\n"
                                           "  exec     b/g\n"
                                           "1 of these would be refused\n");
}

static void no_project_and_a_check_in_words(void **state)
{
    with_buf text = buf_new(CONFIG_WORDS_BYTES);
    with_json none = read_value("{\"file\":null}");
    config_words(none, &text);
    assert_non_null(strstr(buf_string(&text), "there is no berm.yaml"));
    buf_clear(&text);
    with_json yes = read_value("{\"file\":\"f\",\"entrypoint\":\"e\",\"network\":\"isolated\","
                               "\"network_reason\":null,\"refused\":null}");
    config_words_check(yes, &text);
    assert_string_equal(buf_string(&text), "yes: entrypoint e\n  network  isolated\n");
    buf_clear(&text);
    with_json no = read_value("{\"refused\":{\"rule\":\"eval\",\"where\":\"argv[1]\","
                              "\"saw\":\"-c\",\"what\":\"x\",\"why\":\"y\",\"instead\":\"z\"}}");
    config_words_check(no, &text);
    assert_non_null(strstr(buf_string(&text), "no\n  REFUSED  argv[1]: '-c': x [eval]\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_in_words),
        cmocka_unit_test(no_project_and_a_check_in_words),
    };
    return cmocka_run_group_tests_name("berm/config-words", tests, NULL, NULL);
}
