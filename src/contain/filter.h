/* filter.h
 *
 * The system call filter of a sandbox, as a table: one row a closed call, with its reason. Whatever
 * no row names is allowed, since what a payload may do to files, processes and the network is decided
 * by namespaces, mounts, capabilities and Landlock. The filter closes what those leave open: kernel
 * interfaces beyond ordinary programs, many of which opened a way out before, and injection into a
 * terminal.
 *
 * Calling sequence
 *   filter_rows(&count)                   what is closed, and why: `berm run --explain` prints it
 *   n = filter_build(program, capacity)   the same as classic BPF for seccomp(2); a pure function
 *   the launcher loads it with SECCOMP_SET_MODE_FILTER, after no_new_privs
 *
 * One filter serves every run: an isolated network needs nothing closed that a shared one may open.
 *
 * A call of another architecture (`int 0x80`, a 32-bit program) ends the process with SIGSYS: its
 * numbers mean other calls, and a program of which every call fails would not even find its way to
 * exit. A call of x32 answers ENOSYS, as most kernels do: -1, which programs use to ask whether they
 * are filtered, looks like one and must not kill.
 *
 * Arguments are compared by their low 32 bits, for so the kernel takes an ioctl's number, a flag or
 * a family: with the high ones in it `TIOCSTI | 1 << 32` passes (CVE-2019-10063).
 *
 * Limitations  what lies behind a pointer cannot be looked at: clone3 is closed as a whole, and libc
 *              goes on with clone; connect(2) cannot be told one address from another. 32-bit
 *              programs do not run. x86-64, AArch64 and RISC-V.
 * Source       seccomp(2); Documentation/userspace-api/seccomp_filter.rst of the kernel.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILTER_TESTS_MAX = 4, FILTER_PROGRAM_MAX = 512 };

/* (argument & mask) is, or is not, a value. */
struct filter_test {
    uint8_t argument; /* 0 to 5 */
    bool is_not;
    uint32_t mask; /* 0: this test and those behind it are none */
    uint32_t value;
};

struct filter_row {
    const char *call;
    uint32_t number;
    int answer; /* a positive errno */
    const char *reason;
    const char *when;                           /* what the tests ask, in words; NULL: none */
    struct filter_test tests[FILTER_TESTS_MAX]; /* closed when all of them are true */
};

const struct filter_row *filter_rows(size_t *ret_count);
/* Whether a file that begins so has only calls of another machine to make: an ELF file that is not of
 * 64 bits, x32 among them. */
bool filter_ends_program(const void *head, size_t n);
/* The number of instructions, at most FILTER_PROGRAM_MAX; a smaller capacity is a bug. */
size_t filter_build(struct sock_filter *ret_program, size_t capacity);
