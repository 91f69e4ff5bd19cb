#include "sandbox-test.h"

/* A repository with a runtime in it, and a copy of each; what is planned is the run in the copy. */
struct copies {
    char *work;
    char *inner;
    char *copy;
    char *tree;
    struct fd copy_fd;
    struct fd tree_fd;
};

static void copies_done(struct copies *copies)
{
    memory_free(copies->work);
    memory_free(copies->inner);
    memory_free(copies->copy);
    memory_free(copies->tree);
    fd_close(&copies->copy_fd);
    fd_close(&copies->tree_fd);
}
#define with_copies cleanup(copies_done) struct copies

static struct copies make_copies(const struct place *place)
{
    static const char *const folders[] = {"work", "work/rt", "copy", "tree"};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(mkdirat(place->fd, folders[i], 0755), 0);
    }
    struct copies copies = {.work = memory_format("%s/work", place->path),
                            .inner = memory_format("%s/work/rt", place->path),
                            .copy = memory_format("%s/copy", place->path),
                            .tree = memory_format("%s/tree", place->path)};
    copies.copy_fd = fd_adopt(openat(place->fd, "copy", O_PATH | O_DIRECTORY | O_CLOEXEC));
    copies.tree_fd = fd_adopt(openat(place->fd, "tree", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return copies;
}

static void plan(struct trial *trial, const struct copies *copies)
{
    struct place of_copy = {.fd = fd_num(&copies->copy_fd)};
    (void)snprintf(of_copy.path, sizeof of_copy.path, "%s", copies->copy);
    trial->request.sources[0] = (struct sandbox_source){.fd = fd_num(&copies->copy_fd),
                                                        .copy = copies->copy,
                                                        .place = copies->work,
                                                        .is_project = true};
    trial->request.sources[1] = (struct sandbox_source){
        .fd = fd_num(&copies->tree_fd), .copy = copies->tree, .place = copies->inner};
    trial_plan(trial, &of_copy);
}

/* The number of the mount there that shows that copy, from 1 on; 0: there is none. */
static size_t mounted(const struct sandbox *sandbox, const char *path, const char *from)
{
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        const struct sandbox_mount *one = &sandbox->mounts[i];
        if (strcmp(one->path, path) == 0 && one->from && strcmp(one->from, from) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* IB-4 FZ-3: a runtime in the repository is the staged one, and stands in the frozen copy. */
static void a_copy_within_a_copy_is_mounted_behind_it(void **state)
{
    struct place *place = *state;
    struct trial trial = {0};
    with_copies copies = make_copies(place);
    assert_int_equal(mkdirat(place->fd, "copy/rt", 0755), 0);
    plan(&trial, &copies);
    assert_true(checks_ok(&trial.checks));
    size_t outer = mounted(trial.sandbox, copies.work, copies.copy);
    assert_true(outer > 0 && mounted(trial.sandbox, copies.inner, copies.tree) > outer);
    trial_done(&trial);
}

/* Likewise beneath what an option opens. */
static void a_copy_in_a_readable_folder_is_mounted_behind_it(void **state)
{
    struct place *place = *state;
    struct trial trial = {.request = {.readable = WORDS("..")}};
    with_copies copies = make_copies(place);
    assert_int_equal(mkdirat(place->fd, "copy/rt", 0755), 0);
    plan(&trial, &copies);
    assert_true(checks_ok(&trial.checks));
    assert_true(has_mount(trial.sandbox, MOUNT_READ_ONLY, place->path));
    size_t outer = mounted(trial.sandbox, copies.work, copies.copy);
    assert_true(outer > 0 && mounted(trial.sandbox, copies.inner, copies.tree) > outer);
    trial_done(&trial);
}

/* What git ignores is not in the copy, and cannot be mounted on. */
static void a_copy_without_a_place_for_it_is_refused(void **state)
{
    struct place *place = *state;
    struct trial trial = {0};
    with_copies copies = make_copies(place);
    plan(&trial, &copies);
    assert_true(was_refused(&trial.checks, CHECK_ROOTS, copies.inner));
    assert_non_null(
        strstr(checks_first_failed(&trial.checks)->remedy, "outside of the repository"));
    trial_done(&trial);
}

/* FZ-3: nothing of the checkout is seen in the place of what was frozen, and the copy is in nobody's writable
 * folder. */
static void what_an_option_opens_there_is_refused_with_a_remedy(void **state)
{
    struct place *place = *state;
    with_copies copies = make_copies(place);
    assert_int_equal(mkdirat(place->fd, "copy/rt", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "work/data", 0755), 0);
    const struct {
        const char *readable;
        const char *writable;
        const char *path;
    } rows[] = {
        {"../work/data", NULL, "work/data"}, {"../work", NULL, "work"},           {NULL, "..", ""},
        {NULL, "../work", "work"},           {NULL, "../work/data", "work/data"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct trial trial = {0};
        trial.request.readable = rows[i].readable ? WORDS(rows[i].readable) : NULL;
        trial.request.writable = rows[i].writable ? WORDS(rows[i].writable) : NULL;
        plan(&trial, &copies);
        with_string path =
            memory_format("%s%s%s", place->path, rows[i].path[0] ? "/" : "", rows[i].path);
        if (!was_refused(&trial.checks, CHECK_ROOTS, path)) {
            fail_msg("row %zu is possible", i);
        }
        assert_true(checks_first_failed(&trial.checks)->remedy[0] != '\0');
        trial_done(&trial);
    }
    struct trial trial = {.request = {.writable = WORDS("../work/data")}};
    assert_int_equal(mkdirat(place->fd, "copy/data", 0755), 0);
    plan(&trial, &copies);
    assert_true(checks_ok(&trial.checks));
    trial_done(&trial);
}

/* The descriptor of a copy that is none says what to do. */
static void a_copy_that_cannot_be_looked_at_has_a_remedy(void **state)
{
    struct place *place = *state;
    struct trial trial = {0};
    with_copies copies = make_copies(place);
    assert_int_equal(mkdirat(place->fd, "copy/rt", 0755), 0);
    struct place of_copy = {.fd = fd_num(&copies.copy_fd)};
    (void)snprintf(of_copy.path, sizeof of_copy.path, "%s", copies.copy);
    trial.request.sources[0] =
        (struct sandbox_source){.fd = -1, .copy = copies.tree, .place = copies.inner};
    trial_plan(&trial, &of_copy);
    assert_true(was_refused(&trial.checks, CHECK_SANDBOX, copies.inner));
    assert_non_null(strstr(checks_first_failed(&trial.checks)->remedy, "berm toolchain stage"));
    trial_done(&trial);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_copy_within_a_copy_is_mounted_behind_it),
        IN_PLACE(a_copy_in_a_readable_folder_is_mounted_behind_it),
        IN_PLACE(a_copy_without_a_place_for_it_is_refused),
        IN_PLACE(what_an_option_opens_there_is_refused_with_a_remedy),
        IN_PLACE(a_copy_that_cannot_be_looked_at_has_a_remedy),
    };
    return cmocka_run_group_tests_name("contain/sandbox-sources", tests, NULL, NULL);
}
