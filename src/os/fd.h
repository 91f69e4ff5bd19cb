/* fd.h
 *
 * `struct fd` owns a descriptor, `int` borrows one; the compiler refuses to mix them. It stores the
 * number plus one, so that all-zero memory means "none" and descriptor 0 is legal.
 *
 * Calling sequence
 *   with_fd file = fd_adopt(os_openat(dir, name, flags, 0));    a negative result is "none"
 *   if (!fd_is_open(&file)) { return err_sys(err, fd_error(&file), ...); }
 *   use fd_num(&file); hand it on with fd_take(&file)
 *
 * Ownership    fd_close() and the end of the scope close it; a close is never retried (on Linux the
 *              descriptor is gone whatever close answers: close(2), NOTES).
 */
#pragma once

#include <stdbool.h>

#include "attributes.h"

struct fd {
    int plus_one; /* > 0: open; 0: none; < 0: none, and the -errno of the failed open */
};

static inline struct fd fd_adopt(int number_or_error)
{
    return (struct fd){number_or_error >= 0 ? number_or_error + 1 : number_or_error};
}
static inline bool fd_is_open(const struct fd *fd)
{
    return fd->plus_one > 0;
}
static inline int fd_num(const struct fd *fd)
{
    BUG_IF(fd->plus_one <= 0);
    return fd->plus_one - 1;
}
/* The -errno that fd_adopt() was given, 0 when there was none. */
static inline int fd_error(const struct fd *fd)
{
    return fd->plus_one < 0 ? fd->plus_one : 0;
}
static inline struct fd fd_take(struct fd *fd)
{
    struct fd taken = *fd;
    fd->plus_one = 0;
    return taken;
}
void fd_close(struct fd *fd);
#define with_fd cleanup(fd_close) struct fd
