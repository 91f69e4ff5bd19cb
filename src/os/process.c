#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "file.h"

pid_t os_clone_child(struct fd *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = CLONE_PIDFD,
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    long pid = OS_CALL(clone3, syscall(SYS_clone3, &args, sizeof args));
    if (pid == -ENOSYS) {
        pid = OS_CALL(clone, fork());
        if (pid > 0) {
            /* The child cannot have been reaped by anybody else: its pid still names it. */
            pidfd = os_pidfd_open((pid_t)pid);
            if (pidfd < 0) {
                (void)kill((pid_t)pid, SIGKILL);
                (void)waitpid((pid_t)pid, NULL, 0);
                return (pid_t)pidfd;
            }
        }
    }
    if (pid > 0) {
        *ret_pidfd = fd_adopt(pidfd);
    }
    return (pid_t)pid;
}

/* A build that counts calls wants each process to have a count of its own, and the address sanitizer knows
 * nothing of a second stack. */
#if defined(BERM_FAULTS) || defined(__SANITIZE_ADDRESS__)
pid_t os_clone_lent(int (*child_main)(const void *argument), const void *argument,
                    struct fd *ret_pidfd)
{
    pid_t pid = os_clone_child(ret_pidfd);
    if (pid == 0) {
        os_exit(child_main(argument));
    }
    return pid;
}
#else
enum { LENT_STACK_BYTES = 64 << 10 };

struct lent {
    int (*child_main)(const void *argument);
    const void *argument;
};

static int start_lent(void *argument)
{
    const struct lent *lent = argument;
    return lent->child_main(lent->argument);
}

pid_t os_clone_lent(int (*child_main)(const void *argument), const void *argument,
                    struct fd *ret_pidfd)
{
    struct lent lent = {child_main, argument};
    int pidfd = -1;
    char *stack = mmap(NULL, LENT_STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return (pid_t)-errno;
    }
    long pid = OS_CALL(clone, clone(start_lent, stack + LENT_STACK_BYTES,
                                    CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &lent, &pidfd));
    (void)munmap(stack, LENT_STACK_BYTES);
    if (pid > 0 && pidfd < 0) { /* a kernel before 5.2 takes no notice of the flag */
        pidfd = os_pidfd_open((pid_t)pid);
    }
    *ret_pidfd = fd_adopt(pidfd);
    return (pid_t)pid;
}
#endif

int os_pidfd_open(pid_t pid)
{
    return (int)OS_CALL(pidfd_open, syscall(SYS_pidfd_open, pid, 0));
}

int os_pidfd_signal(int pidfd, int signal)
{
    return (int)OS_CALL(pidfd_send_signal, syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

int os_pidfd_signal_group(int pidfd, int signal)
{
    enum { PROCESS_GROUP = 4 }; /* PIDFD_SIGNAL_PROCESS_GROUP of newer headers */
    return (int)OS_CALL(pidfd_send_signal,
                        syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, PROCESS_GROUP));
}

int os_waitid(int id_type, int id, siginfo_t *ret_info, int options, struct rusage *usage)
{
    *ret_info = (siginfo_t){0};
    long result;
    do {
        result = OS_CALL(waitid, syscall(SYS_waitid, id_type, id, ret_info, options, usage));
    } while (result == -EINTR);
    return (int)result;
}

int os_set_name(const char *name)
{
    return (int)OS_CALL(prctl, prctl(PR_SET_NAME, name, 0, 0, 0));
}

int os_setsid(void)
{
    int session = (int)OS_CALL(setsid, setsid());
    return session < 0 ? session : session == os_getpid() ? 0 : -EPERM;
}

/* What was asked for is not what is: ask the kernel. */
static int must_be_user(uid_t uid, gid_t gid)
{
    uid_t uids[3] = {uid + 1};
    gid_t gids[3] = {gid + 1};
    int result = (int)OS_CALL(getresuid, syscall(SYS_getresuid, &uids[0], &uids[1], &uids[2]));
    result = result < 0
                 ? result
                 : (int)OS_CALL(getresgid, syscall(SYS_getresgid, &gids[0], &gids[1], &gids[2]));
    int others = result < 0 ? result : (int)OS_CALL(getgroups, syscall(SYS_getgroups, 0, NULL));
    if (others < 0) {
        return others;
    }
    bool holds = others == 0;
    for (size_t i = 0; i < countof(uids); i++) {
        holds = holds && uids[i] == uid && gids[i] == gid;
    }
    return holds ? 0 : -EPERM;
}

int os_become_user(uid_t uid, gid_t gid)
{
    int result = (int)OS_CALL(setgroups, syscall(SYS_setgroups, 0, NULL));
    result = result < 0 ? result : (int)OS_CALL(setresgid, syscall(SYS_setresgid, gid, gid, gid));
    result = result < 0 ? result : (int)OS_CALL(setresuid, syscall(SYS_setresuid, uid, uid, uid));
    return result < 0 ? result : must_be_user(uid, gid);
}

int os_fchdir(int fd)
{
    return (int)OS_CALL(fchdir, fchdir(fd));
}

int os_dup_to(int fd, int number)
{
    if (fd == number) {
        return (int)OS_CALL(fcntl, fcntl(fd, F_SETFD, 0));
    }
    return (int)OS_CALL(dup3, dup3(fd, number, 0));
}

int os_move_to(int fd, int number)
{
    return (int)OS_CALL(dup3, dup3(fd, number, O_CLOEXEC));
}

int os_dup_above(int fd, int lowest)
{
    return (int)OS_CALL(fcntl, fcntl(fd, F_DUPFD_CLOEXEC, lowest));
}

/* The walk for kernels before 5.9: one entry at a time, until none is left. */
static int close_by_walk(int first)
{
    int dir = os_openat(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0) {
        return dir;
    }
    for (;;) {
        char entries[2048];
        ssize_t got = os_getdents(dir, entries, sizeof entries);
        if (got <= 0) {
            (void)OS_CALL(close, close(dir));
            return (int)got;
        }
        for (ssize_t at = 0; at < got;) {
            struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);
            at += entry->d_reclen;
            int number = (int)strtol(entry->d_name, NULL, 10);
            if (entry->d_name[0] != '.' && number >= first && number != dir) {
                (void)OS_CALL(close, close(number));
            }
        }
    }
}

