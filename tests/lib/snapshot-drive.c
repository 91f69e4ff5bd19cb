/* snapshot-drive - a snapshot without berm: taken, looked at and checked by hand
 *
 *   snapshot-drive [OPTION...] STATE DIR [PROGRAM ARGUMENT...]
 *
 *     --include PATH       source although it is ignored (may be given again)
 *     --bytes N, --entries N   the limits
 *     --hold               wait for orders on stdin, a line each: source, tree (the two checks)
 *     --prune N            first
 *
 * STATE is made when it is missing. It prints lines: "snapshot DIGEST", "figures ENTRIES BYTES READ COPIED REMOVED",
 * "tree PATH", with a PROGRAM (a path) "identity DIGEST"; for an order "ok"; or "error CODE MESSAGE" and exits with 1.
 * With a PROGRAM the order "source" is the whole check before a release.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frozen.h"
#include "snapshot.h"

enum { INCLUDE_MAXIMUM = 16 };

static struct {
    struct snapshot_limits limits;
    const char *include[INCLUDE_MAXIMUM + 1];
    size_t included;
    size_t keep;
    bool prune;
    bool hold;
} options = {.limits = SNAPSHOT_LIMITS};

static int fail(const struct err *err)
{
    printf("error %d %s\n", err->code, err->msg);
    return 1;
}

static char **parse(char **argv)
{
    for (argv++; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
        if (strcmp(*argv, "--hold") == 0) {
            options.hold = true;
            continue;
        }
        const char *name = *argv++;
        if (!*argv) {
            return NULL;
        }
        if (strcmp(name, "--include") == 0 && options.included < INCLUDE_MAXIMUM) {
            options.include[options.included++] = *argv;
        } else if (strcmp(name, "--bytes") == 0) {
            options.limits.maximum_bytes = strtoull(*argv, NULL, 10);
        } else if (strcmp(name, "--entries") == 0) {
            options.limits.maximum_entries = strtoull(*argv, NULL, 10);
        } else if (strcmp(name, "--prune") == 0) {
            options.prune = true;
            options.keep = strtoull(*argv, NULL, 10);
        } else {
            return NULL;
        }
    }
    return argv[0] && argv[1] ? argv : NULL;
}

/* The program and what it is given, as a run would freeze them. */
static struct {
    char sha256[HASH_HEX_SIZE];
    struct frozen_program program;
    struct frozen_work work;
    struct frozen_inputs *inputs;
} frozen;

static int freeze(char **argv, const struct bfs_dir *cwd, const struct bfs_dir *root,
                  struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = UINT64_C(1) << 30, .allow_links = true};
    with_fd found = fd_adopt(openat(bfs_dir_fd(cwd), argv[0], O_PATH | O_CLOEXEC));
    with_bfs_file file = {0};
    if (!fd_is_open(&found) || bfs_file_open_fd(fd_num(&found), argv[0], &rule, &file, err) < 0 ||
        bfs_file_hash(&file, frozen.sha256, err) < 0) {
        return -1;
    }
    frozen.program = (struct frozen_program){.path = argv[0], .sha256 = frozen.sha256};
    frozen.work = (struct frozen_work){
        .argv = argv,
        .programs = &frozen.program,
        .program_count = 1,
        .cwd = cwd,
        .runner_build = "drive",
    };
    return frozen_read_inputs(&frozen.work, root, &frozen.inputs, err);
}

static int check(const struct snapshot *snapshot, const char *order, struct err *err)
{
    if (strcmp(order, "tree\n") == 0) {
        return snapshot_check_tree(snapshot, err);
    }
    return frozen.inputs ? frozen_check(frozen.inputs, snapshot, err)
                         : snapshot_check_source(snapshot, err);
}

static int show(const struct snapshot *snapshot, struct err *err)
{
    struct snapshot_figures figures = snapshot_figures(snapshot);
    char entry[64];
    char path[4096];
    char identity[HASH_HEX_SIZE];
    (void)snprintf(entry, sizeof entry, "/proc/self/fd/%d", snapshot_tree_fd(snapshot));
    ssize_t length = readlink(entry, path, sizeof path);
    printf("snapshot %s\nfigures %zu %llu %zu %zu %zu\ntree %.*s\n", snapshot_digest(snapshot),
           figures.entries, (unsigned long long)figures.bytes, figures.files_read,
           figures.files_copied, figures.removed, (int)length, path);
    if (frozen.inputs) {
        if (frozen_identity(&frozen.work, frozen.inputs, snapshot, identity, err) < 0) {
            return -1;
        }
        printf("identity %s\n", identity);
    }
    (void)fflush(stdout);
    return 0;
}

static int hold(const struct snapshot *snapshot)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        struct err err = {0};
        if (check(snapshot, line, &err) < 0) {
            (void)fail(&err);
        } else {
            puts("ok");
        }
        (void)fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    with_bfs_dir state = {0};
    with_bfs_dir cwd = {0};
    with_bfs_dir root = {0};
    with_snapshot snapshot = NULL;
    char **rest = argc > 2 ? parse(argv) : NULL;
    if (!rest) {
        (void)fprintf(stderr, "snapshot-drive [OPTION...] STATE DIR\n");
        return 2;
    }
    if (bfs_dir_make(AT_FDCWD, rest[0], 0700, BFS_TRUST_OWN, &state, &err) < 0 ||
        bfs_dir_open(AT_FDCWD, rest[1], BFS_TRUST_ANY, &cwd, &err) < 0 ||
        (options.prune && snapshot_prune(&state, options.keep, &err) < 0) ||
        snapshot_find_root(bfs_dir_fd(&cwd), &state, &root, &err) < 0 ||
        (rest[2] && freeze(rest + 2, &cwd, &root, &err) < 0)) {
        return fail(&err);
    }
    const struct snapshot_request request = {
        .root = &root,
        .state = &state,
        .limits = options.limits,
        .include = frozen.inputs ? frozen_include(frozen.inputs) : options.include,
    };
    if (snapshot_take(&request, &snapshot, &err) < 0 || show(snapshot, &err) < 0) {
        return fail(&err);
    }
    int result = options.hold ? hold(snapshot) : 0;
    frozen_inputs_free(frozen.inputs);
    return result;
}
