#include "repository-priv.h"

#include <string.h>
#include <sys/stat.h>

#include "git-index-priv.h"
#include "memory.h"
#include "path.h"
#include "snapshot.h"

enum { POINTER_BYTES = 4200, DEPTH_MAXIMUM = 256 };

/* The one line of a small file, behind a prefix. */
static int read_pointer(const struct bfs_dir *dir, const char *name, const char *prefix,
                        struct buf *text, struct err *err)
{
    static const struct bfs_rule rule = {.maximum_bytes = POINTER_BYTES, .allow_links = true};
    if (bfs_read(dir, name, &rule, text, NULL, err) < 0) {
        return -1;
    }
    size_t length = strcspn(buf_string(text), "\r\n");
    size_t skipped = strlen(prefix);
    if (length <= skipped || !span_starts_with(buf_span(text), prefix)) {
        return err_set(err, ERR_CORRUPT, "'%s/%s' names no directory", dir->path, name);
    }
    buf_cut(text, length);
    return 0;
}

static int open_git_dir(const struct bfs_dir *dir, struct bfs_dir *ret_dir, struct err *err)
{
    static const char prefix[] = "gitdir: ";
    struct bfs_facts facts;
    if (bfs_stat(dir, ".git", &facts, err) < 0) {
        return -1;
    }
    if (!S_ISREG(facts.mode)) {
        return bfs_dir_open(bfs_dir_fd(dir), ".git", BFS_TRUST_ANY, ret_dir, err);
    }
    with_buf text = buf_new(POINTER_BYTES + 1);
    return read_pointer(dir, ".git", prefix, &text, err) < 0 ||
                   bfs_dir_open(bfs_dir_fd(dir), buf_string(&text) + strlen(prefix), BFS_TRUST_ANY,
                                ret_dir, err) < 0
               ? err_wrap(err, "find the repository of '%s'", dir->path)
               : 0;
}

/* A linked worktree has a folder of its own for its index, and shares the rest. */
static int open_common_dir(const struct bfs_dir *git_dir, struct bfs_dir *ret_dir, struct err *err)
{
    struct err failure = {0};
    with_buf text = buf_new(POINTER_BYTES + 1);
    if (read_pointer(git_dir, "commondir", "", &text, &failure) == 0) {
        return bfs_dir_open(bfs_dir_fd(git_dir), buf_string(&text), BFS_TRUST_ANY, ret_dir, err);
    }
    if (failure.code == ERR_NOT_FOUND) {
        return bfs_dir_open(bfs_dir_fd(git_dir), ".", BFS_TRUST_ANY, ret_dir, err);
    }
    if (err) {
        *err = failure;
    }
    return -1;
}

static int read_exclude(const struct bfs_dir *common, const char *base, struct ignore *ret_exclude,
                        struct err *err)
{
    with_bfs_dir info = {0};
    struct err failure = {0};
    if (bfs_dir_open(bfs_dir_fd(common), "info", BFS_TRUST_ANY, &info, &failure) == 0) {
        return ignore_read(&info, "exclude", base, NULL, ret_exclude, err);
    }
    if (failure.code == ERR_NOT_FOUND) {
        with_buf nothing = {0};
        return ignore_parse(&nothing, base, NULL, ret_exclude, err);
    }
    if (err) {
        *err = failure;
    }
    return -1;
}

int repository_open(const struct bfs_dir *dir, const char *base, struct repository *ret_repository,
                    struct err *err)
{
    with_repository repository = {.base = base};
    with_bfs_dir git_dir = {0};
    with_bfs_dir common = {0};
    if (open_git_dir(dir, &git_dir, err) < 0 || open_common_dir(&git_dir, &common, err) < 0 ||
        git_index_read(&git_dir, &repository.tracked, err) < 0 ||
        read_exclude(&common, base, &repository.exclude, err) < 0) {
        return -1;
    }
    *ret_repository = repository;
    repository = (struct repository){0};
    return 0;
}

void repository_done(struct repository *repository)
{
    if (!repository) {
        return;
    }
    paths_done(&repository->tracked);
    ignore_done(&repository->exclude);
    *repository = (struct repository){0};
}

int repository_check_root(const char *root, const char *state, struct err *err)
{
    static const char *const whole[] = {"/", "/tmp", "/var/tmp", "/dev/shm"};
    static const char *const trees[] = {"/proc", "/sys", "/dev", "/run", "/var/run"};
    bool refused = false;
    for (size_t i = 0; i < countof(whole); i++) {
        refused = refused || strcmp(root, whole[i]) == 0;
    }
    for (size_t i = 0; i < countof(trees); i++) {
        refused =
            refused || (path_is_beneath(root, trees[i]) && !path_is_beneath(root, "/dev/shm"));
    }
    if (refused) {
        return err_set(
            err, ERR_REFUSED,
            "'%s' belongs to the host and can be no repository to run from: use one in a "
            "folder of its own",
            root);
    }
    if (path_is_beneath(root, state) || path_is_beneath(state, root)) {
        return err_set(err, ERR_REFUSED,
                       "the repository '%s' and berm's own state '%s' lie one in the other: set "
                       "XDG_STATE_HOME to a folder outside",
                       root, state);
    }
    return 0;
}

int snapshot_find_root(int cwd_fd, const struct bfs_dir *state, struct bfs_dir *ret_root,
                       struct err *err)
{
    with_bfs_dir here = {0};
    if (bfs_dir_open(cwd_fd, ".", BFS_TRUST_ANY, &here, err) < 0) {
        return -1;
    }
    with_string start = memory_copy_string(here.path);
    for (int depth = 0; depth < DEPTH_MAXIMUM; depth++) {
        struct bfs_facts facts;
        struct err failure = {0};
        if (bfs_stat(&here, ".git", &facts, &failure) == 0) {
            if (repository_check_root(here.path, state->path, err) < 0) {
                return -1;
            }
            *ret_root = here;
            here = (struct bfs_dir){0};
            return 0;
        }
        if (failure.code != ERR_NOT_FOUND) {
            return err_set(err, failure.code, "%s", failure.msg);
        }
        with_bfs_dir above = {0};
        if (strcmp(here.path, "/") == 0) {
            break;
        }
        if (bfs_dir_open(bfs_dir_fd(&here), "..", BFS_TRUST_ANY, &above, err) < 0) {
            return -1;
        }
        bfs_dir_done(&here);
        here = above;
        above = (struct bfs_dir){0};
    }
    return err_set(err, ERR_NOT_FOUND,
                   "no Git repository is around '%s': work for tiers lies in one (git init)",
                   start);
}
