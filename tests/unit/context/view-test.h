/* view-test.h
 *
 * A kernel of the test's own for the library: a /proc and a cgroup tree in a folder, which the broker of
 * the test looks at as well.
 */
#pragma once

#include "../fake-proc.h"

#include <sys/vfs.h>

#include "parts.h"

static char view_proc[sizeof fake_proc];
static char view_cgroups[64];
static struct view view;

static unused void view_limit(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s%s/%s", view_cgroups, fake_leaf, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* The process is in the leaf, by all that the kernel of the test says. */
static unused void view_process(pid_t pid, pid_t parent)
{
    char text[128];
    char path[96];
    fake_process(pid, fake_leaf, 7);
    (void)snprintf(text, sizeof text, "%d (a) b) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0\n",
                   pid, parent);
    fake_write(pid, "stat", text);
    (void)snprintf(text, sizeof text, "1\n%d\n", pid);
    view_limit("cgroup.procs", text);
    (void)snprintf(path, sizeof path, "%s/self", fake_proc);
    (void)snprintf(text, sizeof text, "%d", pid);
    (void)unlink(path);
    assert_int_equal(symlink(text, path), 0);
}

static unused int view_begin(void **state)
{
    char path[256];
    struct stat stat_of_proc;
    struct statfs facts;
    if (fake_begin(state) < 0) {
        return -1;
    }
    memcpy(view_proc, fake_proc, sizeof view_proc);
    (void)snprintf(view_cgroups, sizeof view_cgroups, "%s/cgroup", fake_proc);
    (void)snprintf(path, sizeof path, "mkdir -p %s%s", view_cgroups, fake_leaf);
    if (system(path) != 0 || stat(fake_proc, &stat_of_proc) < 0 || statfs(fake_proc, &facts) < 0) {
        return -1;
    }
    view = (struct view){.proc = view_proc,
                         .cgroups = {"/nowhere", view_cgroups},
                         .socket = "/nowhere/context",
                         .proc_magic = facts.f_type,
                         .proc_inode = stat_of_proc.st_ino,
                         .cgroup_magic = facts.f_type};
    view_limit("memory.max", "67108864\n");
    view_limit("memory.high", "max\n");
    view_limit("memory.swap.max", "0\n");
    view_limit("pids.max", "32\n");
    view_process(getpid(), 1);
    return 0;
}
