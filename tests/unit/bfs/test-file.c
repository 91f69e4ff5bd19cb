#include "bfs-test.h"

#include <sys/socket.h>
#include <sys/un.h>

/* The file is read through os_pread(); a test steps in before one of the pieces. */
static struct {
    int at_call;
    int calls;
    void (*meddle)(void);
} hook;

ssize_t __real_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset);
ssize_t __wrap_os_pread(int fd, void *bytes, size_t n, off_t offset)
{
    if (hook.meddle && hook.calls++ == hook.at_call) {
        hook.meddle();
    }
    return __real_os_pread(fd, bytes, n, offset);
}

static const struct bfs_rule rule = {.maximum_bytes = 1 << 20};

static int read_it(const struct place *place, const char *path, struct err *err)
{
    with_buf out = buf_new(1 << 20);
    return bfs_read(&place->dir, path, &rule, &out, NULL, err);
}

/* FS-1, FS-2 */
static void reads_a_regular_file_beneath_its_root(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    put(place, "a/b", "content\n");
    with_buf out = buf_new(100);
    struct bfs_facts facts;
    assert_ok(bfs_read(&place->dir, "a/b", &rule, &out, &facts, &err));
    assert_string_equal(buf_string(&out), "content\n");
    assert_int_equal(facts.size_bytes, 8);
    assert_int_equal(facts.links, 1);
    assert_true(S_ISREG(facts.mode));
    put(place, "empty", "");
    buf_clear(&out);
    assert_ok(bfs_read(&place->dir, "empty", &rule, &out, &facts, &err));
    assert_int_equal(buf_length(&out), 0);
}

/* FS-4: before any descriptor is opened */
static void refuses_traversal(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const char *paths[] = {"",  "/etc/passwd", "..",    "../x", "a/../b", "a/..",
                           ".", "./a",         "a/./b", "a//b", "a/",     "/"};
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    put(place, "b", "b");
    for (size_t i = 0; i < countof(paths); i++) {
        assert_fails(read_it(place, paths[i], &err), ERR_REFUSED);
    }
    char *longest = malloc(5000);
    memset(longest, 'x', 4999);
    longest[4999] = '\0';
    assert_fails(read_it(place, longest, &err), ERR_REFUSED);
    free(longest);
}

/* FS-1, I2, R41: a link at each place of the path */
static void follows_no_link_at_any_component(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "a/b", 0755), 0);
    put(place, "a/b/c", "c");
    assert_ok(read_it(place, "a/b/c", &err));
    assert_int_equal(symlinkat("a", place->fd, "first"), 0);
    assert_int_equal(symlinkat("b", place->fd, "a/second"), 0);
    assert_int_equal(symlinkat("c", place->fd, "a/b/third"), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->fd, "outside"), 0);
    assert_int_equal(symlinkat("/nowhere", place->fd, "dangling"), 0);
    assert_int_equal(symlinkat("loop", place->fd, "loop"), 0);
    const char *paths[] = {"first/b/c", "a/second/c", "a/b/third", "outside",
                           "dangling",  "loop",       "loop/x"};
    for (size_t i = 0; i < countof(paths); i++) {
        assert_fails(read_it(place, paths[i], &err), ERR_REFUSED);
        assert_non_null(strstr(err.msg, "symbolic link"));
    }
    assert_fails(read_it(place, "missing", &err), ERR_NOT_FOUND);
    assert_fails(read_it(place, "a/missing/c", &err), ERR_NOT_FOUND);
    assert_fails(read_it(place, "a/b/c/d", &err), ERR_REFUSED);
}

/* FS-4, D6: none of these may block (the alarm kills the test) or be opened */
static void refuses_what_is_no_regular_file(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    alarm(10);
    assert_int_equal(mkfifoat(place->fd, "fifo", 0600), 0);
    assert_fails(read_it(place, "fifo", &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "a FIFO"));
    assert_int_equal(mkdirat(place->fd, "directory", 0755), 0);
    assert_fails(read_it(place, "directory", &err), ERR_REFUSED);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", place->path);
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_fails(read_it(place, "socket", &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "a socket"));
    close(listening);

    with_bfs_dir devices = {0};
    assert_ok(bfs_dir_open(AT_FDCWD, "/dev", BFS_TRUST_ANY, &devices, &err));
    with_buf out = buf_new(16);
    assert_fails(bfs_read(&devices, "null", &rule, &out, NULL, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "a device"));
    assert_fails(bfs_read(&devices, "tty", &rule, &out, NULL, &err), ERR_REFUSED);
    alarm(0);
}

