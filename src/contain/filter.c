#include "filter.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attributes.h"

#if defined(__x86_64__) && !defined(__ILP32__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#define X32_BIT          0x40000000u
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "name the AUDIT_ARCH of this machine, and look whether clone(2) has its flags first"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the low half of an argument lies elsewhere"
#endif

/* Younger than the headers may be; one number for all machines (from 424 on). */
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { ALL = -1, TYPE = S_IFMT };
/* In clone(2) the lowest byte is a signal, and CLONE_NEWTIME is none of its flags. */
#define CLONE_SPACES                                                                               \
    ((uint32_t)CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |       \
     CLONE_NEWPID | CLONE_NEWNET)
#define UNSHARE_SPACES   (CLONE_SPACES | CLONE_NEWTIME)
#define ORDINARY_PERSONA ((uint32_t)ADDR_NO_RANDOMIZE | UNAME26 | PER_LINUX32)

/* clang-format off */
#define IS(argument, mask, value) {argument, false, (uint32_t)(mask), (uint32_t)(value)}
#define IS_NOT(argument, mask, value) {argument, true, (uint32_t)(mask), (uint32_t)(value)}
#define ALWAYS NULL, {{0}}
/* clang-format on */

static const char injects[] = "types into the terminal of whoever started the run";
static const char disciplines[] = "a line discipline brings in its module, and its faults";
static const char spaces[] = "in a user namespace of its own a process has every capability, and "
                             "with them reaches parts of the kernel that are closed to it";
static const char hidden[] = "its flags lie behind a pointer; libc goes on with clone";
static const char others[] = "enters the namespace of somebody else";
static const char first[] = "a limit of time on the first process ends the run and hides what it "
                            "used";
static const char mounts[] = "changes what is mounted where";
static const char roots[] = "with a working folder outside of the new root it is a way out";
static const char handles[] = "opens a file by its number, wherever it lies";
static const char keys[] = "keyrings belong to the user and not to a namespace";
static const char rings[] = "what it queues does not pass this filter";
static const char programs[] = "programs that run inside the kernel";
static const char spies[] = "looks into the kernel and into other processes";
static const char stalls[] = "holds the kernel still in the middle of a copy: half of an exploit";
static const char families[] = "an odd family brings in its module, and its faults; vsock reaches "
                               "the host of a virtual machine from any network namespace";
static const char netlink[] = "configures the kernel, lists the sockets of others; getifaddrs() of "
                              "every runtime asks for the routes";
static const char devices[] = "a device of its own would be a way to any disk or memory";
static const char personas[] = "old ways undo protections: executable data, a page at address 0";
static const char kernels[] = "replaces or extends the running kernel";
static const char clocks[] = "sets the clock of the whole machine";
static const char machine[] = "acts on the whole machine";
static const char hangs[] = "takes the terminal away from whoever uses it";
static const char messages[] = "the kernel's messages tell of other runs, and its addresses";
static const char ports[] = "reaches the hardware past every driver";
static const char obsolete[] = "nothing uses it any more; only its faults are left";

