/* names.h
 *
 * What numbers of the system are called. glibc tells without a static buffer or a locale; elsewhere the
 * words are the C library's, and there are no names.
 *
 * Limitations  the words of strerror(3) hold until the next call.
 * Source       strerror(3), sigabbrev_np(3).
 */
#pragma once

#include <stddef.h>
#include <string.h>

/* "ENOENT"; NULL: it has none. */
static inline const char *names_errno(int sys)
{
#ifdef _GNU_SOURCE
    return strerrorname_np(sys);
#else
    (void)sys;
    return NULL;
#endif
}

/* "No such file or directory"; NULL: there are none. */
static inline const char *names_errno_words(int sys)
{
#ifdef _GNU_SOURCE
    return strerrordesc_np(sys);
#else
    return strerror(sys);
#endif
}

/* "TERM" of SIGTERM; NULL: it has none. */
static inline const char *names_signal(int signal)
{
#ifdef _GNU_SOURCE
    return sigabbrev_np(signal);
#else
    (void)signal;
    return NULL;
#endif
}
