#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "ledger-priv.h"
#include "memory.h"

static const char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char boot[] = "11111111-2222-3333-4444-555555555555";

static void make(struct ledger *ledger)
{
    *ledger = (struct ledger){.tree = {.inode = 42, .ctime_ns = -1}};
    (void)entries_add(&ledger->entries, "d", ENTRY_DIRECTORY);
    struct entry *file = entries_add(&ledger->entries, "d/\xff\n", ENTRY_EXECUTABLE);
    memcpy(file->sha256, digest_a, sizeof digest_a);
    file->read_ns = INT64_C(1) << 60;
    file->source = (struct bfs_facts){1, 2, 3, 4, 5, 6, 7, INT64_MIN, 9};
    file->copy = (struct bfs_facts){.device = UINT64_MAX, .inode = 10};
    entries_add(&ledger->entries, "l", ENTRY_LINK)->target = memory_copy_string("d/x");
}

static int decode(const struct buf *bytes, const char *boot_id, struct ledger *ret_ledger,
                  struct err *err)
{
    return ledger_decode(buf_span(bytes), boot_id, ret_ledger, err);
}

static void a_ledger_comes_back_as_it_was(void **state)
{
    (void)state;
    struct err err = {0};
    with_ledger ledger = {0};
    with_ledger seen = {0};
    with_buf bytes = buf_new(1 << 20);
    make(&ledger);
    ledger_encode(&ledger, boot, &bytes);
    assert_int_equal(decode(&bytes, boot, &seen, &err), 0);
    assert_true(bfs_facts_equal(&seen.tree, &ledger.tree));
    assert_int_equal(seen.entries.count, 3);
    assert_int_equal(seen.entries.bytes, 7);
    for (size_t i = 0; i < 3; i++) {
        const struct entry *was = &ledger.entries.items[i];
        const struct entry *is = &seen.entries.items[i];
        assert_string_equal(is->path, was->path);
        assert_int_equal(is->kind, was->kind);
        assert_string_equal(is->sha256, was->sha256);
        assert_int_equal(is->read_ns, was->read_ns);
        assert_true(bfs_facts_equal(&is->source, &was->source));
        assert_true(bfs_facts_equal(&is->copy, &was->copy));
    }
    assert_string_equal(seen.entries.items[2].target, "d/x");
}

/* S5: nothing is synced, so what another boot wrote is not believed */
static void a_ledger_of_another_boot_is_none(void **state)
{
    (void)state;
    struct err err = {0};
    with_ledger ledger = {0};
    with_ledger seen = {0};
    with_buf bytes = buf_new(1 << 20);
    make(&ledger);
    ledger_encode(&ledger, boot, &bytes);
    assert_int_equal(decode(&bytes, "11111111-2222-3333-4444-555555555556", &seen, &err), -1);
    assert_int_equal(err.code, ERR_CHANGED);
}

/* S1: cut short, or with any bit turned */
static void a_damaged_ledger_is_none(void **state)
{
    (void)state;
    struct err err = {0};
    with_ledger ledger = {0};
    with_buf bytes = buf_new(1 << 20);
    make(&ledger);
    ledger_encode(&ledger, boot, &bytes);
    for (size_t n = 0; n < buf_length(&bytes); n++) {
        with_ledger seen = {0};
        assert_int_equal(ledger_decode(span_of(bytes.data, n), boot, &seen, &err), -1);
        bytes.data[n] = (char)(bytes.data[n] ^ 4);
        assert_int_equal(decode(&bytes, boot, &seen, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
        bytes.data[n] = (char)(bytes.data[n] ^ 4);
    }
}

/* Sealed again after each change: the fields themselves are looked at. */
static void a_ledger_that_no_snapshot_wrote_is_none(void **state)
{
    (void)state;
    struct err err = {0};
    static const char *const pairs[][2] = {{"b", "a"}, {"a", "a"}, {"", "a"}};
    for (size_t i = 0; i < countof(pairs) + 2; i++) {
        with_ledger ledger = {0};
        with_ledger seen = {0};
        with_buf bytes = buf_new(1 << 20);
        struct entry *entry = NULL;
        for (size_t j = 0; j < 2; j++) {
            entry = entries_add(&ledger.entries,
                                i < countof(pairs) ? pairs[i][j]
                                : j                ? "b"
                                                   : "a",
                                ENTRY_FILE);
            memcpy(entry->sha256, digest_a, sizeof digest_a);
        }
        if (i == countof(pairs)) {
            entry->kind = (enum entry_kind)'q';
        } else if (i == countof(pairs) + 1) {
            entry->sha256[3] = '\0';
        }
        ledger_encode(&ledger, boot, &bytes);
        assert_int_equal(decode(&bytes, boot, &seen, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_comes_back_as_it_was),
        cmocka_unit_test(a_ledger_of_another_boot_is_none),
        cmocka_unit_test(a_damaged_ledger_is_none),
        cmocka_unit_test(a_ledger_that_no_snapshot_wrote_is_none),
    };
    return cmocka_run_group_tests_name("snapshot/ledger", tests, NULL, NULL);
}
