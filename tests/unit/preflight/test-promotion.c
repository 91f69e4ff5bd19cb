#include "../bfs/bfs-test.h"

#include <sys/file.h>

#include "hash.h"
#include "promotion.h"
#include "state-file-priv.h"

static char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static char digest_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
static const struct promotion_facts all = {
#define X(member, missing) .member = true,
    PROMOTION_FACTS(X)
#undef X
};

static struct promotion of(char *workload, int tier, char *digest)
{
    static char repository[] = "/home/u/project";
    static char run[] = "k7f3aa";
    static char when[] = "2026-11-30T03:00:00.000Z";
    return (struct promotion){repository, workload, tier, digest, digest_b, run, when, digest_b};
}

static struct promotion_work work_of(const struct promotion *one)
{
    return (struct promotion_work){one->repository, one->workload, one->frozen_digest};
}

/* Another berm changes the file, when `held`. */
static bool held;
int __real_os_flock_within(int fd, int wait_ms);
int __wrap_os_flock_within(int fd, int wait_ms);
int __wrap_os_flock_within(int fd, int wait_ms)
{
    return held ? -EWOULDBLOCK : __real_os_flock_within(fd, wait_ms);
}

static void add(struct place *place, const struct promotion *one)
{
    struct err err = {0};
    assert_ok(promotion_add(&place->dir, one, &all, &err));
}

static bool allows(struct place *place, const struct promotion_work *work, enum promotion_tier tier,
                   struct buf *why)
{
    struct err err = {0};
    with_promotions there = {0};
    buf_clear(why);
    assert_true(promotions_read(&place->dir, &there, &err) >= 0);
    return promotions_allow(&there, work, tier, why);
}

/* TR-4 */
static void each_tier_needs_all_that_are_smaller(void **state)
{
    struct place *place = *state;
    char name[] = "scan";
    with_buf why = buf_new(1000);
    const struct promotion small = of(name, PROMOTION_SMALL, digest_a);
    const struct promotion medium = of(name, PROMOTION_MEDIUM, digest_a);
    const struct promotion_work work = work_of(&small);
    assert_true(allows(place, &work, PROMOTION_SMALL, &why));
    assert_false(allows(place, &work, PROMOTION_MEDIUM, &why));
    assert_string_equal(buf_string(&why), "workload 'scan' was not promoted at tier small");
    add(place, &medium); /* which no run could earn now */
    assert_false(allows(place, &work, PROMOTION_LARGE, &why));
    assert_non_null(strstr(buf_string(&why), "at tier small"));
    add(place, &small);
    assert_true(allows(place, &work, PROMOTION_MEDIUM, &why));
    assert_true(allows(place, &work, PROMOTION_LARGE, &why));
}

/* TR-2: neither another workload's success nor that of other work opens anything. */
static void only_this_work_under_this_name_counts(void **state)
{
    struct place *place = *state;
    char scan[] = "scan";
    char other[] = "other";
    char elsewhere[] = "/home/u/another";
    with_buf why = buf_new(1000);
    const struct promotion small = of(scan, PROMOTION_SMALL, digest_a);
    add(place, &small);
    struct promotion_work work = work_of(&small);
    work.workload = other;
    assert_false(allows(place, &work, PROMOTION_MEDIUM, &why));
    assert_non_null(strstr(buf_string(&why), "'other' was not promoted"));
    work = work_of(&small);
    work.repository = elsewhere;
    assert_false(allows(place, &work, PROMOTION_MEDIUM, &why));
    work = work_of(&small);
    work.frozen_digest = digest_b;
    assert_false(allows(place, &work, PROMOTION_MEDIUM, &why));
    assert_non_null(strstr(buf_string(&why), "by run k7f3aa, which was other work"));
}

