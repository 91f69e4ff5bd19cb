#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fault.h"
#include "file.h"

/* Numbers that are the same on every architecture, for headers that lack them. */
enum {
    CALL_OPEN_TREE = 428,
    CALL_MOVE_MOUNT = 429,
    CALL_MOUNT_SETATTR = 442,
    CALL_LANDLOCK_CREATE_RULESET = 444,
    CALL_LANDLOCK_ADD_RULE = 445,
    CALL_LANDLOCK_RESTRICT_SELF = 446,
};

/* A path of /proc for a descriptor. By hand, because the helper's image has no stdio. */
struct link_path {
    char text[sizeof "/proc/self/fd/" + 10];
};

static struct link_path link_of(int fd)
{
    struct link_path path = {"/proc/self/fd/"};
    char *end = path.text + sizeof path.text - 1;
    char *digits = end;
    do {
        *--digits = (char)('0' + fd % 10);
        fd /= 10;
    } while (fd > 0);
    memmove(path.text + sizeof "/proc/self/fd/" - 1, digits, (size_t)(end - digits) + 1);
    return path;
}

int os_unshare(int flags)
{
    return (int)OS_CALL(unshare, unshare(flags));
}

static int mount_call(const char *source, const char *target, const char *type, unsigned long flags,
                      const char *options)
{
    return (int)OS_CALL(mount, mount(source, target, type, flags, options));
}

