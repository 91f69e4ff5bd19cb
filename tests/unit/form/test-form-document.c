#include "plan.h"

static void every_key_has_a_row(void **state)
{
    with_buf text = buf_new(1 << 16);
    form_document(&plan_form, &text);
    static const char *const rows[] = {
        "## `plan`\n\nA plan.\n",
        "| `truth` | true or false, without quotes | is it so |\n",
        "| `number`, needed | a whole number, without quotes; 1 to 100 | a number of it |\n",
        "| `word` | `first`, `second` | which |\n",
        "| `words` | a list, each `first`, `second`; 0 to 1024 items | words |\n",
        "| `part` | `part` | a part |\n",
        "| `parts` | names, each with a `part`; 0 to 2 names | parts |\n",
        "## `part`\n\nA part.\n",
        "| `(itself)` | a list of texts; 1 to 2 items | the values |\n",
    };
    for (size_t i = 0; i < countof(rows); i++) {
        if (!strstr(buf_string(&text), rows[i])) {
            fail_msg("no '%s' in\n%s", rows[i], buf_string(&text));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_a_row),
    };
    return cmocka_run_group_tests_name("form/form-document", tests, NULL, NULL);
}
