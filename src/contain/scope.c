#include "scope-priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "anchor-message.h"
#include "boundary.h"
#include "clock.h"
#include "event.h"
#include "file.h"
#include "memory.h"

/* Nobody else can make one: the types are complete only here. */
struct proof_leaf_empty {
    int looked;
};
struct proof_scope_gone {
    int looked;
};
static const struct proof_leaf_empty leaf_is_empty = {1};
static const struct proof_scope_gone scope_is_gone = {1};

const char *scope_adapter_id(enum scope_adapter adapter)
{
    static const char *const ids[] = {
        [SCOPE_SYSTEMD_USER] = "linux-systemd-cgroup-v2",
        [SCOPE_SYSTEMD_SYSTEM] = "linux-systemd-cgroup-v2",
        [SCOPE_DELEGATED] = "linux-delegated-cgroup-v2",
    };
    return ids[adapter];
}

int scope_name(const char *run_id, char name[SCOPE_NAME_SIZE], struct err *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    enum { RUN_MAX = 80 };
    size_t length = strnlen(run_id, RUN_MAX + 1);
    if (length == 0 || length > RUN_MAX || strspn(run_id, plain) != length) {
        return err_set(err, ERR_USAGE, "'%.80s' cannot be a part of a unit's name", run_id);
    }
    uint64_t random = 0;
    int result = os_getrandom(&random, sizeof random);
    if (result < 0) {
        return err_sys(err, result, "cannot have a random name");
    }
    (void)snprintf(name, SCOPE_NAME_SIZE, "berm-%s-%016llx.scope", run_id,
                   (unsigned long long)random);
    return 0;
}

void scope_watchdog_name(const char *name, char watchdog_name[SCOPE_NAME_SIZE])
{
    (void)snprintf(watchdog_name, SCOPE_NAME_SIZE, "%.*s-watchdog.scope",
                   (int)(strlen(name) - (sizeof ".scope" - 1)), name);
}

/* --- who stands where --------------------------------------------------------------------------- */

int scope_cgroup_of(struct proc_identity who, char path[CGROUP_PATH_SIZE])
{
    with_fd dir = fd_adopt(os_proc_open(who));
    return fd_is_open(&dir) ? os_cgroup_of(fd_num(&dir), path) : fd_error(&dir);
}

