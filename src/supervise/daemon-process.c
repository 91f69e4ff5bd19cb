#include "daemon-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "path.h"

enum { STATUS_SIZE = 8192, LIST_SIZE = 4096 };

static int read_stat(int dir, struct proc_stat *ret_stat)
{
    with_fd file = fd_adopt(os_openat(dir, "stat", O_RDONLY | O_NOCTTY, 0));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), ret_stat) : fd_error(&file);
    return result == -ENOENT ? -ESRCH : result;
}

/* The last number of a line "NSpid:\t12345\t7": in the innermost PID namespace. */
static pid_t last_number(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    long number = 0;
    char *end = NULL;
    if (!line) {
        return 0;
    }
    line += strlen(name);
    while (*line == '\t' || *line == ' ') {
        number = strtol(line, &end, 10);
        if (end == line) {
            break;
        }
        line = end;
    }
    return *line == '\n' && number > 0 && number <= INT32_MAX ? (pid_t)number : 0;
}

static int read_status(int dir, struct daemon_process *process)
{
    char text[STATUS_SIZE];
    ssize_t length = os_read_small(dir, "status", text, sizeof text);
    if (length < 0) {
        return length == -ENOENT ? -ESRCH : (int)length;
    }
    int64_t user = proc_number(text, "Uid");
    process->namespace_pid = last_number(text, "\nNSpid:");
    process->user = (uid_t)user;
    return user < 0 || process->namespace_pid == 0 ? -EINVAL : 0;
}

int daemon_process_read(int proc_dir, pid_t pid, struct daemon_process *ret_process)
{
    char name[16];
    struct proc_stat stat;
    (void)snprintf(name, sizeof name, "%d", pid);
    with_daemon_process process = {
        .dir = fd_adopt(os_openat(proc_dir, name, O_PATH | O_DIRECTORY, 0))};
    int result =
        fd_is_open(&process.dir) ? read_stat(fd_num(&process.dir), &stat) : fd_error(&process.dir);
    result = result < 0 ? result : read_status(fd_num(&process.dir), &process);
    if (result < 0) {
        return result == -ENOENT ? -ESRCH : result;
    }
    if (!stat_alive(&stat)) {
        return -ESRCH;
    }
    process.who = (struct proc_identity){pid, stat.start_ticks};
    process.parent = stat.parent;
    process.forked_only = stat.forked_only;
    *ret_process = process;
    process.dir = (struct fd){0};
    return 0;
}

/* -ESRCH: another number, or gone meanwhile. */
static int try_member(int proc_dir, pid_t pid, pid_t namespace_pid,
                      struct daemon_process *ret_process)
{
    with_daemon_process process = {0};
    int result = daemon_process_read(proc_dir, pid, &process);
    if (result < 0 || process.namespace_pid != namespace_pid) {
        return -ESRCH;
    }
    *ret_process = process;
    process.dir = (struct fd){0};
    return 0;
}

int daemon_process_find(int proc_dir, int leaf_fd, pid_t namespace_pid,
                        struct daemon_process *ret_process)
{
    char text[LIST_SIZE];
    int64_t number = 0;
    int looked_at = 0;
    with_fd list = fd_adopt(os_openat(leaf_fd, "cgroup.procs", O_RDONLY, 0));
    ssize_t got = fd_error(&list);
    while (fd_is_open(&list) && (got = os_read(fd_num(&list), text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] >= '0' && text[i] <= '9' && number <= INT32_MAX / 10) {
                number = number * 10 + (text[i] - '0');
                continue;
            }
            if (number > 0 &&
                try_member(proc_dir, (pid_t)number, namespace_pid, ret_process) == 0) {
                return 0;
            }
            number = 0;
            if (++looked_at == DAEMON_PROCESSES) {
                return -E2BIG;
            }
        }
    }
    return got < 0 ? (int)got : -ESRCH;
}

bool daemon_process_lives(const struct daemon_process *process)
{
    struct proc_stat stat;
    return fd_is_open(&process->dir) && read_stat(fd_num(&process->dir), &stat) == 0 &&
           stat.start_ticks == process->who.start_ticks && stat_alive(&stat);
}

bool daemon_process_is_member(const struct daemon_process *process, const char *leaf)
{
    char text[2 * CONTEXT_LEAF_SIZE];
    char path[CONTEXT_LEAF_SIZE];
    ssize_t length = os_read_small(fd_num(&process->dir), "cgroup", text, sizeof text);
    return length > 0 && context_parse_cgroup(text, (size_t)length, path) &&
           context_is_leaf(path) && path_is_beneath(path, leaf);
}

bool daemon_process_executes(const struct daemon_process *process,
                             const struct file_identity *wanted)
{
    struct stat stat;
    with_fd exe = fd_adopt(os_openat(fd_num(&process->dir), "exe", O_PATH, 0));
    return fd_is_open(&exe) && os_fstat(fd_num(&exe), &stat) == 0 &&
           stat.st_dev == wanted->device && stat.st_ino == wanted->inode &&
           stat.st_size == wanted->size_bytes &&
           clock_timespec_ns(stat.st_mtim) == wanted->mtime_ns &&
           clock_timespec_ns(stat.st_ctim) == wanted->ctime_ns;
}

int daemon_process_command(const struct daemon_process *process,
                           struct supervise_daemon *ret_daemon)
{
    ssize_t length = os_read_small(fd_num(&process->dir), "cmdline", ret_daemon->command,
                                   sizeof ret_daemon->command);
    if (length < 0) {
        return (int)length;
    }
    ret_daemon->command_bytes = (size_t)length;
    ret_daemon->command_cut = (size_t)length == sizeof ret_daemon->command - 1;
    return 0;
}

int daemon_process_cwd(const struct daemon_process *process, char path[DAEMON_PATH_SIZE],
                       struct stat *ret_stat)
{
    with_fd cwd = fd_adopt(os_openat(fd_num(&process->dir), "cwd", O_PATH | O_DIRECTORY, 0));
    int result = fd_is_open(&cwd) ? os_fstat(fd_num(&cwd), ret_stat) : fd_error(&cwd);
    ssize_t length =
        result < 0 ? result : os_readlinkat(fd_num(&process->dir), "cwd", path, DAEMON_PATH_SIZE);
    return length < 0 ? (int)length : 0;
}

/* A parent is older than its child; so the number of one that ended in between, and became another's, leads
 * nowhere. */
bool daemon_process_descends(int proc_dir, struct proc_identity who, struct proc_identity ancestor)
{
    pid_t pid = who.pid;
    uint64_t younger = UINT64_MAX;
    for (int depth = 0; depth < DAEMON_DEPTH && pid > 1; depth++) {
        char name[32];
        struct proc_stat stat;
        (void)snprintf(name, sizeof name, "%d/stat", pid);
        with_fd file = fd_adopt(os_openat(proc_dir, name, O_RDONLY | O_NOCTTY, 0));
        if (!fd_is_open(&file) || os_proc_stat_read(fd_num(&file), &stat) < 0 ||
            stat.start_ticks > younger || (depth == 0 && stat.start_ticks != who.start_ticks)) {
            return false;
        }
        if (pid == ancestor.pid) {
            return stat.start_ticks == ancestor.start_ticks && stat_alive(&stat);
        }
        younger = stat.start_ticks;
        pid = stat.parent;
    }
    return false;
}

void daemon_process_done(struct daemon_process *process)
{
    fd_close(&process->dir);
}
