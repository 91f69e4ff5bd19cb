#include "../unit.h"

#include "attestation-test.h"

static const char digest[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/* ST-4: the length stands before each text, so that none can take a part of its neighbour. */
static void each_fact_changes_the_fingerprint(void **state)
{
    char before[HASH_HEX_SIZE];
    char after[HASH_HEX_SIZE];
    with_attestation_host host = make_host();
    attestation_fingerprint(&host, before);
#define X(member, meaning)                                                                         \
    {                                                                                              \
        char *kept = host.member;                                                                  \
        char other[] = "another";                                                                  \
        host.member = other;                                                                       \
        attestation_fingerprint(&host, after);                                                     \
        assert_string_not_equal(before, after);                                                    \
        host.member = NULL;                                                                        \
        attestation_fingerprint(&host, after);                                                     \
        assert_string_not_equal(before, after);                                                    \
        host.member = kept;                                                                        \
    }
    ATTESTATION_FACTS(X)
#undef X
    attestation_fingerprint(&host, after);
    assert_string_equal(before, after);
}

static void no_fact_can_take_a_part_of_its_neighbour(void **state)
{
    char a[HASH_HEX_SIZE];
    char b[HASH_HEX_SIZE];
    char first[] = "Aboot_idB";
    char second[] = "Bboot_idC";
    char one[] = "A";
    char other[] = "C";
    const struct attestation_host left = {.machine_id = first, .boot_id = other};
    const struct attestation_host right = {.machine_id = one, .boot_id = second};
    attestation_fingerprint(&left, a);
    attestation_fingerprint(&right, b);
    assert_string_not_equal(a, b);
}

/* ST-3 */
static void is_complete_with_all_eleven_and_no_other(void **state)
{
    with_buf why = buf_new(1000);
    with_attestation attestation = make_attestation("a.json", digest);
    assert_int_equal(CASE_COUNT, 11);
    assert_true(attestation_complete(&attestation, &why));
    attestation.cases.count = CASE_COUNT - 1;
    assert_false(attestation_complete(&attestation, &why));
    assert_string_equal(buf_string(&why), "the case detached_descendant is missing");
    attestation.cases.count = CASE_COUNT;
    case_of(&attestation, CASE_DETACHED)->id = CASE_NORMAL;
    buf_clear(&why);
    assert_false(attestation_complete(&attestation, &why));
    assert_string_equal(buf_string(&why), "the case normal_cleanup is there twice");
}

static void expect_fault(struct attestation *attestation, const char *part)
{
    with_buf why = buf_new(1000);
    assert_false(attestation_complete(attestation, &why));
    assert_non_null(strstr(buf_string(&why), part));
    assert_non_null(strstr(buf_string(&why), "timeout_hang"));
}

/* ST-3 */
static void one_case_that_is_not_as_it_must_be_is_enough(void **state)
{
    with_attestation attestation = make_attestation("a.json", digest);
    struct attestation_case *one = case_of(&attestation, CASE_TIMEOUT);
    one->passed = false;
    expect_fault(&attestation, "did not pass");
    one->passed = true;
    one->skipped = true;
    expect_fault(&attestation, "did not pass");
    one->skipped = false;
    one->cleanup_verified = false;
    expect_fault(&attestation, "nothing was left");
    one->cleanup_verified = true;
    one->report_digest[0] ^= 1;
    expect_fault(&attestation, "another digest");
    one->report_digest[0] ^= 1;
    size_t count = one->reports.count;
    one->reports.count = 0;
    expect_fault(&attestation, "no report");
    one->reports.count = count;
    assert_true(attestation_complete(&attestation, NULL));
}

static void the_digest_of_several_reports_is_of_their_digests(void **state)
{
    with_attestation attestation = make_attestation("a.json", digest);
    struct attestation_case *one = case_of(&attestation, CASE_PARENT_SIGNAL);
    assert_string_equal(one->report_digest, digest);
    struct attestation_report *reports = memory_resize(one->reports.objects, 2 * sizeof *reports);
    reports[1] =
        (struct attestation_report){memory_copy_string("b.json"), memory_copy_string(digest)};
    one->reports = (struct object_list){reports, 2};
    assert_false(attestation_complete(&attestation, NULL));
    attestation_case_digest(one);
    assert_string_not_equal(one->report_digest, digest);
    assert_true(attestation_complete(&attestation, NULL));
    one->outcome[0] = 'S';
    attestation_case_forget(one);
    assert_null(one->outcome);
}

static void a_replaced_program_is_noticed(void **state)
{
    with_attestation_host a = make_host();
    with_attestation_host b = make_host();
    b.root_subtree_control[0] = 'x';
    assert_true(attestation_same_programs(&a, &b));
    b.fixture[0] = 'x';
    assert_false(attestation_same_programs(&a, &b));
}

static void survives_encoding(void **state)
{
    struct err err = {0};
    with_attestation attestation = make_attestation("a.json", digest);
    with_json json = record_encode(&attestation_record, &attestation);
    with_attestation read = {0};
    assert_int_equal(record_decode(&attestation_record, json, &read, &err), 0);
    assert_true(attestation_complete(&read, NULL));
    assert_string_equal(read.host->kernel_release, "kernel_release");
    assert_string_equal(attestation_case_name(case_of(&read, CASE_FLOOD)->id),
                        "stdout_stderr_flood");
    json_object_set_new(json, "more", json_true());
    with_attestation other = {0};
    assert_int_equal(record_decode(&attestation_record, json, &other, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fact_changes_the_fingerprint),
        cmocka_unit_test(no_fact_can_take_a_part_of_its_neighbour),
        cmocka_unit_test(is_complete_with_all_eleven_and_no_other),
        cmocka_unit_test(one_case_that_is_not_as_it_must_be_is_enough),
        cmocka_unit_test(the_digest_of_several_reports_is_of_their_digests),
        cmocka_unit_test(a_replaced_program_is_noticed),
        cmocka_unit_test(survives_encoding),
    };
    return cmocka_run_group_tests_name("preflight/attestation", tests, NULL, NULL);
}
