/* Folders that the payload may write, and what stays closed in them (SB-4). */
#include "sandbox-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

/* Whether a root would open what must stay closed (SB-4). */
static const char *why_not_writable(const struct sandbox_request *request, const char *path)
{
    static const char *const never[] = {"/run", "/dev", "/proc", "/sys", "/boot"};
    static const char *const above[] = {"/tmp",  "/var/tmp", "/run", "/dev",
                                        "/proc", "/sys",     "/usr"};
    for (size_t i = 0; i < countof(never); i++) {
        if (path_is_beneath(path, never[i]) && !path_is_temporary(path)) {
            return "runtime and device folders are never writable";
        }
    }
    for (size_t i = 0; i < countof(above); i++) {
        if (path_is_beneath(above[i], path)) {
            return "it holds the system, or the private folders, as a whole";
        }
    }
    if (request->state_dir && path_is_beneath(path, request->state_dir)) {
        return "it is a part of berm's own state";
    }
    if (strstr(path, "/.git/") || strstr(path, "/.berm/")) {
        return "it lies in .git or .berm, which stay closed";
    }
    size_t n = strlen(path);
    if ((n >= 5 && strcmp(path + n - 5, "/.git") == 0) ||
        (n >= 6 && strcmp(path + n - 6, "/.berm") == 0)) {
        return ".git and .berm stay closed";
    }
    return NULL;
}