/* A later success of the workload takes the place of the earlier one, whatever its work was. */
static void a_later_run_of_the_workload_replaces_it(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char name[] = "scan";
    with_promotions there = {0};
    const struct promotion first = of(name, PROMOTION_SMALL, digest_a);
    const struct promotion medium = of(name, PROMOTION_MEDIUM, digest_a);
    const struct promotion second = of(name, PROMOTION_SMALL, digest_b);
    const struct promotion_work work = work_of(&second);
    add(place, &first);
    add(place, &medium);
    add(place, &second);
    assert_int_equal(promotions_read(&place->dir, &there, &err), 1);
    assert_int_equal(there.promotions.count, 2);
    assert_string_equal(promotions_find(&there, &work, PROMOTION_SMALL)->frozen_digest, digest_b);
    assert_string_equal(promotions_find(&there, &work, PROMOTION_MEDIUM)->frozen_digest, digest_a);
}

/* TR-3: each fact that is missing refuses, and is told. */
static void without_one_of_the_facts_nothing_is_recorded(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char name[] = "scan";
    with_promotions there = {0};
    const struct promotion small = of(name, PROMOTION_SMALL, digest_a);
#define X(member, missing)                                                                         \
    {                                                                                              \
        struct promotion_facts facts = all;                                                        \
        facts.member = false;                                                                      \
        assert_fails(promotion_add(&place->dir, &small, &facts, &err), ERR_REFUSED);               \
        assert_string_equal(err.msg, "it is not promoted: " missing);                              \
    }
    PROMOTION_FACTS(X)
#undef X
    const struct promotion_facts none = {0};
    assert_fails(promotion_add(&place->dir, &small, &none, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "did not succeed; no valid report"));
    assert_int_equal(promotions_read(&place->dir, &there, &err), 0);
}

static void fill(struct place *place)
{
    static const struct state_file file = {PROMOTIONS_FILE, &promotions_record, ""};
    struct err err = {0};
    struct promotion list[PROMOTIONS_MAX];
    char names[PROMOTIONS_MAX][8];
    for (int i = 0; i < PROMOTIONS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        list[i] = of(names[i], PROMOTION_SMALL, digest_a);
    }
    const struct promotions whole = {{list, PROMOTIONS_MAX}};
    assert_ok(state_file_write(&place->dir, &file, &whole, &err));
}

static void the_oldest_gives_way(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char name[] = "one more";
    with_promotions there = {0};
    fill(place);
    const struct promotion more = of(name, PROMOTION_SMALL, digest_a);
    add(place, &more);
    assert_int_equal(promotions_read(&place->dir, &there, &err), 1);
    const struct promotion *list = there.promotions.objects;
    assert_int_equal(there.promotions.count, PROMOTIONS_MAX);
    assert_string_equal(list[0].workload, "w1");
    assert_string_equal(list[PROMOTIONS_MAX - 1].workload, name);
}

/* TR-2 */
static void a_corrupt_file_is_no_empty_one_and_is_not_written_over(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char name[] = "scan";
    with_promotions there = {0};
    const struct promotion small = of(name, PROMOTION_SMALL, digest_a);
    put(place, PROMOTIONS_FILE, "{\"schema\": \"berm.promotions/v1\", \"promotions\": [{}]}");
    assert_int_equal(fchmodat(place->fd, PROMOTIONS_FILE, 0600, 0), 0);
    assert_fails(promotions_read(&place->dir, &there, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "run the smaller tiers with --promote again"));
    assert_fails(promotion_add(&place->dir, &small, &all, &err), ERR_CORRUPT);
    assert_content(place, PROMOTIONS_FILE,
                   "{\"schema\": \"berm.promotions/v1\", \"promotions\": [{}]}");
}

static void one_at_a_time_adds(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char name[] = "scan";
    const struct promotion small = of(name, PROMOTION_SMALL, digest_a);
    held = true;
    assert_fails(promotion_add(&place->dir, &small, &all, &err), ERR_CONFLICT);
    held = false;
    add(place, &small);
    int beside = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(beside, LOCK_EX | LOCK_NB), 0);
    close(beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(each_tier_needs_all_that_are_smaller),
        place_test(only_this_work_under_this_name_counts),
        place_test(a_later_run_of_the_workload_replaces_it),
        place_test(without_one_of_the_facts_nothing_is_recorded),
        place_test(one_at_a_time_adds),
        place_test(the_oldest_gives_way),
        place_test(a_corrupt_file_is_no_empty_one_and_is_not_written_over),
    };
    return cmocka_run_group_tests_name("preflight/promotion", tests, NULL, NULL);
}