static int is_same(int a, int b)
{
    struct stat first;
    struct stat second;
    int result = os_fstat(a, &first);
    result = result < 0 ? result : os_fstat(b, &second);
    return result < 0 ? result : first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int scope_find_folder(struct scope *scope, struct proc_identity who, struct err *err)
{
    char *cgroup = scope->cgroup;
    int result = scope_cgroup_of(who, cgroup);
    const char *last = result == 0 ? strrchr(cgroup, '/') : NULL;
    if (result < 0) {
        return err_sys(err, result, "cannot see the cgroup of process %d", who.pid);
    }
    if (!last || strcmp(last + 1, scope->name) != 0) {
        return err_set(err, ERR_UNAVAILABLE, "process %d is in '%s', and not in %s", who.pid,
                       cgroup, scope->name);
    }
    (void)snprintf(scope->path, sizeof scope->path, "%s%s", SCOPE_TREE, cgroup);
    (void)snprintf(scope->leaf_cgroup, sizeof scope->leaf_cgroup, "%.*s/" ANCHOR_LEAF_NAME,
                   (int)(sizeof scope->leaf_cgroup - sizeof "/" ANCHOR_LEAF_NAME), cgroup);
    with_fd folder = fd_adopt(os_cgroup_open(scope->path));
    if (!fd_is_open(&folder)) {
        return err_sys(err, fd_error(&folder), "cannot open '%s'", scope->path);
    }
    if (!fd_is_open(&scope->folder)) {
        scope->folder = fd_take(&folder);
        return 0;
    }
    result = is_same(fd_num(&folder), fd_num(&scope->folder));
    return result == 1 ? 0
                       : err_set(err, ERR_UNAVAILABLE,
                                 "'%s' is another folder than the one that was made", scope->path);
}

/* --- making it ---------------------------------------------------------------------------------- */

static int take_limits(const struct scope_request *request, struct scope_limits *ret_limits,
                       struct err *err)
{
    const int64_t bytes[] = {request->memory_max_bytes, request->memory_high_bytes};
    int64_t rounded[2];
    for (size_t i = 0; i < countof(bytes); i++) {
        rounded[i] = bytes[i] == 0 ? CGROUP_NO_LIMIT : scope_round_down(bytes[i]);
        if (rounded[i] <= 0 || (bytes[i] != 0 && bytes[i] > INT64_MAX / 2)) {
            return err_set(err, ERR_RANGE, "%lld bytes cannot be a limit of memory",
                           (long long)bytes[i]);
        }
    }
    int64_t pids = request->pids_max == 0 ? CGROUP_NO_LIMIT : request->pids_max;
    if (pids < 1 || (pids != CGROUP_NO_LIMIT && pids > INT32_MAX)) {
        return err_set(err, ERR_RANGE, "%lld cannot be a limit of tasks", (long long)pids);
    }
    *ret_limits = (struct scope_limits){rounded[0], rounded[1], pids, CGROUP_NO_LIMIT};
    return 0;
}

/* A wait is over: by whom? */
static int give_up(struct scope *scope, const char *what, struct err *err)
{
    return patience_is_lost(&scope->patience)
               ? err_set(err, ERR_CANCELLED, "asked to stop while %s of %s", what, scope->name)
               : err_set(err, ERR_TIMEOUT, "%s of %s did not answer in time", what, scope->name);
}

/* Every answer begins with its word. */
static int hear_anchor(struct scope *scope, enum anchor_word wanted, void *answer, size_t size,
                       int64_t deadline_ns, struct err *err)
{
    const char *word = answer;
    struct patience *patience = &scope->patience;
    int channel = scope->request.anchor_channel;
    int ready = 0;
    do {
        ready = patience_wait(patience, channel, POLLIN, deadline_ns);
    } while (ready == 0 && os_clock_real.monotonic_ns() < patience_until(patience, deadline_ns));
    if (ready == 0) {
        return give_up(scope, "the anchor", err);
    }
    ssize_t got = ready > 0 ? os_recv(channel, answer, size) : ready;
    if (got < 0) {
        return err_sys(err, (int)got, "the anchor of %s cannot be heard", scope->name);
    }
    return got == (ssize_t)size && *word == (char)wanted
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "the anchor of %s %s", scope->name,
                         got == 0 ? "has ended" : "said something unknown");
}

static int hear_word(struct scope *scope, enum anchor_word wanted, int64_t deadline_ns,
                     struct err *err)
{
    char word;
    return hear_anchor(scope, wanted, &word, sizeof word, deadline_ns, err);
}

static int cannot_tell(const struct scope *scope, ssize_t sent, struct err *err)
{
    return err_sys(err, sent < 0 ? (int)sent : EIO, "the anchor of %s cannot be told", scope->name);
}

/* From then on the anchor outlives a stop, and does not leave before it is in its unit. */
static int name_unit(struct scope *scope, const char *name, int64_t deadline_ns, struct err *err)
{
    struct anchor_unit unit = {.order = ANCHOR_UNIT,
                               .until_ns = deadline_ns + SCOPE_SETTLE_MS * NS_PER_MS};
    (void)snprintf(unit.name, sizeof unit.name, "%s", name);
    ssize_t sent = os_send(scope->request.anchor_channel, &unit, sizeof unit);
    if (sent != (ssize_t)sizeof unit) {
        return cannot_tell(scope, sent, err);
    }
    return hear_word(scope, ANCHOR_READY, deadline_ns, err);
}

