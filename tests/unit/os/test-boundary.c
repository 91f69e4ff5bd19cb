#include "../unit.h"

#include <errno.h>
#include <sys/prctl.h>

#include "boundary.h"

static void it_changes_nothing(void **state)
{
    errno = 0;
    assert_int_equal(prctl(BOUNDARY_MAGIC, BOUNDARY_ARMED, 0, 0, 0), -1);
    assert_int_equal(errno, EINVAL);
    os_boundary(BOUNDARY_ARMED);
}

static void numbers_are_told_apart(void **state)
{
    static const int numbers[] = {
#define X(number, name) BOUNDARY_##name,
        BOUNDARIES(X)
#undef X
    };
    for (size_t i = 0; i < countof(numbers); i++) {
        assert_int_equal(numbers[i], i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_changes_nothing),
        cmocka_unit_test(numbers_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
