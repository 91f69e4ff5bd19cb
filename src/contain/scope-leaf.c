/* The leaves of a scope. Whatever is set is read back: a limit that the kernel does not have is none. */
#include "scope-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "anchor-message.h"
#include "file.h"
#include "process.h"

int64_t scope_round_down(int64_t bytes)
{
    long page = os_page_bytes();
    return bytes / page * page;
}

static void number(char text[32], int64_t value)
{
    if (value == CGROUP_NO_LIMIT) {
        (void)snprintf(text, 32, "max");
    } else {
        (void)snprintf(text, 32, "%lld", (long long)value);
    }
}

int scope_set(int cgroup_fd, const char *where, const struct scope_setting *setting, bool only_read,
              struct err *err)
{
    int result = only_read ? 0 : os_cgroup_write(cgroup_fd, setting->file, setting->wanted);
    char seen[64];
    ssize_t got = result < 0 ? result : os_cgroup_read(cgroup_fd, setting->file, seen, sizeof seen);
    if (got == -ENOENT && setting->optional) {
        return 0;
    }
    if (result < 0) {
        (void)err_sys(err, result, "'%s' of %s could not be set to %s", setting->file, where,
                      setting->wanted);
        err->code = ERR_UNAVAILABLE;
        return -1;
    }
    if (got < 0) {
        (void)err_sys(err, (int)got, "'%s' of %s cannot be read back", setting->file, where);
        err->code = ERR_UNAVAILABLE;
        return -1;
    }
    seen[strcspn(seen, "\n")] = '\0';
    if (strcmp(seen, setting->wanted) != 0) {
        return err_set(err, ERR_UNAVAILABLE,
                       "'%s' of %s is not what was set: wanted %s, the kernel has %s",
                       setting->file, where, setting->wanted, seen);
    }
    return 0;
}

static int64_t above(int64_t limit, int64_t slack)
{
    return limit == CGROUP_NO_LIMIT ? limit : limit + slack;
}

