#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "process.h"

int os_proc_stat_open(pid_t pid)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    return fd == -ENOENT ? -ESRCH : fd;
}

int os_proc_open(struct proc_identity who)
{
    char path[32];
    struct proc_stat stat;
    (void)snprintf(path, sizeof path, "/proc/%d", who.pid);
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0));
    with_fd file =
        fd_adopt(fd_is_open(&dir) ? os_openat(fd_num(&dir), "stat", O_RDONLY | O_NOCTTY, 0)
                                  : fd_error(&dir));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    if (result < 0) {
        return result == -ENOENT ? -ESRCH : result;
    }
    if (stat.start_ticks != who.start_ticks) {
        return -ESRCH;
    }
    struct fd taken = fd_take(&dir);
    return fd_num(&taken);
}

int os_proc_stat_read(int stat_fd, struct proc_stat *ret_stat)
{
    char text[1024];
    ssize_t length = os_pread(stat_fd, text, sizeof text, 0);
    return length < 0 ? (int)length : proc_stat_parse(text, (size_t)length, ret_stat);
}

/* Field 3 on, after the name: "S 1 2 3 ...", all numbers but the first. */
enum { FIELD_STATE = 3, FIELD_LAST = 24 };
/* include/linux/sched.h of the kernel; field 9 shows it to everybody. */
enum { PF_FORKNOEXEC = 0x40 };

static bool parse_numbers(const char *p, const char *end, int64_t values[FIELD_LAST + 1])
{
    for (int field = FIELD_STATE + 1; field <= FIELD_LAST; field++) {
        if (p >= end || *p != ' ') {
            return false;
        }
        p++;
        bool negative = p < end && *p == '-';
        p += negative;
        uint64_t value = 0;
        const char *first = p;
        while (p < end && *p >= '0' && *p <= '9') {
            value = value * 10 + (uint64_t)(*p - '0');
            p++;
        }
        if (p == first) {
            return false;
        }
        values[field] = negative ? -(int64_t)value : (int64_t)value;
    }
    return true;
}

int proc_stat_parse(const char *text, size_t length, struct proc_stat *ret_stat)
{
    /* The name may itself hold ") ": the last ')' of the line ends it (proc_pid_stat(5)). */
    const char *open = memchr(text, '(', length);
    const char *close = memrchr(text, ')', length);
    const char *end = text + length;
    if (!open || !close || close < open || end - close < 4 || close[1] != ' ') {
        return -EINVAL;
    }
    int64_t pid = 0;
    for (const char *p = text; p < open - 1; p++) {
        if (*p < '0' || *p > '9') {
            return -EINVAL;
        }
        pid = pid * 10 + (*p - '0');
    }
    int64_t values[FIELD_LAST + 1] = {0};
    if (!parse_numbers(close + 3, end, values)) {
        return -EINVAL;
    }
    *ret_stat = (struct proc_stat){
        .pid = (pid_t)pid,
        .parent = (pid_t)values[4],
        .group = (pid_t)values[5],
        .session = (pid_t)values[6],
        .state = close[2],
        .forked_only = (values[9] & PF_FORKNOEXEC) != 0,
        .user_ticks = (uint64_t)values[14],
        .system_ticks = (uint64_t)values[15],
        .threads = (uint64_t)values[20],
        .start_ticks = (uint64_t)values[22],
        .rss_pages = (uint64_t)values[24],
    };
    size_t name = (size_t)(close - open - 1);
    if (name >= sizeof ret_stat->name) {
        name = sizeof ret_stat->name - 1;
    }
    memcpy(ret_stat->name, open + 1, name);
    return 0;
}

int64_t proc_number(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            return strtoll(line + length + 1, NULL, 10);
        }
    }
    return -1;
}

int64_t proc_kib(const char *text, const char *name)
{
    int64_t kib = proc_number(text, name);
    return kib < 0 || kib > INT64_MAX / 1024 ? -1 : kib * 1024;
}
