/* Outside, git goes on from .git: whatever it is led to is closed where it lies in a writable root (SB-4, I10), or the root is
 * refused. Source: gitrepository-layout(5). */
#include "sandbox-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "memory.h"

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

/* By its own .git, or by what was closed so far. */
static bool stays_closed(const struct sandbox *sandbox, const struct writable_root *root,
                         const char *within)
{
    with_string git = memory_format("%s/.git", root->path);
    return path_is_beneath(within, git) || roots_hold_closed(sandbox, within);
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
                roots_pin_down_to(sandbox, root->path, within);
            }
        }
    }
    for (size_t i = 0; i < way->links.count; i++) {
        struct stat stat;
        const char *path = way->links.strings[i];
        if (os_stat_entry(AT_FDCWD, path, &stat) == 0 && S_ISLNK(stat.st_mode)) {
            roots_close_place(sandbox, LAUNCH_MASK, path, &stat, origin);
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
        roots_close_place(sandbox, LAUNCH_CLOSE, ret_place->path, NULL, origin);
    }
    return result;
}

/* The same of an entry, which need not be there. */
int git_close_led(struct sandbox *sandbox, const struct writable_root *folder, const char *name,
                  const char *origin, struct checks *checks, struct host_path *ret_place)
{
    struct stat stat;
    return sandbox_has_entry(fd_num(&folder->fd), name, &stat)
               ? close_target(sandbox, folder, name, origin, checks, ret_place)
               : -ENOENT;
}

/* What git itself has in its folder. */
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

/* Through a link, through a file that names a folder, and from that folder to the common one. */
void git_close_way(struct sandbox *sandbox, const struct writable_root *root, struct checks *checks)
{
    static const char origin[] = "git is led there from outside";
    char line[4096 + 16];
    with_host_path first = {0};
    with_host_path folder = {0};
    with_host_path file = {0};
    with_host_path common = {0};
    if (git_close_led(sandbox, root, ".git", origin, checks, &first) < 0) {
        return;
    }
    bool named = read_line(&first, "gitdir: ", line, sizeof line);
    if (close_target(sandbox, root, named ? line : ".git", origin, checks, &folder) < 0) {
        return;
    }
    refuse_within(sandbox, folder.path, root->path, checks);
    const struct writable_root at = {.fd = folder.fd, .path = folder.path};
    if (git_close_led(sandbox, &at, "commondir", origin, checks, &file) == 0 &&
        read_line(&file, "", line, sizeof line) &&
        close_target(sandbox, &at, line, origin, checks, &common) == 0) {
        refuse_within(sandbox, common.path, root->path, checks);
    }
}

/* A root may lie in a repository, which has its folder of git's there. */
void git_close_ways_from_above(struct sandbox *sandbox, const struct writable_root *root,
                               struct checks *checks)
{
    with_string above = memory_copy_string(root->path);
    for (char *slash = strrchr(above, '/'); slash && slash != above; slash = strrchr(above, '/')) {
        *slash = '\0';
        with_host_path place = {0};
        if (host_path_open(AT_FDCWD, above, &place) == 0) {
            const struct writable_root at = {.fd = place.fd, .path = place.path};
            git_close_way(sandbox, &at, checks);
        }
    }
}
