/* bfs-test.h
 *
 * A fresh directory for each test, and the plain calls that set up what the bounded filesystem is
 * then asked about. The directory and all in it are removed at the end of the test.
 */
#pragma once

#include "../unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bfs.h"

struct place {
    char path[64];
    int fd;
    struct bfs_dir dir;
};

static void remove_all(int dir_fd)
{
    DIR *listing = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(dir_fd, entry->d_name, 0) == 0) {
            continue;
        }
        int below = openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        assert_true(below >= 0);
        remove_all(below);
        close(below);
        assert_int_equal(unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR), 0);
    }
    closedir(listing);
}

static unused int place_make(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->path, sizeof place->path, "/tmp/berm-test-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    if (bfs_dir_open(AT_FDCWD, place->path, BFS_TRUST_OWN, &place->dir, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    *state = place;
    return 0;
}

static unused int place_remove(void **state)
{
    struct place *place = *state;
    remove_all(place->fd);
    assert_int_equal(rmdir(place->path), 0);
    close(place->fd);
    bfs_dir_done(&place->dir);
    free(place);
    return 0;
}

static unused void put(const struct place *place, const char *name, const char *bytes)
{
    int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    close(fd);
}

static unused void assert_content(const struct place *place, const char *name, const char *bytes)
{
    char content[4096];
    int fd = openat(place->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = read(fd, content, sizeof content);
    close(fd);
    assert_int_equal(got, strlen(bytes));
    assert_memory_equal(content, bytes, strlen(bytes));
}

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != 0) {                                                                         \
            fail_msg("%s", err.msg);                                                               \
        }                                                                                          \
    } while (0)
#define assert_fails(call, code_)                                                                  \
    do {                                                                                           \
        err = (struct err){0};                                                                     \
        assert_int_equal((call), -1);                                                              \
        if (err.code != (code_)) {                                                                 \
            fail_msg("code %d: %s", err.code, err.msg);                                            \
        }                                                                                          \
    } while (0)

#define place_test(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
