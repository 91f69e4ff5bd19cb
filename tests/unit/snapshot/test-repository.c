#include "snapshot-test.h"

#include "memory.h"
#include "repository-priv.h"

/* SB-4 */
static void places_of_the_host_are_no_roots(void **state)
{
    (void)state;
    struct err err = {0};
    static const struct {
        const char *root;
        bool fine;
    } cases[] = {
        {"/", false},       {"/tmp", false},        {"/tmp/x", true},
        {"/proc", false},   {"/proc/1/cwd", false}, {"/run/user/1", false},
        {"/dev/x", false},  {"/dev/shm", false},    {"/dev/shm/x", true},
        {"/sys/fs", false}, {"/home/u/s", false},   {"/home/u/s/x", false},
        {"/home/u", false}, {"/home/u/w", true},    {"/home/u/st", true},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        int result = repository_check_root(cases[i].root, "/home/u/s", &err);
        if (result != (cases[i].fine ? 0 : -1)) {
            fail_msg("%s", cases[i].root);
        }
        assert_true(cases[i].fine || err.code == ERR_REFUSED);
    }
}

/* SB-4: and the same by way of the search */
static void the_root_is_the_next_directory_with_a_git_folder(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_bfs_dir root = {0};
    make_folder(bench, "a");
    make_folder(bench, "a/b");
    int below = openat(work_fd(bench), "a/b", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_ok(snapshot_find_root(below, &bench->state, &root, &err));
    assert_true(bfs_facts_same_inode(&root.facts, &bench->root.facts));
    close(below);
    with_bfs_dir none = {0};
    int state_fd = bfs_dir_fd(&bench->state);
    assert_fails(snapshot_find_root(state_fd, &bench->state, &none, &err), ERR_NOT_FOUND);
    assert_int_equal(mkdirat(bench->place->fd, ".git", 0755), 0);
    assert_fails(snapshot_find_root(state_fd, &bench->state, &none, &err), ERR_REFUSED);
}

static void a_repository_without_anything_is_one(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    with_repository repository = {0};
    assert_ok(repository_open(&bench->root, "", &repository, &err));
    assert_int_equal(repository.tracked.count, 0);
    assert_int_equal(repository.exclude.count, 0);
}

/* A linked worktree: a file names its folder, which names the shared one. */
static void pointers_are_followed(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    make_folder(bench, ".git/info");
    make_folder(bench, ".git/worktrees");
    make_folder(bench, ".git/worktrees/w");
    put_work(bench, ".git/info/exclude", "*.o\n", 0644);
    put_work(bench, ".git/worktrees/w/commondir", "../..\n", 0644);
    make_folder(bench, "linked");
    put_work(bench, "linked/.git", "gitdir: ../.git/worktrees/w\n", 0644);
    with_bfs_dir linked = {0};
    with_repository repository = {0};
    assert_ok(bfs_dir_open_beneath(&bench->root, "linked", &linked, &err));
    assert_ok(repository_open(&linked, "", &repository, &err));
    assert_int_equal(repository.exclude.count, 1);
}

static void pointers_to_nothing_are_told(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    static const struct {
        const char *text;
        enum err_code code;
    } cases[] = {
        {"gitdir: ../nowhere\n", ERR_NOT_FOUND}, {"gitdir: \n", ERR_CORRUPT},
        {"what: ever\n", ERR_CORRUPT},           {"", ERR_CORRUPT},
        {"gitdir: file\n", ERR_REFUSED},
    };
    make_folder(bench, "sub");
    put_work(bench, "sub/file", "x", 0644);
    with_bfs_dir sub = {0};
    assert_ok(bfs_dir_open_beneath(&bench->root, "sub", &sub, &err));
    for (size_t i = 0; i < countof(cases); i++) {
        with_repository repository = {0};
        put_work(bench, "sub/.git", cases[i].text, 0644);
        assert_fails(repository_open(&sub, "", &repository, &err), cases[i].code);
        assert_non_null(strstr(err.msg, "sub"));
    }
    with_repository repository = {0};
    int fd = openat(work_fd(bench), "sub/.git", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    close(fd);
    assert_fails(repository_open(&sub, "", &repository, &err), ERR_OVER_BUDGET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_the_host_are_no_roots),
        bench_test(the_root_is_the_next_directory_with_a_git_folder),
        bench_test(a_repository_without_anything_is_one),
        bench_test(pointers_are_followed),
        bench_test(pointers_to_nothing_are_told),
    };
    return cmocka_run_group_tests_name("snapshot/repository", tests, NULL, NULL);
}
