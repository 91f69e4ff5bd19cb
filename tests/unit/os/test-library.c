#include "../unit.h"

#include "library.h"

static void a_library_has_the_symbols_that_it_has(void **state)
{
    char why[256] = "";
    void *library = os_library_open("libc.so.6", why, sizeof why);
    assert_non_null(library);
    assert_non_null(os_library_symbol(library, "strlen"));
    assert_null(os_library_symbol(library, "berm_has_no_such_function"));
    assert_string_equal(why, "");
    assert_non_null(strstr(os_library_path(library), "/libc.so.6"));
}

static void what_cannot_be_loaded_says_why(void **state)
{
    char why[256] = "";
    assert_null(os_library_open("libberm-missing.so.0", why, sizeof why));
    assert_non_null(strstr(why, "libberm-missing.so.0"));
    char small[4] = "";
    assert_null(os_library_open("libberm-missing.so.0", small, sizeof small));
    assert_int_equal(strlen(small), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_has_the_symbols_that_it_has),
        cmocka_unit_test(what_cannot_be_loaded_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
