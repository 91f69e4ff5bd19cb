/* What is removed is gone for good: a cgroup cannot be renamed, its inode is not used again, and a
 * directory of it that is still open answers ENOENT or ENODEV once it was removed. Nobody can be in it
 * then, so that is a proof of emptiness as good as `populated 0`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "anchor-message.h"
#include "cgroupfs.h"
#include "clock.h"
#include "event.h"
#include "file.h"
#include "process.h"
#include "watchdog.h"

enum {
    AGAIN_MS = 10,     /* between two writes of cgroup.kill */
    BUSY_MS = 5,       /* between two attempts to remove, or looks at what somebody else removes */
    KILL_MS = 10000,   /* then what is left is told, and left to `berm recover` */
    REMOVE_MS = 10000, /* processes that were killed linger (systemd removes a scope by itself) */
};

static bool is_removed(int cgroup_fd)
{
    with_fd events = fd_adopt(os_cgroup_open_file(cgroup_fd, "cgroup.events"));
    return cgroup_is_gone(fd_is_open(&events) ? os_cgroup_populated(fd_num(&events))
                                              : fd_error(&events));
}

void leaf_take(struct watchdog *watchdog, const struct watch_leaf *leaf, struct fd *fds)
{
    watchdog->manifest.leaf = *leaf;
    if ((leaf->flags & WATCH_LEAF_IS_GONE) == 0) {
        watchdog->leaf = fd_take(&fds[WATCH_FD_LEAF]);
    }
    watchdog->scope = fd_take(&fds[WATCH_FD_SCOPE]);
    if (leaf->flags & WATCH_LEAF_SCOPE_IS_OURS) {
        watchdog->scope_parent = fd_take(&fds[WATCH_FD_SCOPE_PARENT]);
    }
    if (leaf->flags & WATCH_LEAF_HAS_ANCHOR) {
        watchdog->anchor = fd_take(&fds[WATCH_FD_ANCHOR]);
    }
    if (leaf->flags & WATCH_LEAF_HAS_GATE) {
        watchdog->gate = fd_take(&fds[WATCH_FD_GATE]);
    }
    watchdog->kept = fd_take(&fds[WATCH_FD_KEPT]);
}

/* Who is left is seen. The gate may not have reached the leaf yet. */
static void kill_in(const struct watchdog *watchdog, const struct fd *cgroup)
{
    if (fd_is_open(cgroup)) {
        (void)!os_cgroup_kill(fd_num(cgroup));
    }
    if (fd_is_open(&watchdog->gate)) {
        (void)!os_pidfd_signal(fd_num(&watchdog->gate), SIGKILL);
    }
}

void leaf_kill(struct watchdog *watchdog)
{
    kill_in(watchdog, &watchdog->leaf);
}

/* --- a scope that was never armed --------------------------------------------------------------- */

/* It was named before it was made, by a name that nobody can guess, and that is all that is known. */
static bool is_only_named(const struct watchdog *watchdog)
{
    const struct watch_leaf *leaf = &watchdog->manifest.leaf;
    return (leaf->flags & WATCH_LEAF_SCOPE_IS_OURS) && leaf->path[0] == '/' &&
           leaf->scope.inode == 0;
}

static const char *scope_name(const struct watchdog *watchdog)
{
    return strrchr(watchdog->manifest.leaf.path, '/') + 1;
}

/* 0, or -errno: cgroup_is_gone() of it when there is none. */
static int open_named(const struct watchdog *watchdog, struct fd *ret_parent, struct fd *ret_scope)
{
    char path[WATCH_PATH_SIZE];
    const char *name = scope_name(watchdog);
    size_t n = (size_t)(name - watchdog->manifest.leaf.path); /* with the slash */
    memcpy(path, watchdog->manifest.leaf.path, n);
    path[n] = '\0';
    *ret_parent = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0));
    *ret_scope = fd_adopt(fd_is_open(ret_parent) ? os_openat(fd_num(ret_parent), name,
                                                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
                                                 : fd_error(ret_parent));
    return fd_error(ret_scope);
}

/* --- what there is ------------------------------------------------------------------------------- */

/* Of systemd's scopes only the leaf: it removes what is empty in its own time. */
const char *leaf_left(const struct watchdog *watchdog)
{
    static const char scope_left[] = "stop watching: the scope is still there";
    const struct watch_leaf *leaf = &watchdog->manifest.leaf;
    with_fd parent = {0};
    with_fd scope = {0};
    if (is_only_named(watchdog)) {
        return cgroup_is_gone(open_named(watchdog, &parent, &scope)) ? NULL : scope_left;
    }
    if (fd_is_open(&watchdog->leaf) && !is_removed(fd_num(&watchdog->leaf))) {
        return "stop watching: the leaf is still there";
    }
    bool ours = fd_is_open(&watchdog->scope) && (leaf->flags & WATCH_LEAF_SCOPE_IS_OURS);
    return ours && !is_removed(fd_num(&watchdog->scope)) ? scope_left : NULL;
}

