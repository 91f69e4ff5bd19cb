#include "../bfs/bfs-test.h"

#include "git-index-priv.h"

/* An index as the tests write it. */
struct made {
    struct buf bytes;
    uint32_t version;
    size_t digest_bytes;
};

static void add_number(struct buf *out, uint32_t value, size_t n)
{
    while (n-- > 0) {
        buf_add_char(out, (char)(value >> (8 * n)));
    }
}

static void add_zeros(struct buf *out, size_t n)
{
    while (n-- > 0) {
        buf_add_char(out, '\0');
    }
}

static void begin(struct made *made, uint32_t version, size_t digest_bytes, uint32_t count)
{
    *made =
        (struct made){.bytes = buf_new(1 << 20), .version = version, .digest_bytes = digest_bytes};
    buf_add_string(&made->bytes, "DIRC");
    add_number(&made->bytes, version, 4);
    add_number(&made->bytes, count, 4);
}

static void add_entry(struct made *made, uint32_t mode, uint32_t flags, const char *name,
                      uint32_t shared)
{
    struct buf *out = &made->bytes;
    size_t start = buf_length(out);
    add_zeros(out, 24);
    add_number(out, mode, 4);
    add_zeros(out, 12 + made->digest_bytes);
    add_number(out, flags, 2);
    if (flags & 0x4000) {
        add_number(out, 0, 2);
    }
    if (made->version == 4) {
        buf_add_char(out, (char)shared); /* how many bytes of the path before go */
    }
    buf_add(out, name, strlen(name) + 1);
    while (made->version < 4 && (buf_length(out) - start) % 8 != 0) {
        buf_add_char(out, '\0');
    }
}

static void end(struct made *made)
{
    add_zeros(&made->bytes, made->digest_bytes);
}

static int parse(const struct made *made, struct paths *paths, struct err *err)
{
    return git_index_parse(buf_span(&made->bytes), paths, err);
}

static void indexes_of_all_versions_are_read(void **state)
{
    (void)state;
    struct err err = {0};
    static const uint32_t versions[] = {2, 3, 4};
    for (size_t i = 0; i < 2 * countof(versions); i++) {
        struct made made;
        with_paths paths = {0};
        uint32_t version = versions[i / 2];
        begin(&made, version, i % 2 ? 32 : 20, 3);
        add_entry(&made, 0100644, 3, "a/b", 0);
        add_entry(&made, 0120000, version > 2 ? 0x4003 : 3, version == 4 ? "c" : "a/c", 1);
        add_entry(&made, 0160000, 5, version == 4 ? "m/sub" : "m/sub", 3);
        buf_add_string(&made.bytes, "TREE");
        add_number(&made.bytes, 2, 4);
        buf_add_string(&made.bytes, "xy");
        end(&made);
        assert_ok(parse(&made, &paths, &err));
        assert_int_equal(paths.count, 3);
        assert_true(paths_has(&paths, "a/b"));
        assert_true(paths_has(&paths, "a/c"));
        assert_true(paths_has(&paths, "m/sub"));
        buf_done(&made.bytes);
    }
}

static void a_directory_of_a_sparse_index_is_left_out(void **state)
{
    (void)state;
    struct err err = {0};
    struct made made;
    with_paths paths = {0};
    begin(&made, 3, 20, 2);
    add_entry(&made, 0100644, 1, "a", 0);
    add_entry(&made, 040000, 2, "d/", 0);
    buf_add_string(&made.bytes, "sdir");
    add_number(&made.bytes, 0, 4);
    end(&made);
    assert_ok(parse(&made, &paths, &err));
    assert_int_equal(paths.count, 1);
    buf_done(&made.bytes);
}

static void what_must_be_understood_and_is_not_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    static const char *const names[] = {"link", "abcd"};
    for (size_t i = 0; i < countof(names); i++) {
        struct made made;
        with_paths paths = {0};
        begin(&made, 2, 20, 0);
        buf_add_string(&made.bytes, names[i]);
        add_number(&made.bytes, 0, 4);
        end(&made);
        assert_fails(parse(&made, &paths, &err), ERR_REFUSED);
        buf_done(&made.bytes);
    }
    struct made made;
    with_paths paths = {0};
    begin(&made, 5, 20, 0);
    end(&made);
    assert_fails(parse(&made, &paths, &err), ERR_REFUSED);
    buf_done(&made.bytes);
}

/* Every beginning of an index is no index, and nothing is read behind it. */
static void a_cut_index_is_damaged(void **state)
{
    (void)state;
    struct err err = {0};
    for (uint32_t version = 2; version <= 4; version++) {
        struct made made;
        begin(&made, version, 20, 2);
        add_entry(&made, 0100644, 3, "abc", 0);
        add_entry(&made, 0100644, 3, "abd", 3);
        end(&made);
        for (size_t n = 0; n < buf_length(&made.bytes); n++) {
            with_paths paths = {0};
            char *exact = malloc(n ? n : 1);
            memcpy(exact, made.bytes.data, n);
            assert_fails(git_index_parse(span_of(exact, n), &paths, &err), ERR_CORRUPT);
            free(exact);
        }
        buf_done(&made.bytes);
    }
}

static void lengths_that_lie_are_told(void **state)
{
    (void)state;
    struct err err = {0};
    struct made made;
    with_paths paths = {0};
    begin(&made, 2, 20, 1);
    add_entry(&made, 0100644, 4, "abc", 0);
    end(&made);
    assert_fails(parse(&made, &paths, &err), ERR_CORRUPT);
    buf_done(&made.bytes);
    begin(&made, 4, 20, 1);
    add_entry(&made, 0100644, 3, "abc", 1); /* of a path before that there is not */
    end(&made);
    assert_fails(parse(&made, &paths, &err), ERR_CORRUPT);
    buf_done(&made.bytes);
    begin(&made, 2, 20, 0);
    buf_add_string(&made.bytes, "TREE");
    add_number(&made.bytes, 0xffffffff, 4);
    end(&made);
    assert_fails(parse(&made, &paths, &err), ERR_CORRUPT);
    buf_done(&made.bytes);
    begin(&made, 2, 20, 1);
    add_entry(&made, 0100644, 0x4003, "abc", 0); /* extended, in version 2 */
    end(&made);
    assert_fails(parse(&made, &paths, &err), ERR_CORRUPT);
    buf_done(&made.bytes);
    begin(&made, 2, 20, 0xffffffff);
    end(&made);
    assert_fails(parse(&made, &paths, &err), ERR_CORRUPT);
    buf_done(&made.bytes);
}

static void no_index_is_an_empty_one(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    with_paths paths = {0};
    assert_ok(git_index_read(&place->dir, &paths, &err));
    assert_int_equal(paths.count, 0);
    put(place, "index", "DIRCx");
    assert_fails(git_index_read(&place->dir, &paths, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, place->path));
    assert_int_equal(unlinkat(place->fd, "index", 0), 0);
    assert_int_equal(mkfifoat(place->fd, "index", 0600), 0);
    alarm(10);
    assert_fails(git_index_read(&place->dir, &paths, &err), ERR_REFUSED);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_of_all_versions_are_read),
        cmocka_unit_test(a_directory_of_a_sparse_index_is_left_out),
        cmocka_unit_test(what_must_be_understood_and_is_not_is_refused),
        cmocka_unit_test(a_cut_index_is_damaged),
        cmocka_unit_test(lengths_that_lie_are_told),
        place_test(no_index_is_an_empty_one),
    };
    return cmocka_run_group_tests_name("snapshot/git-index", tests, NULL, NULL);
}
