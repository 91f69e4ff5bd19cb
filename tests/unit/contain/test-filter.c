#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter.h"

/* --- the program, interpreted ------------------------------------------------------------------ */

static struct sock_filter program[FILTER_PROGRAM_MAX];
static size_t program_count;

static int build(void **state)
{
    program_count = filter_build(program, countof(program));
    return 0;
}

static uint32_t interpret(const struct seccomp_data *call)
{
    uint32_t a = 0;
    for (size_t at = 0; at < program_count; at++) {
        const struct sock_filter *step = &program[at];
        bool holds;
        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(step->k <= sizeof *call - sizeof a);
            memcpy(&a, (const char *)call + step->k, sizeof a);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= step->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
        case BPF_JMP | BPF_JGE | BPF_K:
            holds = BPF_OP(step->code) == BPF_JEQ ? a == step->k : a >= step->k;
            at += holds ? step->jt : step->jf;
            break;
        case BPF_RET | BPF_K:
            return step->k;
        default:
            fail_msg("instruction %zu has code %#x", at, step->code);
        }
    }
    fail_msg("the program runs out");
    return 0;
}

/* The same by the rows themselves. */
static uint32_t expected(const struct seccomp_data *call)
{
    size_t count;
    const struct filter_row *rows = filter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        bool closed = rows[i].number == (uint32_t)call->nr;
        for (size_t t = 0; t < FILTER_TESTS_MAX && rows[i].tests[t].mask != 0; t++) {
            const struct filter_test *test = &rows[i].tests[t];
            bool is = ((uint32_t)call->args[test->argument] & test->mask) == test->value;
            closed = closed && is != test->is_not;
        }
        if (closed) {
            return SECCOMP_RET_ERRNO | (uint32_t)rows[i].answer;
        }
    }
    return SECCOMP_RET_ALLOW;
}

static uint32_t own_architecture(void)
{
    return program[1].k;
}

/* Every number, and in every argument every value that some row speaks of, one off, and high bits. */
static void the_program_is_the_table(void **state)
{
    size_t count;
    const struct filter_row *rows = filter_rows(&count);
    uint64_t values[512] = {0, 1, UINT64_MAX, UINT32_MAX};
    size_t value_count = 4;
    for (size_t i = 0; i < count; i++) {
        for (size_t t = 0; t < FILTER_TESTS_MAX && rows[i].tests[t].mask != 0; t++) {
            uint64_t value =
                rows[i].tests[t].value ? rows[i].tests[t].value : rows[i].tests[t].mask;
            assert_true(value_count + 4 <= countof(values));
            values[value_count++] = value;
            values[value_count++] = value | UINT64_C(1) << 32;
            values[value_count++] = value + 1;
            values[value_count++] = value & (~value + 1); /* its lowest bit */
        }
    }
    for (int nr = 0; nr < 600; nr++) {
        for (size_t i = 0; i < value_count * value_count; i++) {
            struct seccomp_data call = {.nr = nr, .arch = own_architecture()};
            for (size_t k = 0; k < countof(call.args); k++) {
                call.args[k] = values[k % 2 ? i / value_count : i % value_count];
            }
            if (interpret(&call) != expected(&call)) {
                fail_msg("call %d with %#lx, %#lx", nr, (long)call.args[0], (long)call.args[1]);
            }
        }
    }
}

static void every_row_has_a_reason_and_an_end(void **state)
{
    size_t count;
    const struct filter_row *rows = filter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(rows[i].reason) > 10);
        assert_true(rows[i].answer > 0 && rows[i].answer < 4096);
        assert_int_equal(rows[i].when != NULL, rows[i].tests[0].mask != 0);
    }
    assert_true(program_count < FILTER_PROGRAM_MAX);
}

static void other_architectures_end_and_x32_is_unknown(void **state)
{
    struct seccomp_data call = {.nr = SYS_getpid, .arch = AUDIT_ARCH_I386};
    assert_int_equal(interpret(&call), SECCOMP_RET_KILL_PROCESS);
    call.arch = own_architecture();
    assert_int_equal(interpret(&call), SECCOMP_RET_ALLOW);
#ifdef __x86_64__
    call.nr = SYS_getpid | 0x40000000;
    assert_int_equal(interpret(&call), SECCOMP_RET_ERRNO | ENOSYS);
    call.nr = -1;
    assert_int_equal(interpret(&call), SECCOMP_RET_ERRNO | ENOSYS);
#endif
}

/* --- and in the kernel ------------------------------------------------------------------------- */

static void close_down(void)
{
    struct sock_fprog filter = {(unsigned short)program_count, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0) {
        _exit(77);
    }
}

