/* A daemon that the project declares and that runs already cannot be adopted by a run (TR-5). */
#include "run-priv.h"

#include <fcntl.h>

#include "file.h"
#include "memory.h"
#include "text.h"

enum { PROCESSES_MAX = 1 << 22, DAEMONS_MAX = 16 };

struct program {
    const char *name; /* of the daemon */
    dev_t device;
    ino_t inode;
};

/* One that is not there runs nowhere. */
static size_t find_programs(const struct project *project, struct program *programs)
{
    const struct project_daemon *list = project->daemon.items;
    with_fd root = fd_adopt(os_openat(AT_FDCWD, project->root, O_PATH | O_DIRECTORY, 0));
    size_t count = 0;
    for (size_t i = 0; i < project->daemon.count && count < DAEMONS_MAX && fd_is_open(&root); i++) {
        struct stat stat;
        with_fd file = fd_adopt(os_openat(fd_num(&root), list[i].exec, O_PATH, 0));
        if (fd_is_open(&file) && os_fstat(fd_num(&file), &stat) == 0) {
            programs[count++] = (struct program){list[i].item.name, stat.st_dev, stat.st_ino};
        }
    }
    return count;
}

/* What a process executes; another user's is not shown. */
static const struct program *program_of(const struct bfs_dir *proc, const char *pid,
                                        const struct program *programs, size_t count)
{
    struct stat stat;
    with_string path = memory_format("%s/exe", pid);
    with_fd file = fd_adopt(os_openat(bfs_dir_fd(proc), path, O_PATH, 0));
    if (!fd_is_open(&file) || os_fstat(fd_num(&file), &stat) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (programs[i].device == stat.st_dev && programs[i].inode == stat.st_ino) {
            return &programs[i];
        }
    }
    return NULL;
}

static void refuse(struct run *run, char *what, const char *remedy)
{
    checks_add_take(&run->preparation.checks, CHECK_ACTIVE, false, what, memory_copy_string(""),
                    memory_copy_string(remedy));
}

void run_outside_judge(struct run *run)
{
    struct program programs[DAEMONS_MAX];
    struct err err = {0};
    with_bfs_dir proc = {0};
    with_strvec names = {0};
    size_t count = find_programs(&run->preparation.project, programs);
    if (count == 0) {
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
        if (!text_parse_number(span_of_string(names.strings[i]), INT32_MAX, &pid)) {
            continue;
        }
        const struct program *found = program_of(&proc, names.strings[i], programs, count);
        if (found) {
            refuse(run,
                   memory_format("daemon '%s' runs outside of this run: process %s", found->name,
                                 names.strings[i]),
                   "end it: a run starts its daemons itself, and cannot adopt one");
        }
    }
}