int scope_set_outer(struct scope *scope, bool only_read, struct err *err)
{
    struct scope_setting settings[] = {
        {.file = "memory.oom.group", .wanted = "0"},
        {.file = "memory.swap.max", .wanted = "0", .optional = true},
        {.file = "memory.max"},
        {.file = "pids.max"},
    };
    number(settings[2].wanted, above(scope->limits.memory_max_bytes, SCOPE_MEMORY_SLACK_BYTES));
    number(settings[3].wanted, above(scope->limits.pids_max, SCOPE_PIDS_SLACK));
    for (size_t i = 0; i < countof(settings); i++) {
        if (scope_set(fd_num(&scope->folder), scope->name, &settings[i], only_read, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Handed down to the leaves, and there. A scope with a process in it cannot hand on anything. */
static int hand_down(struct scope *scope, struct err *err)
{
    static const char *const wanted[] = {"memory", "pids"};
    char text[CGROUP_TEXT_SIZE];
    int result = os_cgroup_write(fd_num(&scope->folder), "cgroup.subtree_control", "+memory +pids");
    if (result < 0) {
        (void)err_sys(err, result, "memory and pids cannot be handed down in '%s'", scope->path);
        err->code = ERR_UNAVAILABLE;
        return -1;
    }
    if (scope->request.with_io) { /* a wish: without it io.stat is unknown */
        (void)!os_cgroup_write(fd_num(&scope->folder), "cgroup.subtree_control", "+io");
    }
    ssize_t got = os_cgroup_read(fd_num(&scope->leaf), "cgroup.controllers", text, sizeof text);
    for (size_t i = 0; i < countof(wanted); i++) {
        if (got < 0 || !cgroup_has_word(text, wanted[i])) {
            return err_set(err, ERR_UNAVAILABLE,
                           "the controller %s is not in 'cgroup.controllers' of %s/%s, although it "
                           "was handed down",
                           wanted[i], scope->path, ANCHOR_LEAF_NAME);
        }
    }
    return 0;
}

static int make_leaf(struct scope *scope, const char *name, struct fd *ret_leaf, struct err *err)
{
    *ret_leaf = fd_adopt(os_cgroup_new(fd_num(&scope->folder), name));
    if (!fd_is_open(ret_leaf)) {
        (void)err_sys(err, fd_error(ret_leaf), "cannot make '%s/%s'", scope->path, name);
        err->code = ERR_UNAVAILABLE;
        return -1;
    }
    return 0;
}

/* Out of the scope itself, and in a leaf: no internal processes. */
static int settle(struct scope *scope, struct err *err)
{
    const struct proc_identity who = scope->request.anchor;
    char wanted[CGROUP_PATH_SIZE + sizeof "/" ANCHOR_OWN_LEAF_NAME];
    char seen[CGROUP_PATH_SIZE] = "";
    (void)snprintf(wanted, sizeof wanted, "%s/" ANCHOR_OWN_LEAF_NAME, scope->cgroup);
    if (scope_anchor_join(scope, fd_num(&scope->anchor_folder), err) < 0 ||
        scope_anchor_joined(scope, wanted, err) < 0) {
        return -1;
    }
    int result = scope_cgroup_of(who, seen);
    if (result < 0) {
        return err_sys(err, result, "cannot see the cgroup of the anchor");
    }
    return strcmp(seen, wanted) == 0
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "the anchor went into '%s' and is in '%s'", wanted,
                         seen);
}

int scope_set_limits(struct scope *scope, struct err *err)
{
    struct scope_limits *limits = &scope->limits;
    struct scope_setting settings[] = {
        {.file = "cgroup.max.descendants", .wanted = "0"},
        {.file = "memory.oom.group", .wanted = "1"},
        {.file = "memory.swap.max", .wanted = "0", .optional = true},
        {.file = "memory.zswap.max", .wanted = "0", .optional = true},
        {.file = "memory.high"},
        {.file = "memory.max"},
        {.file = "pids.max"},
    };
    const size_t count = countof(settings);
    number(settings[count - 3].wanted, limits->memory_high_bytes);
    number(settings[count - 2].wanted, limits->memory_max_bytes);
    number(settings[count - 1].wanted, limits->pids_max);
    char where[CGROUP_PATH_SIZE + sizeof SCOPE_TREE + sizeof ANCHOR_LEAF_NAME];
    (void)snprintf(where, sizeof where, "%s/%s", scope->path, ANCHOR_LEAF_NAME);
    for (int pass = 0; pass < 2; pass++) { /* again, when all are set: none was undone by another */
        for (size_t i = 0; i < count; i++) {
            if (scope_set(fd_num(&scope->leaf), where, &settings[i], pass == 1, err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Without accounting for swap (swapaccount=0) there is no file to set; without swap in the kernel none is
 * needed. */
int scope_judge_swap(struct scope *scope, struct err *err)
{
    char text[32];
    ssize_t got = os_cgroup_read(fd_num(&scope->leaf), "memory.swap.max", text, sizeof text);
    with_fd swaps =
        fd_adopt(got == -ENOENT ? os_openat(AT_FDCWD, "/proc/swaps", O_RDONLY, 0) : -ENOENT);
    scope->limits.swap_max_bytes = got >= 0 || fd_error(&swaps) == -ENOENT ? 0 : CGROUP_NO_LIMIT;
    return got >= 0 || got == -ENOENT
               ? 0
               : err_sys(err, (int)got, "'memory.swap.max' of '%s' cannot be read", scope->path);
}

int scope_leaves_make(struct scope *scope, struct err *err)
{
    if (make_leaf(scope, ANCHOR_OWN_LEAF_NAME, &scope->anchor_folder, err) < 0 ||
        make_leaf(scope, ANCHOR_LEAF_NAME, &scope->leaf, err) < 0 || settle(scope, err) < 0 ||
        hand_down(scope, err) < 0 || scope_set_limits(scope, err) < 0 ||
        scope_judge_swap(scope, err) < 0) {
        return -1;
    }
    int result = scope_events_open(scope);
    return result < 0 ? err_sys(err, result, "the events of '%s/%s' cannot be read", scope->path,
                                ANCHOR_LEAF_NAME)
                      : 0;
}
