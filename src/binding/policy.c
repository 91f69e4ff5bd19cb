#include "binding-priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"
#include "path.h"
#include "process.h"

static const char *const names[] = {
    [POLICY_TRUSTED_HOST_TOOL] = "trusted_host_tool",
    [POLICY_PROJECT_BOUND] = "project_bound",
    [POLICY_MANAGED_TOOL] = "managed_tool",
    [POLICY_EXACT_PATH] = "exact_path",
};

const char *policy_name(enum binding_policy policy)
{
    return names[policy];
}

int policy_weakness(const struct binding_request *request, struct decision *decision,
                    struct err *err, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!request->own_authority) {
        return err_set(err, ERR_REFUSED, "%s", text);
    }
    for (size_t i = 0; i < decision->weaknesses.count; i++) {
        if (strcmp(decision->weaknesses.strings[i], text) == 0) {
            return 0;
        }
    }
    strvec_push(&decision->weaknesses, text);
    return 0;
}

static bool is_foreign(const struct bfs_facts *facts)
{
    return bfs_writers_of(facts) == BFS_WRITERS_FOREIGN;
}

static int judge_place(const struct binding_request *request, const struct walk_place *place,
                       struct decision *decision, struct err *err)
{
    const struct bfs_facts *facts = &place->facts;
    uint32_t mode = facts->mode & 07777u;
    bool sticky = facts->mode & S_ISVTX;
    if ((facts->mode & S_IWOTH) && !sticky) {
        return err_set(
            err, ERR_REFUSED,
            "directory '%s' (mode %04o, owner %u) on the way can be written by everybody: "
            "chmod o-w '%s', or run a copy from elsewhere",
            place->path, mode, facts->owner, place->path);
    }
    if (is_foreign(facts) &&
        policy_weakness(
            request, decision, err,
            "directory '%s' (mode %04o, owner %u) on the way belongs to neither root nor "
            "you: run a copy from a directory of yours",
            place->path, mode, facts->owner) < 0) {
        return -1;
    }
    if ((facts->mode & S_IWGRP) && !sticky) {
        return policy_weakness(request, decision, err,
                               "directory '%s' (mode %04o, owner %u, group %u) on the way can be "
                               "written by its group: chmod g-w '%s'",
                               place->path, mode, facts->owner, facts->group, place->path);
    }
    return 0;
}

static int judge_file(const struct binding_request *request, const struct walk *walk,
                      struct decision *decision, struct err *err)
{
    const struct bfs_facts *facts = &walk->facts;
    uint32_t mode = facts->mode & 07777u;
    if (facts->mode & (S_ISUID | S_ISGID)) {
        return err_set(
            err, ERR_REFUSED,
            "'%s' (mode %04o, owner %u) is a set-id program, which berm could not end: run "
            "berm itself as the user that is meant, with the plain program",
            walk->canonical, mode, facts->owner);
    }
    if (facts->mode & S_IWOTH) {
        return err_set(err, ERR_REFUSED,
                       "'%s' (mode %04o, owner %u) can be written by everybody: chmod o-w '%s'",
                       walk->canonical, mode, facts->owner, walk->canonical);
    }
    if (is_foreign(facts) &&
        policy_weakness(request, decision, err,
                        "'%s' (mode %04o, owner %u) belongs to neither root nor you: run a copy of "
                        "yours",
                        walk->canonical, mode, facts->owner) < 0) {
        return -1;
    }
    if (facts->mode & S_IWGRP) {
        return policy_weakness(request, decision, err,
                               "'%s' (mode %04o, owner %u, group %u) can be written by its group: "
                               "chmod g-w '%s'",
                               walk->canonical, mode, facts->owner, facts->group, walk->canonical);
    }
    return 0;
}

/* The root itself by identity, the file beneath it by the physical path that was just walked. */
static int match_root(const struct binding_request *request, const char *root,
                      const struct walk *walk, bool *ret_matches, struct err *err)
{
    struct walk_start start = {request->cwd_fd, request->cwd_path};
    with_walk there = {0};
    if (root[0] != '/') {
        return err_set(err, ERR_USAGE, "the trusted root '%s' is not absolute", root);
    }
    int error = walk_to(&start, root, &there);
    *ret_matches = false;
    if (error == -ENOENT || error == -ENOTDIR) {
        return 0;
    }
    if (error < 0) {
        return err_sys(err, error, "find the trusted root '%s'", root);
    }
    *ret_matches = S_ISDIR(there.facts.mode) ? path_is_beneath(walk->canonical, there.canonical)
                                             : bfs_facts_same_inode(&there.facts, &walk->facts);
    return 0;
}

static int judge_roots(const struct binding_request *request, const struct walk *walk,
                       struct decision *decision, struct err *err)
{
    for (const char *const *root = request->roots; root && *root; root++) {
        bool matches = false;
        if (match_root(request, *root, walk, &matches, err) < 0) {
            return -1;
        }
        if (matches) {
            decision->matched_root = memory_copy_string(*root);
            return 0;
        }
    }
    return err_set(err, ERR_REFUSED, "'%s' lies beneath none of the roots of policy %s",
                   walk->canonical, policy_name(decision->policy));
}

int policy_decide(const struct binding_request *request, enum binding_policy policy,
                  const struct walk *walk, struct decision *ret_decision, struct err *err)
{
    cleanup(decision_done) struct decision decision = {.policy = policy};
    if (policy != POLICY_TRUSTED_HOST_TOOL && judge_roots(request, walk, &decision, err) < 0) {
        return -1;
    }
    if (judge_file(request, walk, &decision, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < walk->place_count; i++) {
        if (judge_place(request, &walk->places[i], &decision, err) < 0) {
            return -1;
        }
    }
    *ret_decision = decision;
    decision = (struct decision){0};
    return 0;
}

int policy_decide_open(const struct binding_request *request, int fd, const struct walk *walk,
                       struct decision *decision, struct err *err)
{
    char value[64]; /* any version of the attribute is shorter; only its presence counts */
    ssize_t length = os_fgetxattr(fd, "security.capability", value, sizeof value);
    if (length == -ENODATA || length == -EOPNOTSUPP) {
        return 0;
    }
    if (length < 0 && length != -ERANGE) {
        return err_sys(err, (int)length, "ask for the capabilities of '%s'", walk->canonical);
    }
    return policy_weakness(
        request, decision, err,
        "'%s' (mode %04o, owner %u) has file capabilities: run a copy, which has "
        "none",
        walk->canonical, walk->facts.mode & 07777u, walk->facts.owner);
}

void decision_done(struct decision *decision)
{
    if (!decision) {
        return;
    }
    memory_free(decision->matched_root);
    strvec_done(&decision->weaknesses);
    *decision = (struct decision){0};
}
