#include "../unit.h"

#include "context-words.h"
#include "options.h"

static struct berm_context inside(void)
{
    struct berm_context context = {
        .verdict = BERM_CONTEXT_INSIDE,
        .tier = BERM_CONTEXT_SMALL,
        .containment = 1,
        .guarantee_count = 1,
        .guarantees = {{.name = "memory", .level = BERM_CONTEXT_LIMITED}},
        .memory_max_bytes = UINT64_C(2) << 30,
        .memory_high_bytes = BERM_CONTEXT_UNLIMITED,
        .pids_max = 64,
        .timeout_ms = BERM_CONTEXT_UNKNOWN,
        .output_bytes = BERM_CONTEXT_UNKNOWN,
        .temporary_bytes = BERM_CONTEXT_UNKNOWN,
        .temporary_inodes = BERM_CONTEXT_UNKNOWN,
        .run = "k7f3",
        .unit = "berm-k7f3.scope",
        .adapter = "linux-systemd-cgroup-v2",
        .cgroup = "/berm-k7f3.scope/payload",
        .text = "a live run of berm holds this process",
    };
    return context;
}

static struct berm_context without(int verdict, int why)
{
    struct berm_context context = {.verdict = verdict, .why = why, .text = "no"};
    return context;
}

/* CX-1: yes is 0, nothing there is 3, and what is not proved or not enough is 9. */
static void the_exit_status_is_the_answer(void **state)
{
    struct berm_context context = inside();
    assert_int_equal(context_exit(&context, BERM_CONTEXT_PLAIN), 0);
    assert_int_equal(context_exit(&context, BERM_CONTEXT_SMALL), 0);
    assert_int_equal(context_exit(&context, BERM_CONTEXT_MEDIUM), 9);
    context = without(BERM_CONTEXT_OUTSIDE, BERM_CONTEXT_WHY_NO_BROKER);
    assert_int_equal(context_exit(&context, BERM_CONTEXT_PLAIN), 3);
    context = without(BERM_CONTEXT_NOT_PROVED, BERM_CONTEXT_WHY_LIMITS);
    context.tier = BERM_CONTEXT_LARGE;
    assert_int_equal(context_exit(&context, BERM_CONTEXT_PLAIN), 9);
    assert_int_equal(context_exit(&context, BERM_CONTEXT_SMALL), 9);
}

static void says_what_holds(void **state)
{
    struct berm_context context = inside();
    with_buf text = buf_new(4096);
    context_add_words(&text, &context, BERM_CONTEXT_MEDIUM);
    assert_string_equal(buf_string(&text),
                        "inside      a live run of berm holds this process\n"
                        "too low     tier medium is asked for, and this is small\n"
                        "run         k7f3\n"
                        "unit        berm-k7f3.scope\n"
                        "adapter     linux-systemd-cgroup-v2\n"
                        "tier        small\n"
                        "label       partial\n"
                        "memory      2.0 GiB\n"
                        "memory high no limit\n"
                        "swap        0 B\n"
                        "tasks       64\n"
                        "  memory: limited\n");
    with_buf no = buf_new(4096);
    context = without(BERM_CONTEXT_NOT_PROVED, BERM_CONTEXT_WHY_LIMITS);
    context_add_words(&no, &context, BERM_CONTEXT_PLAIN);
    assert_string_equal(buf_string(&no), "not proved  no\n");
}

static void is_an_object_as_well(void **state)
{
    struct berm_context context = inside();
    with_json json = context_to_json(&context, BERM_CONTEXT_PLAIN);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "inside");
    assert_true(json_is_true(json_object_get(json, "sufficient")));
    const json_t *limits = json_object_get(json, "limits");
    assert_int_equal(json_integer_value(json_object_get(limits, "memory_max_bytes")), INT64_C(2)
                                                                                          << 30);
    assert_true(json_is_null(json_object_get(limits, "memory_high_bytes")));
    assert_true(json_is_null(json_object_get(limits, "timeout_ms")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(json, "guarantees"), "memory")),
        "limited");
    context = without(BERM_CONTEXT_NOT_PROVED, BERM_CONTEXT_WHY_PEER_INSIDE);
    with_json no = context_to_json(&context, BERM_CONTEXT_PLAIN);
    assert_string_equal(json_string_value(json_object_get(no, "verdict")), "not_proved");
    assert_string_equal(json_string_value(json_object_get(no, "why")), "peer_inside");
    assert_true(json_is_false(json_object_get(no, "sufficient")));
    assert_null(json_object_get(no, "limits"));
}

/* FS-7: what an answer says is shown without its control characters. */
static void an_answer_does_not_steer_the_terminal(void **state)
{
    struct berm_context context = inside();
    memcpy(context.unit, "a\033[2Jb", sizeof "a\033[2Jb");
    memcpy(context.guarantees[0].name, "m\nx", sizeof "m\nx");
    with_buf text = buf_new(4096);
    context_add_words(&text, &context, BERM_CONTEXT_PLAIN);
    assert_null(strchr(buf_string(&text), '\033'));
    assert_null(strstr(buf_string(&text), "m\nx"));
}

static void tiers_have_the_names_of_the_option(void **state)
{
    assert_string_equal(option_tier_words[BERM_CONTEXT_PLAIN], "none");
    assert_string_equal(option_tier_words[BERM_CONTEXT_LARGE], "large");
    assert_null(option_tier_words[BERM_CONTEXT_LARGE + 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_status_is_the_answer),
        cmocka_unit_test(says_what_holds),
        cmocka_unit_test(is_an_object_as_well),
        cmocka_unit_test(an_answer_does_not_steer_the_terminal),
        cmocka_unit_test(tiers_have_the_names_of_the_option),
    };
    return cmocka_run_group_tests_name("berm/context-words", tests, NULL, NULL);
}
