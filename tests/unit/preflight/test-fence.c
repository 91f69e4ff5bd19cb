#include "../bfs/bfs-test.h"

#include <sys/file.h>

#include "fence.h"
#include "hash.h"
#include "memory.h"
#include "state-file-priv.h"

static char digest_a[] = "aaaaaaaaaaaa4444444444444444444444444444444444444444444444444444";
static char digest_b[] = "aaaabbbbbbbb4444444444444444444444444444444444444444444444444444";
static char run_1[] = "k7f3aa";
static char run_2[] = "k7f4aa";

static struct fence of(char *digest, char *run)
{
    static char tier[] = "small";
    static char repository[] = "/home/u/project";
    static char workload[] = "scan";
    static char when[] = "2026-11-30T03:00:00.000Z";
    return (struct fence){digest, FENCE_ACTIVE, NULL, tier, repository, workload, run, when};
}

/* Another berm changes the file, when `held`. */
static bool held;
static int locks;     /* how many were asked for */
static int held_from; /* another does from the nth on; 0: never */
int __real_os_flock_within(int fd, int wait_ms);
int __wrap_os_flock_within(int fd, int wait_ms);
int __wrap_os_flock_within(int fd, int wait_ms)
{
    locks++;
    return held || (held_from > 0 && locks >= held_from) ? -EWOULDBLOCK
                                                         : __real_os_flock_within(fd, wait_ms);
}

/* A disk that fails the nth sync from now on, and with `for_good` all that follow; 0: none. */
static int failing, syncs;
static bool for_good;
int __real_os_fsync(int fd);
int __wrap_os_fsync(int fd);
int __wrap_os_fsync(int fd)
{
    syncs++;
    bool fails = failing > 0 && (syncs == failing || (for_good && syncs > failing));
    return fails ? -EIO : __real_os_fsync(fd);
}

static void raise_it(struct place *place, char *digest, char *run)
{
    struct err err = {0};
    const struct fence fence = of(digest, run);
    assert_ok(fence_raise(&place->dir, &fence, &err));
}

static int keep(struct place *place, char *digest, char *run, struct err *err)
{
    static char limit[] = "memory";
    struct fence fence = of(digest, run);
    fence.state = FENCE_LIMIT;
    fence.limit = limit;
    return fence_keep(&place->dir, &fence, err);
}

static size_t standing(struct place *place)
{
    struct err err = {0};
    with_fences there = {0};
    assert_true(fences_read(&place->dir, &there, &err) >= 0);
    return there.standing.count;
}

/* FZ-1 FZ-4: the key is the work, and a second attempt at it is told of the first. */
static void work_that_is_fenced_is_not_attempted_again(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fences there = {0};
    raise_it(place, digest_a, run_1);
    assert_int_equal(fences_read(&place->dir, &there, &err), 1);
    assert_string_equal(fences_find(&there, digest_a)->run_id, run_1);
    assert_null(fences_find(&there, digest_b));
    const struct fence again = of(digest_a, run_2);
    assert_fails(fence_raise(&place->dir, &again, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.msg, "run k7f3aa at 2026-11-30T03:00:00.000Z"));
    assert_non_null(strstr(err.msg, "fence aaaaaaaaaaaa"));
    raise_it(place, digest_b, run_2);
    assert_int_equal(standing(place), 2);
}

/* FZ-5: what was refused before anything was written stands nowhere: nothing is to be taken down or cleared. */
static void nothing_is_cleared_that_was_not_written(struct place *place, char *digest, char *run,
                                                    enum err_code code)
{
    struct err err = {0};
    const struct fence fence = of(digest, run);
    locks = 0;
    held_from = 2;
    assert_fails(fence_raise(&place->dir, &fence, &err), code);
    held_from = 0;
    assert_int_equal(locks, 1);
    assert_null(strstr(err.msg, "it may stand"));
}

static void a_fence_of_another_run_is_no_hint_to_clear_ones_own(void **state)
{
    struct place *place = *state;
    raise_it(place, digest_a, run_1);
    nothing_is_cleared_that_was_not_written(place, digest_a, run_2, ERR_CONFLICT);
    nothing_is_cleared_that_was_not_written(place, digest_a, run_1, ERR_CONFLICT);
    /* An earlier attempt of the same run is nobody's to take down. */
    assert_int_equal(standing(place), 1);
}

