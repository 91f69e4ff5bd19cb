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

static int read_in(struct place *place, struct claims *ret_claims, struct err *err)
{
    const char *const paths[] = {"/nowhere", place->path, NULL};
    return claims_read(paths, geteuid(), boot, ret_claims, err);
}

static struct claims read_all(struct place *place)
{
    struct err err = {0};
    struct claims claims = {0};
    assert_ok(read_in(place, &claims, &err));
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

/* TR-4: who takes the name of another's claim forges none, and keeps nobody else out. */
static void what_another_user_put_there_is_no_claim(void **state)
{
    struct place *place = *state;
    leave(place, "berm-production-4294967295", "berm-claim 1 1 1 b00t k berm-s t");
    with_claims claims = read_all(place);
    assert_int_equal(claims.count, 0);
}

/* Whose name it is is told. */
static void a_name_that_somebody_took_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct claims claims = {0};
    char name[CLAIM_NAME_SIZE];
    claim_name(geteuid(), name);
    put(place, name, "berm-claim 1 1 1 b00t k s t");
    assert_fails(read_in(place, &claims, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(place->fd, name, 0), 0);
    assert_int_equal(mkfifoat(place->fd, name, 0600), 0);
    assert_fails(read_in(place, &claims, &err), ERR_REFUSED);
}

static void a_text_that_is_no_claim_is_corrupt(void **state)
{
    static const char *const texts[] = {
        "x",
        "berm-claim",
        "berm-claim 2 1 1 b00t k berm-s t",
        "berm-claim 1 0 1 b00t k berm-s t",
        "berm-claim 1 -1 1 b00t k berm-s t",
        "berm-claim 1 2147483648 1 b00t k berm-s t",
        "berm-claim 1 1 x b00t k berm-s t",
        "berm-claim 1 1 1 b00t k berm-s",
        "berm-claim 1 1 1 b00t k berm-s t more",
        "berm-claim 1 1 1 b00t  berm-s t",
        "berm-claim 1 1 1 b00t k user.slice t", /* which is always there */
        "berm-claim 1 1 1 b00t k berm-../s t",
        "berm-claim 1 1 1 b00t k berm-\033[2J t",
        ("berm-claim 1 1 1 b00t k berm-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
         "t"),
    };
    struct place *place = *state;
    struct err err = {0};
    struct claims claims = {0};
    char name[CLAIM_NAME_SIZE];
    claim_name(geteuid(), name);
    for (size_t i = 0; i < countof(texts); i++) {
        leave(place, name, texts[i]);
        assert_fails(read_in(place, &claims, &err), ERR_CORRUPT);
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
    assert_fails(claims_open(paths, geteuid(), &folder, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "/nowhere"));
    assert_non_null(strstr(err.msg, "mode 0700"));
    assert_int_equal(fchmod(place->fd, 0777), 0); /* others could exchange what lies there */
    assert_fails(claims_open(paths, geteuid(), &folder, &err), ERR_UNAVAILABLE);
    assert_int_equal(fchmod(place->fd, 01777), 0);
    assert_fails(claims_open(paths, geteuid() + 1, &folder, &err), ERR_UNAVAILABLE);
    assert_ok(claims_open(paths, geteuid(), &folder, &err));
}

/* TR-4: a claim of when the first folder was no place for it is one still; a folder of somebody's own is no
 * place at all. */
static void all_folders_of_the_owner_are_read(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct claim claim = of(geteuid());
    with_bfs_dir second = {0};
    assert_int_equal(mkdirat(place->fd, "first", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "second", 0755), 0);
    assert_ok(bfs_dir_open_beneath(&place->dir, "second", &second, &err));
    assert_ok(claim_make(&second, &claim, &err));
    with_string first = memory_format("%s/first", place->path);
    const char *const paths[] = {first, second.path, NULL};
    with_claims claims = {0};
    assert_ok(claims_read(paths, geteuid(), boot, &claims, &err));
    assert_int_equal(claims.count, 1);
    with_claims none = {0};
    assert_ok(claims_read(paths, geteuid() + 1, boot, &none, &err));
    assert_int_equal(none.count, 0);
}

/* TR-4: whoever fills the folder keeps nobody out. */
static void other_names_cost_nothing_but_a_look(void **state)
{
    enum { NAMES = 70000 };
    struct place *place = *state;
    struct err err = {0};
    const struct claim claim = of(geteuid());
    assert_int_equal(mkdirat(place->fd, "many", 0755), 0);
    with_bfs_dir many = {0};
    assert_ok(bfs_dir_open_beneath(&place->dir, "many", &many, &err));
    for (int i = 0; i < NAMES; i++) {
        char name[40];
        snprintf(name, sizeof name, "berm-production-x%d", i);
        assert_int_equal(symlinkat("x", bfs_dir_fd(&many), name), 0);
    }
    assert_ok(claim_make(&many, &claim, &err));
    const char *const paths[] = {many.path, NULL};
    with_claims claims = {0};
    assert_ok(claims_read(paths, geteuid(), boot, &claims, &err));
    assert_int_equal(claims.count, 1);
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
    const struct claim claim = of(geteuid());
    const struct claim other = of(geteuid() + 1);
    put(place, "berm-k7f3aa.scope", ""); /* no folder */
    assert_int_equal(claim_find_scope(place->fd, &claim, &path, &err), 0);
    assert_int_equal(mkdirat(place->fd, "b/c/berm-k7f3aa.scope", 0700), 0);
    assert_int_equal(claim_find_scope(place->fd, &other, &path, &err), 0); /* made in his name */
    assert_int_equal(claim_find_scope(place->fd, &claim, &path, &err), 1);
    assert_string_equal(path, "/b/c/berm-k7f3aa.scope");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(what_was_claimed_is_read),
        place_test(those_of_an_earlier_boot_and_other_files_are_none),
        place_test(what_another_user_put_there_is_no_claim),
        place_test(a_name_that_somebody_took_is_refused),
        place_test(a_text_that_is_no_claim_is_corrupt),
        place_test(only_a_folder_that_all_may_add_to_is_one),
        place_test(all_folders_of_the_owner_are_read),
        place_test(other_names_cost_nothing_but_a_look),
        place_test(a_scope_is_found_wherever_it_is_in_the_tree),
    };
    return cmocka_run_group_tests_name("preflight/production-claim", tests, NULL, NULL);
}
