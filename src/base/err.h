/* err.h
 *
 * One error value for every layer above os/: a code out of a closed list, the errno behind it when
 * there was one, and a sentence for a person. It is a plain value without heap: it cannot leak,
 * works when memory is out, and fits in PIPE_BUF, so that a child sends the same type up a pipe.
 *
 * Calling sequence
 *   a function that can fail takes `struct err *err` last and returns 0 or -1 (or NULL)
 *   err is untouched on success and filled on failure
 *   err_set() / err_sys() fill it; err_wrap() puts context in front on the way up
 *   only the front end prints it, once
 *
 * Errors       the codes below are stable and documented in docs/errors.md (a test compares them)
 * Limitations  messages longer than the buffer are cut and end in "..."; a message may quote
 *              untrusted text, so whoever shows it neutralises it first (see text.h)
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "attributes.h"

/* X(enumerator, name, family, meaning) */
#define ERR_CODES(X)                                                                               \
    X(ERR_NONE, "none", "none", "no error")                                                        \
    X(ERR_SYS, "sys", "failed", "the kernel answered with an errno")                               \
    X(ERR_INTERNAL, "internal", "failed", "berm did something that it should not have to")         \
    X(ERR_TIMEOUT, "timeout", "failed", "a step did not end within its own deadline")              \
    X(ERR_USAGE, "usage", "usage", "the request itself is wrong: an unknown or ill-formed field")  \
    X(ERR_RANGE, "range", "usage", "a value lies outside its range or above its ceiling")          \
    X(ERR_REFUSED, "refused", "refused", "policy does not allow it")                               \
    X(ERR_UNAVAILABLE, "unavailable", "refused", "this host cannot do what is asked")              \
    X(ERR_NOT_FOUND, "not_found", "refused", "the thing named is not there")                       \
    X(ERR_NOT_EXECUTABLE, "not_executable", "refused", "the file is there and cannot be executed") \
    X(ERR_CHANGED, "changed", "refused", "an identity differs from the one that was recorded")     \
    X(ERR_OVER_BUDGET, "over_budget", "over budget",                                               \
      "bytes, depth, items or length over a budget")                                               \
    X(ERR_CONFLICT, "conflict", "conflict", "somebody else holds the thing or was first")          \
    X(ERR_CORRUPT, "corrupt", "corrupt", "stored or received bytes are not what they must be")     \
    X(ERR_CANCELLED, "cancelled", "cancelled", "the caller asked to stop")

enum err_code {
#define X(enumerator, name, family, meaning) enumerator,
    ERR_CODES(X)
#undef X
        ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    int sys; /* a positive errno, or 0 */
    char msg[496];
};

_Static_assert(sizeof(struct err) <= 512, "an error must fit into PIPE_BUF with room to spare");

/* Each of these returns -1, so that a caller can `return err_set(...)`. err may be NULL. */
int err_set(struct err *err, enum err_code code, const char *format, ...) printf_like(3, 4);
/* sys is an errno, of either sign; its text is appended to the message. */
int err_sys(struct err *err, int sys, const char *format, ...) printf_like(3, 4);
/* Put "context: " in front of what err already says; the code stays. */
int err_wrap(struct err *err, const char *format, ...) printf_like(2, 3);

const char *err_code_family(enum err_code code);
