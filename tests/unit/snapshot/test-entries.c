#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "memory.h"
#include "snapshot-priv.h"

static const char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void the_order_is_that_of_a_sorted_walk(void **state)
{
    (void)state;
    static const char *const sorted[] = {"A",     "a",   "a/b", "a/b/c", "a/c",
                                         "a\x01", "a.b", "ab",  "\xff"};
    for (size_t i = 0; i < countof(sorted); i++) {
        for (size_t j = 0; j < countof(sorted); j++) {
            int order = entry_order(sorted[i], sorted[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
}

static struct entry *add_file(struct entries *entries, const char *path)
{
    struct entry *entry = entries_add(entries, path, ENTRY_FILE);
    memcpy(entry->sha256, digest_a, sizeof digest_a);
    entry->source = (struct bfs_facts){.inode = 7, .size_bytes = 3, .mode = 0100644};
    return entry;
}

static void entries_are_found_by_their_path(void **state)
{
    (void)state;
    with_entries entries = {0};
    assert_null(entries_find(&entries, "a"));
    (void)entries_add(&entries, "a", ENTRY_DIRECTORY);
    (void)add_file(&entries, "a/b");
    (void)add_file(&entries, "a.b");
    assert_string_equal(entries_find(&entries, "a/b")->path, "a/b");
    assert_int_equal(entries_find(&entries, "a")->kind, ENTRY_DIRECTORY);
    assert_null(entries_find(&entries, "a/c"));
    entries_drop_last(&entries);
    assert_null(entries_find(&entries, "a.b"));
}

static void source_of(struct entries *entries, char hex[HASH_HEX_SIZE])
{
    (void)entries_add(entries, "d", ENTRY_DIRECTORY);
    (void)add_file(entries, "d/f");
    struct entry *link = entries_add(entries, "l", ENTRY_LINK);
    link->target = memory_copy_string("d/f");
    entries_digest(entries, hex);
}

/* FZ-2: path, kind, content, size and target count; where and when it lies on the disk does not */
static void the_identity_is_of_bytes_and_not_of_inodes(void **state)
{
    (void)state;
    with_entries entries = {0};
    char before[HASH_HEX_SIZE];
    char after[HASH_HEX_SIZE];
    source_of(&entries, before);
    struct entry *file = &entries.items[1];
    struct entry *link = &entries.items[2];

    file->source = (struct bfs_facts){.inode = 8,
                                      .device = 9,
                                      .size_bytes = 3,
                                      .mode = 0100600,
                                      .owner = 5,
                                      .mtime_ns = 1,
                                      .ctime_ns = 2,
                                      .links = 2};
    file->copy.inode = 11;
    file->read_ns = 12;
    entries_digest(&entries, after);
    assert_string_equal(after, before);

    file->kind = ENTRY_EXECUTABLE;
    entries_digest(&entries, after);
    assert_string_not_equal(after, before);
    file->kind = ENTRY_FILE;

    file->sha256[0] = 'b';
    entries_digest(&entries, after);
    assert_string_not_equal(after, before);
    file->sha256[0] = 'a';

    file->path[2] = 'g';
    entries_digest(&entries, after);
    assert_string_not_equal(after, before);
    file->path[2] = 'f';

    link->target[0] = 'e';
    entries_digest(&entries, after);
    assert_string_not_equal(after, before);
    link->target[0] = 'd';
    entries_digest(&entries, after);
    assert_string_equal(after, before);
}

/* FZ-2: a change within the same tick of the clock leaves the times as they were */
static void a_file_is_young_when_a_change_could_go_unseen(void **state)
{
    (void)state;
    struct entry entry = {.read_ns = 100 * NS_PER_S};
    entry.source.ctime_ns = 97 * NS_PER_S;
    assert_false(entry_is_young(&entry));
    entry.source.ctime_ns = 99 * NS_PER_S;
    assert_true(entry_is_young(&entry));
    entry.source.ctime_ns = 200 * NS_PER_S; /* of a clock that is ahead */
    assert_true(entry_is_young(&entry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_that_of_a_sorted_walk),
        cmocka_unit_test(entries_are_found_by_their_path),
        cmocka_unit_test(the_identity_is_of_bytes_and_not_of_inodes),
        cmocka_unit_test(a_file_is_young_when_a_change_could_go_unseen),
    };
    return cmocka_run_group_tests_name("snapshot/entries", tests, NULL, NULL);
}
