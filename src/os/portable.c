/* portable.c
 *
 * What the portable program takes of os/, over POSIX.1-2008 and nothing else. It is no part of the library
 * os: programs/portable compiles it instead of the files that call Linux.
 *
 * What asks the kernel for a fact that only Linux has answers -ENOSYS and opens nothing.
 */
#include "portable.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "event.h"
#include "file.h"
#include "proc.h"
#include "process.h"

extern char **environ;

static int answer(int result)
{
    return result < 0 ? -errno : result;
}

/* --- files --------------------------------------------------------------------------------------- */

int os_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    return answer(openat(dir_fd, path, flags | O_CLOEXEC, mode));
}

void fd_close(struct fd *fd)
{
    if (fd && fd_is_open(fd)) {
        (void)close(fd_num(fd)); /* never again, whatever it says */
    }
    if (fd) {
        *fd = (struct fd){0};
    }
}

ssize_t os_read(int fd, void *bytes, size_t n)
{
    ssize_t got = read(fd, bytes, n);
    return got < 0 ? -errno : got;
}

ssize_t os_write(int fd, const void *bytes, size_t n)
{
    ssize_t written = write(fd, bytes, n);
    return written < 0 ? -errno : written;
}

int os_write_all(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;
    while (n > 0) {
        ssize_t written = os_write(fd, p, n);
        if (written == -EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? (int)written : -EIO;
        }
        p += written;
        n -= (size_t)written;
    }
    return 0;
}

int os_fstat(int fd, struct stat *ret_stat)
{
    return answer(fstat(fd, ret_stat));
}

int os_stat_entry(int dir_fd, const char *name, struct stat *ret_stat)
{
    return answer(fstatat(dir_fd, name, ret_stat, AT_SYMLINK_NOFOLLOW));
}

int os_unlinkat(int dir_fd, const char *name, int flags)
{
    return answer(unlinkat(dir_fd, name, flags));
}

int os_renameat(int old_dir, const char *old_name, int new_dir, const char *new_name,
                unsigned flags)
{
    return flags ? -ENOSYS : answer(renameat(old_dir, old_name, new_dir, new_name));
}

int os_fsync(int fd)
{
    return answer(fsync(fd));
}

bool os_is_terminal(int fd)
{
    return isatty(fd) == 1;
}

int os_terminal_columns(int fd)
{
    (void)fd;
    return -ENOSYS;
}

bool os_terminal_is_ours(int fd)
{
    return tcgetpgrp(fd) == getpgrp();
}

int os_poll(int fd, short events, int timeout_ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    int count = answer(poll(&one, 1, timeout_ms));
    return count > 0 ? one.revents : count;
}

/* --- what only Linux tells ------------------------------------------------------------------------ */

ssize_t os_read_small(int dir_fd, const char *path, char *text, size_t size)
{
    return -ENOSYS;
}

int os_proc_stat_open(pid_t pid)
{
    return -ENOSYS;
}

int os_proc_stat_read(int stat_fd, struct proc_stat *ret_stat)
{
    return -ENOSYS;
}

/* --- the process ---------------------------------------------------------------------------------- */

pid_t os_getpid(void)
{
    return getpid();
}

const char *os_environment(const char *name)
{
    return getenv(name);
}

char *const *os_environment_all(void)
{
    return environ;
}

no_return void os_die_of(int signal)
{
    (void)raise(signal);
    _exit(128 + signal);
}

int os_uname(struct utsname *ret_names)
{
    return answer(uname(ret_names));
}

const char *os_platform(void)
{
    static char name[sizeof((struct utsname *)NULL)->sysname];
    struct utsname names;
    if (os_uname(&names) < 0) {
        return "unknown";
    }
    size_t i = 0;
    for (; i + 1 < sizeof name && names.sysname[i] != '\0'; i++) {
        bool upper = names.sysname[i] >= 'A' && names.sysname[i] <= 'Z';
        name[i] = (char)(names.sysname[i] + (upper ? 'a' - 'A' : 0));
    }
    name[i] = '\0';
    return name;
}

long os_page_bytes(void)
{
    return sysconf(_SC_PAGESIZE);
}

int os_getrandom(void *bytes, size_t n)
{
    with_fd source = fd_adopt(os_openat(AT_FDCWD, "/dev/urandom", O_RDONLY | O_NOCTTY, 0));
    if (!fd_is_open(&source)) {
        return fd_error(&source);
    }
    ssize_t got = os_read(fd_num(&source), bytes, n);
    return got < 0 ? (int)got : (size_t)got == n ? 0 : -EIO;
}

const void *os_start_random(void)
{
    static unsigned char bytes[16];
    return os_getrandom(bytes, sizeof bytes) == 0 ? bytes : NULL;
}

int os_working_folder(char *path, size_t size)
{
    return getcwd(path, size) ? 0 : -errno;
}
