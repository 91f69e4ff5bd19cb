/* A /dev of the sandbox's own, in the private file system: the few devices that ordinary programs need,
 * bound from the host's, and terminals. Bubblewrap could make it (--dev), and reads the list of all
 * mounts anew for each device: together they took a tenth of its time. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "confine.h"
#include "file.h"
#include "launcher.h"
#include "path.h"

/* Source: Documentation/admin-guide/devices.txt of the kernel. */
static const struct {
    const char *path;
    unsigned major;
    unsigned minor;
} devices[] = {
    {"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
    {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
    const char *name;
    const char *target;
} links[] = {
    {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}, {"core", "/proc/kcore"},      {"ptmx", "pts/ptmx"},
};

_Static_assert(countof(devices) == LAUNCHER_DEVICES, "a copy of each is held");

/* What has the name on the host need not be the device. */
static struct fd copy_device(const char *path, unsigned major, unsigned minor)
{
    struct stat facts;
    with_fd device = fd_adopt(place_open(path, 0));
    int result = fd_is_open(&device) ? os_fstat(fd_num(&device), &facts) : fd_error(&device);
    if (result < 0) {
        return fd_adopt(result);
    }
    bool same = S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(major, minor);
    return fd_adopt(same ? os_mount_copy(fd_num(&device)) : -ENODEV);
}

int devices_take(struct launcher *launcher)
{
    for (size_t i = 0; i < countof(devices); i++) {
        launcher->devices[i] = copy_device(devices[i].path, devices[i].major, devices[i].minor);
        if (!fd_is_open(&launcher->devices[i])) {
            return launcher_fail(launcher, fd_error(&launcher->devices[i]), NULL, devices[i].path);
        }
    }
    return 0;
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

int devices_make(struct launcher *launcher)
{
    static const char *const folders[] = {"pts", "shm"};
    int dev = fd_num(&launcher->dev);
    int result = 0;
    for (size_t i = 0; i < countof(devices) && result == 0; i++) {
        result = mounts_make_file(dev, name_of(devices[i].path), 0);
    }
    for (size_t i = 0; i < countof(links) && result == 0; i++) {
        result = os_symlinkat(links[i].target, dev, links[i].name);
    }
    for (size_t i = 0; i < countof(folders) && result == 0; i++) {
        result = os_mkdirat(dev, folders[i], 0755);
    }
    return result;
}

/* Bubblewrap lets no device be used in what it binds. fd: the root of the mount that `path` leads to. */
static int open_devices(struct launcher *launcher, int fd, const char *path)
{
    int result = os_mounts_with_devices(fd);
    return result == -ENOSYS ? mountinfo_open_devices(launcher, path) : result;
}

/* Only in its place: a copy of /dev would have to copy each of them. */
static int place_devices(struct launcher *launcher)
{
    for (size_t i = 0; i < countof(devices); i++) {
        with_fd place = fd_adopt(place_open(devices[i].path, 0));
        with_fd placed = fd_adopt(fd_error(&place));
        if (fd_is_open(&place)) {
            placed = mounts_attach(fd_num(&launcher->devices[i]), fd_num(&place), devices[i].path);
        }
        fd_close(&launcher->devices[i]);
        int result = fd_is_open(&placed) ? open_devices(launcher, fd_num(&placed), devices[i].path)
                                         : fd_error(&placed);
        if (result < 0) {
            return launcher_fail(launcher, result, NULL, devices[i].path);
        }
    }
    return 0;
}

/* Devices that were asked for are kept in there (--gpu); files of the host's /dev/shm are none. */
static int open_kept(struct launcher *launcher)
{
    const struct launch_plan *plan = launcher->plan;
    for (uint32_t i = 0; i < plan->item_count; i++) {
        const struct launch_item *item = &launch_plan_items(plan)[i];
        const char *path = launch_plan_string(plan, item->path);
        if (item->kind != LAUNCH_KEEP || !path_is_beneath(path, "/dev") ||
            path_is_beneath(path, "/dev/shm")) {
            continue;
        }
        with_fd kept = fd_adopt(place_open(path, 0));
        int result =
            fd_is_open(&kept) ? open_devices(launcher, fd_num(&kept), path) : fd_error(&kept);
        if (result < 0) {
            return launcher_fail(launcher, result, NULL, path);
        }
    }
    return 0;
}

static int mount_terminals(void)
{
    struct statfs facts;
    with_fd place = fd_adopt(place_open("/dev/pts", O_DIRECTORY));
    int result = fd_is_open(&place) ? os_mount_terminals(fd_num(&place)) : fd_error(&place);
    if (result < 0) {
        return result;
    }
    with_fd placed = fd_adopt(place_open("/dev/pts", O_DIRECTORY));
    result = fd_is_open(&placed) ? os_fstatfs(fd_num(&placed), &facts) : fd_error(&placed);
    return result < 0 ? result : facts.f_type == DEVPTS_SUPER_MAGIC ? 0 : -EXDEV;
}

int devices_close(struct launcher *launcher)
{
    with_fd dev = fd_adopt(place_open("/dev", O_DIRECTORY));
    int same =
        fd_is_open(&dev) ? place_is_same(fd_num(&dev), fd_num(&launcher->dev)) : fd_error(&dev);
    int result = same == 1 ? place_devices(launcher) : same == 0 ? -EXDEV : same;
    result = result < 0 ? result : open_kept(launcher);
    result = result < 0 ? result : mount_terminals();
    result = result < 0 ? result : os_mount_read_only(fd_num(&dev));
    return result < 0 ? result : mounts_must_be_read_only(fd_num(&dev));
}
