/* user.h
 *
 * Who a payload is when root runs it in a sandbox: never root, since uid 0 writes /proc/sys even
 * without a single capability.
 *
 * Calling sequence
 *   user_resolve(name, environment, &user, err)
 *
 * `name` is an account of /etc/passwd, its number, or UID:GID for a number that no account has. NULL
 * asks for the person behind sudo: SUDO_UID and SUDO_GID of the environment. The primary group comes
 * with it; there are no supplementary groups, since each would open what it opens.
 *
 * Errors       ERR_USAGE: not a name, not a number; ERR_NOT_FOUND: no such account; ERR_REFUSED:
 *              root, by whatever name; ERR_UNAVAILABLE: nobody is named, and there is no sudo.
 * Limitations  /etc/passwd is read and no directory service is asked (the resolver of libc would load
 *              modules and talk to daemons): for such accounts say UID:GID. 16 MiB of it at most.
 *              Group 0 is a group like any other.
 * Source       passwd(5), sudo(8).
 */
#pragma once

#include <sys/types.h>

#include "err.h"
#include "span.h"

struct user {
    uid_t uid;
    gid_t gid;
    char name[64]; /* of the account; empty: a number without one */
};

int user_resolve(const char *name, char *const *environment, struct user *ret_user,
                 struct err *err) must_check;
/* The same in the text of a passwd file. */
int user_find(struct span passwd, const char *name, struct user *ret_user,
              struct err *err) must_check;