int os_mounts_private(void)
{
    return mount_call(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int os_mount_memory(int on_fd, const char *options)
{
    struct link_path target = link_of(on_fd);
    return mount_call("berm", target.text, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

int os_mount_change_memory(int fd, const char *options)
{
    struct link_path target = link_of(fd);
    return mount_call(NULL, target.text, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options);
}

int os_mount_terminals(int on_fd)
{
    struct link_path target = link_of(on_fd);
    return mount_call("devpts", target.text, "devpts", MS_NOSUID | MS_NOEXEC,
                      "newinstance,ptmxmode=0666,mode=620");
}

enum { RECURSIVE = 0x8000 }; /* AT_RECURSIVE */

int os_mount_copy(int fd)
{
    const unsigned flags = AT_EMPTY_PATH | RECURSIVE | O_CLOEXEC | 1; /* OPEN_TREE_CLONE */
    return (int)OS_CALL(open_tree, syscall(CALL_OPEN_TREE, fd, "", flags));
}

int os_mount_attach(int copy_fd, int on_fd)
{
    const unsigned flags = 0x4 | 0x40; /* MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH */
    return (int)OS_CALL(move_mount, syscall(CALL_MOVE_MOUNT, copy_fd, "", on_fd, "", flags));
}

enum { HAS_NO_LINKS = 0x2000, WITHOUT_LINKS = 256 }; /* ST_NOSYMFOLLOW, MS_NOSYMFOLLOW */

/* A remount sets all flags anew, and one that was locked by another namespace must stay. */
static unsigned long flags_to_keep(unsigned long has)
{
    static const struct {
        unsigned long has;
        unsigned long keep;
    } flags[] = {
        {ST_RDONLY, MS_RDONLY},     {ST_NOSUID, MS_NOSUID},        {ST_NODEV, MS_NODEV},
        {ST_NOEXEC, MS_NOEXEC},     {ST_NOATIME, MS_NOATIME},      {ST_NODIRATIME, MS_NODIRATIME},
        {ST_RELATIME, MS_RELATIME}, {HAS_NO_LINKS, WITHOUT_LINKS},
    };
    unsigned long keep = 0;
    for (size_t i = 0; i < countof(flags); i++) {
        keep |= has & flags[i].has ? flags[i].keep : 0;
    }
    return keep;
}

enum { /* MOUNT_ATTR_... */
       ATTRIBUTE_READ_ONLY = 0x1,
       ATTRIBUTE_NO_DEVICES = 0x4,
       ATTRIBUTE_NO_LINKS = 0x200000,
};

static int set_attributes(int fd, unsigned flags, uint64_t set, uint64_t clear)
{
    const struct {
        uint64_t set, clear, propagation, userns_fd;
    } attributes = {.set = set, .clear = clear};
    return (int)OS_CALL(mount_setattr, syscall(CALL_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH | flags,
                                               &attributes, sizeof attributes));
}

static int remount(int fd, unsigned long add, unsigned long leave_out)
{
    struct statfs facts;
    int result = os_fstatfs(fd, &facts);
    if (result < 0) {
        return result;
    }
    struct link_path target = link_of(fd);
    unsigned long flags = flags_to_keep((unsigned long)facts.f_flags) & ~leave_out;
    return mount_call(NULL, target.text, NULL, MS_REMOUNT | MS_BIND | flags | add, NULL);
}

int os_mount_read_only(int fd)
{
    int result = set_attributes(fd, 0, ATTRIBUTE_READ_ONLY, 0);
    return result == -ENOSYS ? remount(fd, MS_RDONLY, 0) : result;
}

int os_mounts_read_only(int fd)
{
    return set_attributes(fd, RECURSIVE, ATTRIBUTE_READ_ONLY, 0);
}

int os_mount_with_devices(int fd)
{
    int result = set_attributes(fd, 0, 0, ATTRIBUTE_NO_DEVICES);
    return result == -ENOSYS ? remount(fd, 0, MS_NODEV) : result;
}

int os_mounts_with_devices(int fd)
{
    return set_attributes(fd, RECURSIVE, 0, ATTRIBUTE_NO_DEVICES);
}

int os_mount_without_links(int fd)
{
    int result = set_attributes(fd, 0, ATTRIBUTE_NO_LINKS, 0);
    bool is_unknown =
        result == -ENOSYS || result == -EINVAL; /* before Linux 5.12, and before 5.14 */
    return is_unknown ? remount(fd, WITHOUT_LINKS, 0) : result;
}

int os_mount_is_without_links(int fd)
{
    struct statfs facts;
    int result = os_fstatfs(fd, &facts);
    return result < 0 ? result : (facts.f_flags & HAS_NO_LINKS) != 0;
}

int os_place_of(int fd, struct os_place *ret_place)
{
    /* The beginning of struct statx, as far as it is needed; it is 256 bytes long. */
    struct {
        uint32_t mask;
        uint32_t unneeded[7];
        uint64_t inode;
        uint64_t times_and_sizes[12];
        uint32_t device[2];
        uint64_t mount_id;
        uint64_t rest[13];
    } facts = {0};
    _Static_assert(sizeof facts == 256 && offsetof(__typeof__(facts), inode) == 0x20 &&
                       offsetof(__typeof__(facts), device) == 0x88 &&
                       offsetof(__typeof__(facts), mount_id) == 0x90,
                   "statx(2)");
    const unsigned wanted = 0x1000 | 0x100; /* STATX_MNT_ID and _INO */
    int result = (int)OS_CALL(statx, syscall(SYS_statx, fd, "", AT_EMPTY_PATH, wanted, &facts));
    if (result < 0) {
        return result;
    }
    if ((facts.mask & wanted) != wanted) {
        return -EOPNOTSUPP;
    }
    *ret_place = (struct os_place){.mount_id = facts.mount_id,
                                   .inode = facts.inode,
                                   .device = {facts.device[0], facts.device[1]}};
    return 0;
}

int os_getcwd(char *path, size_t size)
{
    int length = (int)OS_CALL(getcwd, syscall(SYS_getcwd, path, size));
    return length < 0 ? length : path[0] == '/' ? 0 : -ENOENT;
}

const void *os_map_read_only(int fd, size_t size)
{
    long map = OS_CALL(mmap, (long)mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0));
    return map < 0 ? NULL : (const void *)map;
}

int os_is_sealed(int fd)
{
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int held = (int)OS_CALL(fcntl, fcntl(fd, F_GET_SEALS));
    return held < 0 ? held : (held & seals) == seals ? 0 : -EPERM;
}

int os_capability_in_bounds(int capability)
{
    return (int)OS_CALL(prctl, prctl(PR_CAPBSET_READ, (long)capability, 0L, 0L, 0L));
}

int os_capability_unbound(int capability)
{
    return (int)OS_CALL(prctl, prctl(PR_CAPBSET_DROP, (long)capability, 0L, 0L, 0L));
}

int os_capabilities_drop(void)
{
    int result =
        (int)OS_CALL(prctl, prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L));
    if (result < 0) {
        return result;
    }
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return (int)OS_CALL(capset, syscall(SYS_capset, &header, none));
}

int os_capabilities_gone(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    int result = (int)OS_CALL(capget, syscall(SYS_capget, &header, data));
    if (result < 0) {
        return result;
    }
    /* The ambient set is always within the permitted and the inheritable one. */
    uint32_t left = 0;
    for (size_t i = 0; i < countof(data); i++) {
        left |= data[i].effective | data[i].permitted | data[i].inheritable;
    }
    return left == 0 ? 0 : -EPERM;
}

int os_set_no_new_privileges(void)
{
    return (int)OS_CALL(prctl, prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L));
}

int os_has_no_new_privileges(void)
{
    return (int)OS_CALL(prctl, prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L));
}

