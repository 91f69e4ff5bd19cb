#include "../unit.h"

#include <sys/vfs.h>

#include "scope.h"

static void every_obstacle_has_a_name(void **state)
{
    for (int i = 0; i < SCOPE_OBSTACLE_COUNT; i++) {
        assert_non_null(scope_obstacle_name((enum scope_obstacle_code)i));
    }
}

/* CT-3: what is refused names what was seen, and what would help. */
static void what_is_not_offered_has_a_reason(void **state)
{
    static const struct scope_question questions[] = {
        {0},
        {.runtime_dir = "/nowhere"},
        {.parent = "/sys/fs/cgroup/berm-test-missing"},
        {.parent = "/tmp"},
    };
    struct statfs facts;
    bool v2 = statfs("/sys/fs/cgroup", &facts) == 0 && facts.f_type == 0x63677270;
    for (size_t i = 0; i < countof(questions); i++) {
        struct scope_offer offer;
        scope_probe(&questions[i], &offer);
        assert_true(offer.adapter != SCOPE_NONE || offer.obstacle_count > 0);
        for (int j = 0; j < offer.obstacle_count; j++) {
            const struct scope_obstacle *one = &offer.obstacles[j];
            assert_non_null(strchr(one->saw, '/'));
            assert_true(one->remedy[0] != '\0');
        }
        if (!v2) {
            assert_int_equal(offer.obstacles[0].code, SCOPE_OBSTACLE_LAYOUT);
        } else if (questions[i].parent) {
            assert_int_equal(offer.obstacles[0].code, SCOPE_OBSTACLE_NO_CGROUP);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_obstacle_has_a_name),
        cmocka_unit_test(what_is_not_offered_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
