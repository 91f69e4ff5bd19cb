#include "../bfs/bfs-test.h"

#include <sys/socket.h>

#include "anchor-message.h"
#include "scope-priv.h"

/* The folders are ordinary ones. */
int __wrap_os_cgroup_open(const char *path);
int __wrap_os_cgroup_open(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
int __wrap_os_cgroup_new(int parent_fd, const char *name);
int __wrap_os_cgroup_new(int parent_fd, const char *name)
{
    return mkdirat(parent_fd, name, 0700) < 0
               ? -errno
               : openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* CT-3: the anchor is told to go in as soon as there is a folder; where it cannot be told, there is none. */
static void a_beginning_that_fails_leaves_nothing(void **state)
{
    static const char name[] = "berm-k7f3-0.scope";
    struct place *place = *state;
    put(place, "cgroup.subtree_control", "memory pids\n");
    for (int lives = 1; lives >= 0; lives--) {
        int channel[2];
        char order = 0;
        struct err err = {0};
        struct scope scope = {0};
        struct stat facts;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
        if (!lives) {
            close(channel[1]);
        }
        scope.request.anchor_channel = channel[0];
        (void)snprintf(scope.name, sizeof scope.name, "%s", name);
        (void)snprintf(scope.offer.place, sizeof scope.offer.place, "%s", place->path);
        assert_int_equal(scope_delegated_operations.begin(&scope, &err), lives ? 0 : -1);
        assert_int_equal(fstatat(place->fd, name, &facts, 0), lives ? 0 : -1);
        if (lives) {
            assert_int_equal(read(channel[1], &order, 1), 1);
            assert_int_equal(order, ANCHOR_JOIN);
            assert_int_equal(unlinkat(place->fd, name, AT_REMOVEDIR), 0);
            close(channel[1]);
        } else {
            assert_non_null(strstr(err.msg, name));
        }
        fd_close(&scope.folder);
        fd_close(&scope.parent);
        close(channel[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(a_beginning_that_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
