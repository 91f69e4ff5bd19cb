#include "sample-cases.h"

/* EX-5: by name, with the full path; the same words from decode and in the list of faults. */
static void each_fault_is_named_by_its_path(void **state)
{
    for (size_t i = 0; i < countof(sample_cases); i++) {
        const struct sample_case *row = &sample_cases[i];
        with_json json = sample_case_json(row);
        with_strvec faults = {0};
        size_t count = record_faults(&sample_record, json, &faults);
        assert_int_equal(count, row->path ? 1 : 0);
        assert_int_equal(faults.count, count);
        if (!row->path) {
            continue;
        }
        const char *path = row->path[0] ? row->path : "sample/v1";
        with_buf wanted = buf_new(500);
        buf_add_format(&wanted, "%s: %s", path, row->what);
        assert_string_equal(faults.strings[0], buf_string(&wanted));

        bool of_name = strstr(row->what, " field");
        buf_clear(&wanted);
        buf_add_format(&wanted, of_name ? "%1$s '%2$s'" : "'%2$s' %1$s", row->what, path);
        struct err err = {0};
        struct sample sample;
        assert_int_equal(record_decode(&sample_record, json, &sample, &err), -1);
        assert_int_equal(err.code, row->code);
        assert_string_equal(err.msg, buf_string(&wanted));
    }
}

static void all_faults_are_listed_and_the_first_is_the_misspelt_name(void **state)
{
    with_json json = sample_read(SAMPLE_LEAST);
    json_object_set_new(json, "part", json_pack("{s:i,s:i}", "ID", 1, "label", 2));
    json_object_set_new(json, "count", json_integer(6));
    json_object_set_new(json, "strings", json_pack("[n,s,b]", "a", 1));
    json_object_del(json, "flag");
    json_object_set_new(json, "flog", json_true());
    static const char *const wanted[] = {
        "flog: unknown field",
        "flag: missing field",
        "count: is 6, more than 5",
        "part.ID: unknown field",
        "part.id: missing field",
        "part.label: must be a string, not an integer",
        "strings[0]: must be a string, not null",
        "strings[2]: must be a string, not true",
    };
    with_strvec faults = {0};
    assert_int_equal(record_faults(&sample_record, json, &faults), countof(wanted));
    for (size_t i = 0; i < countof(wanted); i++) {
        assert_string_equal(faults.strings[i], wanted[i]);
    }
    struct err err = {0};
    struct sample sample;
    assert_int_equal(record_decode(&sample_record, json, &sample, &err), -1);
    assert_string_equal(err.msg, "unknown field 'flog'");
}

static void a_long_foreign_name_is_cut(void **state)
{
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    with_json json = sample_read(SAMPLE_LEAST);
    json_object_set_new(json_object_get(json, "part"), name, json_true());
    with_strvec faults = {0};
    assert_int_equal(record_faults(&sample_record, json, &faults), 1);
    assert_int_equal(strlen(faults.strings[0]),
                     strlen("part.") + 128 + strlen("...: unknown field"));
}

/* json_read() lets no U+0000 through, but a record may be made of other JSON. */
static void a_string_is_never_cut_at_a_nul(void **state)
{
    static const struct {
        const char *member;
        struct span text;
        const char *fault;
    } cases[] = {
        {"text", {"ab\0c", 4}, "text: must not hold U+0000"},
        {"maybe_text", {"ab\0c", 4}, "maybe_text: must not hold U+0000"},
        {"colour", {"red\0", 4}, "colour: must be one of red, green, blue"},
        {"schema", {"sample/v1\0", 10}, "schema: must be 'sample/v1'"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        with_json json = sample_read(SAMPLE_LEAST);
        json_object_set_new(json, cases[i].member, json_stringn(cases[i].text.p, cases[i].text.n));
        with_strvec faults = {0};
        assert_int_equal(record_faults(&sample_record, json, &faults), 1);
        assert_string_equal(faults.strings[0], cases[i].fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_named_by_its_path),
        cmocka_unit_test(all_faults_are_listed_and_the_first_is_the_misspelt_name),
        cmocka_unit_test(a_long_foreign_name_is_cut),
        cmocka_unit_test(a_string_is_never_cut_at_a_nul),
    };
    return cmocka_run_group_tests_name("json/faults", tests, NULL, NULL);
}