int scope_anchor_join(struct scope *scope, int cgroup_fd, struct err *err)
{
    const char order = ANCHOR_JOIN;
    const int folders[ANCHOR_FOLDERS] = {cgroup_fd, cgroup_fd};
    ssize_t sent = os_send_fds(scope->request.anchor_channel, &order, 1, folders, ANCHOR_FOLDERS);
    return sent == 1 ? 0 : cannot_tell(scope, sent, err);
}

int scope_anchor_joined(struct scope *scope, const char *where, struct err *err)
{
    struct anchor_joined joined;
    if (hear_anchor(scope, ANCHOR_JOINED, &joined, sizeof joined, scope->request.deadline_ns, err) <
        0) {
        return -1;
    }
    if (joined.result == 0) {
        return 0;
    }
    (void)err_sys(
        err, joined.result, "the anchor cannot go into '%s'%s", where,
        joined.result == -EACCES
            ? " (the cgroup.procs of the nearest cgroup above both must be writable: start "
              "berm beneath the cgroup that it is to use)"
            : "");
    err->code = ERR_UNAVAILABLE;
    return -1;
}

void scope_expect(const struct scope_offer *offer)
{
    struct err ignored = {0};
    if (offer->adapter == SCOPE_SYSTEMD_USER || offer->adapter == SCOPE_SYSTEMD_SYSTEM) {
        (void)!bus_load(&ignored); /* scope_begin() tries again, and tells */
    }
}

int scope_begin(const struct scope_request *request, struct scope **ret_scope, struct err *err)
{
    BUG_IF(request->offer->adapter == SCOPE_NONE);
    struct scope_limits limits;
    if (take_limits(request, &limits, err) < 0) {
        return -1;
    }
    with_scope scope = memory_new(sizeof *scope);
    scope->operations = request->offer->adapter == SCOPE_DELEGATED ? &scope_delegated_operations
                                                                   : &scope_systemd_operations;
    scope->offer = *request->offer;
    scope->request = *request;
    scope->request.offer = NULL;
    scope->request.name = NULL;
    scope->limits = limits;
    (void)snprintf(scope->name, sizeof scope->name, "%s", request->name);
    scope_watchdog_name(scope->name, scope->watchdog_name);
    (void)snprintf(scope->description, sizeof scope->description, "a run of berm");
    scope->patience = (struct patience){.who = request->patience};
    bool is_unit = scope->offer.adapter != SCOPE_DELEGATED; /* else nobody looks for its number */
    if (name_unit(scope, is_unit ? scope->name : "", request->deadline_ns, err) < 0 ||
        scope->operations->begin(scope, err) < 0) {
        return -1;
    }
    os_boundary(BOUNDARY_SCOPE_BEGUN);
    *ret_scope = scope;
    scope = NULL;
    return 0;
}

static int give_folders(struct scope *scope, struct err *err)
{
    const char order = ANCHOR_HOLD;
    const int folders[ANCHOR_FOLDERS] = {fd_num(&scope->leaf), fd_num(&scope->folder)};
    ssize_t sent = os_send_fds(scope->request.anchor_channel, &order, 1, folders, ANCHOR_FOLDERS);
    if (sent != 1) {
        return cannot_tell(scope, sent, err);
    }
    if (hear_word(scope, ANCHOR_HOLDS, scope->request.deadline_ns, err) < 0) {
        return -1;
    }
    scope->holds = true;
    return 0;
}

int scope_finish(struct scope *scope, struct err *err)
{
    if (scope->operations->join(scope, err) < 0 || scope_leaves_make(scope, err) < 0 ||
        scope_set_outer(scope, true, err) < 0 || give_folders(scope, err) < 0) {
        return -1;
    }
    if (patience_is_lost(&scope->patience)) {
        return err_set(err, ERR_CANCELLED, "asked to stop while %s was made", scope->name);
    }
    os_boundary(BOUNDARY_LEAF_READY);
    return 0;
}

