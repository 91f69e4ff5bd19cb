#include "detail-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "proc.h"
#include "process.h"

enum {
    PSS_PAGES_MAX = 16384,
    FILE_READS_MAX = 16, /* some 2700 descriptors; a count that ends there is a lower bound */
};

static ssize_t read_of(const struct tree *tree, pid_t pid, const char *name, char *text,
                       size_t size)
{
    char path[48];
    (void)snprintf(path, sizeof path, "%d/%s", pid, name);
    return os_read_small(fd_num(&tree->proc_dir), path, text, size);
}

/* Entries of a folder of proc, as far as a few reads show them. */
static int64_t count_entries(const struct tree *tree, const char *path)
{
    with_fd folder = fd_adopt(os_openat(fd_num(&tree->proc_dir), path, O_RDONLY | O_DIRECTORY, 0));
    if (!fd_is_open(&folder)) {
        return -1;
    }
    int64_t count = -2; /* "." and ".." */
    for (int reads = 0; reads < FILE_READS_MAX; reads++) {
        char entries[4096];
        ssize_t got = os_getdents(fd_num(&folder), entries, sizeof entries);
        for (ssize_t at = 0; at < got; count++) {
            at += ((const struct dirent64 *)(const void *)(entries + at))->d_reclen;
        }
        if (got <= 0) {
            return got < 0 ? -1 : count;
        }
    }
    return count;
}

/* Linux 6.2 and later give the count as the size of the folder. */
static int64_t count_files(const struct tree *tree, pid_t pid)
{
    char path[32];
    struct stat stat;
    (void)snprintf(path, sizeof path, "%d/fd", pid);
    if (os_stat_entry(fd_num(&tree->proc_dir), path, &stat) == 0 && stat.st_size > 0) {
        return stat.st_size;
    }
    return count_entries(tree, path);
}

/* Its number named it all the while if it is there afterwards (T19). */
static bool is_itself(const struct member *member)
{
    struct proc_stat stat;
    with_fd found = {0};
    int file = fd_is_open(&member->stat_file) ? fd_num(&member->stat_file) : -1;
    if (file < 0) {
        found = fd_adopt(os_proc_stat_open(member->pid));
        file = fd_is_open(&found) ? fd_num(&found) : -1;
    }
    return file >= 0 && os_proc_stat_read(file, &stat) == 0 &&
           stat.start_ticks == member->start_ticks;
}

/* -1: not known. */
struct figures {
    int64_t files;
    int64_t read_bytes;
    int64_t written_bytes;
    int64_t pss_bytes;
};

static struct figures read_figures(const struct tree *tree, const struct member *member,
                                   bool with_pss)
{
    char text[2048];
    struct figures figures = {count_files(tree, member->pid), -1, -1, -1};
    if (read_of(tree, member->pid, "io", text, sizeof text) > 0) {
        figures.read_bytes = proc_number(text, "read_bytes");
        figures.written_bytes = proc_number(text, "write_bytes");
    }
    if (with_pss && read_of(tree, member->pid, "smaps_rollup", text, sizeof text) > 0) {
        figures.pss_bytes = proc_kib(text, "Pss");
    }
    return figures;
}

static void read_one(const struct tree *tree, const struct member *member,
                     struct supervise_descendant *record)
{
    bool small = member->stat.rss_pages <= PSS_PAGES_MAX;
    struct figures figures = read_figures(tree, member, small);
    if (!is_itself(member)) {
        figures = (struct figures){-1, -1, -1, -1};
    }
    if (figures.read_bytes >= 0) {
        record->read_bytes = figures.read_bytes;
        record->written_bytes = figures.written_bytes;
    }
    peak_raise(&record->peak_fds, figures.files);
    peak_raise(&record->peak_pss_bytes, figures.pss_bytes);
    record->missed |= figures.files < 0 ? MISSED_FDS : 0;
    record->missed |= figures.read_bytes < 0 ? MISSED_IO : 0;
    record->missed |= figures.pss_bytes < 0 ? MISSED_PSS : 0;
    record->missed |= small ? 0 : MISSED_BUDGET;
}

void detail_read(struct tree *tree, const struct os_clock *clock, int64_t budget_ns, int *cursor)
{
    int64_t end = clock->monotonic_ns() + budget_ns;
    for (int i = 0; i < tree->member_limit; i++) {
        int place = *cursor = (*cursor + 1) % tree->member_limit;
        const struct member *member = &tree->members[place];
        if (member_alive(member) && member->record >= 0) {
            read_one(tree, member, &tree->ending->descendants[member->record]);
            if (clock->monotonic_ns() >= end) {
                return;
            }
        }
    }
}

static uint64_t thread_rss(const struct tree *tree, pid_t pid)
{
    char path[32];
    (void)snprintf(path, sizeof path, "%d/task", pid);
    with_fd tasks = fd_adopt(os_openat(fd_num(&tree->proc_dir), path, O_RDONLY | O_DIRECTORY, 0));
    char entries[1024];
    ssize_t got = fd_is_open(&tasks) ? os_getdents(fd_num(&tasks), entries, sizeof entries) : 0;
    for (ssize_t at = 0; at < got;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        at += entry->d_reclen;
        char text[1024];
        struct proc_stat stat;
        (void)snprintf(path, sizeof path, "%.12s/stat", entry->d_name);
        ssize_t length =
            entry->d_name[0] == '.' ? -1 : os_read_small(fd_num(&tasks), path, text, sizeof text);
        if (length > 0 && proc_stat_parse(text, (size_t)length, &stat) == 0 && stat.rss_pages > 0) {
            return stat.rss_pages;
        }
    }
    return 0;
}

uint64_t detail_thread_rss(const struct tree *tree, const struct member *member)
{
    uint64_t pages = thread_rss(tree, member->pid);
    return is_itself(member) ? pages : 0;
}

int64_t detail_host_available(const struct tree *tree)
{
    char text[512]; /* the third line of the file */
    if (!fd_is_open(&tree->memory_file)) {
        return fd_error(&tree->memory_file);
    }
    ssize_t length = os_pread(fd_num(&tree->memory_file), text, sizeof text - 1, 0);
    if (length < 0) {
        return length;
    }
    text[length] = '\0';
    int64_t bytes = proc_kib(text, "MemAvailable");
    return bytes < 0 ? -ENODATA : bytes;
}
