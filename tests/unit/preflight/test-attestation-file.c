#include "../bfs/bfs-test.h"
#include "attestation-test.h"

static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static void put_reports(struct place *place)
{
    assert_int_equal(mkdirat(place->fd, ATTESTATION_REPORTS, 0700), 0);
    put(place, ATTESTATION_REPORTS "/a.json", "");
}

/* 1, and what is there is `read`. */
static int read_it(struct place *place, struct attestation *read)
{
    struct err err = {0};
    return attestation_read(&place->dir, read, &err);
}

static int judge(struct place *place, const struct attestation *attestation,
                 const struct attestation_host *host, struct buf *why)
{
    struct err err = {0};
    buf_clear(why);
    return attestation_judge(attestation, &place->dir, host, why, &err);
}

/* ST-3 ST-4 */
static void what_was_written_holds_as_long_as_nothing_changes(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct bfs_facts facts;
    with_buf why = buf_new(10000);
    with_attestation read = {0};
    assert_int_equal(read_it(place, &read), 0);
    put_reports(place);
    with_attestation made = make_attestation("a.json", empty);
    assert_ok(attestation_write(&place->dir, &made, &err));
    assert_ok(bfs_stat(&place->dir, ATTESTATION_FILE, &facts, &err));
    assert_int_equal(facts.mode & 07777, 0600);
    assert_int_equal(read_it(place, &read), 1);
    with_attestation_host host = make_host();
    assert_int_equal(judge(place, &read, &host, &why), 1);
#define X(member, meaning)                                                                         \
    host.member[0] ^= 1;                                                                           \
    assert_int_equal(judge(place, &read, &host, &why), 0);                                         \
    assert_non_null(strstr(buf_string(&why), meaning " changed: was " #member));                   \
    host.member[0] ^= 1;
    ATTESTATION_FACTS(X)
#undef X
}

/* ST-4: the digests of the stored reports are looked at again. */
static void a_report_that_is_another_or_gone_voids_it(void **state)
{
    struct place *place = *state;
    with_buf why = buf_new(10000);
    with_attestation made = make_attestation("a.json", empty);
    with_attestation_host host = make_host();
    assert_int_equal(judge(place, &made, &host, &why), 0);
    put_reports(place);
    assert_int_equal(judge(place, &made, &host, &why), 1);
    put(place, ATTESTATION_REPORTS "/a.json", "{}");
    assert_int_equal(judge(place, &made, &host, &why), 0);
    assert_non_null(strstr(buf_string(&why), "normal_cleanup is not the one"));
    assert_int_equal(unlinkat(place->fd, ATTESTATION_REPORTS "/a.json", 0), 0);
    assert_int_equal(judge(place, &made, &host, &why), 0);
    assert_non_null(strstr(buf_string(&why), "cannot be read"));
}

/* ST-4: whatever it says of itself. */
static void one_that_did_not_pass_is_not_valid(void **state)
{
    struct place *place = *state;
    with_buf why = buf_new(10000);
    with_attestation made = make_attestation("a.json", empty);
    with_attestation_host host = make_host();
    put_reports(place);
    made.qualified_for_production_tiers = false;
    assert_int_equal(judge(place, &made, &host, &why), 0);
    made.qualified_for_production_tiers = true;
    case_of(&made, CASE_FLOOD)->passed = false;
    assert_int_equal(judge(place, &made, &host, &why), 0);
    assert_non_null(strstr(buf_string(&why), "stdout_stderr_flood did not pass"));
}

/* A fact that was changed in the file itself is no change of the host. */
static void one_that_contradicts_itself_is_corrupt(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_buf why = buf_new(10000);
    with_attestation made = make_attestation("a.json", empty);
    with_attestation_host host = make_host();
    put_reports(place);
    made.host->boot_id[0] ^= 1;
    host.boot_id[0] ^= 1;
    assert_fails(attestation_judge(&made, &place->dir, &host, &why, &err), ERR_CORRUPT);
    made.host->boot_id[0] ^= 1;
    host.boot_id[0] ^= 1;
    made.adapter[0] ^= 1;
    assert_fails(attestation_judge(&made, &place->dir, &host, &why, &err), ERR_CORRUPT);
}

/* ST-3: withdrawn, it is none, and says why. */
static void a_withdrawn_one_is_not_valid(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_buf why = buf_new(10000);
    with_attestation made = make_attestation("a.json", empty);
    with_attestation_host host = make_host();
    with_attestation read = {0};
    put_reports(place);
    assert_ok(attestation_write(&place->dir, &made, &err));
    assert_ok(attestation_withdraw(&place->dir, 0, &err));
    assert_int_equal(read_it(place, &read), 1);
    assert_false(read.passed);
    assert_int_equal(judge(place, &read, &host, &why), 0);
    assert_string_equal(buf_string(&why), "a self-test began and has not ended");
}

static void what_is_no_attestation_is_an_error_and_not_none(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_attestation read = {0};
    put(place, ATTESTATION_FILE, "{\"schema\": \"lamina.safe-runner-attestation/v1\"");
    assert_int_equal(fchmodat(place->fd, ATTESTATION_FILE, 0600, 0), 0);
    assert_fails(attestation_read(&place->dir, &read, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, ATTESTATION_FILE));
    put(place, ATTESTATION_FILE, "{\"schema\": \"another/v1\"}");
    assert_fails(attestation_read(&place->dir, &read, &err), ERR_CORRUPT);
    assert_int_equal(fchmodat(place->fd, ATTESTATION_FILE, 0620, 0), 0);
    assert_fails(attestation_read(&place->dir, &read, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(place->fd, ATTESTATION_FILE, 0), 0);
    assert_int_equal(symlinkat("elsewhere", place->fd, ATTESTATION_FILE), 0);
    assert_fails(attestation_read(&place->dir, &read, &err), ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(what_was_written_holds_as_long_as_nothing_changes),
        place_test(a_report_that_is_another_or_gone_voids_it),
        place_test(one_that_did_not_pass_is_not_valid),
        place_test(one_that_contradicts_itself_is_corrupt),
        place_test(a_withdrawn_one_is_not_valid),
        place_test(what_is_no_attestation_is_an_error_and_not_none),
    };
    return cmocka_run_group_tests_name("preflight/attestation-file", tests, NULL, NULL);
}
