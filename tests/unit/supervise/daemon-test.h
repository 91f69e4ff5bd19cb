/* daemon-test.h
 *
 * A payload of the test's own: processes in a /proc that the test writes, a leaf that lists them, and two folders
 * that stand for the private file system and for a writable root.
 */
#pragma once

#include "../fake-proc.h"

#include <sys/un.h>

#include "daemon-priv.h"

static char fake_tree[] = "/tmp/berm-test-XXXXXX"; /* private/, root/, leaf/ */
static struct fd fake_places[3];
enum { FAKE_PRIVATE, FAKE_ROOT, FAKE_LEAF };

/* /tmp/... is private, /root/... is writable. */
enum sandbox_place sandbox_place_of(const struct sandbox *sandbox, const char *path, int *ret_fd,
                                    const char **ret_rest)
{
    bool is_private = strncmp(path, "/tmp", 4) == 0;
    if (!is_private && strncmp(path, "/root", 5) != 0) {
        return SANDBOX_NOWHERE;
    }
    *ret_fd = fd_num(&fake_places[is_private ? FAKE_PRIVATE : FAKE_ROOT]);
    *ret_rest = path + (is_private ? 4 : 5);
    *ret_rest += **ret_rest == '/';
    return is_private ? SANDBOX_PRIVATE_PLACE : SANDBOX_WRITABLE_PLACE;
}

static unused int daemon_begin(void **state)
{
    static const char *const names[] = {"private", "root", "leaf"};
    if (fake_begin(state) < 0 || !mkdtemp(fake_tree)) {
        return -1;
    }
    for (size_t i = 0; i < countof(names); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s/%s", fake_tree, names[i]);
        if (mkdir(path, 0700) < 0) {
            return -1;
        }
        fake_places[i] = fd_adopt(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    return 0;
}

static unused int daemon_end(void **state)
{
    char command[96];
    for (size_t i = 0; i < countof(fake_places); i++) {
        fd_close(&fake_places[i]);
    }
    (void)snprintf(command, sizeof command, "rm -rf %s", fake_tree);
    return system(command) || fake_end(state);
}

/* A path in the folder that stands for one of /tmp, /root. */
static unused const char *fake_path(const char *path)
{
    static char text[128];
    bool is_private = strncmp(path, "/tmp", 4) == 0;
    (void)snprintf(text, sizeof text, "%s/%s%s", fake_tree, is_private ? "private" : "root",
                   path + (is_private ? 4 : 5));
    return text;
}

static unused void fake_file(const char *path, const char *text)
{
    int fd = open(fake_path(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static unused void fake_socket(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s", fake_path(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    close(fd);
}

/* Who is in the leaf, in the order of the list. */
static unused void fake_members(const char *list)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/leaf/cgroup.procs", fake_tree);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, list, strlen(list)), strlen(list));
    close(fd);
}

struct fake {
    pid_t pid;
    pid_t namespace_pid;
    pid_t parent;
    int start_ticks;
    char state;
    const char *exe; /* NULL: /bin/true */
    bool forked_only;
    const char *cwd; /* NULL: the folder of /tmp */
};
static unused void fake_link(pid_t pid, const char *name, const char *target)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/%d/%s", fake_proc, pid, name);
    (void)unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static unused void fake_member(const struct fake *fake)
{
    char text[256];
    fake_process(fake->pid, fake_leaf, fake->start_ticks);
    (void)snprintf(text, sizeof text, "%d (x) %c %d 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n",
                   fake->pid, fake->state ? fake->state : 'S', fake->parent,
                   fake->forked_only ? 0x40 : 0, fake->start_ticks); /* PF_FORKNOEXEC */
    fake_write(fake->pid, "stat", text);
    (void)snprintf(text, sizeof text, "Name:\tx\nUid:\t%d\t0\t0\t0\nNSpid:\t%d\t%d\n",
                   (int)geteuid(), fake->pid, fake->namespace_pid);
    fake_write(fake->pid, "status", text);
    fake_write(fake->pid, "cmdline", "graphd --serve");
    fake_link(fake->pid, "exe", fake->exe ? fake->exe : "/bin/true");
    fake_link(fake->pid, "cwd", fake->cwd ? fake->cwd : fake_path("/tmp"));
}

static unused struct file_identity fake_identity(const char *path)
{
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    return (struct file_identity){.device = stat_of.st_dev,
                                  .inode = stat_of.st_ino,
                                  .size_bytes = stat_of.st_size,
                                  .mtime_ns = clock_timespec_ns(stat_of.st_mtim),
                                  .ctime_ns = clock_timespec_ns(stat_of.st_ctim)};
}
