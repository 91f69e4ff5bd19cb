/* production-lock.h
 *
 * One run at a tier at a time on a host, whoever's it is (TR-4, EN-3).
 *
 * The lock itself is the kernel's: an flock(2) of the folder at the root of the cgroup tree. That folder is
 * there wherever a run can be held, is the same for all users, and nobody can exchange, remove or redirect
 * it; no setting names another. The lock is the open folder's: who is given the descriptor (the watchdog)
 * holds it too, and it ends with the last of them.
 *
 * Beside it stands a claim: a file that tells whose run it is by pid, start time, boot and the name of the
 * scope. It is made as soon as the lock is held, and removed once it is proved that nothing of the run is
 * left. When the watchdog dies, or berm before there is one, the claim stays. Whoever takes the lock next
 * looks at all claims of this boot: while the scope of one is still in the cgroup tree, it keeps everybody
 * out (`berm recover --runs`, by its user). Claims lie in a folder of root's that everybody may add to
 * (/run/lock, else /tmp; both are read), one for each user, who alone can write and remove it.
 *
 * Calling sequence
 *   production_lock_try(&production_host, &lock, err)     0; ERR_CONFLICT: held, and by whom
 *   production_lock_claim(&lock, &claim, err)             at once: who holds it has a name
 *   production_lock_fd(&lock)                             for the watchdog
 *   production_lock_release(&lock, err)                   when nothing is left: the claim goes, then the lock
 *   production_lock_done(&lock)                           the descriptor alone: a claim stays
 * Without taking it
 *   production_lock_look(&production_host, err)           0; ERR_CONFLICT: somebody who lives claims it
 *   production_lock_forget(&production_host, err)         this user's claim goes when it counts no longer
 *
 * Errors       ERR_CONFLICT: somebody holds it, or left something; ERR_REFUSED: another user's file has the
 *              name of this user's claim; ERR_CORRUPT: a claim that is none; each names the file.
 *              ERR_UNAVAILABLE: no cgroup tree, no folder for claims, or they are not root's (in a user
 *              namespace of one's own, where anything can be mounted). What cannot be looked at is an error
 *              and never "free".
 * Limitations  any user can hold the lock and make a claim of himself, and so keep everybody out: he is
 *              named, and root can end it. Who holds it without a claim is not told from who claims and
 *              does not hold it. A container with a cgroup namespace of its own is a host of its own.
 * Source       flock(2), cgroup_namespaces(7), the sticky bit of chmod(1).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bfs.h"
#include "err.h"
#include "fd.h"
#include "record.h"

struct production_place {
    const char *cgroups; /* root of the cgroup tree */
    uint32_t owner;      /* of that and of the folders */
    const char
        *folders[3]; /* for claims: the first that is right, and all are read; NULL-terminated */
};
extern const struct production_place production_host;

struct production_lock {
    struct fd fd; /* none: not held */
    struct bfs_dir folder;
    char *claimed; /* name of the own claim; NULL: none */
};

int production_lock_try(const struct production_place *place, struct production_lock *ret_lock,
                        struct err *err) must_check;
static inline int production_lock_fd(const struct production_lock *lock)
{
    return fd_is_open(&lock->fd) ? fd_num(&lock->fd) : -1;
}
/* Of this process, now. */
int production_lock_claim(struct production_lock *lock, const char *run_id, const char *scope,
                          int64_t realtime_ns, struct err *err) must_check;
int production_lock_look(const struct production_place *place, struct err *err) must_check;
int production_lock_forget(const struct production_place *place, struct err *err) must_check;
int production_lock_release(struct production_lock *lock, struct err *err) must_check;
void production_lock_done(struct production_lock *lock);
#define with_production_lock cleanup(production_lock_done) struct production_lock