/* EPERM, or the answer of a kernel without the call where programs go on then. */
static const struct filter_row rows[] = {
    {"ioctl", SYS_ioctl, EPERM, injects, "TIOCSTI", {IS(1, ALL, TIOCSTI)}},
    {"ioctl", SYS_ioctl, EPERM, injects, "TIOCLINUX", {IS(1, ALL, TIOCLINUX)}},
    {"ioctl", SYS_ioctl, EPERM, disciplines, "TIOCSETD", {IS(1, ALL, TIOCSETD)}},

    {"clone", SYS_clone, EPERM, spaces, "a new namespace", {IS_NOT(0, CLONE_SPACES, 0)}},
    {"unshare", SYS_unshare, EPERM, spaces, "a new namespace", {IS_NOT(0, UNSHARE_SPACES, 0)}},
    {"clone3", SYS_clone3, ENOSYS, hidden, ALWAYS},
    {"setns", SYS_setns, EPERM, others, ALWAYS},

    {"mount", SYS_mount, EPERM, mounts, ALWAYS},
    {"umount2", SYS_umount2, EPERM, mounts, ALWAYS},
    {"pivot_root", SYS_pivot_root, EPERM, mounts, ALWAYS},
    {"chroot", SYS_chroot, EPERM, roots, ALWAYS},
    {"open_tree", SYS_open_tree, ENOSYS, mounts, ALWAYS},
    {"open_tree_attr", SYS_open_tree_attr, ENOSYS, mounts, ALWAYS},
    {"move_mount", SYS_move_mount, ENOSYS, mounts, ALWAYS},
    {"fsopen", SYS_fsopen, ENOSYS, mounts, ALWAYS},
    {"fsconfig", SYS_fsconfig, ENOSYS, mounts, ALWAYS},
    {"fsmount", SYS_fsmount, ENOSYS, mounts, ALWAYS},
    {"fspick", SYS_fspick, ENOSYS, mounts, ALWAYS},
    {"mount_setattr", SYS_mount_setattr, ENOSYS, mounts, ALWAYS},
    {"open_by_handle_at", SYS_open_by_handle_at, EPERM, handles, ALWAYS},

    {"keyctl", SYS_keyctl, ENOSYS, keys, ALWAYS},
    {"add_key", SYS_add_key, ENOSYS, keys, ALWAYS},
    {"request_key", SYS_request_key, ENOSYS, keys, ALWAYS},
    {"io_uring_setup", SYS_io_uring_setup, ENOSYS, rings, ALWAYS},
    {"io_uring_enter", SYS_io_uring_enter, ENOSYS, rings, ALWAYS},
    {"io_uring_register", SYS_io_uring_register, ENOSYS, rings, ALWAYS},
    {"bpf", SYS_bpf, EPERM, programs, ALWAYS},
    {"perf_event_open", SYS_perf_event_open, EPERM, spies, ALWAYS},
    {"lookup_dcookie", SYS_lookup_dcookie, EPERM, spies, ALWAYS},
    {"userfaultfd", SYS_userfaultfd, EPERM, stalls, ALWAYS},
    {"prlimit64", SYS_prlimit64, EPERM, first, "of process 1", {IS(0, ALL, 1)}},

    /* What is open is listed, so that the family of a newer kernel is closed. */
    {"socket",
     SYS_socket,
     EAFNOSUPPORT,
     families,
     "not AF_UNIX, AF_INET, AF_INET6, AF_NETLINK",
     {IS_NOT(0, ALL, AF_UNIX), IS_NOT(0, ALL, AF_INET), IS_NOT(0, ALL, AF_INET6),
      IS_NOT(0, ALL, AF_NETLINK)}},
    {"socket",
     SYS_socket,
     EPROTONOSUPPORT,
     netlink,
     "AF_NETLINK, not NETLINK_ROUTE",
     {IS(0, ALL, AF_NETLINK), IS_NOT(2, ALL, NETLINK_ROUTE)}},
    {"socketpair",
     SYS_socketpair,
     EAFNOSUPPORT,
     families,
     "not AF_UNIX",
     {IS_NOT(0, ALL, AF_UNIX)}},

#ifdef SYS_mknod /* what a machine never had, it has no number for */
    {"mknod", SYS_mknod, EPERM, devices, "a character device", {IS(1, TYPE, S_IFCHR)}},
    {"mknod", SYS_mknod, EPERM, devices, "a block device", {IS(1, TYPE, S_IFBLK)}},
#endif
    {"mknodat", SYS_mknodat, EPERM, devices, "a character device", {IS(2, TYPE, S_IFCHR)}},
    {"mknodat", SYS_mknodat, EPERM, devices, "a block device", {IS(2, TYPE, S_IFBLK)}},
    /* setarch and debuggers ask for the ordinary ones; 0xffffffff only asks which is in force. */
    {"personality",
     SYS_personality,
     EPERM,
     personas,
     "beyond the shown machine and fixed addresses",
     {IS_NOT(0, ~ORDINARY_PERSONA, 0), IS_NOT(0, ALL, UINT32_MAX)}},

    {"kexec_load", SYS_kexec_load, EPERM, kernels, ALWAYS},
#ifdef SYS_kexec_file_load
    {"kexec_file_load", SYS_kexec_file_load, EPERM, kernels, ALWAYS},
#endif
    {"init_module", SYS_init_module, EPERM, kernels, ALWAYS},
    {"finit_module", SYS_finit_module, EPERM, kernels, ALWAYS},
    {"delete_module", SYS_delete_module, EPERM, kernels, ALWAYS},
    {"settimeofday", SYS_settimeofday, EPERM, clocks, ALWAYS},
    {"clock_settime", SYS_clock_settime, EPERM, clocks, ALWAYS},
    {"clock_adjtime", SYS_clock_adjtime, EPERM, clocks, ALWAYS},
    {"adjtimex", SYS_adjtimex, EPERM, clocks, ALWAYS},
    {"reboot", SYS_reboot, EPERM, machine, ALWAYS},
    {"swapon", SYS_swapon, EPERM, machine, ALWAYS},
    {"swapoff", SYS_swapoff, EPERM, machine, ALWAYS},
    {"acct", SYS_acct, EPERM, machine, ALWAYS},
    {"quotactl", SYS_quotactl, EPERM, machine, ALWAYS},
    {"quotactl_fd", SYS_quotactl_fd, EPERM, machine, ALWAYS},
    {"vhangup", SYS_vhangup, EPERM, hangs, ALWAYS},
    {"syslog", SYS_syslog, EPERM, messages, ALWAYS},
#ifdef SYS_iopl
    {"iopl", SYS_iopl, EPERM, ports, ALWAYS},
    {"ioperm", SYS_ioperm, EPERM, ports, ALWAYS},
#endif
#ifdef SYS_uselib
    {"uselib", SYS_uselib, ENOSYS, obsolete, ALWAYS},
#endif
    {"nfsservctl", SYS_nfsservctl, ENOSYS, obsolete, ALWAYS},
};

const struct filter_row *filter_rows(size_t *ret_count)
{
    *ret_count = countof(rows);
    return rows;
}

