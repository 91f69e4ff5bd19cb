/* deny-syscall - run a command under a kernel that lacks some system calls
 *
 *   deny-syscall [--errno NAME] SYSCALL... -- COMMAND [ARG...]
 *
 * The named calls answer ENOSYS (or the errno named), in the command and all that it starts, so that
 * a fallback runs on a kernel that would not need it. A call is named or numbered.
 *
 * Exit: the command's own; 125 when the filter could not be set up, 127 when there is no command.
 *
 * Source: seccomp(2), Documentation/userspace-api/seccomp_filter.rst. Limitations: calls of another
 * architecture (32 bit) pass; a table of names, not all of the kernel's.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 64, CANNOT = 125, NOT_FOUND = 127 };

#if defined(__x86_64__)
#define AUDIT_ARCH_OWN AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_OWN AUDIT_ARCH_AARCH64
#else
#error "name the AUDIT_ARCH of this machine"
#endif

static const struct {
    const char *name;
    int number;
} known[] = {
#define CALL(name)                                                                                 \
    {                                                                                              \
#name, SYS_##name                                                                          \
    }
    CALL(bpf),
    CALL(clone),
    CALL(clone3),
    CALL(close_range),
    CALL(connect),
    CALL(copy_file_range),
    CALL(epoll_create1),
    CALL(epoll_pwait2),
    CALL(execveat),
    CALL(faccessat2),
    CALL(fallocate),
    CALL(flock),
    CALL(fsync),
    CALL(getdents64),
    CALL(getrandom),
    CALL(kill),
    CALL(landlock_create_ruleset),
    CALL(linkat),
    CALL(memfd_create),
    CALL(mkdirat),
    CALL(mount),
    CALL(openat2),
    CALL(pidfd_getfd),
    CALL(pidfd_open),
    CALL(pidfd_send_signal),
    CALL(pipe2),
    CALL(prctl),
    CALL(prlimit64),
    CALL(ptrace),
    CALL(renameat2),
    CALL(sched_getaffinity),
    CALL(seccomp),
    CALL(setsid),
    CALL(signalfd4),
    CALL(socket),
    CALL(splice),
    CALL(statx),
    CALL(tee),
    CALL(timerfd_create),
    CALL(unlinkat),
    CALL(unshare),
    CALL(vmsplice),
    CALL(waitid),
#undef CALL
};

static void fail(const char *what, const char *which)
{
    (void)fprintf(stderr, "deny-syscall: %s '%s'\n", what, which);
    exit(CANNOT);
}

static int call_number(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) == 0) {
            return known[i].number;
        }
    }
    char *end = NULL;
    long number = strtol(name, &end, 10);
    if (end == name || *end != '\0' || number < 0 || number > 4096) {
        fail("not a system call that I know:", name);
    }
    return (int)number;
}

static int errno_number(const char *name)
{
    for (int number = 1; number < 134; number++) {
        const char *own = strerrorname_np(number);
        if (own && strcmp(own, name) == 0) {
            return number;
        }
    }
    fail("no such errno:", name);
    return 0;
}

static void install(const int *calls, size_t count, int error)
{
    struct sock_filter filter[2 * CALLS_MAX + 5];
    size_t n = 0;
#define ADD(...) filter[n++] = (struct sock_filter)__VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_OWN, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (size_t i = 0; i < count; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1));
        ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error));
    }
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    /* With CAP_SYS_ADMIN it works as it is, and set-id programs stay what they are. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) {
        return;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
        fail("no filter:", strerror(errno));
    }
}

int main(int argc, char **argv)
{
    int calls[CALLS_MAX];
    size_t count = 0;
    int error = ENOSYS;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--errno") == 0 && i + 1 < argc) {
            error = errno_number(argv[++i]);
        } else if (count < CALLS_MAX) {
            calls[count++] = call_number(argv[i]);
        } else {
            fail("too many calls from", argv[i]);
        }
    }
    if (i + 1 >= argc || count == 0) {
        fail("usage: deny-syscall [--errno NAME] SYSCALL... -- COMMAND [ARG...];", "no command");
    }
    install(calls, count, error);
    (void)execvp(argv[i + 1], argv + i + 1);
    int missing = errno == ENOENT;
    (void)fprintf(stderr, "deny-syscall: %s: %s\n", argv[i + 1], strerror(errno));
    return missing ? NOT_FOUND : CANNOT;
}