int scope_verify(struct scope *scope, struct err *err)
{
    if (scope->operations->verify(scope, err) < 0) {
        return -1;
    }
    return patience_is_lost(&scope->patience)
               ? err_set(err, ERR_CANCELLED, "asked to stop while %s was made", scope->name)
               : 0;
}

/* Who stands outside of the tree that the caller may write, as in a login session, is moved by systemd. */
static int move_into_leaf(struct scope *scope, struct proc_identity who, struct err *err)
{
    int result = os_cgroup_move(fd_num(&scope->leaf), who.pid);
    if (result == -EACCES && scope->operations->fetch) {
        return scope->operations->fetch(scope, who, err);
    }
    return result < 0 ? err_sys(err, result, "cannot move process %d into '%s'", who.pid,
                                scope->leaf_cgroup)
                      : 0;
}

int scope_admit(struct scope *scope, struct proc_identity who, struct err *err)
{
    char seen[CGROUP_PATH_SIZE] = "";
    BUG_IF(!scope->holds);
    if (move_into_leaf(scope, who, err) < 0) {
        return -1;
    }
    int result = scope_cgroup_of(who, seen);
    if (result < 0) {
        return err_sys(err, result, "cannot see the cgroup of process %d", who.pid);
    }
    if (strcmp(seen, scope->leaf_cgroup) != 0) {
        return err_set(err, ERR_UNAVAILABLE, "process %d was moved into '%s' and is in '%s'",
                       who.pid, scope->leaf_cgroup, seen);
    }
    os_boundary(BOUNDARY_ADMITTED);
    return 0;
}

void scope_limits(const struct scope *scope, struct scope_limits *ret_limits)
{
    *ret_limits = scope->limits;
}

bool scope_watchdog_is_refused(const struct scope *scope)
{
    return scope->watchdog_unit.refused;
}

bool scope_has_no_end(const struct scope *scope)
{
    return scope->without_end;
}

enum scope_adapter scope_adapter(const struct scope *scope)
{
    return scope->offer.adapter;
}

const char *scope_unit(const struct scope *scope)
{
    return scope->name;
}

const char *scope_path(const struct scope *scope)
{
    return scope->path;
}

int scope_fd(const struct scope *scope)
{
    return fd_num(&scope->folder);
}

int scope_leaf_fd(const struct scope *scope)
{
    return fd_num(&scope->leaf);
}

int scope_parent_fd(const struct scope *scope)
{
    return fd_is_open(&scope->parent) ? fd_num(&scope->parent) : -1;
}

/* --- the end ------------------------------------------------------------------------------------ */

int scope_kill(const struct scope *scope)
{
    return os_cgroup_kill(fd_num(&scope->leaf));
}

const struct proof_leaf_empty *scope_leaf_empty(struct scope *scope, int *ret_result)
{
    int populated = os_cgroup_populated(fd_num(&scope->events[SCOPE_EVENT_FDS - 1]));
    bool gone = cgroup_is_gone(populated);
    scope->leaf_gone = scope->leaf_gone || gone;
    *ret_result = populated < 0 && !gone ? populated : 0;
    return populated == 0 || gone ? &leaf_is_empty : NULL;
}

static bool note(struct scope_removed *removed, const char *what, int result)
{
    const char *name = result < 0 ? strerrorname_np(-result) : NULL;
    (void)snprintf(removed->left, sizeof removed->left, "%s%s%s", what, name ? ": " : "",
                   name ? name : "");
    return false;
}

/* Removed by us or by systemd: either way it held nobody. */
static bool remove_folder(int parent_fd, const char *name, int *ret_result)
{
    *ret_result = os_cgroup_remove(parent_fd, name);
    return *ret_result == 0 || cgroup_is_gone(*ret_result);
}