/* FZ-1: what could not be put up durably does not stand by chance, or is told to. */
static void what_cannot_be_synced_is_taken_down_again(void **state)
{
    struct place *place = *state;
    const struct fence fence = of(digest_a, run_1);
    struct err err = {0};
    int result = -1;
    for (failing = 1; result < 0; failing++) {
        syncs = 0;
        err = (struct err){0};
        result = fence_raise(&place->dir, &fence, &err);
        if (result < 0) {
            assert_int_equal(standing(place), 0);
            assert_null(strstr(err.msg, "may stand"));
        }
    }
    assert_true(failing > 3); /* of the file, and of the folder behind the rename */
    failing = syncs = 0;
    assert_ok(fence_lower(&place->dir, digest_a, run_1, &err));
    int told = 0;
    for (failing = 2, for_good = true; told == 0 && failing < 5; failing++) {
        syncs = 0;
        err = (struct err){0};
        assert_int_equal(fence_raise(&place->dir, &fence, &err), -1);
        told = standing(place) > 0 && strstr(err.msg, "`berm fence clear aaaaaaaaaaaa`");
    }
    failing = 0;
    assert_int_equal(told, 1);
}

/* FZ-5: all that an attempt can come to. */
static void only_a_clean_end_without_a_limit_lowers_it(void **state)
{
    const struct fence_facts clean = {
        .released = true, .clean = true, .published = true, .disarmed = true};
    enum fence_state seen = FENCE_ACTIVE;
    assert_true(fence_judge(&clean, &seen));
    const struct {
        struct fence_facts facts;
        enum fence_state state;
    } kept[] = {
        {{true, "memory", false, true, true, true}, FENCE_LIMIT},
        {{true, "memory", true, false, true, true}, FENCE_LIMIT},
        {{true, NULL, true, false, true, true}, FENCE_INTERRUPTED},
        {{true, NULL, false, false, true, true}, FENCE_FAILED},
        {{true, NULL, false, true, false, true}, FENCE_FAILED},
        {{true, NULL, false, true, true, false}, FENCE_FAILED},
    };
    for (size_t i = 0; i < countof(kept); i++) {
        seen = FENCE_ACTIVE;
        assert_false(fence_judge(&kept[i].facts, &seen));
        assert_int_equal(seen, kept[i].state);
    }
    const struct fence_facts before = {.interrupted = true}; /* Ctrl-C before the release */
    assert_true(fence_judge(&before, &seen));
}

/* FZ-5: nobody lowers or changes the fence of another run. */
static void a_run_changes_its_own_fence_alone(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fences there = {0};
    raise_it(place, digest_a, run_1);
    assert_ok(fence_lower(&place->dir, digest_a, run_2, &err));
    assert_fails(keep(place, digest_a, run_2, &err), ERR_NOT_FOUND);
    assert_int_equal(standing(place), 1);
    assert_ok(keep(place, digest_a, run_1, &err));
    assert_int_equal(fences_read(&place->dir, &there, &err), 1);
    const struct fence *kept = fences_find(&there, digest_a);
    assert_int_equal(kept->state, FENCE_LIMIT);
    assert_string_equal(kept->limit, "memory");
    assert_ok(fence_lower(&place->dir, digest_a, run_1, &err));
    assert_int_equal(standing(place), 0);
    assert_ok(fence_lower(&place->dir, digest_a, run_1, &err)); /* it is gone already */
}

static int clear(struct place *place, const char *id, const char *reason, struct err *err)
{
    struct fence_clearing cleared = {0};
    int result = fence_clear(&place->dir, id, reason, 0, &cleared, err);
    record_done(&fence_clearing_record, &cleared);
    return result;
}

static void a_person_clears_one_for_a_reason_which_is_kept(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct fence_clearing cleared = {0};
    with_fences there = {0};
    raise_it(place, digest_a, run_1);
    raise_it(place, digest_b, run_2);
    assert_fails(clear(place, "aaaa", "because", &err), ERR_USAGE); /* which of them? */
    assert_fails(clear(place, "aaa", "because", &err), ERR_USAGE);
    assert_fails(clear(place, "AAAAAA", "because", &err), ERR_USAGE);
    assert_fails(clear(place, "cccc", "because", &err), ERR_NOT_FOUND);
    assert_fails(clear(place, "aaaaa", "", &err), ERR_USAGE);
    assert_fails(clear(place, "aaaaa", " \n", &err), ERR_USAGE);
    assert_int_equal(standing(place), 2);
    assert_ok(fence_clear(&place->dir, "aaaaa", "the leak is mended", 0, &cleared, &err));
    assert_string_equal(cleared.fence.run_id, run_1);
    record_done(&fence_clearing_record, &cleared);
    assert_int_equal(fences_read(&place->dir, &there, &err), 1);
    assert_int_equal(there.standing.count, 1);
    assert_int_equal(there.cleared.count, 1);
    const struct fence_clearing *kept = there.cleared.objects;
    assert_string_equal(kept->reason, "the leak is mended");
    assert_string_equal(kept->fence.frozen_digest, digest_a);
    assert_string_equal(kept->cleared_at, "1970-01-01T00:00:00.000Z");
    raise_it(place, digest_a, run_2); /* and it may be attempted again */
}

