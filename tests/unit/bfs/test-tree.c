#include "bfs-test.h"

#include "memory.h"

static const struct bfs_rule any = {.maximum_bytes = 1 << 20, .allow_links = true};
static const char hello_sha256[] =
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

static void a_copy_is_the_bytes_with_the_mode_that_was_asked_for(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char hex[HASH_HEX_SIZE];
    struct bfs_facts facts;
    struct stat stat;
    put(place, "from", "hello");
    with_bfs_file file = {0};
    assert_ok(bfs_file_open(&place->dir, "from", &any, &file, &err));
    mode_t before = umask(0277);
    assert_ok(bfs_tree_copy(&file, &place->dir, "to", 0555, hex, &facts, &err));
    umask(before);
    assert_content(place, "to", "hello");
    assert_string_equal(hex, hello_sha256);
    assert_int_equal(fstatat(place->fd, "to", &stat, 0), 0);
    assert_int_equal(stat.st_mode, S_IFREG | 0555);
    assert_int_equal(stat.st_ino, facts.inode);
    assert_int_equal(stat.st_nlink, 1);
    assert_fails(bfs_tree_copy(&file, &place->dir, "to", 0555, hex, &facts, &err), ERR_CONFLICT);
    assert_fails(bfs_tree_copy(&file, &place->dir, "../to", 0555, hex, &facts, &err), ERR_REFUSED);
}

/* A filesystem that shares blocks, as far as the copier sees one: the clone has the bytes at once. */
static bool clones;
static const char *cloned_instead; /* for the bytes of the file */

int __wrap_os_clone_file(int to_fd, int from_fd);
int __wrap_os_clone_file(int to_fd, int from_fd)
{
    char bytes[64];
    if (!clones) {
        return -EOPNOTSUPP;
    }
    ssize_t got = pread(from_fd, bytes, sizeof bytes, 0);
    if (cloned_instead) {
        got = (ssize_t)strlen(cloned_instead);
        memcpy(bytes, cloned_instead, (size_t)got);
    }
    assert_int_equal(write(to_fd, bytes, (size_t)got), got);
    return 0;
}

/* FZ-2: what is hashed is what the copy holds */
static void a_clone_is_hashed_by_itself(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char hex[HASH_HEX_SIZE];
    struct bfs_facts facts;
    put(place, "from", "hallo");
    with_bfs_file file = {0};
    assert_ok(bfs_file_open(&place->dir, "from", &any, &file, &err));
    clones = true;
    cloned_instead = "hello";
    assert_ok(bfs_tree_copy(&file, &place->dir, "to", 0444, hex, &facts, &err));
    cloned_instead = NULL;
    assert_string_equal(hex, hello_sha256);
    put(place, "from", "other");
    assert_fails(bfs_tree_copy(&file, &place->dir, "late", 0444, hex, &facts, &err), ERR_CHANGED);
    clones = false;
}

/* FZ-2: what changes while it is copied is no copy */
static void a_file_that_changed_since_it_was_opened_is_not_copied(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char hex[HASH_HEX_SIZE];
    struct bfs_facts facts;
    put(place, "from", "hello");
    with_bfs_file file = {0};
    assert_ok(bfs_file_open(&place->dir, "from", &any, &file, &err));
    put(place, "from", "hello, and more");
    assert_fails(bfs_tree_copy(&file, &place->dir, "to", 0444, hex, &facts, &err), ERR_CHANGED);
}

static void a_link_is_made_and_read_as_it_is(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char *target cleanup(memory_freep) = NULL;
    assert_ok(bfs_tree_link(&place->dir, "link", "\xff/../x", &err));
    assert_ok(bfs_read_link(&place->dir, "link", &target, &err));
    assert_string_equal(target, "\xff/../x");
    assert_fails(bfs_tree_link(&place->dir, "link", "y", &err), ERR_CONFLICT);
    put(place, "file", "x");
    char *none = NULL;
    assert_fails(bfs_read_link(&place->dir, "file", &none, &err), ERR_REFUSED);
    assert_fails(bfs_read_link(&place->dir, "missing", &none, &err), ERR_NOT_FOUND);
}

