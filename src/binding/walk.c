/* Invariant: each step opens one component relative to the descriptor of the directory before, with
 * O_NOFOLLOW; what was looked at is what the next step starts from. */
#include "walk-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "memory.h"

enum { LINKS_MAX = 40 };

struct walker {
    struct walk walk;
    struct fd here;  /* the directory that the next component is looked up in */
    struct buf path; /* its physical path; "" for the root */
    struct buf rest; /* what is still to be walked */
    unsigned links;
};

static void walker_done(struct walker *walker)
{
    walk_done(&walker->walk);
    fd_close(&walker->here);
    buf_done(&walker->path);
    buf_done(&walker->rest);
}

static int look(int fd, struct bfs_facts *ret_facts)
{
    struct err err = {0};
    return bfs_facts_of(fd, ret_facts, &err) < 0 ? -err.sys : 0;
}

/* Go on from this directory: it takes part in where the path leads. */
static void enter(struct walker *walker, struct fd *directory, const struct bfs_facts *facts)
{
    struct walk *walk = &walker->walk;
    struct walk_place place = {.facts = *facts};
    place.path = memory_copy_string(buf_length(&walker->path) ? buf_string(&walker->path) : "/");
    walk->places = memory_resize(walk->places, (walk->place_count + 1) * sizeof *walk->places);
    walk->places[walk->place_count++] = place;
    fd_close(&walker->here);
    walker->here = fd_take(directory);
}

static int look_and_enter(struct walker *walker, struct fd *directory)
{
    struct bfs_facts facts;
    int result = fd_is_open(directory) ? look(fd_num(directory), &facts) : fd_error(directory);
    if (result == 0) {
        enter(walker, directory, &facts);
    }
    return result;
}

static int enter_root(struct walker *walker)
{
    with_fd root = fd_adopt(os_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0));
    buf_clear(&walker->path);
    return look_and_enter(walker, &root);
}

static int enter_parent(struct walker *walker)
{
    with_fd parent = fd_adopt(os_openat(fd_num(&walker->here), "..", O_PATH | O_DIRECTORY, 0));
    if (!fd_is_open(&parent)) {
        return fd_error(&parent);
    }
    const char *path = buf_string(&walker->path);
    const char *last = strrchr(path, '/');
    buf_cut(&walker->path, last ? (size_t)(last - path) : 0);
    return look_and_enter(walker, &parent);
}

/* The link's text comes before what is still to be walked. */
static int expand_link(struct walker *walker, int link_fd)
{
    char target[PATH_MAX];
    if (++walker->links > LINKS_MAX) {
        return -ELOOP;
    }
    ssize_t length = os_readlinkat(link_fd, "", target, sizeof target);
    if (length <= 0) {
        return length < 0 ? (int)length : -ENOENT;
    }
    with_string after = memory_copy_string(buf_string(&walker->rest));
    buf_clear(&walker->rest);
    buf_add_string(&walker->rest, target);
    if (after[0] != '\0') {
        buf_add_char(&walker->rest, '/');
        buf_add_string(&walker->rest, after);
    }
    if (!buf_fits(&walker->rest)) {
        return -ENAMETOOLONG;
    }
    return target[0] == '/' ? enter_root(walker) : 0;
}

/* The next component out of `rest`, which then starts behind it and its slashes. */
static bool next_component(struct walker *walker, char name[NAME_MAX + 2], bool *ret_last)
{
    const char *rest = buf_string(&walker->rest);
    rest += strspn(rest, "/");
    size_t length = strcspn(rest, "/");
    if (length == 0) {
        return false;
    }
    size_t kept = length <= NAME_MAX ? length : NAME_MAX + 1; /* too long: openat says so */
    memcpy(name, rest, kept);
    name[kept] = '\0';
    with_string after = memory_copy_string(rest + length);
    *ret_last = after[0] == '\0';
    /* A slash behind the last component asks for a directory, as the kernel has it. */
    const char *next = after + strspn(after, "/");
    buf_clear(&walker->rest);
    buf_add_string(&walker->rest, next[0] == '\0' && after[0] != '\0' ? "." : next);
    return true;
}

