/* Folders that the payload may write, and what stays closed in them (SB-4). */
#include "sandbox-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
static void pin_down_to(struct sandbox *sandbox, const char *root, const char *path)
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
static void close_place(struct sandbox *sandbox, enum launch_kind kind, const char *path,
                        const struct stat *stat, const char *origin)
{
    for (size_t i = 0; i < sandbox->root_count; i++) {
        const struct writable_root *root = &sandbox->roots[i];
        with_string within = path_in_root(root, path);
        if (within) {
            pin_down_to(sandbox, root->path, within);
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
    close_place(sandbox, is_link ? LAUNCH_MASK : LAUNCH_CLOSE, path, is_link ? &stat : NULL,
                origin);
}

/* The one line of a file of git's that names a folder, behind `key`; of the file that was looked at. */
static bool read_line(const struct host_path *file, const char *key, char *line, size_t size)
{
    char held[32];
    (void)snprintf(held, sizeof held, "/proc/self/fd/%d", fd_num(&file->fd));
    with_fd fd =
        fd_adopt(S_ISREG(file->stat.st_mode) ? os_openat(AT_FDCWD, held, O_RDONLY, 0) : -ENOENT);
    ssize_t got = fd_is_open(&fd) ? os_read(fd_num(&fd), line, size - 1) : fd_error(&fd);
    size_t skipped = strlen(key);
    if (got < (ssize_t)skipped || memcmp(line, key, skipped) != 0) {
        return false;
    }
    line[got] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    memmove(line, line + skipped, strlen(line + skipped) + 1);
    return true;
}

/* By whatever name: a repository may have its folder anywhere in a root. */
static bool is_closed(const struct sandbox *sandbox, const char *path)
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

/* By its own .git, or by what was closed so far. */
static bool stays_closed(const struct sandbox *sandbox, const struct writable_root *root,
                         const char *within)
{
    with_string git = memory_format("%s/.git", root->path);
    return path_is_beneath(within, git) || is_closed(sandbox, within);
}

/* The payload could make what is not there yet, where nothing can be closed. */
static void refuse_missing(const struct sandbox *sandbox, const char *folder, const struct way *way,
                           struct checks *checks)
{
    for (size_t i = 0; i < sandbox->root_count; i++) {
        const struct writable_root *root = &sandbox->roots[i];
        with_string within = path_in_root(root, way->nearest);
        with_string saw = memory_format("a .git, .berm or commondir in '%s' leads to '%s', which "
                                        "is not there: the payload could make it",
                                        folder, way->missing);
        if (within && !stays_closed(sandbox, root, within)) {
            sandbox_refuse(checks, CHECK_ROOTS,
                           memory_format("'%s' cannot be writable", root->path), saw,
                           "make it, or remove what names it");
        }
    }
}

/* Of the way to what is closed nothing that lies in a root can be put in another's place. */
static void close_way(struct sandbox *sandbox, const struct way *way, const char *origin)
{
    for (size_t i = 0; i < way->folders.count; i++) {
        with_string inside = memory_format("%s/.", way->folders.strings[i]);
        for (size_t j = 0; j < sandbox->root_count; j++) {
            const struct writable_root *root = &sandbox->roots[j];
            with_string within = path_in_root(root, inside);
            if (within) {
                pin_down_to(sandbox, root->path, within);
            }
        }
    }
    for (size_t i = 0; i < way->links.count; i++) {
        struct stat stat;
        const char *path = way->links.strings[i];
        if (os_stat_entry(AT_FDCWD, path, &stat) == 0 && S_ISLNK(stat.st_mode)) {
            close_place(sandbox, LAUNCH_MASK, path, &stat, origin);
        }
    }
}

/* What a name in a folder leads to, through links, wherever that lies in a root. */
static int close_target(struct sandbox *sandbox, const struct writable_root *folder,
                        const char *name, const char *origin, struct checks *checks,
                        struct host_path *ret_place)
{
    with_way way = {0};
    way_follow(fd_num(&folder->fd), name, &way);
    close_way(sandbox, &way, origin);
    if (way.missing) {
        refuse_missing(sandbox, folder->path, &way, checks);
    }
    int result = host_path_open(fd_num(&folder->fd), name, ret_place);
    if (result == 0) {
        close_place(sandbox, LAUNCH_CLOSE, ret_place->path, NULL, origin);
    }
    return result;
}

/* The same of an entry, which need not be there. */
static int close_led(struct sandbox *sandbox, const struct writable_root *folder, const char *name,
                     const char *origin, struct checks *checks, struct host_path *ret_place)
{
    struct stat stat;
    return sandbox_has_entry(fd_num(&folder->fd), name, &stat)
               ? close_target(sandbox, folder, name, origin, checks, ret_place)
               : -ENOENT;
}

/* What git itself has in its folder. Source: gitrepository-layout(5). */
static bool is_part_of_git(const char *path, const char *git)
{
    static const char *const parts[] = {"branches", "hooks", "info",    "logs",     "modules",
                                        "objects",  "refs",  "remotes", "worktrees"};
    for (size_t i = 0; i < countof(parts); i++) {
        with_string part = memory_format("%s/%s", git, parts[i]);
        if (path_is_beneath(path, part)) {
            return true;
        }
    }
    return false;
}

/* A part of git's folder under another name: what would be closed is above it. In a bare repository there may be
 * worktrees as well: `holder`, whose .git led there, is one. */
static void refuse_within(const struct sandbox *sandbox, const char *git, const char *holder,
                          struct checks *checks)
{
    bool is_around = path_is_beneath(holder, git) && strcmp(holder, git) != 0;
    for (size_t i = 0; i < sandbox->root_count; i++) {
        const char *path = sandbox->roots[i].path;
        bool is_apart = is_around && (path_is_beneath(path, holder) || !is_part_of_git(path, git));
        if (path_is_beneath(path, git) && strcmp(path, git) != 0 && !is_apart) {
            sandbox_refuse(checks, CHECK_ROOTS, memory_format("'%s' cannot be writable", path), git,
                           "that is a folder of git's, which stays closed: give another");
        }
    }
}

/* Outside, git goes on from .git: through a link, through a file that names a folder, and from that
 * folder to the common one. Whatever it comes to is closed where it lies in a root. */
static void close_way_of_git(struct sandbox *sandbox, const struct writable_root *root,
                             struct checks *checks)
{
    static const char origin[] = "git is led there from outside";
    char line[4096 + 16];
    with_host_path first = {0};
    with_host_path folder = {0};
    with_host_path file = {0};
    with_host_path common = {0};
    if (close_led(sandbox, root, ".git", origin, checks, &first) < 0) {
        return;
    }
    bool named = read_line(&first, "gitdir: ", line, sizeof line);
    if (close_target(sandbox, root, named ? line : ".git", origin, checks, &folder) < 0) {
        return;
    }
    refuse_within(sandbox, folder.path, root->path, checks);
    const struct writable_root at = {.fd = folder.fd, .path = folder.path};
    if (close_led(sandbox, &at, "commondir", origin, checks, &file) == 0 &&
        read_line(&file, "", line, sizeof line) &&
        close_target(sandbox, &at, line, origin, checks, &common) == 0) {
        refuse_within(sandbox, common.path, root->path, checks);
    }
}

/* A root may lie in a repository, which has its folder of git's there. */
static void close_ways_from_above(struct sandbox *sandbox, const struct writable_root *root,
                                  struct checks *checks)
{
    with_string above = memory_copy_string(root->path);
    for (char *slash = strrchr(above, '/'); slash && slash != above; slash = strrchr(above, '/')) {
        *slash = '\0';
        with_host_path place = {0};
        if (host_path_open(AT_FDCWD, above, &place) == 0) {
            const struct writable_root at = {.fd = place.fd, .path = place.path};
            close_way_of_git(sandbox, &at, checks);
        }
    }
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
    close_way_of_git(sandbox, root, checks);
    close_ways_from_above(sandbox, root, checks);
    with_host_path evidence = {0};
    (void)close_led(sandbox, root, ".berm", "the project's evidence", checks, &evidence);
    if (request->state_dir) {
        close_place(sandbox, LAUNCH_MASK, request->state_dir, NULL, "berm's own state");
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
        is_closed(sandbox, path)) {
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
