/* detach-priv.h
 *
 * A duty of the helper as a process of its own: not a child of berm, which waits for its children to prove
 * that nothing is left of a payload, and which a death of berm must not touch. It is started from the
 * sealed image by descriptor, with its standard streams at /dev/null, one end of a socket pair as
 * descriptor 3 and no other.
 *
 * Calling sequence
 *   detach_begin(&request, &process, err)    comes back before there is one
 *   ... what need not wait for it ...
 *   detach_finish(&process, err)             after every detach_begin() that succeeded: a child of berm's is reaped
 *   detach_helper(&request, &process, err)   both at once
 *   ... fd_close(&process.channel) is how its other end is seen to be gone
 *
 * Ownership    process.channel and process.pidfd are the caller's.
 * Errors       ERR_SYS: it could not be made; nothing is left of it then
 * Limitations  a subreaper above berm, or berm itself as pid 1, becomes its parent: berm is no subreaper before
 *              detach_finish().
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "fd.h"

struct detach_request {
    const char *duty;         /* the helper's first argument */
    char *const *environment; /* NULL: none */
};

struct detached {
    struct fd channel;
    struct fd pidfd;
    pid_t pid;         /* names the process as long as the pidfd has not fired */
    struct fd between; /* the rest is of the two steps */
    pid_t between_pid;
    const char *duty; /* borrowed of the request */
};

int detach_begin(const struct detach_request *request, struct detached *ret_detached,
                 struct err *err) must_check;
int detach_finish(struct detached *detached, struct err *err) must_check;
bool detach_is_finished(const struct detached *detached);
int detach_helper(const struct detach_request *request, struct detached *ret_detached,
                  struct err *err) must_check;
