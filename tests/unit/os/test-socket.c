#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "process.h"
#include "socket.h"

static const int patience_ms = 10000; /* never reached when things work */

static const char *own_address(void)
{
    static char address[64]; /* a child has its parent's */
    if (!address[0]) {
        (void)snprintf(address, sizeof address, "@berm-test-socket-%d", getpid());
    }
    return address;
}

static struct fd listening(const char *address)
{
    struct fd listener = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&listener), address), 0);
    assert_int_equal(os_socket_listen(fd_num(&listener), 4), 0);
    return listener;
}

static struct fd connected(const char *address)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t length = strlen(address);
    memcpy(name.sun_path, address, length);
    bool is_abstract = address[0] == '@';
    name.sun_path[0] = is_abstract ? '\0' : address[0];
    struct fd fd = fd_adopt(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + !is_abstract);
    assert_int_equal(connect(fd_num(&fd), (struct sockaddr *)&name, size), 0);
    return fd;
}

static void an_abstract_name_is_had_once_and_gone_with_its_socket(void **state)
{
    with_fd listener = listening(own_address());
    with_fd second = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&second), own_address()), -EADDRINUSE);
    assert_int_equal(os_socket_accept(fd_num(&listener)), -EAGAIN);
    with_fd client = connected(own_address());
    with_fd accepted = fd_adopt(os_socket_accept(fd_num(&listener)));
    assert_true(fd_is_open(&accepted));
    assert_int_equal(fcntl(fd_num(&accepted), F_GETFD), FD_CLOEXEC);
    assert_true(fcntl(fd_num(&accepted), F_GETFL) & O_NONBLOCK);
    fd_close(&listener);
    assert_int_equal(os_socket_bind(fd_num(&second), own_address()), 0);
}

static void a_path_may_have_as_many_bytes_as_fit(void **state)
{
    char dir[] = "/tmp/berm-test-XXXXXX";
    char path[120];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/socket", dir);
    with_fd listener = listening(path);
    with_fd client = connected(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);

    char name[109];
    memset(name, 'n', sizeof name);
    name[0] = '@';
    name[108] = '\0';
    with_fd other = fd_adopt(os_socket_new());
    assert_int_equal(os_socket_bind(fd_num(&other), name), -ENAMETOOLONG);
    name[107] = '\0';
    assert_int_equal(os_socket_bind(fd_num(&other), name), 0);
}

/* CX-4: by the kernel, and the pidfd stays with the process when its number is another's. */
static void the_kernel_says_who_connected(void **state)
{
    with_fd listener = listening(own_address());
    int hold[2];
    assert_int_equal(pipe(hold), 0);
    pid_t child = fork();
    if (child == 0) {
        with_fd client = connected(own_address());
        char byte;
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        _exit(0);
    }
    assert_true(os_poll(fd_num(&listener), POLLIN, patience_ms) > 0);
    with_fd accepted = fd_adopt(os_socket_accept(fd_num(&listener)));
    struct os_peer peer;
    assert_int_equal(os_socket_peer(fd_num(&accepted), &peer), 0);
    assert_int_equal(peer.pid, child);
    assert_int_equal(peer.uid, getuid());
    with_fd pidfd = fd_adopt(os_socket_peer_pidfd(fd_num(&accepted)));
    if (fd_is_open(&pidfd)) { /* Linux 6.5 */
        assert_int_equal(fcntl(fd_num(&pidfd), F_GETFD), FD_CLOEXEC);
        assert_int_equal(os_poll(fd_num(&pidfd), POLLIN, 0), 0);
    } else {
        assert_int_equal(fd_error(&pidfd), -ENOPROTOOPT);
    }
    close(hold[0]);
    close(hold[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (fd_is_open(&pidfd)) {
        assert_true(os_poll(fd_num(&pidfd), POLLIN, 0) & POLLIN);
        assert_int_equal(os_pidfd_signal(fd_num(&pidfd), 0), -ESRCH);
    }
}

/* CX-4: the number of a sender is its own, also where the socket is somebody else's. */
static void the_kernel_says_who_sent(void **state)
{
    with_fd a = {0};
    with_fd b = {0};
    assert_int_equal(os_socket_pair(&a, &b), 0);
    char bytes[8];
    struct os_sender sender;
    assert_int_equal(os_recv_sender(fd_num(&a), bytes, sizeof bytes, &sender), -EAGAIN);
    assert_int_equal(os_send(fd_num(&b), "x", 1), 1);
    assert_int_equal(os_recv_sender(fd_num(&a), bytes, sizeof bytes, &sender), 1);
    assert_false(sender.known);

    assert_int_equal(os_socket_name_senders(fd_num(&a), true), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(os_send(fd_num(&b), "hello", 5) != 5);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(os_recv_sender(fd_num(&a), bytes, sizeof bytes, &sender), 5);
    assert_true(sender.known && !sender.cut);
    assert_int_equal(sender.peer.pid, child);

    assert_int_equal(os_send(fd_num(&b), "longer than eight", 17), 17);
    assert_int_equal(os_recv_sender(fd_num(&a), bytes, sizeof bytes, &sender), 8);
    assert_true(sender.cut);
    fd_close(&b);
    assert_int_equal(os_recv_sender(fd_num(&a), bytes, sizeof bytes, &sender), 0);
}

/* It finds no place: with the last end of the pipe here closed, nobody holds one. */
static void a_descriptor_that_was_not_asked_for_is_not_taken(void **state)
{
    with_fd a = {0};
    with_fd b = {0};
    with_fd in = {0};
    with_fd out = {0};
    char byte;
    struct os_sender sender;
    assert_int_equal(os_socket_pair(&a, &b), 0);
    assert_int_equal(os_pipe(&in, &out), 0);
    assert_int_equal(os_socket_name_senders(fd_num(&b), true), 0);
    int number = fd_num(&out);
    assert_int_equal(os_send_fds(fd_num(&a), "w", 1, &number, 1), 1);
    fd_close(&out);
    assert_int_equal(os_recv_sender(fd_num(&b), &byte, 1, &sender), 1);
    assert_true(sender.known && sender.cut);
    assert_int_equal(os_poll(fd_num(&in), POLLIN, 0), POLLHUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abstract_name_is_had_once_and_gone_with_its_socket),
        cmocka_unit_test(a_path_may_have_as_many_bytes_as_fit),
        cmocka_unit_test(the_kernel_says_who_connected),
        cmocka_unit_test(the_kernel_says_who_sent),
        cmocka_unit_test(a_descriptor_that_was_not_asked_for_is_not_taken),
    };
    return cmocka_run_group_tests_name("os/socket", tests, NULL, NULL);
}
