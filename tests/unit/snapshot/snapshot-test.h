/* snapshot-test.h
 *
 * A folder with a repository, `work`, and berm's state, `state`, for each test. The repository is one by its
 * `.git` folder alone; files are made old, so that they are read once.
 */
#pragma once

#include "../bfs/bfs-test.h"

#include <time.h>

#include "snapshot-priv.h"

#define WORD(text) ((char *)(uintptr_t)(text)) /* for an argv */

struct bench {
    struct place *place;
    struct bfs_dir root;
    struct bfs_dir state;
};

static unused int bench_make(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct err err = {0};
    place_make(state);
    bench->place = *state;
    assert_int_equal(mkdirat(bench->place->fd, "work", 0755), 0);
    assert_int_equal(mkdirat(bench->place->fd, "work/.git", 0755), 0);
    assert_int_equal(mkdirat(bench->place->fd, "state", 0700), 0);
    assert_ok(bfs_dir_open_beneath(&bench->place->dir, "work", &bench->root, &err));
    assert_ok(bfs_dir_open_beneath(&bench->place->dir, "state", &bench->state, &err));
    *state = bench;
    return 0;
}

static unused int bench_remove(void **state)
{
    struct bench *bench = *state;
    bfs_dir_done(&bench->root);
    bfs_dir_done(&bench->state);
    *state = bench->place;
    free(bench);
    return place_remove(state);
}

static unused int work_fd(const struct bench *bench)
{
    return bfs_dir_fd(&bench->root);
}

static unused void put_work(const struct bench *bench, const char *path, const char *bytes,
                            mode_t mode)
{
    int fd = openat(work_fd(bench), path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static unused void make_folder(const struct bench *bench, const char *path)
{
    assert_int_equal(mkdirat(work_fd(bench), path, 0755), 0);
}

/* Real time as the snapshot sees it: ahead of the files' times, so that they are not young. */
static int64_t clock_ahead_ns = INT64_C(3600000000000);

int64_t __wrap_entry_now_ns(void);
unused int64_t __wrap_entry_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + clock_ahead_ns;
}

/* A clock whose tick is endless: no change leaves a trace in the facts of a file. */
static bool facts_tell_nothing;

bool __real_bfs_facts_equal(const struct bfs_facts *a, const struct bfs_facts *b);
bool __wrap_bfs_facts_equal(const struct bfs_facts *a, const struct bfs_facts *b);
unused bool __wrap_bfs_facts_equal(const struct bfs_facts *a, const struct bfs_facts *b)
{
    return facts_tell_nothing || __real_bfs_facts_equal(a, b);
}

static unused int take(const struct bench *bench, struct snapshot **ret_snapshot, struct err *err)
{
    const struct snapshot_request request = {
        .root = &bench->root, .state = &bench->state, .limits = SNAPSHOT_LIMITS};
    return snapshot_take(&request, ret_snapshot, err);
}

static unused void assert_holds(int dir_fd, const char *path, const char *bytes, mode_t mode)
{
    char content[4096];
    struct stat stat;
    int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, content, sizeof content), strlen(bytes));
    assert_memory_equal(content, bytes, strlen(bytes));
    assert_int_equal(fstat(fd, &stat), 0);
    assert_int_equal(stat.st_mode & 07777, mode);
    close(fd);
}

static unused bool is_there(int dir_fd, const char *path)
{
    struct stat stat;
    return fstatat(dir_fd, path, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

#define bench_test(f) cmocka_unit_test_setup_teardown(f, bench_make, bench_remove)
