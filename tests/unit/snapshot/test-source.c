#include "snapshot-test.h"

#include <sys/sysmacros.h>

#include "memory.h"
#include "source-priv.h"

static int list(const struct bench *bench, struct snapshot_limits limits, const char *include,
                struct entries *entries, struct err *err)
{
    with_paths paths = {0};
    if (include) {
        paths_add(&paths, span_of_string(include));
    }
    return source_list(&bench->root, &limits, &paths, entries, err);
}

static const struct snapshot_limits usual = SNAPSHOT_LIMITS;

static void assert_listed(const struct entries *entries, const char *expected)
{
    with_buf seen = buf_new(4096);
    for (size_t i = 0; i < entries->count; i++) {
        buf_add_format(&seen, "%c:%s ", entries->items[i].kind, entries->items[i].path);
    }
    assert_string_equal(buf_string(&seen), expected);
}

/* FZ-2 D5: names of any bytes; kinds; directories with what they hold; .git is no source */
static void files_and_links_are_source(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_entries entries = {0};
    make_folder(bench, "d");
    make_folder(bench, "empty");
    make_folder(bench, "empty/too");
    put_work(bench, "d/\xff\n", "abc", 0600);
    put_work(bench, "d/run", "x", 0755);
    put_work(bench, ".git/config", "[core]", 0644);
    put_work(bench, "group-only", "x", 0654);
    assert_int_equal(symlinkat("d/run", work_fd(bench), "link"), 0);
    assert_ok(list(bench, usual, NULL, &entries, &err));
    assert_listed(&entries, "d:d x:d/run f:d/\xff\n f:group-only l:link ");
    assert_string_equal(entries.items[4].target, "d/run");
    assert_int_equal(entries.bytes, 5);
}

static void what_is_left_out_can_be_asked_for_by_name(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    make_folder(bench, "build");
    make_folder(bench, "build/deep");
    put_work(bench, ".gitignore", "build/\n*.o\n", 0644);
    put_work(bench, "build/a", "x", 0644);
    put_work(bench, "build/deep/b", "x", 0644);
    put_work(bench, "x.o", "x", 0644);
    {
        with_entries entries = {0};
        assert_ok(list(bench, usual, NULL, &entries, &err));
        assert_listed(&entries, "f:.gitignore ");
    }
    with_entries entries = {0};
    assert_ok(list(bench, usual, "build/deep/b", &entries, &err));
    assert_listed(&entries, "f:.gitignore d:build d:build/deep f:build/deep/b ");
    with_entries none = {0};
    assert_fails(list(bench, usual, "build/missing", &none, &err), ERR_NOT_FOUND);
    make_folder(bench, "bare");
    assert_fails(list(bench, usual, "bare", &none, &err), ERR_NOT_FOUND);
}

/* FZ-2: a folder that is asked for is taken whole, whatever would be left out of it. */
static void a_folder_can_be_asked_for_whole(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    static const char *const folders[] = {"lib", "lib/a", "lib/a/.git", "lib/b", "other"};
    for (size_t i = 0; i < countof(folders); i++) {
        make_folder(bench, folders[i]);
    }
    put_work(bench, ".gitignore", "/lib/b\n/other\n*.o\n", 0644);
    put_work(bench, "lib/.gitignore", "*\n", 0644);
    put_work(bench, "lib/a/x.o", "x", 0644);
    put_work(bench, "lib/b/y", "x", 0755);
    put_work(bench, "other/z", "x", 0644);
    assert_int_equal(symlinkat("b/y", work_fd(bench), "lib/link"), 0);
    with_entries entries = {0};
    assert_ok(list(bench, usual, "lib", &entries, &err));
    assert_listed(&entries,
                  "f:.gitignore d:lib f:lib/.gitignore d:lib/a f:lib/a/x.o d:lib/b x:lib/b/y "
                  "l:lib/link ");
}