/* FS-4, D6 */
static void refuses_a_second_hard_link_unless_allowed(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "one", "1");
    assert_int_equal(linkat(place->fd, "one", place->fd, "two", 0), 0);
    assert_fails(read_it(place, "one", &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "2 hard links"));
    with_buf out = buf_new(16);
    struct bfs_rule linked = {.maximum_bytes = 16, .allow_links = true};
    assert_ok(bfs_read(&place->dir, "two", &linked, &out, NULL, &err));
    assert_string_equal(buf_string(&out), "1");
}

/* FS-5: sizes are compared before a byte is read, so a sparse file (D4) costs nothing */
static void keeps_to_its_budget(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "five", "12345");
    with_buf out = buf_new(100);
    struct bfs_rule four = {.maximum_bytes = 4};
    struct bfs_rule five = {.maximum_bytes = 5};
    assert_fails(bfs_read(&place->dir, "five", &four, &out, NULL, &err), ERR_OVER_BUDGET);
    assert_ok(bfs_read(&place->dir, "five", &five, &out, NULL, &err));
    with_buf small = buf_new(3);
    assert_fails(bfs_read(&place->dir, "five", &five, &small, NULL, &err), ERR_OVER_BUDGET);
    assert_int_equal(buf_length(&small), 0);

    int fd = openat(place->fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    assert_fails(read_it(place, "sparse", &err), ERR_OVER_BUDGET);
}

/* FS-2, I2: after the open only the descriptor counts, whatever the path names by then. */
static void a_swapped_path_changes_nothing_of_what_was_opened(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    assert_int_equal(mkdirat(place->fd, "root", 0755), 0);
    put(place, "root/file", "inside");
    with_bfs_dir root = {0};
    assert_ok(bfs_dir_open_beneath(&place->dir, "root", &root, &err));
    with_bfs_file file = {0};
    assert_ok(bfs_file_open(&root, "file", &rule, &file, &err));
    assert_int_equal(renameat(place->fd, "root", place->fd, "moved"), 0);
    assert_int_equal(mkdirat(place->fd, "root", 0755), 0);
    put(place, "root/file", "planted");
    with_buf out = buf_new(100);
    assert_ok(bfs_file_read(&file, &out, &err));
    assert_string_equal(buf_string(&out), "inside");
    buf_clear(&out);
    assert_ok(bfs_read(&root, "file", &rule, &out, NULL, &err));
    assert_string_equal(buf_string(&out), "inside");
}

/* FS-2, FS-5: the file is changed between the open and the last read; its bytes are not used. */
static void a_file_that_changes_under_way_is_refused(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct {
        off_t new_size;
        const char *bytes;
    } changes[] = {{3, NULL}, {0, NULL}, {9000, NULL}, {10, "x"}};
    for (size_t i = 0; i < countof(changes); i++) {
        put(place, "file", "0123456789");
        with_bfs_file file = {0};
        assert_ok(bfs_file_open(&place->dir, "file", &rule, &file, &err));
        int fd = openat(place->fd, "file", O_WRONLY | O_CLOEXEC);
        assert_int_equal(ftruncate(fd, changes[i].new_size), 0);
        if (changes[i].bytes) {
            assert_int_equal(pwrite(fd, changes[i].bytes, 1, 0), 1);
        }
        /* The clock of a filesystem may tick slowly: let this change have a time of its own. */
        struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
        assert_int_equal(futimens(fd, later), 0);
        close(fd);
        with_buf out = buf_new(1 << 20);
        assert_fails(bfs_file_read(&file, &out, &err), ERR_CHANGED);
        assert_int_equal(buf_length(&out), 0);
        assert_int_equal(unlinkat(place->fd, "file", 0), 0);
    }
}

static const struct place *meddled;
enum { BIG_BYTES = 75 * 1024 }; /* three pieces, then the read that finds the end */

