/* file.h
 *
 * Files and directories, relative to an open directory. Every function answers -errno on failure,
 * never logs, takes no error value and is safe in a forked child.
 *
 * Descriptors are close-on-exec from birth. EINTR is retried where the call can be repeated without
 * harm (read, write, open); never for close.
 *
 * Limitations  the os_*_all loops block as long as the file does: for regular files only.
 * Source       the man page of the same name in section 2 each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "attributes.h"
#include "fd.h"

struct statfs; /* statfs(2) */

/* openat2(2): the resolve flags of the kernel, without needing its newer headers. */
enum {
    OS_RESOLVE_NO_XDEV = 0x01,
    OS_RESOLVE_NO_MAGICLINKS = 0x02,
    OS_RESOLVE_NO_SYMLINKS = 0x04,
    OS_RESOLVE_BENEATH = 0x08,
};

int os_openat(int dir_fd, const char *path, int flags, mode_t mode) must_check;
int os_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve) must_check;

ssize_t os_read(int fd, void *bytes, size_t n) must_check;
ssize_t os_pread(int fd, void *bytes, size_t n, off_t offset) must_check;
ssize_t os_write(int fd, const void *bytes, size_t n) must_check;
/* To a socket, without waiting and without SIGPIPE; -EAGAIN when it is full. */
ssize_t os_send(int fd, const void *bytes, size_t n) must_check;
/* One packet of a socket; 0: the other end is closed, -EAGAIN: none yet. A longer one is cut. */
ssize_t os_recv(int fd, void *bytes, size_t n) must_check;
/* The same with 1 to OS_FDS_MAX descriptors (SCM_RIGHTS, unix(7)): the other end gets copies of them,
 * close-on-exec. What comes must be so many or none (those in ret_fds stay as they are), in a packet
 * that is not cut; else all are closed and it is -EPROTO. */
enum { OS_FDS_MAX = 8 };
ssize_t os_send_fds(int fd, const void *bytes, size_t n, const int *fds, size_t count) must_check;
ssize_t os_recv_fds(int fd, void *bytes, size_t n, struct fd *ret_fds, size_t count) must_check;
/* A pair of connected SOCK_SEQPACKET sockets: packets keep their boundaries. */
int os_socket_pair(struct fd *ret_a, struct fd *ret_b) must_check;
/* A nameless file of memory that can be sealed; os_memfd_seal() makes it immutable for
 * good, and asks the kernel whether it is (-EIO: it is not). */
int os_memfd(const char *name) must_check;
int os_memfd_seal(int fd) must_check;
/* Its execute bits too, before the other seals; where the kernel has no such seal (before Linux 6.3) 0 and no change. */
int os_memfd_seal_mode(int fd) must_check;
/* Until n bytes are written or an error; a regular file or a blocking pipe. */
int os_write_all(int fd, const void *bytes, size_t n) must_check;
/* At most maximum bytes of a small (proc, sys) file; the number of bytes, NUL added behind. */
ssize_t os_read_small(int dir_fd, const char *path, char *text, size_t size) must_check;

int os_fstat(int fd, struct stat *ret_stat) must_check;
/* Of the entry itself, a link is not followed. */
int os_stat_entry(int dir_fd, const char *name, struct stat *ret_stat) must_check;
int os_fstatfs(int fd, struct statfs *ret_statfs) must_check;
/* Ended by a zero byte, and cut where it is longer than size - 1. */
ssize_t os_readlinkat(int dir_fd, const char *path, char *target, size_t size) must_check;
int os_faccessat(int dir_fd, const char *path, int mode) must_check; /* effective ids */
ssize_t os_fgetxattr(int fd, const char *name, void *value, size_t size) must_check;
/* By a path, of which the last link is followed: of an O_PATH descriptor, by its entry in /proc/self/fd. */
ssize_t os_getxattr(const char *path, const char *name, void *value, size_t size) must_check;
ssize_t os_getdents(int fd, void *entries, size_t size) must_check; /* struct dirent64 */
off_t os_lseek(int fd, off_t offset, int whence) must_check;

int os_mkdirat(int dir_fd, const char *name, mode_t mode) must_check;
int os_symlinkat(const char *target, int dir_fd, const char *name) must_check;
int os_unlinkat(int dir_fd, const char *name, int flags) must_check;
/* flags: RENAME_NOREPLACE, RENAME_EXCHANGE or 0 */
int os_renameat(int old_dir, const char *old_name, int new_dir, const char *new_name,
                unsigned flags) must_check;
/* Give the file behind file_fd (O_TMPFILE too) a name; -EEXIST when there is one. */
int os_link_fd(int file_fd, int new_dir, const char *new_name) must_check;
int os_linkat(int old_dir, const char *old_name, int new_dir, const char *new_name) must_check;
int os_fsync(int fd) must_check;
int os_fallocate(int fd, off_t length) must_check;
int os_ftruncate(int fd, off_t length) must_check;
int os_fchmod(int fd, mode_t mode) must_check;
/* FICLONE of ioctl_ficlonerange(2): the new file shares the blocks of the other until one is written;
 * -EOPNOTSUPP, -EINVAL, -EXDEV or -ENOTTY where the filesystem cannot. */
int os_clone_file(int to_fd, int from_fd) must_check;
int os_flock(int fd, int operation) must_check;
/* Exclusive, asked for again and again since nobody notifies of an unlocked file; -EWOULDBLOCK: somebody held
 * it all the time. Whoever can open a file can hold others up, so a wait for it has an end. */
int os_flock_within(int fd, int wait_ms) must_check;
int os_set_nonblocking(int fd, bool on) must_check;
int os_pipe(struct fd *ret_read, struct fd *ret_write) must_check;
int os_pipe_grow(int fd, int bytes) must_check; /* F_SETPIPE_SZ; the size now */
int os_pipe_unread(int fd) must_check;          /* FIONREAD */
bool os_is_terminal(int fd);
int os_terminal_columns(int fd) must_check;
/* Is it our controlling terminal, and are we in its foreground? */
bool os_terminal_is_ours(int fd);
int os_getrandom(void *bytes, size_t n) must_check;
