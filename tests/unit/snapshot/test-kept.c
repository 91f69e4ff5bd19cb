#include "snapshot-test.h"

#include "kept-priv.h"
#include "memory.h"
#include "source-priv.h"

static const char boot[] = "11111111-2222-3333-4444-555555555555";

/* One update of the copy in `state`, opened anew as another run would. */
static int update_at(const struct bench *bench, const char *boot_id,
                     struct snapshot_figures *figures, struct err *err)
{
    static const struct snapshot_limits limits = SNAPSHOT_LIMITS;
    const struct paths include = {0};
    with_entries wanted = {0};
    with_kept kept = {0};
    *figures = (struct snapshot_figures){0};
    return source_list(&bench->root, &limits, &include, &wanted, err) < 0 ||
                   kept_open(&bench->state, boot_id, &kept, err) < 0
               ? -1
               : kept_update(&kept, &bench->root, &wanted, figures, err);
}

static int update(const struct bench *bench, struct snapshot_figures *figures, struct err *err)
{
    return update_at(bench, boot, figures, err);
}

static void assert_figures(const struct snapshot_figures *figures, size_t read, size_t copied,
                           size_t removed)
{
    assert_int_equal(figures->files_read, read);
    assert_int_equal(figures->files_copied, copied);
    assert_int_equal(figures->removed, removed);
}

static void fill(const struct bench *bench)
{
    make_folder(bench, "d");
    make_folder(bench, "d/e");
    put_work(bench, "d/a", "aaa", 0600);
    put_work(bench, "d/e/b", "bbb", 0755);
    put_work(bench, "c", "ccc", 0666);
    assert_int_equal(symlinkat("d/a", work_fd(bench), "link"), 0);
}

static int tree_fd(const struct bench *bench)
{
    int fd = openat(bfs_dir_fd(&bench->state), "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* SB-2: a copy with no bit to write by */
static void a_copy_has_the_bytes_and_no_mode_to_write_by(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    fill(bench);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 3, 3, 0);
    assert_int_equal(figures.entries, 6);
    assert_int_equal(figures.bytes, 9);
    int tree = tree_fd(bench);
    assert_holds(tree, "d/a", "aaa", 0444);
    assert_holds(tree, "d/e/b", "bbb", 0555);
    assert_holds(tree, "c", "ccc", 0444);
    char target[16] = {0};
    assert_int_equal(readlinkat(tree, "link", target, sizeof target), 3);
    assert_string_equal(target, "d/a");
    assert_false(is_there(tree, ".git"));
    close(tree);
}

/* A second time costs what changed. */
static void only_what_changed_is_read(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    fill(bench);
    assert_ok(update(bench, &figures, &err));
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 0, 0, 0);

    put_work(bench, "c", "CCC", 0644); /* other bytes */
    assert_int_equal(unlinkat(work_fd(bench), "d/a", 0), 0);
    put_work(bench, "d/e/new", "n", 0644);
    assert_ok(update(bench, &figures, &err));
    /* c is read twice: its size is as it was, so its bytes could have been too. */
    assert_figures(&figures, 3, 2, 2);
    int tree = tree_fd(bench);
    assert_holds(tree, "c", "CCC", 0444);
    assert_holds(tree, "d/e/new", "n", 0444);
    assert_false(is_there(tree, "d/a"));
    close(tree);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 0, 0, 0);
}

/* A file that was only touched is read, and not written again. */
static void bytes_that_are_the_same_are_not_copied(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    fill(bench);
    assert_ok(update(bench, &figures, &err));
    put_work(bench, "c", "ccc", 0644);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 1, 0, 0);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 0, 0, 0);
}

/* FZ-2: a change within the same tick of the clock */
static void a_young_file_is_read_again(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    int64_t ahead = clock_ahead_ns;
    clock_ahead_ns = 0;
    put_work(bench, "c", "ccc", 0644);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 1, 1, 0);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 1, 0, 0);
    put_work(bench, "c", "CCC", 0644);
    facts_tell_nothing = true;
    assert_ok(update(bench, &figures, &err));
    facts_tell_nothing = false;
    assert_figures(&figures, 2, 1, 1);
    int tree = tree_fd(bench);
    assert_holds(tree, "c", "CCC", 0444);
    close(tree);
    clock_ahead_ns = ahead;
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 1, 0, 0);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 0, 0, 0);
}

