/* A daemon that the project declares and that runs already cannot be adopted by a run (TR-5).
 *
 * It is known by what it executes: the declared file, or, when that was replaced, moved or unlinked meanwhile, what had
 * its path, or has its name within the project; and by its socket and its lock. A process whose program cannot be
 * looked at counts when it is this user's and has the name.
 *
 * Limitations  another user's processes are not shown. One that hides its program and calls itself otherwise is seen by
 *              its socket and its lock alone. */
#include "run-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "path.h"
#include "proc.h"
#include "process.h"
#include "text.h"

enum {
    PROCESSES_MAX = 1 << 22,
    DAEMONS_MAX = 16,
    NAME_SIZE = 16, /* of a process, as the kernel cuts it */
    STATUS_SIZE = 4096,
    LINK_SIZE = 4096 + 16,
};
static const char deleted[] = " (deleted)"; /* what the kernel puts behind a path that is no more */

struct program {
    const char *name; /* of the daemon */
    char *path;       /* as it is declared */
    char *physical;   /* of the file that is there; NULL: none is */
    char short_name[NAME_SIZE];
    dev_t device;
    ino_t inode;
};
struct programs {
    const char *root;
    struct program list[DAEMONS_MAX];
    size_t count;
};

static void programs_done(struct programs *programs)
{
    for (size_t i = 0; i < programs->count; i++) {
        memory_free(programs->list[i].path);
        memory_free(programs->list[i].physical);
    }
}

static void refuse(struct run *run, char *what, const char *remedy)
{
    checks_add_take(&run->preparation.checks, CHECK_ACTIVE, false, what, memory_copy_string(""),
                    memory_copy_string(remedy));
}

static void refuse_unseen(struct run *run, const char *what, int result)
{
    struct err err = {0};
    (void)err_sys(&err, result, "cannot look at '%s'", what);
    refuse(run, memory_format("it cannot be told whether a declared daemon runs: %s", err.msg),
           "mount /proc, and let this user look into the project");
}

/* --- what is declared --------------------------------------------------------------------------- */

static bool is_missing(int result)
{
    return result == -ENOENT || result == -ENOTDIR;
}

/* The path of an open file, also of one that is no more; -errno. */
static int read_path(int fd, char path[LINK_SIZE])
{
    with_string own = memory_format("/proc/self/fd/%d", fd);
    ssize_t n = os_readlinkat(AT_FDCWD, own, path, LINK_SIZE);
    if (n < 0) {
        return (int)n;
    }
    size_t behind = sizeof deleted - 1;
    if ((size_t)n > behind && strcmp(path + n - behind, deleted) == 0) {
        path[(size_t)n - behind] = '\0';
    }
    return 0;
}

static void find_file(int root_fd, const char *exec, struct program *program)
{
    struct stat stat;
    char path[LINK_SIZE];
    with_fd file = fd_adopt(os_openat(root_fd, exec, O_PATH, 0));
    if (!fd_is_open(&file) || os_fstat(fd_num(&file), &stat) < 0) {
        return; /* it may run all the same */
    }
    program->device = stat.st_dev;
    program->inode = stat.st_ino;
    program->physical = read_path(fd_num(&file), path) == 0 ? memory_copy_string(path) : NULL;
}

/* Reserved for it by nobody: this run has not begun. */
static void judge_place(struct run *run, int root_fd, const char *daemon, const char *path)
{
    struct stat stat;
    int result = os_stat_entry(root_fd, path, &stat);
    if (result == 0) {
        refuse(run,
               memory_format("daemon '%s' runs outside of this run, or died without removing "
                             "'%s/%s'",
                             daemon, run->preparation.project.root, path),
               "end it, and remove its socket and its lock");
    } else if (!is_missing(result)) {
        refuse_unseen(run, path, result);
    }
}

static void find_programs(struct run *run, struct programs *programs)
{
    const struct project *project = &run->preparation.project;
    const struct project_daemon *list = project->daemon.items;
    if (project->daemon.count == 0) {
        return;
    }
    BUG_IF(project->daemon.count > DAEMONS_MAX);
    programs->root = project->root;
    with_fd root = fd_adopt(os_openat(AT_FDCWD, project->root, O_PATH | O_DIRECTORY, 0));
    if (!fd_is_open(&root)) {
        refuse_unseen(run, project->root, fd_error(&root));
        return;
    }
    for (size_t i = 0; i < project->daemon.count; i++) {
        struct program *one = &programs->list[programs->count++];
        const char *slash = strrchr(list[i].exec, '/');
        *one = (struct program){.name = list[i].item.name,
                                .path = memory_format("%s/%s", project->root, list[i].exec)};
        (void)snprintf(one->short_name, NAME_SIZE, "%s", slash ? slash + 1 : list[i].exec);
        find_file(fd_num(&root), list[i].exec, one);
        judge_place(run, fd_num(&root), list[i].item.name, list[i].socket);
        judge_place(run, fd_num(&root), list[i].item.name, list[i].lock);
    }
}

