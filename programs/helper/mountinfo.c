#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "confine.h"
#include "file.h"
#include "launcher.h"
#include "mountinfo.h"
#include "path.h"

typedef int mount_visit(struct launcher *launcher, const struct mountinfo *line,
                        const char *argument);

/* Each line of the file in turn; a line longer than the buffer is -E2BIG. The first visit that fails
 * ends it. */
static int each_mount(struct launcher *launcher, mount_visit *visit, const char *argument)
{
    static char buffer[32768]; /* three paths of the longest kind fit */
    with_fd file = fd_adopt(os_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0));
    if (!fd_is_open(&file)) {
        return fd_error(&file);
    }
    size_t held = 0;
    for (;;) {
        ssize_t got = os_read(fd_num(&file), buffer + held, sizeof buffer - 1 - held);
        if (got <= 0) {
            return got < 0 ? (int)got : held == 0 ? 0 : -EIO;
        }
        held += (size_t)got;
        buffer[held] = '\0';
        char *at = buffer;
        for (char *end = strchr(at, '\n'); end; end = strchr(at, '\n')) {
            *end = '\0';
            struct mountinfo line;
            int result = mountinfo_parse(at, &line);
            result = result < 0 ? result : visit(launcher, &line, argument);
            if (result < 0) {
                return result;
            }
            at = end + 1;
        }
        held -= (size_t)(at - buffer);
        memmove(buffer, at, held);
        if (held == sizeof buffer - 1) {
            return -E2BIG;
        }
    }
}

/* The mount itself, when somebody in here can reach it: its path leads to it, and to no mount above
 * it. -ENOENT: hidden, so that nobody can write to it. */
static struct fd reach(const struct mountinfo *line)
{
    struct fd found = fd_adopt(place_open(line->path, 0));
    if (!fd_is_open(&found)) {
        int sys = fd_error(&found);
        bool hidden = sys == -ENOENT || sys == -ENOTDIR || sys == -ELOOP || sys == -EACCES;
        return fd_adopt(hidden ? -ENOENT : sys);
    }
    struct os_place seen;
    int result = os_place_of(fd_num(&found), &seen);
    if (result < 0 || seen.mount_id != line->id) {
        fd_close(&found);
        return fd_adopt(result < 0 ? result : -ENOENT);
    }
    return found;
}

static int close_visit(struct launcher *launcher, const struct mountinfo *line,
                       const char *argument)
{
    if (line->read_only || !path_is_beneath(line->path, argument)) {
        return 0;
    }
    with_fd found = reach(line);
    int result = fd_is_open(&found) ? os_mount_read_only(fd_num(&found)) : fd_error(&found);
    return result == -ENOENT ? 0 : result;
}

int mountinfo_close(struct launcher *launcher, const char *path)
{
    return each_mount(launcher, close_visit, path);
}

static int devices_visit(struct launcher *launcher, const struct mountinfo *line,
                         const char *argument)
{
    if (!path_is_beneath(line->path, argument)) {
        return 0;
    }
    with_fd found = reach(line);
    int result = fd_is_open(&found) ? os_mount_with_devices(fd_num(&found)) : fd_error(&found);
    return result == -ENOENT ? 0 : result;
}

int mountinfo_open_devices(struct launcher *launcher, const char *path)
{
    return each_mount(launcher, devices_visit, path);
}

/* The plan lets the payload write there, or it is the private file system. */
static bool is_opened(const struct launcher *launcher, const struct mountinfo *line)
{
    if (line->device == launcher->private_device) {
        return true;
    }
    const struct launch_plan *plan = launcher->plan;
    for (uint32_t i = 0; i < plan->item_count; i++) {
        const struct launch_item *item = &launch_plan_items(plan)[i];
        if (item->kind == LAUNCH_WRITABLE &&
            path_is_beneath(line->path, launch_plan_string(plan, item->path))) {
            return true;
        }
    }
    return false;
}

static bool is_one_of(const char *type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(type, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Another mount of processes shows those of the host, whose settings belong to the same user. */
static bool shows_others(const struct mountinfo *line)
{
    return strcmp(line->type, "proc") == 0 && !path_is_beneath(line->path, "/proc");
}

static int close_other(struct launcher *launcher, const struct mountinfo *line,
                       const char *argument)
{
    static const char *const memory[] = {"tmpfs", "ramfs", "devtmpfs", "mqueue", "hugetlbfs"};
    static const char *const kernel[] = {"sysfs",     "cgroup",  "cgroup2",    "configfs",
                                         "debugfs",   "tracefs", "pstore",     "securityfs",
                                         "efivarfs",  "bpf",     "fusectl",    "resctrl",
                                         "selinuxfs", "smackfs", "binfmt_misc"};
    launcher->shows_others = launcher->shows_others || shows_others(line);
    bool of_kernel = is_one_of(line->type, kernel, countof(kernel));
    bool of_memory = is_one_of(line->type, memory, countof(memory));
    if (line->read_only || (!of_kernel && (!of_memory || is_opened(launcher, line)))) {
        return 0;
    }
    with_fd found = reach(line);
    int result = fd_is_open(&found) ? os_mount_read_only(fd_num(&found)) : fd_error(&found);
    return result == -ENOENT ? 0 : result;
}

int mountinfo_close_others(struct launcher *launcher)
{
    return each_mount(launcher, close_other, NULL);
}

static int cover_other(struct launcher *launcher, const struct mountinfo *line,
                       const char *argument)
{
    if (!shows_others(line)) {
        return 0;
    }
    with_fd found = reach(line);
    int result =
        fd_is_open(&found) ? mounts_cover(launcher, fd_num(&found), line->path) : fd_error(&found);
    return result == -ENOENT ? 0 : result;
}

int mountinfo_cover_others(struct launcher *launcher)
{
    return launcher->shows_others ? each_mount(launcher, cover_other, NULL) : 0;
}
