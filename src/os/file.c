#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "event.h"
#include "fault.h"

#ifndef RESOLVE_BENEATH
#include <linux/openat2.h>
#endif

/* Repeat a call that a signal interrupted before it did anything. */
#define RETRY(name, expression)                                                                    \
    ({                                                                                             \
        long retried_;                                                                             \
        do {                                                                                       \
            retried_ = OS_CALL(name, expression);                                                  \
        } while (retried_ == -EINTR);                                                              \
        retried_;                                                                                  \
    })

int os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    return (int)RETRY(openat, openat(dir_fd, path, flags | O_CLOEXEC, mode));
}

int os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC), .mode = mode, .resolve = resolve};
    return (int)RETRY(openat2, syscall(SYS_openat2, dir_fd, path, &how, sizeof how));
}

ssize_t os_read(int fd, void *bytes, size_t n)
{
    return (ssize_t)RETRY(read, read(fd, bytes, n));
}

ssize_t os_pread(int fd, void *bytes, size_t n, off_t offset)
{
    return (ssize_t)RETRY(pread64, pread(fd, bytes, n, offset));
}

ssize_t os_write(int fd, const void *bytes, size_t n)
{
    return (ssize_t)RETRY(write, write(fd, bytes, n));
}

ssize_t os_send(int fd, const void *bytes, size_t n)
{
    return (ssize_t)RETRY(sendto, send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL));
}

ssize_t os_recv(int fd, void *bytes, size_t n)
{
    return (ssize_t)RETRY(recvfrom, recv(fd, bytes, n, MSG_DONTWAIT));
}

/* The place of a control message with so many descriptors, aligned as the kernel wants it. */
union rights {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(OS_FDS_MAX * sizeof(int))];
};

ssize_t os_send_fds(int fd, const void *bytes, size_t n, const int *fds, size_t count)
{
    union rights rights = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    BUG_IF(count == 0 || count > OS_FDS_MAX);
    message.msg_control = rights.bytes;
    message.msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
    rights.header = (struct cmsghdr){
        .cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int)),
        .cmsg_level = SOL_SOCKET,
        .cmsg_type = SCM_RIGHTS,
    };
    memcpy(CMSG_DATA(&rights.header), fds, count * sizeof(int));
    return (ssize_t)RETRY(sendmsg, sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* All that came are owned from here on, so that none is left open that nobody knows of. */
static size_t take_fds(struct msghdr *message, struct fd fds[OS_FDS_MAX])
{
    size_t count = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t here = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here && count < OS_FDS_MAX; i++) {
            int number = -1;
            memcpy(&number, CMSG_DATA(at) + i * sizeof number, sizeof number);
            fds[count++] = fd_adopt(number);
        }
    }
    return count;
}

