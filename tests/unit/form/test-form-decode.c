#include "plan.h"

/* EP-1: the form types what was written, and nothing else does. */
static void every_type_is_read(void **state)
{
    struct plan plan;
    struct err err = {0};
    static const char text[] = "truth: true\nnumber: 100\ntext: yes\nflag: --x\nword: second\n"
                               "texts: [1000, \"true\", ~]\nwords: [second, first]\n"
                               "part: {count: 9, path: a/b}\n"
                               "parts: {b: {}, a: {count: 1}}\nvalues: {size: [1, '']}\n";
    if (plan_decode(text, &plan, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    assert_true(plan.truth);
    assert_int_equal(plan.number, 100);
    assert_string_equal(plan.text, "yes");
    assert_string_equal(plan.flag, "--x");
    assert_int_equal(plan.word, 1);
    assert_string_equal(plan.texts.strings[0], "1000");
    assert_string_equal(plan.texts.strings[2], "~");
    assert_string_equal(plan.words.strings[1], "first");
    assert_int_equal(plan.part.item.line, 8);
    assert_string_equal(plan.part.path, "a/b");
    const struct part *parts = plan.parts.items;
    assert_int_equal(plan.parts.count, 2);
    assert_string_equal(parts[0].item.name, "b");
    assert_int_equal(parts[0].item.column, 9);
    assert_int_equal(parts[0].count, 7);
    assert_ptr_equal(form_find(&plan.parts, sizeof *parts, "a"), &parts[1]);
    assert_null(form_find(&plan.parts, sizeof *parts, "c"));
    const struct values *values = plan.values.items;
    assert_string_equal(values[0].list.strings[1], "");
    form_done(&plan_form, &plan);
    assert_null(plan.text);
}

static void what_is_not_given_is_empty(void **state)
{
    struct plan plan;
    struct err err = {0};
    assert_int_equal(plan_decode("number: 1\n", &plan, &err), 0);
    assert_null(plan.text);
    assert_int_equal(plan.word, 0);
    assert_int_equal(plan.part.item.line, 0);
    assert_int_equal(plan.parts.count, 0);
    form_done(&plan_form, &plan);
}

/* EP-1: a fault is refused by file, line, column and key, with the bound and what to do. */
static void faults_are_named(void **state)
{
    static const struct {
        const char *text;
        enum err_code code;
        const char *wanted;
    } cases[] = {
        {"text: x\n", ERR_USAGE, "f:1:1: the key 'number' is missing: a number of it"},
        {"number: 1\nnumbr: 2\n", ERR_USAGE,
         "f:2:1: there is no key 'numbr' here; there are: truth, number, text"},
        {"number: 1\npart: {size: 1}\n", ERR_USAGE,
         "f:2:8: part: there is no key 'size' here; there are: count, path"},
        {"number: 0\n", ERR_RANGE, "f:1:9: number: 0 is outside 1 to 100"},
        {"number: 101\n", ERR_RANGE, "number: 101 is outside 1 to 100"},
        {"number: 99999999999999999999\n", ERR_USAGE, "number: must be a whole number"},
        {"number: '1'\n", ERR_USAGE, "number: must be a whole number, without quotes"},
        {"number: 010\n", ERR_USAGE, "must be a whole number"},
        {"number: 0x1\n", ERR_USAGE, "must be a whole number"},
        {"number: 1_0\n", ERR_USAGE, "must be a whole number"},
        {"number: 1e1\n", ERR_USAGE, "must be a whole number"},
        {"number: +1\n", ERR_USAGE, "must be a whole number"},
        {"number: -1\n", ERR_USAGE, "must be a whole number"},
        {"number: [1]\n", ERR_USAGE, "must be a whole number"},
        {"number:\n", ERR_USAGE, "must be a whole number"},
        {"number: 1\ntruth: yes\n", ERR_USAGE, "f:2:8: truth: must be true or false"},
        {"number: 1\ntruth: 'true'\n", ERR_USAGE, "truth: must be true or false"},
        {"number: 1\ntruth: True\n", ERR_USAGE, "truth: must be true or false"},
        {"number: 1\ntext:\n", ERR_USAGE, "text: has no value"},
        {"number: 1\ntext: ''\n", ERR_RANGE, "text: 0 bytes is outside 1 to 5"},
        {"number: 1\ntext: abcdef\n", ERR_RANGE, "text: 6 bytes is outside 1 to 5"},
        {"number: 1\ntext: [a]\n", ERR_USAGE, "text: must be a text"},
        {"number: 1\nflag: x\n", ERR_USAGE, "flag: 'x' must be an option"},
        {"number: 1\nflag: --\n", ERR_USAGE, "flag: '--' must be"},
        {"number: 1\nflag: ---x\n", ERR_USAGE, "flag: '---x' must be"},
        {"number: 1\nflag: --x=1\n", ERR_USAGE, "flag: '--x=1' must be"},
        {"number: 1\nword: third\n", ERR_USAGE, "word: 'third' is none of first, second"},
        {"number: 1\nwords: [first, 1]\n", ERR_USAGE, "f:2:16: words: '1' is none of first"},
        {"number: 1\ntexts: a\n", ERR_USAGE, "texts: must be a list of texts"},
        {"number: 1\ntexts: [a, [b]]\n", ERR_USAGE, "f:2:12: texts: must be a text"},
        {"number: 1\ntexts: [1, 2, 3, 4]\n", ERR_RANGE, "texts: 4 items is outside 0 to 3"},
        {"number: 1\npart: x\n", ERR_USAGE, "f:2:7: part: must be a mapping"},
        {"number: 1\npart: {count: 10}\n", ERR_RANGE, "f:2:15: part.count: 10 is outside 1 to 9"},
        {"number: 1\npart: {path: /etc}\n", ERR_USAGE, "part.path: '/etc' must be a relative path"},
        {"number: 1\npart: {path: a/../b}\n", ERR_USAGE, "must be a relative path"},
        {"number: 1\npart: {path: ./b}\n", ERR_USAGE, "must be a relative path"},
        {"number: 1\npart: {path: a//b}\n", ERR_USAGE, "must be a relative path"},
        {"number: 1\npart: {path: a/}\n", ERR_USAGE, "must be a relative path"},
        {"number: 1\npart: {path: -a}\n", ERR_USAGE, "must be a relative path"},
        {"number: 1\nparts: [a]\n", ERR_USAGE, "parts: must be a mapping of names"},
        {"number: 1\nparts: {a: {}, b: {}, c: {}}\n", ERR_RANGE,
         "parts: 3 names is outside 0 to 2"},
        {"number: 1\nparts: {a b: {}}\n", ERR_USAGE, "f:2:9: parts: the name 'a b' must be"},
        {"number: 1\nparts: {a: {count: 0}}\n", ERR_RANGE, "f:2:20: parts.a.count: 0 is outside"},
        {"number: 1\nparts: {b: {path: x}, a: {path: ..}}\n", ERR_USAGE, "parts.a.path: '..' must"},
        {"number: 1\nvalues: {v: []}\n", ERR_RANGE, "f:2:13: values.v: 0 items is outside 1 to 2"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct plan plan;
        struct plan empty = {0};
        struct err err = {0};
        int result = plan_decode(cases[i].text, &plan, &err);
        if (result == 0 || err.code != cases[i].code || !strstr(err.msg, cases[i].wanted)) {
            fail_msg("'%s': code %d, '%s'", cases[i].text, (int)err.code, err.msg);
        }
        assert_memory_equal(&plan, &empty, sizeof plan);
    }
}

/* A message never loses its place, its key or its bound to a long name. */
static void long_names_leave_room_for_the_fault(void **state)
{
    struct plan plan;
    struct err err = {0};
    with_buf text = buf_new(1000);
    buf_add_format(&text, "number: 1\nparts: {%064d: {count: 10}}\n", 0);
    assert_int_equal(plan_decode(buf_string(&text), &plan, &err), -1);
    assert_non_null(strstr(err.msg, "0.count: 10 is outside 1 to 9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(what_is_not_given_is_empty),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(long_names_leave_room_for_the_fault),
    };
    return cmocka_run_group_tests_name("form/form-decode", tests, NULL, NULL);
}
