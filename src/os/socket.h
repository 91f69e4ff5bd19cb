/* socket.h
 *
 * Sockets of this machine (AF_UNIX, SOCK_SEQPACKET): packets keep their boundaries, and the kernel says
 * who is at the other end. Nothing here waits, and a write raises no SIGPIPE.
 *
 * Calling sequence
 *   with_fd listener = fd_adopt(os_socket_new());
 *   os_socket_bind(fd, "@name")      an abstract name: no file, gone with the last descriptor; or a path
 *   os_socket_listen(fd, backlog)    from now on the kernel names the caller as the other end
 *   os_socket_accept(fd)             -EAGAIN: nobody is waiting
 *   os_socket_peer(), os_socket_peer_pidfd()   who connected
 *   os_socket_name_senders(fd, true) then os_recv_sender() says who sent each packet
 *
 * Identity     os_socket_peer() names the process that connected, by a number that may belong to
 *              another process by now. The pidfd is that process for good. A sender's number was its own
 *              at the moment in which it sent; only CAP_SYS_ADMIN can give another.
 * Source       unix(7), socket(7), SO_PEERPIDFD and SO_PASSRIGHTS of include/uapi/asm-generic/socket.h (Linux
 *              6.5 and 6.16).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "attributes.h"
#include "fd.h"

int os_socket_new(void) must_check; /* of packets */
int os_socket_new_stream(void) must_check;
/* address: '@' and the rest is an abstract name; else a path. -ENAMETOOLONG past 107 bytes. */
int os_socket_bind(int fd, const char *address) must_check;
int os_socket_connect(int fd, const char *address) must_check;
int os_socket_listen(int fd, int backlog) must_check;
int os_socket_accept(int fd) must_check;

struct os_peer {
    pid_t pid; /* as this process sees it; 0: it lives outside of this PID namespace */
    uid_t uid;
    gid_t gid;
};
int os_socket_peer(int fd, struct os_peer *ret_peer) must_check;
int os_socket_peer_pidfd(int fd) must_check; /* -ENOPROTOOPT before Linux 6.5 */
int os_socket_name_senders(int fd, bool on) must_check;
/* Before os_socket_listen(): what connects can pass no descriptor (its send is refused); sockets that are
 * accepted inherit that. -ENOPROTOOPT before Linux 6.16. */
int os_socket_refuse_descriptors(int fd) must_check;

struct os_sender {
    bool known;
    bool cut; /* the packet was longer than its place, or held more than bytes: all that is gone */
    struct os_peer peer;
};
/* One packet; 0: the other end is closed; -EAGAIN: none yet. A descriptor that came with it is closed, and
 * that may be its last close: of a TCP socket with SO_LINGER it waits for as long as its owner wished,
 * whatever this socket's mode. os_waits_end() (event.h) bounds that; so it does for a close of this socket. */
ssize_t os_recv_sender(int fd, void *bytes, size_t n, struct os_sender *ret_sender) must_check;