int os_close_from(int first)
{
    int result = (int)OS_CALL(close_range, syscall(SYS_close_range, first, ~0U, 0));
    return result == -ENOSYS ? close_by_walk(first) : result;
}

int os_execveat(int fd, char *const *argv, char *const *envp)
{
    return (int)OS_CALL(execveat, syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH));
}

void os_exit(int status)
{
    _exit(status);
}

int os_set_subreaper(bool on)
{
    return (int)OS_CALL(prctl, prctl(PR_SET_CHILD_SUBREAPER, on ? 1 : 0, 0, 0, 0));
}

int os_is_subreaper(void)
{
    int value = 0;
    int result = (int)OS_CALL(prctl, prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0));
    return result < 0 ? result : value != 0;
}

int os_die_with_parent(void)
{
    int holds = 0;
    int result = (int)OS_CALL(prctl, prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    result = result < 0 ? result : (int)OS_CALL(prctl, prctl(PR_GET_PDEATHSIG, &holds, 0, 0, 0));
    return result < 0 ? result : holds == SIGKILL ? 0 : -EPERM;
}

int os_getrlimit(int resource, struct rlimit *ret_limit)
{
    return (int)OS_CALL(prlimit64, getrlimit(resource, ret_limit));
}

int os_setrlimit(int resource, const struct rlimit *limit)
{
    struct rlimit holds = {.rlim_cur = limit->rlim_cur + 1};
    int result = (int)OS_CALL(prlimit64, setrlimit(resource, limit));
    result = result < 0 ? result : os_getrlimit(resource, &holds);
    bool same = holds.rlim_cur == limit->rlim_cur && holds.rlim_max == limit->rlim_max;
    return result < 0 ? result : same ? 0 : -EPERM;
}

int os_signal_mask(int how, const sigset_t *set, sigset_t *ret_old)
{
    return (int)OS_CALL(rt_sigprocmask, sigprocmask(how, set, ret_old));
}

/* The kernel's own interface, since libc refuses the two signals that it keeps for itself, and whoever
 * was started through posix_spawn has both ignored. With neither flags nor mask the layout behind
 * the handler does not matter. */
static int set_disposition(int signal, void (*handler)(int))
{
    struct {
        void (*handler)(int);
        unsigned long rest[8];
    } action = {.handler = handler};
    return (int)OS_CALL(rt_sigaction, syscall(SYS_rt_sigaction, signal, &action, NULL, 8));
}

int os_signal_default(int signal)
{
    return set_disposition(signal, SIG_DFL);
}

int os_signal_ignore(int signal)
{
    return set_disposition(signal, SIG_IGN);
}

int os_signals_ignored(uint64_t *ret_mask)
{
    char text[4096];
    ssize_t length = os_read_small(AT_FDCWD, "/proc/self/status", text, sizeof text);
    if (length < 0) {
        return (int)length;
    }
    const char *line = strstr(text, "\nSigIgn:");
    if (!line) {
        return -EINVAL;
    }
    *ret_mask = strtoull(line + sizeof "\nSigIgn:" - 1, NULL, 16);
    return 0;
}

void os_die_of(int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    (void)!os_signal_default(signal); /* raise() below then still ends in the exit */
    (void)raise(signal);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + signal); /* the signal's default is not to end a process */
}

int os_stop_self(void)
{
    return (int)OS_CALL(kill, kill(getpid(), SIGSTOP));
}

pid_t os_getpid(void)
{
    return getpid();
}

pid_t os_getppid(void)
{
    return getppid();
}

uid_t os_geteuid(void)
{
    return geteuid();
}

gid_t os_getegid(void)
{
    return getegid();
}

const char *os_environment(const char *name)
{
    return getenv(name);
}

char *const *os_environment_all(void)
{
    return environ;
}

const char *os_platform(void)
{
    return "linux";
}

const void *os_start_random(void)
{
    return (const void *)getauxval(AT_RANDOM);
}

int os_uname(struct utsname *ret_names)
{
    return (int)OS_CALL(uname, uname(ret_names));
}

long os_page_bytes(void)
{
    return sysconf(_SC_PAGESIZE);
}

long os_ticks_per_second(void)
{
    return sysconf(_SC_CLK_TCK);
}

long os_processors(void)
{
    cpu_set_t set;
    long got = OS_CALL(sched_getaffinity, sched_getaffinity(0, sizeof set, &set));
    return got < 0 ? sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&set);
}
