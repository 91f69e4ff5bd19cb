#include "bfs-test.h"

/* Modes and owners that a test cannot make without being root, by their facts. */
static void who_may_write_follows_from_owner_and_mode(void **state)
{
    uint32_t me = geteuid();
    uint32_t other = me + 1234;
    const struct {
        uint32_t mode;
        uint32_t owner;
        enum bfs_writers writers;
    } cases[] = {
        {S_IFDIR | 0755, me, BFS_WRITERS_OWN},        {S_IFDIR | 0755, 0, BFS_WRITERS_OWN},
        {S_IFDIR | 0755, other, BFS_WRITERS_FOREIGN}, {S_IFDIR | 01777, other, BFS_WRITERS_FOREIGN},
        {S_IFDIR | 01777, 0, BFS_WRITERS_STICKY},     {S_IFDIR | 01775, 0, BFS_WRITERS_STICKY},
        {S_IFDIR | 02775, 0, BFS_WRITERS_GROUP},      {S_IFDIR | 0777, me, BFS_WRITERS_WORLD},
        {S_IFREG | 0755, me, BFS_WRITERS_OWN},        {S_IFREG | 0775, me, BFS_WRITERS_GROUP},
        {S_IFREG | 01777, me, BFS_WRITERS_WORLD}, /* sticky means nothing on a file */
        {S_IFREG | 0700, other, BFS_WRITERS_FOREIGN},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct bfs_facts facts = {.mode = cases[i].mode, .owner = cases[i].owner, .group = 9999};
        assert_int_equal(bfs_writers_of(&facts), cases[i].writers);
    }
}

static void facts_are_equal_only_when_all_of_them_are(void **state)
{
    struct bfs_facts a = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    assert_true(bfs_facts_equal(&a, &(struct bfs_facts){1, 2, 3, 4, 5, 6, 7, 8, 9}));
    const struct bfs_facts others[] = {
        {0, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 0, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 0, 4, 5, 6, 7, 8, 9},
        {1, 2, 3, 0, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 0, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 0, 7, 8, 9},
        {1, 2, 3, 4, 5, 6, 0, 8, 9}, {1, 2, 3, 4, 5, 6, 7, 0, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 0},
    };
    for (size_t i = 0; i < countof(others); i++) {
        assert_false(bfs_facts_equal(&a, &others[i]));
        assert_int_equal(bfs_facts_same_inode(&a, &others[i]), i >= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_write_follows_from_owner_and_mode),
        cmocka_unit_test(facts_are_equal_only_when_all_of_them_are),
    };
    return cmocka_run_group_tests_name("bfs/facts", tests, NULL, NULL);
}
