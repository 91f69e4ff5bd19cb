#include "snapshot-test.h"

#include "memory.h"
#include "toolchain.h"

/* A runtime in the bench's place: bin/tool, a link to it, lib/data. */
static char *make_runtime(const struct bench *bench)
{
    assert_int_equal(mkdirat(bench->place->fd, "rt", 0777), 0);
    assert_int_equal(mkdirat(bench->place->fd, "rt/bin", 0777), 0);
    assert_int_equal(mkdirat(bench->place->fd, "rt/lib", 0777), 0);
    put(bench->place, "rt/bin/tool", "tool");
    put(bench->place, "rt/lib/data", "data");
    put(bench->place, "rt/.gitignore", "*");
    assert_int_equal(fchmodat(bench->place->fd, "rt/bin/tool", 0777, 0), 0);
    assert_int_equal(symlinkat("tool", bench->place->fd, "rt/bin/alias"), 0);
    return memory_format("%s/rt", bench->place->path);
}

static int stage(const struct bench *bench, const char *path, struct toolchain_facts *facts,
                 struct err *err)
{
    return toolchain_stage(&bench->state, path, "rt", 5, facts, err);
}

/* IB-4: the whole of it, links included, without a bit for others, with both digests and who could write above. */
static void what_is_staged_is_a_copy_of_ones_own(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_string path = make_runtime(bench);
    with_toolchain_facts facts = {0};
    assert_ok(stage(bench, path, &facts, &err));
    assert_string_equal(facts.digest, facts.source_digest);
    assert_int_equal(facts.entries, 6);
    assert_int_equal(facts.bytes, 9);
    const struct toolchain_ancestor *above = facts.ancestors.objects;
    assert_true(facts.ancestors.count >= 3);
    assert_string_equal(above[0].path, "/");
    assert_string_equal(above[1].path, "/tmp");
    assert_int_equal(above[1].mode, 01777);

    with_toolchain toolchain = NULL;
    struct bfs_facts file;
    with_bfs_dir bin = {0};
    assert_ok(toolchain_open(&bench->state, "rt", &toolchain, &err));
    assert_string_equal(toolchain_facts(toolchain)->digest, facts.digest);
    assert_string_equal(toolchain_facts(toolchain)->source, path);
    assert_ok(bfs_dir_open_beneath(toolchain_tree(toolchain), "bin", &bin, &err));
    assert_ok(bfs_stat(&bin, "tool", &file, &err));
    assert_int_equal(file.mode & 07777, 0555);
    assert_int_equal(bin.facts.mode & 07777, 0755);
    assert_ok(toolchain_check(toolchain, &err));

    /* The place that it came from is of no matter any more. */
    put(bench->place, "rt/bin/tool", "evil");
    with_toolchain again = NULL;
    assert_ok(toolchain_open(&bench->state, "rt", &again, &err));
    assert_string_equal(toolchain_facts(again)->digest, facts.digest);

    with_strvec names = {0};
    assert_ok(toolchain_names(&bench->state, &names, &err));
    assert_int_equal(names.count, 1);
    with_toolchain_facts read = {0};
    assert_ok(toolchain_read(&bench->state, "rt", &read, &err));
    assert_string_equal(read.digest, facts.digest);
    assert_fails(stage(bench, path, &read, &err), ERR_CONFLICT);
}

/* IB-4: what is there is what was staged: by its facts within a boot, else by its bytes. */
static void what_was_changed_is_not_used(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_string path = make_runtime(bench);
    with_toolchain_facts facts = {0};
    with_toolchain toolchain = NULL;
    assert_ok(stage(bench, path, &facts, &err));
    int fd = bfs_dir_fd(&bench->state);
    assert_int_equal(unlinkat(fd, "toolchains/rt/ledger", 0), 0); /* as after a reboot */
    assert_ok(toolchain_open(&bench->state, "rt", &toolchain, &err));
    assert_int_equal(faccessat(fd, "toolchains/rt/ledger", F_OK, 0), 0);

    assert_int_equal(fchmodat(fd, "toolchains/rt/tree/lib/data", 0644, 0), 0);
    with_fd data = fd_adopt(openat(fd, "toolchains/rt/tree/lib/data", O_WRONLY));
    assert_int_equal(pwrite(fd_num(&data), "DATA", 4, 0), 4);
    assert_fails(toolchain_check(toolchain, &err), ERR_CHANGED);
    with_toolchain changed = NULL;
    assert_fails(toolchain_open(&bench->state, "rt", &changed, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "stage it again"));
}