/* Kill until nobody is left: who is just being made may be missed by one write. */
static bool make_empty(const struct watchdog *watchdog, const struct fd *cgroup)
{
    int64_t until_ns = watch_now() + KILL_MS * NS_PER_MS;
    with_fd events = fd_adopt(os_cgroup_open_file(fd_num(cgroup), "cgroup.events"));
    for (;;) {
        kill_in(watchdog, cgroup);
        int populated =
            fd_is_open(&events) ? os_cgroup_populated(fd_num(&events)) : fd_error(&events);
        if (populated == 0 || cgroup_is_gone(populated)) {
            return true;
        }
        if (watch_now() >= until_ns) {
            return false;
        }
        if (fd_is_open(&events)) {
            (void)!os_poll(fd_num(&events), POLLPRI, AGAIN_MS);
        } else {
            watch_pause(AGAIN_MS);
            events = fd_adopt(os_cgroup_open_file(fd_num(cgroup), "cgroup.events"));
        }
    }
}

/* Nothing, when the name leads to another one by now: then ours is no more. */
static bool remove_cgroup(int parent_fd, const char *name, const struct watch_identity *identity)
{
    int64_t until_ns = watch_now() + REMOVE_MS * NS_PER_MS;
    for (;;) {
        struct watch_identity there;
        int result = watch_look(parent_fd, name, &there);
        bool another = result == 0 && identity->inode != 0 && !watch_same(&there, identity);
        if (cgroup_is_gone(result) || another) {
            return true;
        }
        result = result < 0 ? result : os_cgroup_remove(parent_fd, name);
        bool may_change = result == 0 || cgroup_is_gone(result) || result == -EBUSY;
        if (!may_change || watch_now() >= until_ns) {
            return false;
        }
        watch_pause(result == -EBUSY ? BUSY_MS : 0); /* then look whether it is gone */
    }
}

static bool wait_until_removed(const struct watchdog *watchdog)
{
    int64_t wait_ms =
        watchdog->scope_ms > 0 && watchdog->scope_ms < REMOVE_MS ? watchdog->scope_ms : REMOVE_MS;
    int64_t until_ns = watch_now() + wait_ms * NS_PER_MS;
    while (!is_removed(fd_num(&watchdog->scope))) {
        if (watch_now() >= until_ns) {
            return false;
        }
        watch_pause(BUSY_MS);
    }
    return true;
}

static bool remove_scope(struct watchdog *watchdog)
{
    const struct watch_leaf *leaf = &watchdog->manifest.leaf;
    const struct watch_identity any = {0};
    if (!fd_is_open(&watchdog->scope_parent) || leaf->path[0] != '/') {
        return wait_until_removed(watchdog);
    }
    return (leaf->anchor_name[0] == '\0' ||
            remove_cgroup(fd_num(&watchdog->scope), leaf->anchor_name, &any)) &&
           remove_cgroup(fd_num(&watchdog->scope_parent), scope_name(watchdog), &leaf->scope);
}

/* The gate and the anchor may stand in the scope itself, or in leaves of it. */
static uint32_t end_named(struct watchdog *watchdog)
{
    struct watch_leaf *leaf = &watchdog->manifest.leaf;
    const struct watch_identity any = {0};
    int result = open_named(watchdog, &watchdog->scope_parent, &watchdog->scope);
    if (result < 0) {
        return cgroup_is_gone(result) ? 0 : WATCH_LEFT_CGROUP;
    }
    leaf->scope = watch_identity_of(fd_num(&watchdog->scope));
    if (!make_empty(watchdog, &watchdog->scope)) {
        return WATCH_LEFT_PROCESSES;
    }
    bool removed =
        remove_cgroup(fd_num(&watchdog->scope), leaf->name, &any) && remove_scope(watchdog);
    return removed ? 0 : WATCH_LEFT_CGROUP;
}

/* By its end alone it would look for somebody to kill first. */
void leaf_let_go(struct watchdog *watchdog)
{
    if (fd_is_open(&watchdog->anchor)) {
        const char order = ANCHOR_LEAVE;
        (void)!os_send(fd_num(&watchdog->anchor), &order, 1);
    }
    fd_close(&watchdog->anchor);
    fd_close(&watchdog->gate);
}

uint32_t leaf_end(struct watchdog *watchdog)
{
    const struct watch_leaf *leaf = &watchdog->manifest.leaf;
    uint32_t left = 0;
    if (is_only_named(watchdog)) {
        return end_named(watchdog);
    }
    if (!fd_is_open(&watchdog->leaf)) {
        leaf_kill(watchdog);
    } else if (!make_empty(watchdog, &watchdog->leaf)) {
        left = WATCH_LEFT_PROCESSES;
    } else if (!remove_cgroup(fd_num(&watchdog->scope), leaf->name, &leaf->self)) {
        left = WATCH_LEFT_CGROUP;
    }
    leaf_let_go(watchdog);
    bool removed = left == 0 && (!fd_is_open(&watchdog->scope) || remove_scope(watchdog));
    return left == 0 && !removed ? WATCH_LEFT_CGROUP : left;
}