static void change_big(off_t new_size, const char *byte)
{
    int fd = openat(meddled->fd, "big", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, new_size), 0);
    if (byte) {
        assert_int_equal(pwrite(fd, byte, 1, new_size / 2), 1);
    }
    struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    assert_int_equal(futimens(fd, later), 0);
    close(fd);
}

static void grow(void)
{
    change_big(BIG_BYTES + 5000, NULL);
}

static void grow_for_ever(void)
{
    change_big((off_t)1 << 40, NULL);
}

static void shrink(void)
{
    change_big(100, NULL);
}

static void overwrite(void)
{
    change_big(BIG_BYTES, "x");
}

static void replace(void)
{
    put(meddled, "other", "other");
    assert_int_equal(linkat(meddled->fd, "big", meddled->fd, "kept", 0), 0);
    assert_int_equal(renameat(meddled->fd, "other", meddled->fd, "big"), 0);
}

/* FS-5: between any two pieces, also behind the last one; no more is read than was announced. */
static void a_file_that_changes_while_it_is_read(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    meddled = place;
    void (*const meddlers[])(void) = {grow, grow_for_ever, shrink, overwrite, replace};
    for (size_t m = 0; m < countof(meddlers); m++) {
        for (int at = 0; at < 4; at++) {
            put(place, "big", "");
            int fd = openat(place->fd, "big", O_WRONLY | O_CLOEXEC);
            assert_int_equal(ftruncate(fd, BIG_BYTES), 0);
            close(fd);
            with_bfs_file file = {0};
            char hex[HASH_HEX_SIZE];
            assert_ok(bfs_file_open(&place->dir, "big", &rule, &file, &err));
            hook.at_call = at;
            hook.calls = 0;
            hook.meddle = meddlers[m];
            assert_fails(bfs_file_hash(&file, hex, &err), ERR_CHANGED);
            hook.meddle = NULL;
            assert_true(hook.calls <= 4);
            remove_all(place->fd);
        }
    }
}

/* D5, FS-7: names of any bytes are names; whoever shows them neutralises them. */
static void any_byte_is_legal_in_a_name(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    const char *names[] = {"new\nline", "\xff\xfe", "-rf", "a b", "\x1b[31m", "...", longest};
    for (size_t i = 0; i < countof(names); i++) {
        put(place, names[i], "x");
        assert_ok(read_it(place, names[i], &err));
    }
    char too_long[257];
    memset(too_long, 'n', 256);
    too_long[256] = '\0';
    assert_fails(read_it(place, too_long, &err), ERR_SYS);
    assert_int_equal(err.sys, ENAMETOOLONG);
}

/* Files of /proc claim to be regular and empty; what they hold has no size to agree with. */
static void a_file_without_an_honest_size_is_refused(void **state)
{
    struct err err = {0};
    with_bfs_dir proc = {0};
    assert_ok(bfs_dir_open(AT_FDCWD, "/proc", BFS_TRUST_ANY, &proc, &err));
    with_buf out = buf_new(1 << 20);
    assert_fails(bfs_read(&proc, "version", &rule, &out, NULL, &err), ERR_CHANGED);
}

/* FS-6 */
static void hashes_through_the_descriptor(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    put(place, "abc", "abc");
    with_bfs_file file = {0};
    assert_ok(bfs_file_open(&place->dir, "abc", &rule, &file, &err));
    char hex[HASH_HEX_SIZE];
    assert_ok(bfs_file_hash(&file, hex, &err));
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(reads_a_regular_file_beneath_its_root),
        place_test(refuses_traversal),
        place_test(follows_no_link_at_any_component),
        place_test(refuses_what_is_no_regular_file),
        place_test(refuses_a_second_hard_link_unless_allowed),
        place_test(keeps_to_its_budget),
        place_test(a_swapped_path_changes_nothing_of_what_was_opened),
        place_test(a_file_that_changes_under_way_is_refused),
        place_test(a_file_that_changes_while_it_is_read),
        place_test(any_byte_is_legal_in_a_name),
        cmocka_unit_test(a_file_without_an_honest_size_is_refused),
        place_test(hashes_through_the_descriptor),
    };
    return cmocka_run_group_tests_name("bfs/file", tests, NULL, NULL);
}