int os_set_undumpable(void)
{
    int result = (int)OS_CALL(prctl, prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L));
    int dumpable =
        result < 0 ? result : (int)OS_CALL(prctl, prctl(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L));
    return dumpable > 0 ? -EPERM : dumpable;
}

mode_t os_umask(mode_t mask)
{
    return umask(mask);
}

int os_landlock_abi(void)
{
    const unsigned ask_version = 1;
    return (int)OS_CALL(landlock_create_ruleset,
                        syscall(CALL_LANDLOCK_CREATE_RULESET, NULL, 0, ask_version));
}

int os_landlock_new(uint64_t rights, uint64_t scopes)
{
    const struct {
        uint64_t handled_fs, handled_net, scoped;
    } attributes = {.handled_fs = rights, .scoped = scopes};
    /* A kernel refuses a longer structure than it knows only when the rest is not zero. */
    return (int)OS_CALL(landlock_create_ruleset,
                        syscall(CALL_LANDLOCK_CREATE_RULESET, &attributes, sizeof attributes, 0));
}

int os_landlock_allow(int ruleset_fd, int beneath_fd, uint64_t rights)
{
    const struct {
        uint64_t rights;
        int32_t fd;
    } __attribute__((packed)) beneath = {rights, beneath_fd};
    const int path_beneath = 1; /* LANDLOCK_RULE_PATH_BENEATH */
    return (int)OS_CALL(landlock_add_rule,
                        syscall(CALL_LANDLOCK_ADD_RULE, ruleset_fd, path_beneath, &beneath, 0));
}

int os_landlock_enforce(int ruleset_fd)
{
    return (int)OS_CALL(landlock_restrict_self,
                        syscall(CALL_LANDLOCK_RESTRICT_SELF, ruleset_fd, 0));
}

int os_filter_load(const struct sock_filter *filter, size_t count)
{
    const struct sock_fprog program = {
        .len = (unsigned short)count,
        .filter = (struct sock_filter *)(uintptr_t)filter,
    };
    int result = (int)OS_CALL(seccomp, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    int mode = result < 0 ? result : (int)OS_CALL(prctl, prctl(PR_GET_SECCOMP, 0L, 0L, 0L, 0L));
    return mode < 0 ? mode : mode == SECCOMP_MODE_FILTER ? 0 : -EPERM;
}

int os_signal_namespace(int signal)
{
    if (getpid() != 1) {
        return -EPERM;
    }
    return (int)OS_CALL(kill, kill(-1, signal));
}