static int step_to(struct walker *walker, const char *name, bool last)
{
    int flags = O_PATH | O_NOFOLLOW;
    /* O_DIRECTORY makes the kernel mount what an automounter has to; a link is no directory. */
    with_fd next =
        fd_adopt(os_openat(fd_num(&walker->here), name, last ? flags : flags | O_DIRECTORY, 0));
    if (!last && fd_error(&next) == -ENOTDIR) {
        next = fd_adopt(os_openat(fd_num(&walker->here), name, flags, 0));
    }
    if (!fd_is_open(&next)) {
        return fd_error(&next);
    }
    struct bfs_facts facts;
    int result = look(fd_num(&next), &facts);
    if (result < 0) {
        return result;
    }
    if (S_ISLNK(facts.mode)) {
        return expand_link(walker, fd_num(&next));
    }
    buf_add_char(&walker->path, '/');
    buf_add_string(&walker->path, name);
    if (!buf_fits(&walker->path)) {
        return -ENAMETOOLONG;
    }
    if (S_ISDIR(facts.mode)) {
        enter(walker, &next, &facts);
        return 0;
    }
    if (!last) {
        return -ENOTDIR;
    }
    walker->walk.target = fd_take(&next);
    walker->walk.facts = facts;
    return 0;
}

/* Walk `path` from where the walker stands, or from the root. */
static int walk_on(struct walker *walker, const char *path)
{
    char name[NAME_MAX + 2];
    bool last = false;
    buf_clear(&walker->rest);
    buf_add_string(&walker->rest, path);
    if (!buf_fits(&walker->rest)) {
        return -ENAMETOOLONG;
    }
    if (path[0] == '\0') {
        return -ENOENT;
    }
    int result = path[0] == '/' ? enter_root(walker) : 0;
    while (result == 0 && !fd_is_open(&walker->walk.target) &&
           next_component(walker, name, &last)) {
        if (strcmp(name, "..") == 0) {
            result = enter_parent(walker);
        } else if (strcmp(name, ".") != 0) {
            result = step_to(walker, name, last);
        }
    }
    return result;
}

/* Stand in the working directory: walked to by its path, so that its ancestors are looked at, and
 * proved to be the one whose descriptor the payload gets. */
static int enter_cwd(struct walker *walker, const struct walk_start *start)
{
    struct bfs_facts held;
    if (!start->cwd_path || start->cwd_path[0] != '/') {
        return -ENOENT;
    }
    int result = walk_on(walker, start->cwd_path);
    if (result == 0) {
        result = look(start->cwd_fd, &held);
    }
    if (result < 0) {
        return result;
    }
    const struct walk *walk = &walker->walk;
    if (fd_is_open(&walk->target) || walk->place_count == 0 ||
        !bfs_facts_same_inode(&walk->places[walk->place_count - 1].facts, &held)) {
        return -ESTALE;
    }
    return 0;
}

/* A directory is a target as well, if the caller wants one. */
static void target_is_here(struct walker *walker)
{
    if (!fd_is_open(&walker->walk.target)) {
        walker->walk.facts = walker->walk.places[walker->walk.place_count - 1].facts;
        walker->walk.target = fd_take(&walker->here);
    }
}

int walk_to(const struct walk_start *start, const char *path, struct walk *ret_walk)
{
    cleanup(walker_done) struct walker walker = {.path = buf_new(PATH_MAX),
                                                 .rest = buf_new(2 * PATH_MAX)};
    int result = path[0] == '/' ? 0 : enter_cwd(&walker, start);
    if (result == 0) {
        result = walk_on(&walker, path);
    }
    if (result < 0) {
        return result;
    }
    target_is_here(&walker);
    walker.walk.canonical =
        memory_copy_string(buf_length(&walker.path) ? buf_string(&walker.path) : "/");
    *ret_walk = walker.walk;
    walker.walk = (struct walk){0};
    return 0;
}

void walk_done(struct walk *walk)
{
    if (!walk) {
        return;
    }
    fd_close(&walk->target);
    for (size_t i = 0; i < walk->place_count; i++) {
        memory_free(walk->places[i].path);
    }
    memory_free(walk->places);
    memory_free(walk->canonical);
    *walk = (struct walk){0};
}
