#include "../unit.h"

#include "json.h"
#include "memory.h"

/* A program that never calls json/ but only jansson is set up all the same. */
static void jansson_allocates_through_memory(void **state)
{
    json_malloc_t allocate = NULL;
    json_free_t release = NULL;
    json_get_alloc_funcs(&allocate, &release);
    assert_ptr_equal(allocate, memory_new);
    assert_ptr_equal(release, memory_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jansson_allocates_through_memory),
    };
    return cmocka_run_group_tests_name("json/setup", tests, NULL, NULL);
}