ssize_t os_recv_fds(int fd, void *bytes, size_t n, struct fd *ret_fds, size_t count)
{
    union rights rights = {0};
    struct fd came[OS_FDS_MAX] = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    BUG_IF(count == 0 || count > OS_FDS_MAX);
    message.msg_control = rights.bytes;
    message.msg_controllen = sizeof rights.bytes;
    ssize_t got = (ssize_t)RETRY(recvmsg, recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    size_t held = got < 0 ? 0 : take_fds(&message, came);
    bool whole = (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0;
    bool wanted = whole && (held == 0 || held == count);
    for (size_t i = 0; i < held; i++) {
        if (wanted) {
            ret_fds[i] = came[i];
        } else {
            fd_close(&came[i]);
        }
    }
    return got >= 0 && !wanted ? -EPROTO : got;
}

int os_socket_pair(struct fd *ret_a, struct fd *ret_b)
{
    int pair[2] = {-1, -1};
    int result =
        (int)OS_CALL(socketpair, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
    if (result == 0) {
        *ret_a = fd_adopt(pair[0]);
        *ret_b = fd_adopt(pair[1]);
    }
    return result;
}

int os_memfd(const char *name)
{
    return (int)OS_CALL(memfd_create, memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

int os_memfd_seal(int fd)
{
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int result = (int)OS_CALL(fcntl, fcntl(fd, F_ADD_SEALS, seals));
    int held = result < 0 ? result : (int)OS_CALL(fcntl, fcntl(fd, F_GET_SEALS));
    return held < 0 ? held : (held & seals) == seals ? 0 : -EIO;
}

int os_memfd_seal_mode(int fd)
{
    const int executable = 0x20; /* F_SEAL_EXEC of linux/fcntl.h */
    int result = (int)OS_CALL(fcntl, fcntl(fd, F_ADD_SEALS, executable));
    return result == -EINVAL ? 0 : result;
}

int os_write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t written = os_write(fd, p, n);
        if (written < 0) {
            return (int)written;
        }
        if (written == 0) {
            return -EIO; /* nothing written and no reason given: never loop on it */
        }
        p += written;
        n -= (size_t)written;
    }
    return 0;
}

ssize_t os_read_small(int dir_fd, const char *path, char *text, size_t size)
{
    with_fd file = fd_adopt(os_openat(dir_fd, path, O_RDONLY | O_NOCTTY, 0));
    if (!fd_is_open(&file)) {
        return fd_error(&file);
    }
    size_t length = 0;
    while (length + 1 < size) {
        ssize_t got = os_read(fd_num(&file), text + length, size - 1 - length);
        if (got < 0) {
            return got;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    text[length] = '\0';
    return (ssize_t)length;
}

int os_fstat(int fd, struct stat *ret_stat)
{
    return (int)OS_CALL(newfstatat, fstat(fd, ret_stat));
}

int os_stat_entry(int dir_fd, const char *name, struct stat *ret_stat)
{
    return (int)OS_CALL(newfstatat, fstatat(dir_fd, name, ret_stat, AT_SYMLINK_NOFOLLOW));
}

int os_fstatfs(int fd, struct statfs *ret_statfs)
{
    return (int)OS_CALL(fstatfs, fstatfs(fd, ret_statfs));
}

ssize_t os_readlinkat(int dir_fd, const char *path, char *target, size_t size)
{
    ssize_t length = (ssize_t)OS_CALL(readlinkat, readlinkat(dir_fd, path, target, size - 1));
    if (length >= 0) {
        target[length] = '\0';
    }
    return length;
}

int os_faccessat(int dir_fd, const char *path, int mode)
{
    return (int)OS_CALL(faccessat2, faccessat(dir_fd, path, mode, AT_EACCESS));
}

ssize_t os_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    return (ssize_t)OS_CALL(fgetxattr, fgetxattr(fd, name, value, size));
}

ssize_t os_getxattr(const char *path, const char *name, void *value, size_t size)
{
    return (ssize_t)OS_CALL(getxattr, getxattr(path, name, value, size));
}

ssize_t os_getdents(int fd, void *entries, size_t size)
{
    return (ssize_t)OS_CALL(getdents64, syscall(SYS_getdents64, fd, entries, size));
}

off_t os_lseek(int fd, off_t offset, int whence)
{
    return (off_t)OS_CALL(lseek, lseek(fd, offset, whence));
}

int os_mkdirat(int dir_fd, const char *name, mode_t mode)
{
    return (int)OS_CALL(mkdirat, mkdirat(dir_fd, name, mode));
}

int os_symlinkat(const char *target, int dir_fd, const char *name)
{
    return (int)OS_CALL(symlinkat, symlinkat(target, dir_fd, name));
}

int os_unlinkat(int dir_fd, const char *name, int flags)
{
    return (int)OS_CALL(unlinkat, unlinkat(dir_fd, name, flags));
}

int os_renameat(int old_dir, const char *old_name, int new_dir, const char *new_name,
                unsigned flags)
{
    if (flags == 0) {
        return (int)OS_CALL(renameat, renameat(old_dir, old_name, new_dir, new_name));
    }
    return (int)OS_CALL(renameat2,
                        syscall(SYS_renameat2, old_dir, old_name, new_dir, new_name, flags));
}

int os_link_fd(int file_fd, int new_dir, const char *new_name)
{
    /* By hand: the helper, which has no stdio, names files as well. */
    char path[32] = "/proc/self/fd/";
    char digits[12];
    char *at = digits + sizeof digits;
    *--at = '\0';
    do {
        *--at = (char)('0' + file_fd % 10);
        file_fd /= 10;
    } while (file_fd > 0);
    memcpy(path + strlen(path), at, (size_t)(digits + sizeof digits - at));
    return (int)OS_CALL(linkat, linkat(AT_FDCWD, path, new_dir, new_name, AT_SYMLINK_FOLLOW));
}

int os_linkat(int old_dir, const char *old_name, int new_dir, const char *new_name)
{
    return (int)OS_CALL(linkat, linkat(old_dir, old_name, new_dir, new_name, 0));
}

int os_fsync(int fd)
{
    return (int)OS_CALL(fsync, fsync(fd));
}

int os_fallocate(int fd, off_t length)
{
    return (int)OS_CALL(fallocate, fallocate(fd, 0, 0, length));
}

int os_ftruncate(int fd, off_t length)
{
    return (int)OS_CALL(ftruncate, ftruncate(fd, length));
}

int os_fchmod(int fd, mode_t mode)
{
    return (int)OS_CALL(fchmod, fchmod(fd, mode));
}

int os_clone_file(int to_fd, int from_fd)
{
    return (int)OS_CALL(ioctl, ioctl(to_fd, FICLONE, from_fd));
}

int os_flock(int fd, int operation)
{
    return (int)OS_CALL(flock, flock(fd, operation));
}

int os_flock_within(int fd, int wait_ms)
{
    enum { PAUSE_MS = 20 };
    int result = os_flock(fd, LOCK_EX | LOCK_NB);
    for (; result == -EWOULDBLOCK && wait_ms > 0; wait_ms -= PAUSE_MS) {
        (void)!os_poll(-1, 0, PAUSE_MS);
        result = os_flock(fd, LOCK_EX | LOCK_NB);
    }
    return result;
}

int os_set_nonblocking(int fd, bool on)
{
    int flags = (int)OS_CALL(fcntl, fcntl(fd, F_GETFL));
    if (flags < 0) {
        return flags;
    }
    flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    return (int)OS_CALL(fcntl, fcntl(fd, F_SETFL, flags));
}

int os_pipe(struct fd *ret_read, struct fd *ret_write)
{
    int ends[2];
    int result = (int)OS_CALL(pipe2, pipe2(ends, O_CLOEXEC));
    if (result < 0) {
        return result;
    }
    *ret_read = fd_adopt(ends[0]);
    *ret_write = fd_adopt(ends[1]);
    return 0;
}

int os_pipe_grow(int fd, int bytes)
{
    return (int)OS_CALL(fcntl, fcntl(fd, F_SETPIPE_SZ, bytes));
}

int os_pipe_unread(int fd)
{
    int unread = 0;
    int result = (int)OS_CALL(ioctl, ioctl(fd, FIONREAD, &unread));
    return result < 0 ? result : unread;
}

bool os_is_terminal(int fd)
{
    return OS_CALL(ioctl, isatty(fd) == 1 ? 0 : -1) == 0;
}

int os_terminal_columns(int fd)
{
    struct winsize size = {0};
    int result = (int)OS_CALL(ioctl, ioctl(fd, TIOCGWINSZ, &size));
    return result < 0 ? result : size.ws_col;
}

bool os_terminal_is_ours(int fd)
{
    pid_t foreground = 0;
    return OS_CALL(ioctl, ioctl(fd, TIOCGPGRP, &foreground)) == 0 && foreground == getpgrp();
}

int os_getrandom(void *bytes, size_t n)
{
    long got = RETRY(getrandom, getrandom(bytes, n, 0));
    return got < 0 ? (int)got : (size_t)got == n ? 0 : -EIO;
}

void fd_close(struct fd *fd)
{
    if (!fd || !fd_is_open(fd)) {
        return;
    }
    int saved = errno;
    (void)OS_CALL(close, close(fd_num(fd))); /* the descriptor is gone whatever close says */
    fd->plus_one = 0;
    errno = saved;
}