static void a_directory_has_the_mode_that_was_asked_for(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct stat stat;
    mode_t before = umask(077);
    assert_ok(bfs_tree_directory(&place->dir, "d", 0755, &err));
    umask(before);
    assert_int_equal(fstatat(place->fd, "d", &stat, 0), 0);
    assert_int_equal(stat.st_mode, S_IFDIR | 0755);
    assert_fails(bfs_tree_directory(&place->dir, "d", 0755, &err), ERR_CONFLICT);
}

static void a_file_is_written_once(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_ok(bfs_tree_write(&place->dir, "f", span_of_string("abc"), &err));
    assert_content(place, "f", "abc");
    assert_fails(bfs_tree_write(&place->dir, "f", span_of_string("d"), &err), ERR_CONFLICT);
}

/* FS-1: what a link leads to stays */
static void a_tree_is_removed_and_nothing_else(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    struct stat stat;
    put(place, "outside", "x");
    assert_int_equal(mkdirat(place->fd, "elsewhere", 0755), 0);
    put(place, "elsewhere/y", "y");
    assert_int_equal(mkdirat(place->fd, "t", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "t/a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "t/a/b", 0755), 0);
    put(place, "t/a/b/c", "c");
    assert_int_equal(symlinkat("../../outside", place->fd, "t/a/l"), 0);
    assert_int_equal(symlinkat("../elsewhere", place->fd, "t/d"), 0);
    assert_int_equal(mkfifoat(place->fd, "t/p", 0600), 0);
    assert_fails(bfs_tree_remove(&place->dir, "t", 2, &err), ERR_OVER_BUDGET);
    assert_ok(bfs_tree_remove(&place->dir, "t", 6, &err));
    assert_int_equal(fstatat(place->fd, "t", &stat, 0), -1);
    assert_content(place, "outside", "x");
    assert_content(place, "elsewhere/y", "y");
    assert_ok(bfs_tree_remove(&place->dir, "t", 6, &err));
    assert_ok(bfs_tree_remove(&place->dir, "outside", 0, &err));
}

/* D5 */
static void a_tree_that_is_too_deep_stays(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    int fd = place->fd;
    for (int i = 0; i < 260; i++) {
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(below >= 0);
        if (fd != place->fd) {
            close(fd);
        }
        fd = below;
    }
    close(fd);
    assert_fails(bfs_tree_remove(&place->dir, "d", 1000, &err), ERR_OVER_BUDGET);
}

/* I2 */
static void a_link_that_leads_out_is_told(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    static const struct {
        const char *target;
        bool stays;
    } cases[] = {
        {"x", true},        {"../x", true},  {"nothing", true},       {"l", true},
        {"../../x", false}, {"/etc", false}, {"../a/../../x", false},
    };
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    put(place, "x", "x");
    for (size_t i = 0; i < countof(cases); i++) {
        assert_int_equal(symlinkat(cases[i].target, place->fd, "a/l"), 0);
        if (cases[i].stays) {
            assert_ok(bfs_stays_beneath(&place->dir, "a/l", cases[i].target, &err));
        } else {
            assert_fails(bfs_stays_beneath(&place->dir, "a/l", cases[i].target, &err), ERR_REFUSED);
            assert_non_null(strstr(err.msg, cases[i].target));
        }
        assert_int_equal(unlinkat(place->fd, "a/l", 0), 0);
    }
    /* By way of another link: the words stay in, the way does not. */
    assert_int_equal(symlinkat("..", place->fd, "a/up"), 0);
    assert_int_equal(symlinkat("a/up/../x", place->fd, "sly"), 0);
    assert_fails(bfs_stays_beneath(&place->dir, "sly", "a/up/../x", &err), ERR_REFUSED);
    assert_fails(bfs_stays_beneath(&place->dir, "../sly", "x", &err), ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_copy_is_the_bytes_with_the_mode_that_was_asked_for),
        place_test(a_clone_is_hashed_by_itself),
        place_test(a_file_that_changed_since_it_was_opened_is_not_copied),
        place_test(a_link_is_made_and_read_as_it_is),
        place_test(a_directory_has_the_mode_that_was_asked_for),
        place_test(a_file_is_written_once),
        place_test(a_tree_is_removed_and_nothing_else),
        place_test(a_tree_that_is_too_deep_stays),
        place_test(a_link_that_leads_out_is_told),
    };
    return cmocka_run_group_tests_name("bfs/tree", tests, NULL, NULL);
}
