#include "../unit.h"

#include "sample.h"

static void every_field_has_its_row(void **state)
{
    with_buf text = buf_new(1 << 16);
    record_document(&sample_record, &text);
    static const char *const wanted[] = {
        "## `sample/v1`\n\nA field of every type.\n\n"
        "| field | is | bounds | sensitivity | meaning |\n| --- | --- | --- | --- | --- |\n"
        "| `schema` | `sample/v1` |  | public | what this is |\n",
        "| `flag` | true or false |  | public |  |\n",
        "| `count` | an integer | -2 to 5 | public | how many |\n",
        "| `text` | a string | 1 to 4 bytes | text |  |\n",
        "| `colour` | `red`, `green`, `blue` |  | public |  |\n",
        "| `part` | an object (`sample/part`) |  | public |  |\n",
        "| `strings` | an array of strings | 1 to 3 items | argv |  |\n",
        "| `ints` | an array of integers | 0 to 3 items | public |  |\n",
        "| `parts` | an array of objects (`sample/part`) | 0 to 2 items | public |  |\n",
        "| `extra` | an object |  | text |  |\n",
        "| `extras` | an array of objects | 0 to 2 items | output |  |\n",
        "| `maybe_flag` | true, false or null |  | public |  |\n",
        "| `maybe_count` | an integer or null | at least 0 | public |  |\n",
        "| `maybe_text` | a string or null |  | path |  |\n",
        "| `maybe_colour` | `red`, `green`, `blue` or null |  | public |  |\n",
        "| `maybe_extra` | an object or null |  | text |  |\n",
        "| `maybe_part` | an object or null (`sample/part`) |  | public |  |\n",
        "| `oracle` | an object or null, may be missing |  | text |  |\n",
        "| `spare` | an integer, may be missing | at least 0 | public |  |\n",
        "\n## `sample/part`\n\n",
        "| field | is | bounds | sensitivity | meaning |\n| --- | --- | --- | --- | --- |\n",
        "| `id` | an integer | 1 to 9 | public |  |\n",
        "| `label` | a string, may be missing |  | text |  |\n",
    };
    const char *place = buf_string(&text);
    for (size_t i = 0; i < countof(wanted); i++) {
        size_t n = strlen(wanted[i]);
        if (strncmp(place, wanted[i], n) != 0) {
            fail_msg("wanted\n%sgot\n%s", wanted[i], place);
        }
        place += n;
    }
    assert_string_equal(place, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_its_row),
    };
    return cmocka_run_group_tests_name("json/document", tests, NULL, NULL);
}