static void what_cannot_be_staged_is_refused_and_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_toolchain toolchain = NULL;
    with_toolchain_facts facts = {0};
    with_strvec names = {0};
    with_string path = make_runtime(bench);
    assert_int_equal(symlinkat("/etc/passwd", bench->place->fd, "rt/out"), 0);
    assert_fails(stage(bench, path, &facts, &err), ERR_REFUSED);
    assert_int_equal(unlinkat(bench->place->fd, "rt/out", 0), 0);
    assert_int_equal(mkfifoat(bench->place->fd, "rt/pipe", 0600), 0);
    assert_fails(stage(bench, path, &facts, &err), ERR_REFUSED);
    assert_fails(stage(bench, "/proc", &facts, &err), ERR_REFUSED);
    assert_fails(stage(bench, bench->state.path, &facts, &err), ERR_REFUSED);
    assert_fails(stage(bench, "/nonexistent", &facts, &err), ERR_NOT_FOUND);
    assert_ok(toolchain_names(&bench->state, &names, &err));
    assert_int_equal(names.count, 0);
    static const char *const none[] = {"rt", "", "..", "../state", ".rt.new", "a/b"};
    for (size_t i = 0; i < countof(none); i++) {
        assert_fails(toolchain_open(&bench->state, none[i], &toolchain, &err), ERR_NOT_FOUND);
    }
}

/* IB-4: as many as can be listed, and no path that would be two in PATH. */
static void what_could_not_be_listed_or_found_is_not_staged(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_string path = make_runtime(bench);
    with_toolchain_facts facts = {0};
    with_strvec names = {0};
    assert_int_equal(mkdirat(bfs_dir_fd(&bench->state), "toolchains", 0700), 0);
    for (int i = 0; i < TOOLCHAIN_COUNT; i++) {
        char name[40];
        snprintf(name, sizeof name, "toolchains/t%d", i);
        assert_int_equal(mkdirat(bfs_dir_fd(&bench->state), name, 0700), 0);
    }
    assert_fails(stage(bench, path, &facts, &err), ERR_OVER_BUDGET);
    assert_non_null(strstr(err.msg, "256 toolchains"));
    assert_int_equal(unlinkat(bfs_dir_fd(&bench->state), "toolchains/t0", AT_REMOVEDIR), 0);
    /* One of its name that did not become complete stands in nobody's way. */
    assert_int_equal(mkdirat(bfs_dir_fd(&bench->state), "toolchains/.rt.new", 0700), 0);
    assert_int_equal(mkdirat(bfs_dir_fd(&bench->state), "toolchains/.rt.new/tree", 0700), 0);
    assert_ok(stage(bench, path, &facts, &err));
    assert_ok(toolchain_names(&bench->state, &names, &err));
    assert_int_equal(names.count, TOOLCHAIN_COUNT);
    assert_int_equal(unlinkat(bfs_dir_fd(&bench->state), "toolchains/t1", AT_REMOVEDIR), 0);
    assert_int_equal(renameat(bench->place->fd, "rt", bench->place->fd, "a:b"), 0);
    with_string split = memory_format("%s/a:b", bench->place->path);
    with_toolchain_facts none = {0};
    assert_fails(toolchain_stage(&bench->state, split, "rt2", 5, &none, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "':'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(what_is_staged_is_a_copy_of_ones_own),
        bench_test(what_was_changed_is_not_used),
        bench_test(what_cannot_be_staged_is_refused_and_leaves_nothing),
        bench_test(what_could_not_be_listed_or_found_is_not_staged),
    };
    return cmocka_run_group_tests_name("snapshot/toolchain", tests, NULL, NULL);
}