static bool has_rule(const struct sandbox *sandbox, enum launch_kind kind, const char *path)
{
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        if (sandbox->rules[i].kind == kind && strcmp(sandbox->rules[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

static void add_once(struct sandbox *sandbox, enum launch_kind kind, const char *path,
                     const struct stat *stat, const char *origin)
{
    if (!has_rule(sandbox, kind, path)) {
        sandbox_add_rule(sandbox, kind, path, stat, origin);
    }
}

/* Nobody in the sandbox can rename a mount point: the folders from the root down to what is closed
 * are made such, or the closed one could be moved away and another be put in its place. */
void roots_pin_down_to(struct sandbox *sandbox, const char *root, const char *path)
{
    if (strlen(path) <= strlen(root)) {
        return; /* the root itself, which is a mount point */
    }
    with_string step = memory_copy_string(path);
    for (char *slash = step + strlen(root); (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        add_once(sandbox, LAUNCH_PIN, step, NULL, "the way to what is closed");
        *slash = '/';
    }
}

char *path_in_root(const struct writable_root *root, const char *path)
{
    struct stat wanted;
    if (!path || os_fstat(fd_num(&root->fd), &wanted) < 0) {
        return NULL;
    }
    with_string above = memory_copy_string(path);
    for (size_t cut = strlen(path); cut > 0;) {
        struct stat stat;
        above[cut] = '\0';
        if (os_stat_entry(AT_FDCWD, above, &stat) == 0 && stat.st_dev == wanted.st_dev &&
            stat.st_ino == wanted.st_ino) {
            return memory_format("%s%s", root->path, path + cut);
        }
        const char *slash = strrchr(above, '/');
        cut = slash ? (size_t)(slash - above) : 0;
    }
    return NULL;
}

/* In every root that it lies in: what is at the top of one may be deep in another. */
void roots_close_place(struct sandbox *sandbox, enum launch_kind kind, const char *path,
                       const struct stat *stat, const char *origin)
{
    for (size_t i = 0; i < sandbox->root_count; i++) {
        const struct writable_root *root = &sandbox->roots[i];
        with_string within = path_in_root(root, path);
        if (within) {
            roots_pin_down_to(sandbox, root->path, within);
            add_once(sandbox, kind, within, stat, origin);
        }
    }
}

static void close_entry(struct sandbox *sandbox, const struct writable_root *root, const char *name,
                        bool *ret_had, const char *origin)
{
    struct stat stat;
    *ret_had = sandbox_has_entry(fd_num(&root->fd), name, &stat);
    if (!*ret_had) {
        return;
    }
    with_string path = memory_format("%s/%s", root->path, name);
    /* A link could be replaced, so it is covered itself: what it leads to is then not to be had. */
    bool is_link = S_ISLNK(stat.st_mode);
    roots_close_place(sandbox, is_link ? LAUNCH_MASK : LAUNCH_CLOSE, path, is_link ? &stat : NULL,
                      origin);
}

/* Whoever can write its folder can replace a report (RS-1). */
static void refuse_report(const struct sandbox_request *request, const struct writable_root *root,
                          struct checks *checks)
{
    if (!request->report) {
        return;
    }
    const char *slash = strrchr(request->report, '/');
    with_string folder =
        slash == request->report ? memory_copy_string("/")
        : slash ? memory_format("%.*s", (int)(slash - request->report), request->report)
                : memory_copy_string(".");
    with_host_path parent = {0};
    if (host_path_open(AT_FDCWD, folder, &parent) < 0) {
        return; /* then it cannot be written either, which is told elsewhere */
    }
    with_string within = path_in_root(root, parent.path);
    if (within) {
        sandbox_refuse(
            checks, CHECK_ROOTS,
            memory_format("the report would lie in '%s', which the payload may write", root->path),
            request->report, "give --report a folder outside, or open a smaller one");
    }
}

void roots_close(const struct sandbox_request *request, struct sandbox *sandbox,
                 struct writable_root *root, struct checks *checks)
{
    close_entry(sandbox, root, ".git", &root->had_git, "hooks and configuration of a repository");
    close_entry(sandbox, root, ".berm", &root->had_berm, "the project's evidence");
    git_close_way(sandbox, root, checks);
    git_close_ways_from_above(sandbox, root, checks);
    with_host_path evidence = {0};
    (void)git_close_led(sandbox, root, ".berm", "the project's evidence", checks, &evidence);
    if (request->state_dir) {
        roots_close_place(sandbox, LAUNCH_MASK, request->state_dir, NULL, "berm's own state");
    }
    if (has_rule(sandbox, LAUNCH_CLOSE, root->path)) {
        sandbox_refuse(checks, CHECK_ROOTS,
                       memory_format("--writable '%s' is not possible", root->path),
                       "a .git or .berm leads to it, and what it leads to is closed",
                       "give a folder below it");
    }
    refuse_report(request, root, checks);
}

void roots_plan(const struct sandbox_request *request, struct sandbox *sandbox, const char *wanted,
                struct checks *checks)
{
    with_host_path place = {0};
    int result = host_path_open(request->cwd_fd, wanted, &place);
    result = result == 0 && !S_ISDIR(place.stat.st_mode) ? -ENOTDIR : result;
    if (result < 0) {
        struct err err = {0};
        (void)err_sys(&err, result, "--writable '%s'", wanted);
        sandbox_refuse(checks, CHECK_ROOTS, memory_copy_string(err.msg), "",
                       "make the folder first; berm creates nothing in it");
        return;
    }
    const char *why = why_not_writable(request, place.path);
    if (why) {
        sandbox_refuse(checks, CHECK_ROOTS,
                       memory_format("--writable '%s' is not possible", place.path), why,
                       "give a folder below it");
        return;
    }
    if (sandbox->root_count == ROOTS_MAX) {
        with_string count = memory_format("at most %d folders can be opened", ROOTS_MAX);
        sandbox_refuse(checks, CHECK_ROOTS,
                       memory_format("--writable '%s' is one too many", place.path), count,
                       "give one folder that holds several of them");
        return;
    }
    sandbox_show(sandbox, &place, true, "--writable");
    struct writable_root *root = &sandbox->roots[sandbox->root_count++];
    *root =
        (struct writable_root){.fd = fd_take(&place.fd), .path = memory_copy_string(place.path)};
}

void sandbox_look_back(const struct sandbox *sandbox, struct strvec *notes)
{
    if (sandbox->host_network && sandbox->home_is_open) {
        strvec_push(notes,
                    "home and network were both open: what it read there it could send away");
    }
    if (!sandbox->gpu_shown && sandbox->gpu.count > 0) {
        strvec_push_format(notes, "it saw no GPU: '%s' was hidden; --gpu shows it",
                           sandbox->gpu.strings[0]);
    }
    for (size_t i = 0; i < sandbox->root_count; i++) {
        const struct writable_root *root = &sandbox->roots[i];
        const struct {
            const char *name;
            bool had;
        } entries[] = {{".git", root->had_git}, {".berm", root->had_berm}};
        for (size_t j = 0; j < countof(entries); j++) {
            struct stat stat;
            if (!entries[j].had && sandbox_has_entry(fd_num(&root->fd), entries[j].name, &stat)) {
                strvec_push_format(notes,
                                   "the payload made '%s/%s': look into it before anything trusts "
                                   "what it says",
                                   root->path, entries[j].name);
            }
        }
    }
}

/* --- places of the payload ---------------------------------------------------------------------- */

/* Every component is a name, and none is closed. */
static bool is_plain(const char *rest, bool git_may_be)
{
    while (*rest) {
        size_t n = strcspn(rest, "/");
        bool dots = (n == 1 && rest[0] == '.') || (n == 2 && memcmp(rest, "..", 2) == 0);
        bool closed =
            (n == 4 && memcmp(rest, ".git", 4) == 0) || (n == 5 && memcmp(rest, ".berm", 5) == 0);
        if (n == 0 || dots || (closed && !git_may_be)) {
            return false;
        }
        rest += n;
        rest += rest[0] == '/' && rest[1] != '\0';
    }
    return true;
}

bool roots_hold_closed(const struct sandbox *sandbox, const char *path)
{
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        const struct sandbox_rule *rule = &sandbox->rules[i];
        bool closes = rule->kind == LAUNCH_CLOSE || rule->kind == LAUNCH_MASK;
        if (closes && path_is_beneath(path, rule->path)) {
            return true;
        }
    }
    return false;
}

static const char *rest_of(const char *path, const char *root)
{
    const char *rest = path + strlen(root);
    return rest[0] == '/' ? rest + 1 : rest;
}

enum sandbox_place sandbox_place_of(const struct sandbox *sandbox, const char *path, int *ret_fd,
                                    const char **ret_rest)
{
    const struct writable_root *root = NULL;
    for (size_t i = 0; i < sandbox->root_count; i++) {
        const struct writable_root *at = &sandbox->roots[i];
        bool deeper = !root || strlen(at->path) > strlen(root->path);
        root = path_is_beneath(path, at->path) && deeper ? at : root;
    }
    const char *top = root ? root->path : "/tmp";
    if ((!root && !path_is_beneath(path, top)) || !is_plain(rest_of(path, top), !root) ||
        roots_hold_closed(sandbox, path)) {
        return SANDBOX_NOWHERE;
    }
    *ret_rest = rest_of(path, top);
    const struct fd *fd = root ? &root->fd : &sandbox->private_dirs[PRIVATE_TMP];
    *ret_fd = fd_is_open(fd) ? fd_num(fd) : -1;
    return root ? SANDBOX_WRITABLE_PLACE : SANDBOX_PRIVATE_PLACE;
}

bool sandbox_writes_only(const struct sandbox *sandbox, uint64_t device, uint64_t inode)
{
    struct stat stat;
    return sandbox->root_count == 1 && os_fstat(fd_num(&sandbox->roots[0].fd), &stat) == 0 &&
           stat.st_dev == device && stat.st_ino == inode;
}
