/* fault.h
 *
 * The fault table: in a build with -Dfaults=true every call that os/ makes to the kernel is counted
 * by process role and can be made to fail, so that tests fail the Nth call of a whole run, once or
 * from then on. In a release build all of this is nothing.
 *
 * Calling sequence
 *   in os/:      OS_CALL(openat2, (int)syscall(...))   -errno, or the result
 *   in tests:    BERM_FAULT=ROLE:N:ERRNAME[:from]      fail the Nth call of ROLE (1-based) with the
 *                                                      errno; with :from every later one as well
 *                BERM_FAULT=ROLE:NAME:ERRNAME          fail every call of that name
 *                BERM_FAULT=ROLE:N:noop, ROLE:NAME:noop  that does nothing and claims success
 *                BERM_FAULT_LOG=FD                     write "ROLE N NAME\n" for every call to FD
 *   roles        "controller" from the start; a child names itself with fault_role()
 *
 * Limitations  calls made inside libc and the linked libraries (allocation, the dynamic loader) are
 *              not counted; tests/fault lists them and compares the rest with strace.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

#ifdef BERM_FAULTS

enum fault_verdict { FAULT_PASS, FAULT_FAIL, FAULT_NOOP };

enum fault_verdict fault_hit(const char *name, int *ret_errno);
void fault_role(const char *role); /* in a child: start a count of its own; role is not copied */

#define OS_CALL(name, expression)                                                                  \
    ({                                                                                             \
        long result_;                                                                              \
        int fault_errno_ = 0;                                                                      \
        switch (fault_hit(#name, &fault_errno_)) {                                                 \
        case FAULT_FAIL:                                                                           \
            result_ = -fault_errno_;                                                               \
            break;                                                                                 \
        case FAULT_NOOP:                                                                           \
            result_ = 0;                                                                           \
            break;                                                                                 \
        case FAULT_PASS:                                                                           \
        default:                                                                                   \
            result_ = (long)(expression);                                                          \
            if (result_ < 0) {                                                                     \
                result_ = -errno;                                                                  \
            }                                                                                      \
            break;                                                                                 \
        }                                                                                          \
        result_;                                                                                   \
    })

#else

#define OS_CALL(name, expression)                                                                  \
    ({                                                                                             \
        long result_ = (long)(expression);                                                         \
        result_ < 0 ? -(long)errno : result_;                                                      \
    })

static inline void fault_role(const char *role)
{
    (void)role;
}

#endif