bool filter_ends_program(const void *head, size_t n)
{
    const unsigned char *bytes = head;
    return n > EI_CLASS && memcmp(bytes, ELFMAG, SELFMAG) == 0 && bytes[EI_CLASS] != ELFCLASS64;
}

enum {
    LOAD = BPF_LD | BPF_W | BPF_ABS,
    MASK = BPF_ALU | BPF_AND | BPF_K,
    IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K,
    IF_AT_LEAST = BPF_JMP | BPF_JGE | BPF_K,
    ANSWER = BPF_RET | BPF_K,
};

struct writer {
    struct sock_filter *program;
    size_t capacity;
    size_t count;
};

/* The place of the instruction. */
static size_t put(struct writer *writer, int code, uint32_t value)
{
    BUG_IF(writer->count == writer->capacity);
    writer->program[writer->count] = (struct sock_filter){.code = (uint16_t)code, .k = value};
    return writer->count++;
}

static void put_answer(struct writer *writer, int answer)
{
    (void)put(writer, ANSWER, SECCOMP_RET_ERRNO | ((uint32_t)answer & SECCOMP_RET_DATA));
}

static size_t put_number(struct writer *writer)
{
    return put(writer, LOAD, offsetof(struct seccomp_data, nr));
}

static uint8_t distance(size_t from, size_t to)
{
    BUG_IF(to - from - 1 > UINT8_MAX);
    return (uint8_t)(to - from - 1);
}

/* The comparison; its way out is filled in once the end of the row is known. */
static size_t put_test(struct writer *writer, const struct filter_test *test)
{
    size_t place = offsetof(struct seccomp_data, args) + test->argument * sizeof(uint64_t);
    (void)put(writer, LOAD, (uint32_t)place);
    if (test->mask != UINT32_MAX) {
        (void)put(writer, MASK, test->mask);
    }
    return put(writer, IF_EQUAL, test->value);
}

/* The number is loaded where a row begins, and again where it ends if it looked at anything else. */
static void put_row(struct writer *writer, const struct filter_row *row)
{
    size_t leaves[FILTER_TESTS_MAX];
    size_t tests = 0;
    size_t start = put(writer, IF_EQUAL, row->number);
    for (; tests < FILTER_TESTS_MAX && row->tests[tests].mask != 0; tests++) {
        leaves[tests] = put_test(writer, &row->tests[tests]);
    }
    put_answer(writer, row->answer);
    size_t end = tests > 0 ? put_number(writer) : writer->count;
    for (size_t i = 0; i < tests; i++) {
        struct sock_filter *leave = &writer->program[leaves[i]];
        if (row->tests[i].is_not) {
            leave->jt = distance(leaves[i], end);
        } else {
            leave->jf = distance(leaves[i], end);
        }
    }
    writer->program[start].jf = distance(start, writer->count);
}

static int by_number(const void *a, const void *b)
{
    const struct filter_row *left = *(const struct filter_row *const *)a;
    const struct filter_row *right = *(const struct filter_row *const *)b;
    if (left->number != right->number) {
        return left->number < right->number ? -1 : 1;
    }
    return left < right ? -1 : left > right; /* rows of one call stay in order */
}

enum { COMPARED_IN_TURN = 6 };

/* A tree over the numbers: a call meets a few comparisons and not one for each row. The kernel runs
 * the program once for every call that exists when it is loaded (seccomp(2), the action cache). */
static void put_rows(struct writer *writer, const struct filter_row *const *sorted, size_t count)
{
    size_t half = count / 2;
    while (half > 0 && sorted[half]->number == sorted[half - 1]->number) {
        half--;
    }
    if (count <= COMPARED_IN_TURN || half == 0) {
        for (size_t i = 0; i < count; i++) {
            put_row(writer, sorted[i]);
        }
        (void)put(writer, ANSWER, SECCOMP_RET_ALLOW);
        return;
    }
    size_t branch = put(writer, IF_AT_LEAST, sorted[half]->number);
    put_rows(writer, sorted, half);
    writer->program[branch].jt = distance(branch, writer->count);
    put_rows(writer, sorted + half, count - half);
}

size_t filter_build(struct sock_filter *ret_program, size_t capacity)
{
    const struct filter_row *sorted[countof(rows)];
    struct writer writer = {ret_program, capacity, 0};
    (void)put(&writer, LOAD, offsetof(struct seccomp_data, arch));
    size_t own = put(&writer, IF_EQUAL, OWN_ARCHITECTURE);
    ret_program[own].jt = 1;
    (void)put(&writer, ANSWER, SECCOMP_RET_KILL_PROCESS);
    (void)put_number(&writer);
#ifdef X32_BIT
    size_t ordinary = put(&writer, IF_AT_LEAST, X32_BIT);
    ret_program[ordinary].jf = 1;
    put_answer(&writer, ENOSYS);
#endif
    for (size_t i = 0; i < countof(rows); i++) {
        sorted[i] = &rows[i];
    }
    qsort(sorted, countof(sorted), sizeof sorted[0], by_number);
    put_rows(&writer, sorted, countof(sorted));
    return writer.count;
}