/* --- what runs ---------------------------------------------------------------------------------- */

struct process {
    struct fd folder; /* in /proc: what is opened beneath it never becomes another's */
    char name[NAME_SIZE];
    bool is_own;
};

static void process_done(struct process *process)
{
    fd_close(&process->folder);
}

/* -errno; -ENOENT or -ESRCH: it is gone; -EACCES or -EPERM: another user's, which this /proc hides. */
static int look_at_process(const struct bfs_dir *proc, const char *pid, struct process *process)
{
    static const char first[] = "Name:\t";
    char status[STATUS_SIZE];
    process->folder = fd_adopt(os_openat(bfs_dir_fd(proc), pid, O_PATH | O_DIRECTORY, 0));
    ssize_t got = fd_is_open(&process->folder)
                      ? os_read_small(fd_num(&process->folder), "status", status, sizeof status)
                      : fd_error(&process->folder);
    if (got < 0) {
        return (int)got;
    }
    bool is_status = strncmp(status, first, sizeof first - 1) == 0;
    const char *name = is_status ? status + sizeof first - 1 : "";
    int64_t uid = proc_number(status, "Uid");
    (void)snprintf(process->name, sizeof process->name, "%.*s", (int)strcspn(name, "\n"), name);
    process->is_own = uid < 0 || uid == os_geteuid();
    return is_status ? 0 : -EIO;
}

static const struct program *find_by_name(const struct programs *programs,
                                          const struct process *process)
{
    for (size_t i = 0; i < programs->count; i++) {
        if (strcmp(programs->list[i].short_name, process->name) == 0) {
            return &programs->list[i];
        }
    }
    return NULL;
}

static const struct program *find_by_file(const struct programs *programs, const struct stat *stat)
{
    for (size_t i = 0; i < programs->count; i++) {
        if (programs->list[i].inode != 0 && programs->list[i].device == stat->st_dev &&
            programs->list[i].inode == stat->st_ino) {
            return &programs->list[i];
        }
    }
    return NULL;
}

/* The path that it was executed by, wherever the file is now. */
static const struct program *find_by_path(const struct programs *programs, const char *target,
                                          const struct process *process)
{
    for (size_t i = 0; i < programs->count; i++) {
        const struct program *one = &programs->list[i];
        if (strcmp(one->path, target) == 0 ||
            (one->physical && strcmp(one->physical, target) == 0)) {
            return one;
        }
    }
    return path_is_beneath(target, programs->root) ? find_by_name(programs, process) : NULL;
}

static const struct program *find_in(const struct programs *programs, const struct process *process,
                                     int *ret_unseen)
{
    struct stat stat;
    char target[LINK_SIZE];
    with_fd file = fd_adopt(os_openat(fd_num(&process->folder), "exe", O_PATH, 0));
    int result = fd_is_open(&file) ? os_fstat(fd_num(&file), &stat) : fd_error(&file);
    result = result < 0 ? result : read_path(fd_num(&file), target);
    if (result == -EACCES || result == -EPERM) {
        return process->is_own ? find_by_name(programs, process) : NULL;
    }
    if (result < 0) {
        *ret_unseen =
            result == -ENOENT || result == -ESRCH ? 0 : result; /* of the kernel, or gone */
        return NULL;
    }
    const struct program *found = find_by_file(programs, &stat);
    return found ? found : find_by_path(programs, target, process);
}

static void judge_process(struct run *run, const struct bfs_dir *proc,
                          const struct programs *programs, const char *pid)
{
    cleanup(process_done) struct process process = {0};
    int unseen = look_at_process(proc, pid, &process);
    if (unseen == -ENOENT || unseen == -ESRCH || unseen == -EACCES || unseen == -EPERM) {
        return;
    }
    const struct program *found = unseen < 0 ? NULL : find_in(programs, &process, &unseen);
    if (found) {
        refuse(run,
               memory_format("daemon '%s' runs outside of this run: process %s", found->name, pid),
               "end it: a run starts its daemons itself, and cannot adopt one");
    } else if (unseen < 0) {
        refuse_unseen(run, pid, unseen);
    }
}

void run_outside_judge(struct run *run)
{
    struct err err = {0};
    with_bfs_dir proc = {0};
    with_strvec names = {0};
    cleanup(programs_done) struct programs programs = {0};
    find_programs(run, &programs);
    if (programs.count == 0) {
        return;
    }
    if (bfs_dir_open(AT_FDCWD, "/proc", BFS_TRUST_ANY, &proc, &err) < 0 ||
        bfs_list(&proc, PROCESSES_MAX, &names, &err) < 0) {
        refuse(run, memory_format("it cannot be told whether a declared daemon runs: %s", err.msg),
               "mount /proc");
        return;
    }
    for (size_t i = 0; i < names.count; i++) {
        uint64_t pid = 0;
        if (text_parse_number(span_of_string(names.strings[i]), INT32_MAX, &pid)) {
            judge_process(run, &proc, &programs, names.strings[i]);
        }
    }
}
