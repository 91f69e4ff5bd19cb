#include "../unit.h"

#include "buf.h"
#include "memory.h"

static void grows_to_its_maximum_and_no_further(void **state)
{
    with_buf buf = buf_new(5);
    buf_add_string(&buf, "abc");
    buf_add_char(&buf, 'd');
    assert_true(buf_fits(&buf));
    buf_add_string(&buf, "ef");
    assert_false(buf_fits(&buf));
    assert_string_equal(buf_string(&buf), "abcd");
    buf_add_char(&buf, 'e'); /* would fit, but being over is sticky */
    assert_int_equal(buf_length(&buf), 4);
    buf_clear(&buf);
    buf_add_string(&buf, "12345");
    assert_true(buf_fits(&buf));
}

static void formats_within_the_maximum(void **state)
{
    with_buf buf = buf_new(8);
    buf_add_format(&buf, "%d-%s", 12, "abc");
    assert_string_equal(buf_string(&buf), "12-abc");
    buf_add_format(&buf, "%s", "xyz");
    assert_false(buf_fits(&buf));
    assert_string_equal(buf_string(&buf), "12-abc");
}

static void keeps_nul_bytes_and_can_be_cut_and_cleared(void **state)
{
    with_buf buf = buf_new(100);
    buf_add(&buf, "a\0b", 3);
    assert_int_equal(buf_length(&buf), 3);
    buf_cut(&buf, 1);
    assert_string_equal(buf_string(&buf), "a");
    buf_clear(&buf);
    buf_add_string(&buf, "again");
    assert_string_equal(buf_string(&buf), "again");
}

static void what_others_fill_is_kept_as_far_as_it_fits(void **state)
{
    size_t room = 0;
    with_buf buf = buf_new(100);
    buf_add_string(&buf, "ab");
    memcpy(buf_room(&buf, 40, &room), "cd", 2);
    assert_int_equal(room, 40);
    buf_filled(&buf, 2);
    assert_string_equal(buf_string(&buf), "abcd");
    memset(buf_room(&buf, 400, &room), 'x', 96);
    assert_int_equal(room, 96);
    buf_filled(&buf, 97); /* more than there was room for */
    assert_false(buf_fits(&buf));
    assert_string_equal(buf_string(&buf), "abcd");
    (void)buf_room(&buf, 1, &room); /* being over is sticky */
    assert_int_equal(room, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_to_its_maximum_and_no_further),
        cmocka_unit_test(formats_within_the_maximum),
        cmocka_unit_test(what_others_fill_is_kept_as_far_as_it_fits),
        cmocka_unit_test(keeps_nul_bytes_and_can_be_cut_and_cleared),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
