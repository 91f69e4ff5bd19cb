#include "../bfs/bfs-test.h"

#include "memory.h"
#include "production-claim-priv.h"

static const char boot[] = "b00t";

static struct claim of(uint32_t uid)
{
    return (struct claim){.uid = uid,
                          .process = {4711, 815},
                          .boot_id = "b00t",
                          .run_id = "k7f3aa",
                          .scope = "berm-k7f3aa.scope",
                          .since = "2026-11-30T03:00:00.000Z"};
}

static struct claims read_all(struct place *place)
{
    struct err err = {0};
    struct claims claims = {0};
    assert_ok(claims_read(&place->dir, boot, &claims, &err));
    return claims;
}

/* TR-4 */
static void what_was_claimed_is_read(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct claim claim = of(geteuid());
    char name[CLAIM_NAME_SIZE];
    assert_ok(claim_make(&place->dir, &claim, &err));
    assert_ok(claim_make(&place->dir, &claim, &err)); /* in its own place */
    with_claims claims = read_all(place);
    assert_int_equal(claims.count, 1);
    assert_int_equal(claims.list[0].uid, claim.uid);
    assert_int_equal(claims.list[0].process.pid, 4711);
    assert_int_equal(claims.list[0].process.start_ticks, 815);
    assert_string_equal(claims.list[0].run_id, claim.run_id);
    assert_string_equal(claims.list[0].scope, claim.scope);
    assert_string_equal(claims.list[0].since, claim.since);
    claim_name(claim.uid, name);
    assert_ok(claim_remove(&place->dir, name, &err));
    assert_ok(claim_remove(&place->dir, name, &err)); /* it is gone already */
    with_claims none = read_all(place);
    assert_int_equal(none.count, 0);
}

static void those_of_an_earlier_boot_and_other_files_are_none(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct claim claim = of(geteuid());
    strcpy(claim.boot_id, "another");
    assert_ok(claim_make(&place->dir, &claim, &err));
    put(place, "berm-production-", "");
    put(place, "berm-production-01", "");
    put(place, "berm-production-x", "");
    put(place, "another", "");
    with_claims claims = read_all(place);
    assert_int_equal(claims.count, 0);
}

static void leave(struct place *place, const char *name, const char *text)
{
    assert_int_equal(symlinkat(text, place->fd, name), 0);
}

/* Who takes the name of another's claim is named, and nothing is believed. */
static void a_name_that_somebody_took_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct claims claims = {0};
    leave(place, "berm-production-4294967295", "berm-claim 1 1 1 b00t k s t");
    assert_fails(claims_read(&place->dir, boot, &claims, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "/berm-production-4294967295' belongs to user "));
    assert_int_equal(unlinkat(place->fd, "berm-production-4294967295", 0), 0);
    char name[CLAIM_NAME_SIZE];
    claim_name(geteuid(), name);
    put(place, name, "berm-claim 1 1 1 b00t k s t");
    assert_fails(claims_read(&place->dir, boot, &claims, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(place->fd, name, 0), 0);
    assert_int_equal(mkfifoat(place->fd, name, 0600), 0);
    assert_fails(claims_read(&place->dir, boot, &claims, &err), ERR_REFUSED);
}

static void a_text_that_is_no_claim_is_corrupt(void **state)
{
    static const char *const texts[] = {
        "x",
        "berm-claim",
        "berm-claim 2 1 1 b00t k s t",
        "berm-claim 1 0 1 b00t k s t",
        "berm-claim 1 -1 1 b00t k s t",
        "berm-claim 1 2147483648 1 b00t k s t",
        "berm-claim 1 1 x b00t k s t",
        "berm-claim 1 1 1 b00t k s",
        "berm-claim 1 1 1 b00t k s t more",
        "berm-claim 1 1 1 b00t  s t",
        "berm-claim 1 1 1 b00t k ../s t",
        "berm-claim 1 1 1 b00t k \033[2J t",
        ("berm-claim 1 1 1 b00t k aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
         "t"),
    };
    struct place *place = *state;
    struct err err = {0};
    struct claims claims = {0};
    char name[CLAIM_NAME_SIZE];
    claim_name(geteuid(), name);
    for (size_t i = 0; i < countof(texts); i++) {
        leave(place, name, texts[i]);
        assert_fails(claims_read(&place->dir, boot, &claims, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.msg, "remove it when no run of user"));
        assert_int_equal(unlinkat(place->fd, name, 0), 0);
    }
}

static void only_a_folder_that_all_may_add_to_is_one(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_bfs_dir folder = {0};
    const char *const paths[] = {"/nowhere", place->path, NULL};
    assert_fails(claims_open(paths, &folder, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "/nowhere"));
    assert_non_null(strstr(err.msg, "mode 0700"));
    assert_int_equal(fchmod(place->fd, 0777), 0); /* others could exchange what lies there */
    assert_fails(claims_open(paths, &folder, &err), ERR_UNAVAILABLE);
    assert_int_equal(fchmod(place->fd, 01777), 0);
    assert_ok(claims_open(paths, &folder, &err));
}

/* TR-4: the kernel says what is left, wherever it is. */
static void a_scope_is_found_wherever_it_is_in_the_tree(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_string path = NULL;
    assert_int_equal(mkdirat(place->fd, "a", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "b", 0700), 0);
    assert_int_equal(mkdirat(place->fd, "b/c", 0700), 0);
    put(place, "berm-k7f3aa.scope", ""); /* no folder */
    assert_int_equal(claims_find_scope(place->fd, "berm-k7f3aa.scope", &path, &err), 0);
    assert_int_equal(mkdirat(place->fd, "b/c/berm-k7f3aa.scope", 0700), 0);
    assert_int_equal(claims_find_scope(place->fd, "berm-k7f3aa.scope", &path, &err), 1);
    assert_string_equal(path, "/b/c/berm-k7f3aa.scope");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(what_was_claimed_is_read),
        place_test(those_of_an_earlier_boot_and_other_files_are_none),
        place_test(a_name_that_somebody_took_is_refused),
        place_test(a_text_that_is_no_claim_is_corrupt),
        place_test(only_a_folder_that_all_may_add_to_is_one),
        place_test(a_scope_is_found_wherever_it_is_in_the_tree),
    };
    return cmocka_run_group_tests_name("preflight/production-claim", tests, NULL, NULL);
}
