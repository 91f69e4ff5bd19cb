/* binding-priv.h
 *
 * What the files of binding/ share: one bound file, and the steps that make one.
 *
 *   search (the request's name → a walk to a file)  →  policy (may it be run?)  →  bound file (open,
 *   hash)  →  script (is there an interpreter to go on with?)
 */
#pragma once

#include "bfs.h"
#include "binding.h"
#include "shebang.h"
#include "strvec.h"
#include "walk-priv.h"

enum { BINDING_FILES_MAX = 6 }; /* the target and at most five interpreters */

enum origin { ORIGIN_EXPLICIT_PATH, ORIGIN_PATH_SEARCH };

/* --- search: the only walk over PATH in berm (EX-3) --------------------------------------------- */

struct found {
    struct walk walk;
    enum origin origin;
    char *exec_path;     /* as execve(2) would be given it: what a script sees as its $0 */
    char *invocation;    /* the same, absolute; links not resolved */
    char *matched_entry; /* the element of PATH, absolute; NULL for an explicit path */
};
/* An executable regular file. ERR_NOT_FOUND, ERR_NOT_EXECUTABLE, ERR_SYS. */
int search_find(const struct binding_request *request, const char *name, struct found *ret_found,
                struct err *err) must_check;
void found_done(struct found *found);
#define with_found cleanup(found_done) struct found

/* --- policy ------------------------------------------------------------------------------------- */

struct decision {
    enum binding_policy policy;
    char *matched_root;       /* NULL: none was asked for */
    struct strvec weaknesses; /* what a stricter policy would refuse */
};
/* ERR_REFUSED names the place, its mode and owner, and what would help. */
int policy_decide(const struct binding_request *request, enum binding_policy policy,
                  const struct walk *walk, struct decision *ret_decision,
                  struct err *err) must_check;
/* The rules that need the file open: capabilities that it would give. */
int policy_decide_open(const struct binding_request *request, int fd, const struct walk *walk,
                       struct decision *decision, struct err *err) must_check;
/* A weakness is allowed to a person's own authority and refused otherwise. */
int policy_weakness(const struct binding_request *request, struct decision *decision,
                    struct err *err, const char *format, ...) must_check printf_like(4, 5);
const char *policy_name(enum binding_policy policy);
void decision_done(struct decision *decision);

/* --- one bound file ----------------------------------------------------------------------------- */

struct bound_file {
    char *name;         /* as it was asked for: the request's, or the words of the #! line */
    struct found found; /* its walk holds no descriptor any more */
    struct decision decision;
    struct bfs_file file;
    struct file_identity identity;
    bool
        young; /* changed so shortly before it was hashed that its times cannot tell a later change */
};
int bound_file_make(const struct binding_request *request, enum binding_policy policy,
                    const char *name, struct bound_file *ret_bound, struct err *err) must_check;
/* ERR_CHANGED unless descriptor and canonical path still hold what was hashed. */
int bound_file_recheck(const struct bound_file *bound, struct err *err) must_check;
void bound_file_done(struct bound_file *bound);
#define with_bound_file cleanup(bound_file_done) struct bound_file

struct binding {
    struct bound_file files[BINDING_FILES_MAX]; /* the target, then its interpreters in order */
    size_t file_count;
    struct strvec argv;
};
