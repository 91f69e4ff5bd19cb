#include "socket.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fault.h"

/* Younger than the headers may be; one number on every machine that berm is built for. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

int os_socket_new(void)
{
    return (int)OS_CALL(socket, socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int os_socket_new_stream(void)
{
    return (int)OS_CALL(socket, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* -errno, or the length of the name. */
static int name_of(const char *address, struct sockaddr_un *ret_name)
{
    *ret_name = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(address);
    if (length >= sizeof ret_name->sun_path) {
        return -ENAMETOOLONG;
    }
    memcpy(ret_name->sun_path, address, length);
    bool is_abstract = address[0] == '@';
    if (is_abstract) {
        ret_name->sun_path[0] = '\0';
    }
    /* The NUL belongs to a path, and would be a byte more of an abstract name. */
    return (int)(offsetof(struct sockaddr_un, sun_path) + length + !is_abstract);
}

int os_socket_bind(int fd, const char *address)
{
    struct sockaddr_un name;
    int size = name_of(address, &name);
    return size < 0 ? size
                    : (int)OS_CALL(bind, bind(fd, (const struct sockaddr *)&name, (socklen_t)size));
}

int os_socket_connect(int fd, const char *address)
{
    struct sockaddr_un name;
    int size = name_of(address, &name);
    return size < 0 ? size
                    : (int)OS_CALL(connect,
                                   connect(fd, (const struct sockaddr *)&name, (socklen_t)size));
}

int os_socket_listen(int fd, int backlog)
{
    return (int)OS_CALL(listen, listen(fd, backlog));
}

int os_socket_accept(int fd)
{
    return (int)OS_CALL(accept4, accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

int os_socket_peer(int fd, struct os_peer *ret_peer)
{
    struct ucred peer = {.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t size = sizeof peer;
    int result = (int)OS_CALL(getsockopt, getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size));
    if (result == 0) {
        *ret_peer = (struct os_peer){peer.pid, peer.uid, peer.gid};
    }
    return result;
}

int os_socket_peer_pidfd(int fd)
{
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    /* A name of its own, so that a test can be a kernel without it. The descriptor is close-on-exec. */
    int result = (int)OS_CALL(peerpidfd, getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size));
    return result < 0 ? result : pidfd;
}

int os_socket_name_senders(int fd, bool on)
{
    int value = on;
    return (int)OS_CALL(setsockopt, setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &value, sizeof value));
}

int os_socket_refuse_descriptors(int fd)
{
    int value = 0;
    return (int)OS_CALL(passrights,
                        setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value));
}

ssize_t os_recv_sender(int fd, void *bytes, size_t n, struct os_sender *ret_sender)
{
    /* Room for credentials and nothing behind them: descriptors find none, and the kernel drops them. */
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = n};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    *ret_sender = (struct os_sender){0};
    ssize_t got;
    do {
        message.msg_controllen = sizeof control;
        got = (ssize_t)OS_CALL(recvmsg, recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    } while (got == -EINTR);
    if (got < 0) {
        return got;
    }
    const struct cmsghdr *first = CMSG_FIRSTHDR(&message);
    if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_CREDENTIALS) {
        struct ucred peer;
        memcpy(&peer, CMSG_DATA(first), sizeof peer);
        ret_sender->peer = (struct os_peer){peer.pid, peer.uid, peer.gid};
        ret_sender->known = true;
    }
    ret_sender->cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    return got;
}
