/* Every file is opened beneath a descriptor, through no link and no mount: who mounts another file over it
 * is noticed. */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    TEXT_SIZE = 2 * CONTEXT_LEAF_SIZE,
    PROCESSES_BYTES = 4 << 20, /* of cgroup.procs, at most: as many as a machine can have */
};

static int open_in(int dir, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .resolve = resolve | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS};
    long fd;
    do {
        fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : (int)fd;
}

static ssize_t read_some(int fd, char *text, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, text, size);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

static ssize_t read_file(int dir, const char *path, char *text, size_t size)
{
    int fd = open_in(dir, path, O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
    if (fd < 0) {
        return fd == -EXDEV ? -EPERM : fd;
    }
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && used < size - 1) {
        got = read_some(fd, text + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    text[used] = '\0';
    return got < 0 ? got : (ssize_t)used;
}

static int has_magic(int fd, long magic)
{
    struct statfs facts;
    if (fstatfs(fd, &facts) < 0) {
        return -errno;
    }
    return facts.f_type == magic ? 0 : -EPERM;
}

/* --- /proc -------------------------------------------------------------------------------------- */

int berm_own_cgroup_of(const struct own *own, pid_t pid, char path[CONTEXT_LEAF_SIZE])
{
    char name[32];
    char text[TEXT_SIZE];
    (void)snprintf(name, sizeof name, "%d/cgroup", pid);
    ssize_t length = read_file(own->proc, name, text, sizeof text);
    if (length < 0) {
        return (int)length;
    }
    return context_parse_cgroup(text, (size_t)length, path) ? 0 : -ENODATA;
}

pid_t berm_own_parent_of(const struct own *own, pid_t pid)
{
    char name[32];
    char text[1024];
    (void)snprintf(name, sizeof name, "%d/stat", pid);
    ssize_t length = read_file(own->proc, name, text, sizeof text);
    /* The name may itself hold ") ": the last one ends it (proc_pid_stat(5)). */
    const char *end = length > 0 ? memrchr(text, ')', (size_t)length) : NULL;
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* Its root, mounted whole, and of this process's own PID namespace. */
static int check_proc(const struct view *view, const struct own *own)
{
    struct stat facts;
    char self[16];
    int result = has_magic(own->proc, view->proc_magic);
    if (result < 0) {
        return result;
    }
    if (fstat(own->proc, &facts) < 0) {
        return -errno;
    }
    ssize_t length = readlinkat(own->proc, "self", self, sizeof self - 1);
    if (length < 0) {
        return -errno;
    }
    self[length] = '\0';
    return facts.st_ino == view->proc_inode && strtol(self, NULL, 10) == own->pid ? 0 : -EPERM;
}

int berm_own_open(const struct view *view, struct own *own)
{
    *own = (struct own){.pid = getpid()};
    own->proc = open_in(AT_FDCWD, view->proc, O_PATH | O_DIRECTORY, 0);
    if (own->proc < 0) {
        return own->proc;
    }
    int result = check_proc(view, own);
    return result < 0 ? result : berm_own_cgroup_of(own, own->pid, own->cgroup);
}

void berm_own_close(struct own *own)
{
    if (own->proc >= 0) {
        close(own->proc);
        own->proc = -1;
    }
}

/* --- the cgroup --------------------------------------------------------------------------------- */

static int open_cgroup(const struct view *view, const struct own *own)
{
    char path[CONTEXT_LEAF_SIZE + 64];
    int fd = -ENOENT;
    for (size_t i = 0; i < 2 && fd < 0 && view->cgroups[i]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", view->cgroups[i], own->cgroup);
        fd = open_in(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        int result = fd < 0 ? fd : has_magic(fd, view->cgroup_magic);
        if (fd >= 0 && result < 0) {
            close(fd);
            fd = result;
        }
    }
    return fd;
}

/* One number a line, however many there are. */
static int holds_process(int dir, pid_t pid)
{
    int fd = open_in(dir, "cgroup.procs", O_RDONLY, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
    if (fd < 0) {
        return fd == -EXDEV ? -EPERM : fd;
    }
    long number = 0;
    bool found = false;
    ssize_t got = 0;
    for (size_t total = 0; !found && total < PROCESSES_BYTES; total += (size_t)got) {
        char text[4096];
        got = read_some(fd, text, sizeof text);
        for (ssize_t i = 0; i < got && !found; i++) {
            bool digit = text[i] >= '0' && text[i] <= '9';
            found = !digit && number == pid;
            number = !digit ? 0 : number > pid ? number : number * 10 + (text[i] - '0');
        }
        if (got <= 0) {
            break;
        }
    }
    close(fd);
    return got < 0 ? (int)got : found ? 0 : -ESRCH;
}

static int read_limit(int dir, const char *name, uint64_t *ret_value)
{
    char text[64];
    char *end = NULL;
    ssize_t length = read_file(dir, name, text, sizeof text);
    if (length < 0) {
        return (int)length;
    }
    if (strcmp(text, "max\n") == 0) {
        *ret_value = CONTEXT_UNLIMITED;
        return 0;
    }
    if (text[0] < '0' || text[0] > '9') {
        return -ENODATA;
    }
    errno = 0;
    *ret_value = strtoull(text, &end, 10);
    return errno == 0 && strcmp(end, "\n") == 0 ? 0 : -ENODATA;
}

int berm_own_limits(const struct view *view, struct own *own)
{
    const struct {
        const char *name;
        uint64_t *value;
    } files[] = {{"memory.max", &own->memory_max_bytes},
                 {"memory.high", &own->memory_high_bytes},
                 {"memory.swap.max", &own->swap_max_bytes},
                 {"pids.max", &own->pids_max}};
    int dir = open_cgroup(view, own);
    int result = dir < 0 ? dir : holds_process(dir, own->pid);
    for (size_t i = 0; i < sizeof files / sizeof files[0] && result == 0; i++) {
        result = read_limit(dir, files[i].name, files[i].value);
        if (result == -ENOENT && files[i].value == &own->swap_max_bytes) {
            own->swap_max_bytes = CONTEXT_UNLIMITED; /* a kernel that does not account for swap */
            own->swap_has_no_limit_file = true;
            result = 0;
        }
    }
    if (dir >= 0) {
        close(dir);
    }
    return result;
}