static void what_becomes_another_kind_is_made_anew(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    fill(bench);
    assert_ok(update(bench, &figures, &err));
    int work = work_fd(bench);
    assert_int_equal(unlinkat(work, "c", 0), 0); /* file to directory */
    make_folder(bench, "c");
    put_work(bench, "c/x", "x", 0644);
    assert_int_equal(unlinkat(work, "d/e/b", 0), 0); /* directory to link */
    assert_int_equal(unlinkat(work, "d/e", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("a", work, "d/e"), 0);
    assert_int_equal(unlinkat(work, "link", 0), 0); /* link to file */
    put_work(bench, "link", "l", 0755);
    put_work(bench, "d/a", "aaa", 0755); /* mode alone */
    assert_ok(update(bench, &figures, &err));
    int tree = tree_fd(bench);
    assert_holds(tree, "c/x", "x", 0444);
    assert_holds(tree, "link", "l", 0555);
    assert_holds(tree, "d/a", "aaa", 0555);
    char target[16] = {0};
    assert_int_equal(readlinkat(tree, "d/e", target, sizeof target), 1);
    close(tree);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 0, 0, 0);
}

/* S5 S1: another boot, no ledger, half a ledger */
static void a_copy_that_nothing_vouches_for_is_made_anew(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    int folder = bfs_dir_fd(&bench->state);
    fill(bench);
    assert_ok(update(bench, &figures, &err));
    assert_ok(update_at(bench, "another", &figures, &err));
    assert_figures(&figures, 3, 3, 0);

    assert_int_equal(unlinkat(folder, "ledger", 0), 0);
    assert_ok(update_at(bench, "another", &figures, &err));
    assert_figures(&figures, 3, 3, 0);

    int fd = openat(folder, "ledger", O_WRONLY | O_CLOEXEC);
    struct stat stat;
    assert_int_equal(fstat(fd, &stat), 0);
    assert_int_equal(ftruncate(fd, stat.st_size / 2), 0);
    close(fd);
    assert_ok(update_at(bench, "another", &figures, &err));
    assert_figures(&figures, 3, 3, 0);
}