/* A directory with a `.git` of its own has its own rules; what is left out as a whole is not looked into. */
static void a_repository_within_is_read_by_its_own_rules(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_entries entries = {0};
    put_work(bench, ".gitignore", "*.o\n/hidden\n", 0644);
    static const char *const folders[] = {"sub", "sub/.git", "hidden", "hidden/.git"};
    for (size_t i = 0; i < countof(folders); i++) {
        make_folder(bench, folders[i]);
    }
    put_work(bench, "sub/x.o", "x", 0644);
    put_work(bench, "sub/y.log", "x", 0644);
    put_work(bench, "sub/.gitignore", "*.log\n", 0644);
    put_work(bench, "hidden/z", "x", 0644);
    assert_ok(list(bench, usual, NULL, &entries, &err));
    assert_listed(&entries, "f:.gitignore d:sub f:sub/.gitignore f:sub/x.o ");
}

/* D6 */
static void what_no_snapshot_can_hold_is_refused(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_entries entries = {0};
    alarm(10);
    assert_int_equal(mkfifoat(work_fd(bench), "pipe", 0600), 0);
    assert_fails(list(bench, usual, NULL, &entries, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "'pipe' is a FIFO"));
    put_work(bench, ".gitignore", "pipe\n", 0644);
    assert_ok(list(bench, usual, NULL, &entries, &err));
    assert_listed(&entries, "f:.gitignore ");
    alarm(0);
    if (geteuid() == 0) {
        assert_int_equal(mknodat(work_fd(bench), "null", S_IFCHR | 0666, makedev(1, 3)), 0);
        with_entries more = {0};
        assert_fails(list(bench, usual, NULL, &more, &err), ERR_REFUSED);
        assert_non_null(strstr(err.msg, "a device"));
    }
}

/* SI-3 FZ-2: the limits are named, with a way out */
static void limits_are_kept(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    make_folder(bench, "d");
    put_work(bench, "d/a", "12345", 0644);
    put_work(bench, "d/b", "12345", 0644);
    with_entries fits = {0};
    with_entries none = {0};
    assert_ok(list(bench, (struct snapshot_limits){10, 3}, NULL, &fits, &err));
    assert_fails(list(bench, (struct snapshot_limits){9, 3}, NULL, &none, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "'d/b' the source has 10 bytes, more than 9"));
    assert_non_null(strstr(err.msg, ".gitignore"));
    assert_fails(list(bench, (struct snapshot_limits){10, 2}, NULL, &none, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "more than 2 files"));
}

/* The size on record counts, not what it takes on the disk. */
static void a_sparse_file_counts_in_full(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_entries none = {0};
    int fd = openat(work_fd(bench), "huge", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
    close(fd);
    assert_fails(list(bench, usual, NULL, &none, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "512 MiB"));
}

/* D5 */
static void depth_and_ignored_crowds_are_bounded(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_entries none = {0};
    put_work(bench, ".gitignore", "n*\n", 0644);
    for (int i = 0; i < 40; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "n%d", i);
        put_work(bench, name, "", 0644);
    }
    assert_fails(list(bench, (struct snapshot_limits){1000, 2}, NULL, &none, &err),
                 ERR_OVER_BUDGET);
    int fd = dup(work_fd(bench));
    for (int i = 0; i < 130; i++) {
        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        int below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = below;
    }
    close(fd);
    assert_fails(list(bench, usual, NULL, &none, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "128 directories deep"));
}

static void patterns_that_take_too_long_are_refused(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_entries none = {0};
    char name[256] = {0};
    memset(name, 'a', 250);
    put_work(bench, ".gitignore", "*a*a*a*a*a*a*a*a*b\n", 0644);
    put_work(bench, name, "x", 0644);
    assert_fails(list(bench, usual, NULL, &none, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "ignore patterns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(files_and_links_are_source),
        bench_test(what_is_left_out_can_be_asked_for_by_name),
        bench_test(a_folder_can_be_asked_for_whole),
        bench_test(a_repository_within_is_read_by_its_own_rules),
        bench_test(what_no_snapshot_can_hold_is_refused),
        bench_test(limits_are_kept),
        bench_test(a_sparse_file_counts_in_full),
        bench_test(depth_and_ignored_crowds_are_bounded),
        bench_test(patterns_that_take_too_long_are_refused),
    };
    return cmocka_run_group_tests_name("snapshot/source", tests, NULL, NULL);
}
