#include "view-test.h"

#include <sched.h>
#include <sys/mount.h>

/* What a child of ours, in the leaf, thinks of us as the one who answers. */
static int judged(const char *cgroup, pid_t parent_of_child)
{
    with_fd listener = fd_adopt(os_socket_new());
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
    assert_int_equal(os_socket_listen(fd_num(&listener), 1), 0);
    int go_on[2];
    assert_int_equal(pipe(go_on), 0);
    pid_t child = fork();
    if (child == 0) {
        struct own own;
        char byte;
        (void)!read(go_on[0], &byte, 1);
        with_fd fd = ask_connect();
        int why = berm_own_open(&view, &own) < 0
                      ? 99
                      : (int)berm_peer_judge(&view, &own, fd_num(&fd), false);
        berm_own_close(&own);
        _exit(why);
    }
    view_process(child, parent_of_child);
    fake_process(getpid(), cgroup, 7);
    assert_int_equal(write(go_on[1], "x", 1), 1);
    close(go_on[0]);
    close(go_on[1]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    view_process(getpid(), 1);
    return WEXITSTATUS(status);
}

/* CX-2: an ancestor that stands outside of the cgroup may be the broker; nobody else. */
static void who_answers_is_outside_and_above(void **state)
{
    char path[128];
    assert_int_equal(judged("/user/session-1.scope", getpid()), BERM_CONTEXT_WHY_NONE);
    assert_int_equal(judged(fake_leaf, getpid()), BERM_CONTEXT_WHY_PEER_INSIDE);
    (void)snprintf(path, sizeof path, "%s/below", fake_leaf);
    assert_int_equal(judged(path, getpid()), BERM_CONTEXT_WHY_PEER_INSIDE);
    (void)snprintf(path, sizeof path, "%s2", fake_leaf);
    assert_int_equal(judged(path, getpid()), BERM_CONTEXT_WHY_NONE);
    fake_process(1, "/init.scope", 1);
    assert_int_equal(judged("/user/session-1.scope", 1), BERM_CONTEXT_WHY_PEER_STRANGE);
}

/* CX-2: a process cannot vouch for itself. */
static void nobody_answers_himself(void **state)
{
    with_fd a = {0};
    with_fd b = {0};
    struct own own;
    assert_int_equal(os_socket_pair(&a, &b), 0);
    assert_int_equal(berm_own_open(&view, &own), 0);
    assert_int_equal(berm_peer_judge(&view, &own, fd_num(&a), false), BERM_CONTEXT_WHY_PEER_INSIDE);
    assert_int_equal(berm_peer_judge(&view, &own, fd_num(&a), true), BERM_CONTEXT_WHY_PEER_INSIDE);
    berm_own_close(&own);
}

/* CX-2: another user who answers is none, also one that happens to be above. */
static void another_user_does_not_answer(void **state)
{
    if (getuid() != 0) {
        print_message("needs root, to be another user\n");
        skip();
    }
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    for (int user = 0; user < 2; user++) {
        with_fd listener = fd_adopt(os_socket_new());
        int go_on[2];
        assert_int_equal(pipe(go_on), 0);
        assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
        assert_int_equal(seteuid(user == 0 ? 0 : 65534), 0); /* as whom it listens */
        assert_int_equal(os_socket_listen(fd_num(&listener), 1), 0);
        assert_int_equal(seteuid(0), 0);
        pid_t child = fork();
        if (child == 0) {
            struct own own;
            char byte;
            (void)!read(go_on[0], &byte, 1);
            with_fd fd = ask_connect();
            _exit(berm_own_open(&view, &own) < 0
                      ? 99
                      : (int)berm_peer_judge(&view, &own, fd_num(&fd), false));
        }
        view_process(child, getpid());
        fake_process(getpid(), "/user/session-1.scope", 7);
        assert_int_equal(write(go_on[1], "x", 1), 1);
        close(go_on[0]);
        close(go_on[1]);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status),
                         user == 0 ? BERM_CONTEXT_WHY_NONE : BERM_CONTEXT_WHY_PEER_STRANGE);
        view_process(getpid(), 1);
    }
}

enum { CANNOT = 77 };

/* The first process of a PID namespace, to which whoever listens outside has no number. Bits of why it
 * believed what it should not. */
static int seen_from_inside(const char *address)
{
    char folder[] = "/tmp/berm-test-XXXXXX";
    char place[64];
    struct own own;
    struct view other = view;
    int wrong = 0;
    int fd = berm_exchange_connect(address, berm_exchange_now_ns() + 1000000000);
    if (fd < 0 || !mkdtemp(folder) || berm_own_open(&view, &own) < 0) {
        return CANNOT;
    }
    (void)snprintf(place, sizeof place, "%s/context", folder);
    other.socket = place;
    wrong |= berm_peer_judge(&other, &own, fd, false) != BERM_CONTEXT_WHY_PLACE;
    wrong |= (berm_peer_judge(&other, &own, fd, true) != BERM_CONTEXT_WHY_PLACE) << 1;
    bool mounted = mount("none", folder, "tmpfs", MS_RDONLY, NULL) == 0;
    wrong |= (mounted && berm_peer_judge(&other, &own, fd, true) != BERM_CONTEXT_WHY_NONE) << 2;
    wrong |= (mounted && berm_peer_judge(&other, &own, fd, false) != BERM_CONTEXT_WHY_PLACE) << 3;
    (void)umount2(folder, MNT_DETACH);
    (void)rmdir(folder);
    return mounted ? wrong : CANNOT;
}

/* CX-2: who lives outside of this PID namespace is believed at the one place only that nobody inside can
 * write to; anywhere else another user, or anybody, can listen. */
static void who_has_no_number_is_believed_at_one_place(void **state)
{
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    with_fd listener = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
    assert_int_equal(os_socket_listen(fd_num(&listener), 1), 0);
    view_process(1, 0);
    pid_t child = fork();
    if (child == 0) {
        int spaces = CLONE_NEWPID | CLONE_NEWNS | (getuid() == 0 ? 0 : CLONE_NEWUSER);
        if (unshare(spaces) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
            _exit(CANNOT);
        }
        pid_t first = fork();
        if (first == 0) {
            _exit(seen_from_inside(address));
        }
        int status = 0;
        _exit(waitpid(first, &status, 0) == first ? WEXITSTATUS(status) : CANNOT);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    view_process(getpid(), 1);
    if (WEXITSTATUS(status) == CANNOT) {
        print_message("no namespaces can be had here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_answers_is_outside_and_above),
        cmocka_unit_test(nobody_answers_himself),
        cmocka_unit_test(who_has_no_number_is_believed_at_one_place),
        cmocka_unit_test(another_user_does_not_answer),
    };
    return cmocka_run_group_tests_name("context/peer", tests, view_begin, fake_end);
}
