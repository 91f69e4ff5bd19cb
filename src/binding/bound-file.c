#include "binding-priv.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "memory.h"

/* A change within the same tick of a filesystem's clock leaves its times as they were. The slowest
 * clock of a local filesystem ticks every 10 ms; network filesystems of whole seconds exist. */
static const int64_t YOUNG_NS = 2 * NS_PER_S;

static struct file_identity identity_of(const struct bfs_facts *facts)
{
    return (struct file_identity){
        .device = facts->device,
        .inode = facts->inode,
        .mode = facts->mode,
        .owner = facts->owner,
        .group = facts->group,
        .size_bytes = facts->size_bytes,
        .mtime_ns = facts->mtime_ns,
        .ctime_ns = facts->ctime_ns,
    };
}

static int cannot_open(const struct walk *walk, const struct err *failure, struct err *err)
{
    if (failure->sys == EACCES) {
        return err_set(err, ERR_REFUSED,
                       "'%s' (mode %04o, owner %u) may be executed but not read, so it cannot be "
                       "bound: chmod a+r it, or run a copy",
                       walk->canonical, walk->facts.mode & 07777u, walk->facts.owner);
    }
    if (err) {
        *err = *failure;
    }
    return -1;
}

static int open_and_hash(struct bound_file *bound, struct err *err)
{
    const struct walk *walk = &bound->found.walk;
    const struct bfs_rule rule = {.maximum_bytes = INT64_MAX, .allow_links = true};
    struct err failure = {0};
    if (bfs_file_open_fd(fd_num(&walk->target), walk->canonical, &rule, &bound->file, &failure) <
        0) {
        return cannot_open(walk, &failure, err);
    }
    if (!bfs_facts_equal(&bound->file.facts, &walk->facts)) {
        return err_set(err, ERR_CHANGED, "'%s' changed while it was looked at", walk->canonical);
    }
    bound->identity = identity_of(&bound->file.facts);
    bound->young = os_clock_real.realtime_ns() - bound->identity.ctime_ns < YOUNG_NS;
    if (bfs_file_hash(&bound->file, bound->identity.sha256, err) < 0) {
        return err_wrap(err, "hash '%s'", walk->canonical);
    }
    return 0;
}

int bound_file_make(const struct binding_request *request, enum binding_policy policy,
                    const char *name, struct bound_file *ret_bound, struct err *err)
{
    with_bound_file bound = {.name = memory_copy_string(name)};
    if (search_find(request, name, &bound.found, err) < 0 ||
        policy_decide(request, policy, &bound.found.walk, &bound.decision, err) < 0 ||
        open_and_hash(&bound, err) < 0 ||
        policy_decide_open(request, bfs_file_fd(&bound.file), &bound.found.walk, &bound.decision,
                           err) < 0) {
        return -1;
    }
    fd_close(&bound.found.walk.target);
    *ret_bound = bound;
    bound = (struct bound_file){0};
    return 0;
}

/* The path is asked as well: the interpreter of a script opens it, and a file that was replaced is
 * not the one that was planned even though its old bytes could still be run. */
static int recheck_path(const struct bound_file *bound, struct err *err)
{
    const char *path = bound->found.walk.canonical;
    struct walk_start start = {-1, "/"};
    with_walk now = {0};
    if (walk_to(&start, path, &now) < 0 || strcmp(now.canonical, path) != 0 ||
        !bfs_facts_same_inode(&now.facts, &bound->file.facts)) {
        return err_set(err, ERR_CHANGED, "'%s' is no longer the file that was bound", path);
    }
    return 0;
}

int bound_file_recheck(const struct bound_file *bound, struct err *err)
{
    struct bfs_facts now;
    const char *path = bound->found.walk.canonical;
    if (bfs_facts_of(bfs_file_fd(&bound->file), &now, err) < 0) {
        return -1;
    }
    if (!bfs_facts_equal(&now, &bound->file.facts)) {
        return err_set(err, ERR_CHANGED, "'%s' was changed after it was bound", path);
    }
    if (recheck_path(bound, err) < 0) {
        return -1;
    }
    if (!bound->young) {
        return 0;
    }
    char sha256[HASH_HEX_SIZE];
    if (bfs_file_hash(&bound->file, sha256, err) < 0) {
        return err_wrap(err, "hash '%s' again", path);
    }
    if (strcmp(sha256, bound->identity.sha256) != 0) {
        return err_set(err, ERR_CHANGED, "the content of '%s' was changed after it was bound",
                       path);
    }
    return 0;
}

void bound_file_done(struct bound_file *bound)
{
    if (!bound) {
        return;
    }
    memory_free(bound->name);
    found_done(&bound->found);
    decision_done(&bound->decision);
    bfs_file_done(&bound->file);
    *bound = (struct bound_file){0};
}
