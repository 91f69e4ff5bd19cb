#include "state.h"

#include "recover.h"

int __real_bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
                    struct err *err);
int __wrap_bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
                    struct err *err);

static bool cannot_list;

int __wrap_bfs_list(const struct bfs_dir *dir, size_t maximum, struct strvec *ret_names,
                    struct err *err)
{
    return cannot_list ? err_set(err, ERR_OVER_BUDGET, "too many")
                       : __real_bfs_list(dir, maximum, ret_names, err);
}

/* ST-3: by the run's id, whatever its record says. */
static void a_manifest_of_the_run_is_found(void **state)
{
    struct place *place = *state;
    struct own_state own;
    own_state_make(place, &own);
    assert_true(qualify_no_manifest(&own.qualifying, "k7f3aa"));
    put(place, "berm/watch/k7f3ab-1.watch", "x");
    assert_true(qualify_no_manifest(&own.qualifying, "k7f3aa"));
    put(place, "berm/watch/k7f3aa-1.watch", "x");
    assert_false(qualify_no_manifest(&own.qualifying, "k7f3aa"));
    own_state_done(&own);
}

static void a_scope_of_the_run_is_found_beside_another(void **state)
{
    struct place *place = *state;
    with_string scope = memory_format("%s/berm-other0-1.scope", place->path);
    assert_true(qualify_no_scope(scope, "k7f3aa"));
    assert_int_equal(mkdirat(place->fd, "berm-k7f3aa-1-watchdog.scope", 0700), 0);
    assert_true(qualify_no_scope(scope, "k7f3aa"));
    assert_int_equal(mkdirat(place->fd, "berm-k7f3aa-1.scope", 0700), 0);
    assert_false(qualify_no_scope(scope, "k7f3aa"));
}

/* What cannot be looked at was not seen to be gone. */
static void no_look_is_no_proof(void **state)
{
    assert_false(qualify_no_scope(NULL, "k7f3aa"));
    assert_false(qualify_no_scope("/nowhere/at/all", "k7f3aa"));
    assert_true(qualify_no_process("no-such-run"));
    assert_true(qualify_no_scope("/proc/none", "no-such-run"));
    cannot_list = true;
    assert_false(qualify_no_process("no-such-run"));
    assert_false(qualify_no_scope("/proc/none", "no-such-run"));
    cannot_list = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_manifest_of_the_run_is_found),
        place_test(a_scope_of_the_run_is_found_beside_another),
        cmocka_unit_test(no_look_is_no_proof),
    };
    return cmocka_run_group_tests_name("qualify/leftovers", tests, NULL, NULL);
}