/* The wait status of `act`, which runs in a child with a session of its own beneath the filter. */
static int status_under_filter(int (*act)(const void *), const void *context)
{
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        close_down();
        _exit(act(context));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

struct trial {
    const char *name;
    long number;
    long arguments[3]; /* harmless by themselves, should the filter let them pass */
    int answer;        /* 0: the call is none of the filter's */
};

static int try_call(const void *context)
{
    const struct trial *trial = context;
    errno = 0;
    long result = syscall(trial->number, trial->arguments[0], trial->arguments[1],
                          trial->arguments[2], -1L, -1L, -1L);
    return result < 0 ? errno : 0;
}

static void check_all(const struct trial *trials, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status = status_under_filter(try_call, &trials[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != trials[i].answer) {
            fail_msg("%s: status %#x, expected errno %d", trials[i].name, status, trials[i].answer);
        }
    }
}

#define CLOSED(call, answer)                                                                       \
    {                                                                                              \
#call, SYS_##call, {-1, -1, -1 }, answer                                                   \
    }

/* I9, and the calls of the CVE table. Arguments that no kernel takes, so that nothing happens
 * should the filter fail. */
static void i9_whole_calls_are_closed(void **state)
{
    static const struct trial trials[] = {
        CLOSED(clone3, ENOSYS),
        CLOSED(setns, EPERM),
        CLOSED(mount, EPERM),
        CLOSED(umount2, EPERM),
        CLOSED(pivot_root, EPERM),
        CLOSED(chroot, EPERM),
        CLOSED(open_tree, ENOSYS),
        CLOSED(move_mount, ENOSYS),
        CLOSED(fsopen, ENOSYS),
        CLOSED(fsconfig, ENOSYS),
        CLOSED(fsmount, ENOSYS),
        CLOSED(fspick, ENOSYS),
        CLOSED(mount_setattr, ENOSYS),
        {"open_tree_attr", 467, {-1, -1, -1}, ENOSYS},
        CLOSED(open_by_handle_at, EPERM),
        CLOSED(keyctl, ENOSYS),
        CLOSED(add_key, ENOSYS),
        CLOSED(request_key, ENOSYS),
        CLOSED(io_uring_setup, ENOSYS),
        CLOSED(io_uring_enter, ENOSYS),
        CLOSED(io_uring_register, ENOSYS),
        CLOSED(bpf, EPERM),
        CLOSED(perf_event_open, EPERM),
        CLOSED(userfaultfd, EPERM),
        CLOSED(kexec_load, EPERM),
#ifdef SYS_kexec_file_load
        CLOSED(kexec_file_load, EPERM),
#endif
        CLOSED(init_module, EPERM),
        CLOSED(finit_module, EPERM),
        CLOSED(delete_module, EPERM),
        CLOSED(settimeofday, EPERM),
        CLOSED(clock_settime, EPERM),
        CLOSED(clock_adjtime, EPERM),
        CLOSED(adjtimex, EPERM),
        CLOSED(reboot, EPERM),
        CLOSED(swapon, EPERM),
        CLOSED(swapoff, EPERM),
        CLOSED(acct, EPERM),
        CLOSED(quotactl, EPERM),
        {"quotactl_fd", 443, {-1, -1, -1}, EPERM},
        CLOSED(vhangup, EPERM),
        CLOSED(syslog, EPERM),
        CLOSED(lookup_dcookie, EPERM),
#ifdef __x86_64__
        CLOSED(iopl, EPERM),
        CLOSED(ioperm, EPERM),
        CLOSED(uselib, ENOSYS),
#endif
        CLOSED(nfsservctl, ENOSYS),
    };
    check_all(trials, countof(trials));
}

#define HIGH (1L << 32)

/* CVE-2017-5226, CVE-2019-10063, I9: what depends on an argument, with and without high bits. */
static void arguments_are_compared_by_their_low_half(void **state)
{
    static const struct trial trials[] = {
        {"TIOCSTI", SYS_ioctl, {-1, TIOCSTI, 0}, EPERM},
        {"TIOCSTI | 1 << 32", SYS_ioctl, {-1, TIOCSTI | HIGH, 0}, EPERM},
        {"TIOCLINUX", SYS_ioctl, {-1, TIOCLINUX, 0}, EPERM},
        {"TIOCLINUX | 1 << 63", SYS_ioctl, {-1, (long)(TIOCLINUX | 1UL << 63), 0}, EPERM},
        {"TIOCSETD", SYS_ioctl, {-1, TIOCSETD, 0}, EPERM},
        {"FIONREAD", SYS_ioctl, {-1, FIONREAD, 0}, EBADF},
        {"unshare(NEWUSER)", SYS_unshare, {CLONE_NEWUSER, 0, 0}, EPERM},
        {"unshare(NEWNS | FILES)", SYS_unshare, {CLONE_NEWNS | CLONE_FILES, 0, 0}, EPERM},
        {"unshare(NEWTIME)", SYS_unshare, {0x80, 0, 0}, EPERM},
        {"unshare(FILES)", SYS_unshare, {CLONE_FILES, 0, 0}, 0},
        {"clone(NEWUSER)", SYS_clone, {CLONE_NEWUSER | SIGCHLD, 0, 0}, EPERM},
        {"clone(NEWNET)", SYS_clone, {CLONE_NEWNET | SIGCHLD | HIGH, 0, 0}, EPERM},
        {"AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
        {"AF_PACKET", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
        {"AF_ALG | 1 << 32", SYS_socket, {AF_ALG | HIGH, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
        {"AF_VSOCK | 1 << 40", SYS_socket, {AF_VSOCK | 1L << 40, SOCK_STREAM, 0}, EAFNOSUPPORT},
        {"AF_UNIX", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
        {"AF_INET", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
        {"NETLINK_ROUTE", SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, 0},
        {"NETLINK_SOCK_DIAG",
         SYS_socket,
         {AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG},
         EPROTONOSUPPORT},
        {"socketpair(AF_TIPC)", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0}, EAFNOSUPPORT},
        {"mknodat(block)", SYS_mknodat, {-1, -1, S_IFBLK | 0600}, EPERM},
        {"mknodat(character)", SYS_mknodat, {-1, -1, S_IFCHR | 0600 | HIGH}, EPERM},
        {"mknodat(FIFO)", SYS_mknodat, {-1, -1, S_IFIFO | 0600}, EFAULT},
        {"personality(asks)", SYS_personality, {0xffffffffL, 0, 0}, 0},
        {"personality(fixed addresses)", SYS_personality, {ADDR_NO_RANDOMIZE, 0, 0}, 0},
        {"personality(executable data)", SYS_personality, {READ_IMPLIES_EXEC, 0, 0}, EPERM},
        {"personality(page 0)", SYS_personality, {MMAP_PAGE_ZERO | HIGH, 0, 0}, EPERM},
    };
    check_all(trials, countof(trials));
}

static void *answer(void *context)
{
    return context;
}

/* clone3 answers ENOSYS and libc goes on with clone: threads, children, programs. */
static int do_ordinary_work(const void *context)
{
    pthread_t thread;
    void *result = NULL;
    int number = 0;
    if (pthread_create(&thread, NULL, answer, &number) != 0 || pthread_join(thread, &result) != 0 ||
        result != &number) {
        return 1;
    }
    return system("exec 3>/dev/null; (echo x | cat >&3) && exit 42") == 42 << 8 ? 0 : 2;
}

static void ordinary_work_goes_on(void **state)
{
    assert_int_equal(status_under_filter(do_ordinary_work, NULL), 0);
}

#ifdef __x86_64__
/* getpid(2) by its number in the 32-bit table. */
static int call_by_the_32_bit_gate(const void *context)
{
    int result = 0;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
    return result > 0 ? 0 : 1;
}

static int call_x32(const void *context)
{
    return syscall(0x40000000 | SYS_getpid) < 0 ? errno : 0;
}

static void the_other_gates_are_shut(void **state)
{
    int status = status_under_filter(call_by_the_32_bit_gate, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
    assert_int_equal(status_under_filter(call_x32, NULL), ENOSYS << 8);
}
#endif

static void a_program_of_another_machine_is_known(void **state)
{
    assert_true(filter_ends_program("\177ELF\1", 5));
    assert_false(filter_ends_program("\177ELF\2", 5));
    assert_false(filter_ends_program("\177ELF\1", 4)); /* cut */
    assert_false(filter_ends_program("#!/bin/sh", 9));
    assert_false(filter_ends_program("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_is_the_table),
        cmocka_unit_test(every_row_has_a_reason_and_an_end),
        cmocka_unit_test(other_architectures_end_and_x32_is_unknown),
        cmocka_unit_test(i9_whole_calls_are_closed),
        cmocka_unit_test(arguments_are_compared_by_their_low_half),
        cmocka_unit_test(ordinary_work_goes_on),
#ifdef __x86_64__
        cmocka_unit_test(the_other_gates_are_shut),
        cmocka_unit_test(a_program_of_another_machine_is_known),
#endif
    };
    return cmocka_run_group_tests_name("contain/filter", tests, build, NULL);
}