/* FZ-3: whatever is done to a copy is seen, and the next run has a new one */
static void a_copy_that_somebody_changed_is_told_and_made_anew(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    static const struct snapshot_limits limits = SNAPSHOT_LIMITS;
    fill(bench);
    for (int i = 0; i < 6; i++) {
        const struct paths include = {0};
        with_entries wanted = {0};
        with_kept kept = {0};
        assert_ok(source_list(&bench->root, &limits, &include, &wanted, &err));
        assert_ok(kept_open(&bench->state, boot, &kept, &err));
        figures = (struct snapshot_figures){0};
        assert_ok(kept_update(&kept, &bench->root, &wanted, &figures, &err));
        assert_figures(&figures, 3, 3, 0);
        assert_ok(kept_check(&kept, &err));
        int tree = bfs_dir_fd(&kept.tree);
        struct stat stat;
        assert_int_equal(fstatat(tree, "c", &stat, 0), 0);
        const struct timespec times[] = {stat.st_atim, stat.st_mtim};
        int fd = -1;
        switch (i) {
        case 0: /* other bytes, the times set back */
            assert_int_equal(fchmodat(tree, "c", 0644, 0), 0);
            fd = openat(tree, "c", O_WRONLY | O_CLOEXEC);
            assert_int_equal(write(fd, "zzz", 3), 3);
            close(fd);
            assert_int_equal(fchmodat(tree, "c", 0444, 0), 0);
            assert_int_equal(utimensat(tree, "c", times, 0), 0);
            break;
        case 1: /* one more */
            fd = openat(tree, "d/e/more", O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
            close(fd);
            break;
        case 2: /* one less */
            assert_int_equal(unlinkat(tree, "link", 0), 0);
            break;
        case 3: /* a link instead of a directory */
            assert_int_equal(renameat(tree, "d/e", tree, "d/f"), 0);
            assert_int_equal(symlinkat("f", tree, "d/e"), 0);
            break;
        case 4: /* a mode */
            assert_int_equal(fchmodat(tree, "c", 0644, 0), 0);
            break;
        default: /* one more at the top */
            assert_int_equal(symlinkat("/", tree, "zz"), 0);
            break;
        }
        assert_fails(kept_check(&kept, &err), ERR_CHANGED);
    }
}

/* S1: from the first change to the last there is no ledger. */
static void a_failure_leaves_no_half_copy_that_passes_for_one(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures;
    static const struct snapshot_limits limits = SNAPSHOT_LIMITS;
    const struct paths include = {0};
    with_entries wanted = {0};
    with_kept kept = {0};
    fill(bench);
    assert_ok(update(bench, &figures, &err));
    assert_true(is_there(bfs_dir_fd(&bench->state), "ledger"));
    put_work(bench, "d/e/b", "longer", 0755);
    assert_ok(source_list(&bench->root, &limits, &include, &wanted, &err));
    assert_ok(kept_open(&bench->state, boot, &kept, &err));
    put_work(bench, "d/e/b", "changed meanwhile", 0755);
    assert_fails(kept_update(&kept, &bench->root, &wanted, &figures, &err), ERR_CHANGED);
    assert_non_null(strstr(err.msg, "d/e/b"));
    assert_false(is_there(bfs_dir_fd(&bench->state), "ledger"));
    kept_done(&kept);
    assert_ok(update(bench, &figures, &err));
    assert_figures(&figures, 3, 3, 0);
}

/* I2: a file that becomes a link while it is copied is not followed */
static void a_link_in_the_place_of_a_file_is_not_copied(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures = {0};
    static const struct snapshot_limits limits = SNAPSHOT_LIMITS;
    const struct paths include = {0};
    with_entries wanted = {0};
    with_kept kept = {0};
    fill(bench);
    assert_ok(source_list(&bench->root, &limits, &include, &wanted, &err));
    assert_ok(kept_open(&bench->state, boot, &kept, &err));
    assert_int_equal(renameat(work_fd(bench), "d/e", work_fd(bench), ".git/e"), 0);
    assert_int_equal(symlinkat("../.git/e", work_fd(bench), "d/e"), 0);
    assert_fails(kept_update(&kept, &bench->root, &wanted, &figures, &err), ERR_REFUSED);
}

static void links_that_lead_out_are_refused(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    struct snapshot_figures figures = {0};
    static const struct snapshot_limits limits = SNAPSHOT_LIMITS;
    const struct paths include = {0};
    with_entries wanted = {0};
    with_kept kept = {0};
    fill(bench);
    assert_int_equal(symlinkat("../../state", work_fd(bench), "d/out"), 0);
    assert_ok(source_list(&bench->root, &limits, &include, &wanted, &err));
    assert_ok(kept_open(&bench->state, boot, &kept, &err));
    assert_ok(kept_update(&kept, &bench->root, &wanted, &figures, &err));
    assert_fails(kept_check_links(&kept, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "d/out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(a_copy_has_the_bytes_and_no_mode_to_write_by),
        bench_test(only_what_changed_is_read),
        bench_test(bytes_that_are_the_same_are_not_copied),
        bench_test(a_young_file_is_read_again),
        bench_test(what_becomes_another_kind_is_made_anew),
        bench_test(a_copy_that_nothing_vouches_for_is_made_anew),
        bench_test(a_copy_that_somebody_changed_is_told_and_made_anew),
        bench_test(a_failure_leaves_no_half_copy_that_passes_for_one),
        bench_test(a_link_in_the_place_of_a_file_is_not_copied),
        bench_test(links_that_lead_out_are_refused),
    };
    return cmocka_run_group_tests_name("snapshot/kept", tests, NULL, NULL);
}
