#include "binding-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"
#include "text.h"

/* How good a candidate is; the best reason for a failure is remembered. */
enum verdict { RUNS, MISSING, CANNOT_RUN, BROKEN };

struct attempt {
    enum verdict verdict;
    const char *why; /* CANNOT_RUN */
    int error;       /* BROKEN: the errno, negative */
};

/* X_OK of the very inode, for the effective user; noexec mounts count. */
static bool may_execute(int path_fd)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
    return os_faccessat(AT_FDCWD, path, X_OK) == 0;
}

static struct attempt attempt_of_error(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -ENAMETOOLONG:
        return (struct attempt){.verdict = MISSING};
    case -EACCES:
        return (struct attempt){CANNOT_RUN, "a directory on the way may not be searched", 0};
    case -ESTALE:
        return (struct attempt){CANNOT_RUN, "the working directory was moved or replaced", 0};
    case -ELOOP:
        return (struct attempt){CANNOT_RUN, "too many symbolic links lead to it", 0};
    default:
        return (struct attempt){BROKEN, NULL, error};
    }
}

static struct attempt try_candidate(const struct binding_request *request, const char *path,
                                    struct walk *walk)
{
    struct walk_start start = {request->cwd_fd, request->cwd_path};
    int error = walk_to(&start, path, walk);
    if (error < 0) {
        return attempt_of_error(error);
    }
    if (S_ISDIR(walk->facts.mode)) {
        return (struct attempt){CANNOT_RUN, "it is a directory", 0};
    }
    if (!S_ISREG(walk->facts.mode)) {
        return (struct attempt){CANNOT_RUN, "it is not a regular file", 0};
    }
    if (!may_execute(fd_num(&walk->target))) {
        return (struct attempt){CANNOT_RUN,
                                "it has no execute permission for this user, or its filesystem "
                                "allows none",
                                0};
    }
    return (struct attempt){.verdict = RUNS};
}

static char *make_absolute(const struct binding_request *request, const char *path)
{
    if (path[0] == '/') {
        return memory_copy_string(path);
    }
    bool dot_slash = path[0] == '.' && path[1] == '/';
    bool at_root = strcmp(request->cwd_path, "/") == 0;
    return memory_format("%s/%s", at_root ? "" : request->cwd_path, dot_slash ? path + 2 : path);
}

static int find_explicit(const struct binding_request *request, const char *name,
                         struct found *found, struct err *err)
{
    struct attempt attempt = try_candidate(request, name, &found->walk);
    switch (attempt.verdict) {
    case RUNS:
        break;
    case MISSING:
        return err_set(err, ERR_NOT_FOUND, "'%s' is not there", name);
    case CANNOT_RUN:
        return err_set(err, ERR_NOT_EXECUTABLE, "'%s' cannot be executed: %s", name, attempt.why);
    case BROKEN:
    default:
        return err_sys(err, attempt.error, "find '%s'", name);
    }
    found->origin = ORIGIN_EXPLICIT_PATH;
    found->exec_path = memory_copy_string(name);
    found->invocation = make_absolute(request, name);
    return 0;
}

/* ELEMENT/NAME; an empty element is the working directory, written so that a script's name cannot
 * be taken for an option or be searched again. */
static char *join(struct span element, const char *name)
{
    if (element.n == 0) {
        return memory_format("./%s", name);
    }
    bool slash = element.p[element.n - 1] == '/';
    return memory_format("%.*s%s%s", (int)element.n, element.p, slash ? "" : "/", name);
}

/* Most elements of PATH do not hold the name: one question, and no walk that looks at every folder on
 * the way. Whatever else the answer is, the walk says what it means. */
static bool is_absent(const struct binding_request *request, const char *candidate)
{
    struct stat stat;
    int result = os_stat_entry(candidate[0] == '/' ? AT_FDCWD : request->cwd_fd, candidate, &stat);
    return result == -ENOENT || result == -ENOTDIR;
}

static int find_on_path(const struct binding_request *request, const char *name,
                        struct found *found, struct err *err)
{
    const char *path = text_variable(request->environment, "PATH");
    if (!path) {
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' cannot be searched for: the environment of the command has no PATH",
                       name);
    }
    with_string refused = NULL; /* the first candidate that is there and cannot be run */
    const char *why = NULL;
    for (const char *element = path, *end;; element = end + 1) {
        end = strchrnul(element, ':');
        struct span span = span_of(element, (size_t)(end - element));
        with_string candidate = join(span, name);
        with_walk walk = {0};
        struct attempt attempt = is_absent(request, candidate)
                                     ? (struct attempt){.verdict = MISSING}
                                     : try_candidate(request, candidate, &walk);
        if (attempt.verdict == BROKEN) {
            return err_sys(err, attempt.error, "search for '%s'", candidate);
        }
        if (attempt.verdict == RUNS) {
            found->walk = walk;
            walk = (struct walk){0};
            found->origin = ORIGIN_PATH_SEARCH;
            found->invocation = make_absolute(request, candidate);
            found->exec_path = memory_copy_string(candidate);
            with_string entry = memory_format("%.*s", (int)span.n, span.p);
            found->matched_entry =
                span.n ? make_absolute(request, entry) : memory_copy_string(request->cwd_path);
            return 0;
        }
        if (attempt.verdict == CANNOT_RUN && !refused) {
            refused = memory_copy_string(candidate);
            why = attempt.why;
        }
        if (*end == '\0') {
            break;
        }
    }
    return refused ? err_set(err, ERR_NOT_EXECUTABLE, "'%s' cannot be executed: %s", refused, why)
                   : err_set(err, ERR_NOT_FOUND, "'%s' is in no directory of PATH", name);
}

int search_find(const struct binding_request *request, const char *name, struct found *ret_found,
                struct err *err)
{
    with_found found = {0};
    if (name[0] == '\0') {
        return err_set(err, ERR_NOT_FOUND, "an empty name names no command");
    }
    int result = strchr(name, '/') ? find_explicit(request, name, &found, err)
                                   : find_on_path(request, name, &found, err);
    if (result < 0) {
        return -1;
    }
    *ret_found = found;
    found = (struct found){0};
    return 0;
}

void found_done(struct found *found)
{
    if (!found) {
        return;
    }
    walk_done(&found->walk);
    memory_free(found->exec_path);
    memory_free(found->invocation);
    memory_free(found->matched_entry);
    *found = (struct found){0};
}