/* As many as there may be, of either kind. */
static void fill(struct place *place)
{
    static const struct state_file file = {FENCES_FILE, &fences_record, ""};
    static char reason[] = "for a test";
    static char when[] = "2026-11-30T03:00:00.000Z";
    struct err err = {0};
    struct fence list[FENCES_MAX];
    struct fence_clearing cleared[FENCES_CLEARED_MAX];
    char digests[FENCES_MAX][HASH_HEX_SIZE];
    for (int i = 0; i < FENCES_MAX; i++) {
        snprintf(digests[i], sizeof digests[i], "%064x", i);
        list[i] = of(digests[i], run_1);
        if (i < FENCES_CLEARED_MAX) {
            cleared[i] = (struct fence_clearing){list[i], when, reason};
        }
    }
    const struct fences whole = {.standing = {list, FENCES_MAX},
                                 .cleared = {cleared, FENCES_CLEARED_MAX}};
    assert_ok(state_file_write(&place->dir, &file, &whole, &err));
}

static void the_number_of_fences_is_bounded(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fences there = {0};
    fill(place);
    const struct fence more = of(digest_a, run_1);
    assert_fails(fence_raise(&place->dir, &more, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "berm fence list"));
    nothing_is_cleared_that_was_not_written(place, digest_a, run_1, ERR_OVER_BUDGET);
    char last[HASH_HEX_SIZE];
    snprintf(last, sizeof last, "%064x", FENCES_MAX - 1);
    assert_ok(clear(place, last, "the last", &err));
    assert_int_equal(fences_read(&place->dir, &there, &err), 1);
    assert_int_equal(there.standing.count, FENCES_MAX - 1);
    assert_int_equal(there.cleared.count, FENCES_CLEARED_MAX);
    assert_int_equal(there.cleared_before, 1);
    const struct fence_clearing *kept = there.cleared.objects;
    assert_string_equal(kept[FENCES_CLEARED_MAX - 1].reason, "the last");
    raise_it(place, digest_a, run_1);
}

/* FZ-5: a broken file clears nothing. */
static void a_corrupt_file_is_no_empty_one_and_is_not_written_over(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fences there = {0};
    put(place, FENCES_FILE, "{\"schema\": \"berm.fences/v1\"");
    assert_int_equal(fchmodat(place->fd, FENCES_FILE, 0600, 0), 0);
    const struct fence fence = of(digest_a, run_1);
    assert_fails(fences_read(&place->dir, &there, &err), ERR_CORRUPT);
    assert_fails(fence_raise(&place->dir, &fence, &err), ERR_CORRUPT);
    assert_fails(fence_lower(&place->dir, digest_a, run_1, &err), ERR_CORRUPT);
    assert_fails(clear(place, "aaaa", "because", &err), ERR_CORRUPT);
    assert_content(place, FENCES_FILE, "{\"schema\": \"berm.fences/v1\"");
}

/* FZ-5: a person who cleared it while it was attempted did not know yet of the limit. */
static void a_limit_puts_up_again_what_was_cleared_meanwhile(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_fences there = {0};
    raise_it(place, digest_a, run_1);
    assert_ok(clear(place, "aaaa", "because", &err));
    assert_int_equal(standing(place), 0);
    assert_ok(keep(place, digest_a, run_1, &err));
    assert_int_equal(fences_read(&place->dir, &there, &err), 1);
    assert_int_equal(fences_find(&there, digest_a)->state, FENCE_LIMIT);
    assert_int_equal(there.cleared.count, 1);
}

/* FZ-5: nothing is changed beside somebody who changes it, and the lock is given back. */
static void one_at_a_time_changes_them(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    raise_it(place, digest_a, run_1);
    const struct fence other = of(digest_b, run_1);
    held = true;
    assert_fails(fence_raise(&place->dir, &other, &err), ERR_CONFLICT);
    assert_fails(fence_lower(&place->dir, digest_a, run_1, &err), ERR_CONFLICT);
    assert_fails(keep(place, digest_a, run_1, &err), ERR_CONFLICT);
    assert_fails(clear(place, "aaaa", "because", &err), ERR_CONFLICT);
    held = false;
    assert_int_equal(standing(place), 1);
    int beside = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(beside, LOCK_EX | LOCK_NB), 0);
    close(beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(work_that_is_fenced_is_not_attempted_again),
        place_test(a_fence_of_another_run_is_no_hint_to_clear_ones_own),
        place_test(what_cannot_be_synced_is_taken_down_again),
        cmocka_unit_test(only_a_clean_end_without_a_limit_lowers_it),
        place_test(a_run_changes_its_own_fence_alone),
        place_test(a_person_clears_one_for_a_reason_which_is_kept),
        place_test(the_number_of_fences_is_bounded),
        place_test(a_limit_puts_up_again_what_was_cleared_meanwhile),
        place_test(one_at_a_time_changes_them),
        place_test(a_corrupt_file_is_no_empty_one_and_is_not_written_over),
    };
    return cmocka_run_group_tests_name("preflight/fence", tests, NULL, NULL);
}