static bool remove_leaf(struct scope *scope, struct scope_removed *removed)
{
    int result = 0;
    if (!scope->leaf_removed && fd_is_open(&scope->leaf)) {
        if (!remove_folder(fd_num(&scope->folder), ANCHOR_LEAF_NAME, &result)) {
            return note(removed, "the leaf", result);
        }
        os_boundary(BOUNDARY_LEAF_REMOVED);
    }
    scope->leaf_removed = true;
    removed->leaf = true;
    return true;
}

static bool release_anchor(struct scope *scope, int64_t deadline_ns, struct scope_removed *removed)
{
    const char order = ANCHOR_LEAVE;
    struct err ignored = {0};
    if (!scope->told_to_leave && scope->unit.refused &&
        name_unit(scope, "", deadline_ns, &ignored) < 0) {
        /* It does not know that nobody looks for its number any more, and leaves later. */
    }
    if (!scope->told_to_leave) {
        ssize_t sent = os_send(scope->request.anchor_channel, &order, sizeof order);
        scope->told_to_leave = sent == 1; /* else once more; when it has ended, its pidfd says so */
    }
    int ended = os_poll(scope->request.anchor_pidfd, POLLIN, 0);
    removed->anchor = ended > 0;
    return ended > 0 || note(removed, "the anchor", ended);
}

static bool folder_is_gone(const struct scope *scope)
{
    char text[16];
    return cgroup_is_gone(
        (int)os_cgroup_read(fd_num(&scope->folder), "cgroup.type", text, sizeof text));
}

static bool remove_scope(struct scope *scope, struct scope_removed *removed)
{
    int result = 0;
    if (fd_is_open(&scope->folder)) {
        if (fd_is_open(&scope->anchor_folder) &&
            !remove_folder(fd_num(&scope->folder), ANCHOR_OWN_LEAF_NAME, &result)) {
            return note(removed, "the anchor's leaf", result);
        }
        if (fd_is_open(&scope->parent) &&
            !remove_folder(fd_num(&scope->parent), scope->name, &result)) {
            return note(removed, "the scope's folder", result);
        }
        if (!folder_is_gone(scope)) {
            return note(removed, "the scope's folder", 0);
        }
    }
    removed->folder = true;
    return true;
}

static bool forget_unit(struct scope *scope, int64_t deadline_ns, struct scope_removed *removed)
{
    struct err err = {0};
    int known = scope->operations->forget(scope, deadline_ns, &err);
    if (known != 0) {
        (void)snprintf(removed->left, sizeof removed->left, "the unit%s%.150s",
                       err.msg[0] ? ": " : "", err.msg);
        return false;
    }
    removed->unit = true;
    return true;
}

void scope_remove(struct scope *scope, int64_t deadline_ns, struct scope_removed *ret_removed)
{
    enum { BETWEEN_LOOKS_MS = 2 }; /* nobody tells when a cgroup's folder goes */
    patience_renew(&scope->patience);
    for (;;) {
        *ret_removed = (struct scope_removed){0};
        if (!remove_leaf(scope, ret_removed)) {
            return; /* somebody is in it */
        }
        if (release_anchor(scope, deadline_ns, ret_removed) && remove_scope(scope, ret_removed) &&
            forget_unit(scope, deadline_ns, ret_removed)) {
            ret_removed->gone = &scope_is_gone;
            os_boundary(BOUNDARY_SCOPE_GONE);
            return;
        }
        if (os_clock_real.monotonic_ns() >= patience_until(&scope->patience, deadline_ns)) {
            return;
        }
        int waited = os_poll(-1, 0, BETWEEN_LOOKS_MS);
        if (waited < 0 && waited != -EINTR) {
            note(ret_removed, "nobody can wait", waited);
            return;
        }
    }
}

void scope_free(struct scope *scope)
{
    if (!scope) {
        return;
    }
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        fd_close(&scope->events[i]);
    }
    fd_close(&scope->pressure);
    fd_close(&scope->leaf);
    fd_close(&scope->anchor_folder);
    fd_close(&scope->folder);
    fd_close(&scope->parent);
    bus_close(scope->bus);
    memory_free(scope);
}
