/* confine.h
 *
 * What a process does to itself and to its own mounts when it becomes a sandbox: namespaces, mounts
 * by descriptor, capabilities, Landlock, the system call filter. Every function answers -errno on
 * failure, never logs and is safe in a forked child.
 *
 * Mounts are named by an O_PATH descriptor and no path, so that what was checked is what is
 * mounted on: /proc must be mounted, for those that the kernel knows by a path only. A descriptor that was opened before a mount was made on its
 * place still leads below it; open the place again to see the mount.
 *
 * Limitations  mount identities and recursive read-only mounts need Linux 5.8 and 5.12.
 * Source       mount(2), open_tree(2), move_mount(2), mount_setattr(2), statx(2), capabilities(7), landlock(7), seccomp(2); the
 *              numbers of the kernel's headers, where those that berm is built with are older.
 */
#pragma once

#include <linux/filter.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"

int os_unshare(int flags) must_check; /* CLONE_NEW... */

/* No mount or unmount goes from this mount namespace to another, or comes from one. */
int os_mounts_private(void) must_check;
/* A new file system of memory on the folder: nosuid, nodev; options as tmpfs(5) has them. */
int os_mount_memory(int on_fd, const char *options) must_check;
/* Other options for the file system of memory that fd is in a mount of; those that are not named stay. */
int os_mount_change_memory(int fd, const char *options) must_check;
/* A new file system of terminals on the folder: its own, as everybody's (devpts of the kernel). */
int os_mount_terminals(int on_fd) must_check;
/* What fd leads to, with whatever is mounted beneath it, as a mount that stands nowhere yet: a descriptor. */
int os_mount_copy(int fd) must_check;
/* That copy at the place of on_fd, where its source may be. */
int os_mount_attach(int copy_fd, int on_fd) must_check;
/* fd is the root of a mount: this one is read-only from now on, its other flags stay. */
int os_mount_read_only(int fd) must_check;
/* The same, and whatever is mounted beneath it; -ENOSYS before Linux 5.12. */
int os_mounts_read_only(int fd) must_check;
/* fd is the root of a mount: devices in this one can be used, its other flags stay. */
int os_mount_with_devices(int fd) must_check;
/* The same, and whatever is mounted beneath it; -ENOSYS before Linux 5.12. */
int os_mounts_with_devices(int fd) must_check;
/* fd is the root of a mount: no symbolic link in this one is followed from now on, its other flags stay. A kernel
 * before Linux 5.10 may say that it was done: ask os_mount_is_without_links(). */
int os_mount_without_links(int fd) must_check;
int os_mount_is_without_links(int fd) must_check; /* 1 or 0, of the mount that fd lies in */
/* Where a descriptor leads, and through which mount, as /proc/self/mountinfo numbers it. */
struct os_place {
    uint64_t mount_id;
    uint64_t inode;
    uint32_t device[2];
};
int os_place_of(int fd, struct os_place *ret_place) must_check;

/* Physical path of the working folder: -ENOENT when it lies outside of the root. */
int os_getcwd(char *path, size_t size) must_check;

/* Bytes of a file, shared and read-only; NULL when they cannot be had. For the life of the process. */
const void *os_map_read_only(int fd, size_t size);
/* Is it a file that nobody can change any more? 0, or -EPERM: not sealed. */
int os_is_sealed(int fd) must_check;

int os_capability_in_bounds(int capability) must_check; /* 1, 0; -EINVAL: the kernel has none */
int os_capability_unbound(int capability) must_check;   /* out of the bounding set */
int os_capabilities_drop(void) must_check;              /* all three sets and the ambient one */
/* 0 when the process has none left in any set but the bounding one, -EPERM when it has. */
int os_capabilities_gone(void) must_check;
int os_set_no_new_privileges(void) must_check;
int os_has_no_new_privileges(void) must_check; /* 1 or 0 */
/* Others of the same uid may not trace it or open what /proc shows of it, until it executes. */
int os_set_undumpable(void) must_check;
mode_t os_umask(mode_t mask); /* cannot fail: the one before */

/* Landlock's rights and scopes, without needing newer headers: ABI 1 has the first 13 rights, 2
 * added REFER, 3 TRUNCATE, 5 IOCTL_DEVICE, 6 the scopes. */
enum {
    OS_LANDLOCK_WRITE_FILE = 1 << 1,
    OS_LANDLOCK_REMOVE_DIR = 1 << 4,
    OS_LANDLOCK_REMOVE_FILE = 1 << 5,
    OS_LANDLOCK_MAKE_CHAR = 1 << 6,
    OS_LANDLOCK_MAKE_DIR = 1 << 7,
    OS_LANDLOCK_MAKE_REG = 1 << 8,
    OS_LANDLOCK_MAKE_SOCK = 1 << 9,
    OS_LANDLOCK_MAKE_FIFO = 1 << 10,
    OS_LANDLOCK_MAKE_BLOCK = 1 << 11,
    OS_LANDLOCK_MAKE_SYM = 1 << 12,
    OS_LANDLOCK_REFER = 1 << 13,
    OS_LANDLOCK_TRUNCATE = 1 << 14,
};
enum { OS_LANDLOCK_SCOPE_ABSTRACT = 1, OS_LANDLOCK_SCOPE_SIGNAL = 2 };
enum { OS_LANDLOCK_ABI_OF_SCOPES = 6 }; /* Linux 6.12 */
int os_landlock_abi(void) must_check;   /* -ENOSYS, -EOPNOTSUPP: none */
/* A ruleset that denies these rights, as a descriptor. scopes must be 0 before ABI_OF_SCOPES. */
int os_landlock_new(uint64_t rights, uint64_t scopes) must_check;
int os_landlock_allow(int ruleset_fd, int beneath_fd, uint64_t rights) must_check;
int os_landlock_enforce(int ruleset_fd) must_check; /* on this process and its future children */

int os_filter_load(const struct sock_filter *filter, size_t count) must_check;

/* kill(-1): every process that this one may signal, but itself and the first of its namespace. Only
 * the first process of a PID namespace may mean that; for any other this is -EPERM. */
int os_signal_namespace(int signal) must_check;
