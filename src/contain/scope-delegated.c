/* A scope that is a folder of our own, in a cgroup that the caller named or owns. */
#include "scope-priv.h"

#include <errno.h>
#include <stdio.h>

/* A cgroup hands on what it has only while no process is in it; the root is the exception. */
static int hand_on(struct scope *scope, struct err *err)
{
    char text[CGROUP_TEXT_SIZE] = "";
    int parent = fd_num(&scope->parent);
    ssize_t got = os_cgroup_read(parent, "cgroup.subtree_control", text, sizeof text);
    if (scope->request.with_io && got >= 0 && !cgroup_has_word(text, "io")) {
        (void)!os_cgroup_write(parent, "cgroup.subtree_control", "+io"); /* a wish */
    }
    if (got >= 0 && cgroup_has_word(text, "memory") && cgroup_has_word(text, "pids")) {
        return 0;
    }
    int result =
        got < 0 ? (int)got : os_cgroup_write(parent, "cgroup.subtree_control", "+memory +pids");
    if (result < 0) {
        (void)err_sys(err, result,
                      "memory and pids cannot be handed on: '%s/cgroup.subtree_control'%s",
                      scope->offer.place,
                      result == -EBUSY ? " (no process may stand in that cgroup itself)" : "");
        err->code = ERR_UNAVAILABLE;
        return -1;
    }
    return 0;
}

static int make_folder(struct scope *scope, struct err *err)
{
    scope->parent = fd_adopt(os_cgroup_open(scope->offer.place));
    if (!fd_is_open(&scope->parent)) {
        return err_sys(err, fd_error(&scope->parent), "cannot open '%s'", scope->offer.place);
    }
    if (hand_on(scope, err) < 0) {
        return -1;
    }
    scope->folder = fd_adopt(os_cgroup_new(fd_num(&scope->parent), scope->name));
    if (!fd_is_open(&scope->folder)) {
        int sys = fd_error(&scope->folder);
        (void)err_sys(err, sys, "cannot make '%s/%s'", scope->offer.place, scope->name);
        err->code = sys == -EEXIST ? ERR_CONFLICT : ERR_UNAVAILABLE;
        return -1;
    }
    return 0;
}

/* The kernel takes its time for the first that moves: the anchor waits for it, and berm works meanwhile. */
static int begin(struct scope *scope, struct err *err)
{
    if (make_folder(scope, err) < 0) {
        return -1;
    }
    if (scope_anchor_join(scope, fd_num(&scope->folder), err) < 0) {
        (void)!os_cgroup_remove(fd_num(&scope->parent),
                                scope->name); /* the watchdog knows it too */
        return -1;
    }
    return 0;
}

static int join(struct scope *scope, struct err *err)
{
    char where[CGROUP_PATH_SIZE + SCOPE_NAME_SIZE];
    (void)snprintf(where, sizeof where, "%s/%s", scope->offer.place, scope->name);
    return scope_set_outer(scope, false, err) < 0 || scope_anchor_joined(scope, where, err) < 0 ||
                   scope_find_folder(scope, scope->request.anchor, err) < 0
               ? -1
               : 0;
}

static int verify(struct scope *scope, struct err *err)
{
    (void)scope;
    (void)err;
    return 0;
}

static int forget(struct scope *scope, int64_t deadline_ns, struct err *err)
{
    (void)scope;
    (void)deadline_ns;
    (void)err;
    return 0;
}

const struct scope_operations scope_delegated_operations = {begin, join, verify, NULL, forget};
