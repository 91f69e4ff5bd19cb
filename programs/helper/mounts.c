#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "confine.h"
#include "file.h"
#include "launcher.h"

/* bubblewrap's own still take what is mounted outside. */
int mounts_cut_off(struct launcher *launcher)
{
    return os_mounts_private();
}

/* --- the private file system -------------------------------------------------------------------- */

static struct fd make_folder(int dir_fd, const char *name, mode_t mode)
{
    int result = os_mkdirat(dir_fd, name, mode);
    return fd_adopt(result < 0 ? result
                               : os_openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0));
}

int mounts_make_file(int dir_fd, const char *name, mode_t mode)
{
    with_fd made = fd_adopt(os_openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, mode));
    return fd_error(&made);
}

static struct fd make_file(int dir_fd, const char *name, mode_t mode)
{
    int result = mounts_make_file(dir_fd, name, mode);
    return fd_adopt(result < 0 ? result : os_openat(dir_fd, name, O_PATH | O_NOFOLLOW, 0));
}

/* Which of the private folders stands for a path, and what is left of the path in it; NULL: none. */
static const struct fd *private_place(const struct launcher *launcher, const char *path,
                                      const char **ret_rest)
{
    const struct {
        const char *path;
        const struct fd *folder;
    } places[] = {{"/tmp/", &launcher->tmp},
                  {"/var/tmp/", &launcher->var_tmp},
                  {"/dev/shm/", &launcher->shm},
                  {"/dev/", &launcher->dev}};
    for (size_t i = 0; i < countof(places); i++) {
        size_t length = strlen(places[i].path);
        if (strncmp(path, places[i].path, length) == 0 && path[length] != '\0') {
            *ret_rest = path + length;
            return places[i].folder;
        }
    }
    return NULL;
}

/* One component beneath a private folder, made when it is missing: but never in a file system that
 * was bound there, which is the host's. */
static struct fd step_into(const struct launcher *launcher, int dir_fd, const char *name,
                           bool folder, mode_t mode)
{
    struct fd found = fd_adopt(os_openat(dir_fd, name, O_PATH | O_NOFOLLOW, 0));
    struct stat facts;
    int result = fd_error(&found) == -ENOENT ? os_fstat(dir_fd, &facts) : -EEXIST;
    if (result == -EEXIST) {
        return found;
    }
    if (result < 0 || facts.st_dev != launcher->private_device) {
        return fd_adopt(result < 0 ? result : -ENOENT);
    }
    return folder ? make_folder(dir_fd, name, mode) : make_file(dir_fd, name, mode);
}

/* The place for a path in the private tree, with the folders that lead to it. */
static struct fd make_place(const struct launcher *launcher, const char *path, bool folder,
                            mode_t mode)
{
    const char *rest = NULL;
    const struct fd *start = private_place(launcher, path, &rest);
    if (!start) {
        return fd_adopt(-EXDEV);
    }
    struct fd at = {0};
    for (;;) {
        size_t length = strcspn(rest, "/");
        char name[256];
        if (length >= sizeof name) {
            fd_close(&at);
            return fd_adopt(-ENAMETOOLONG);
        }
        memcpy(name, rest, length);
        name[length] = '\0';
        rest += length + strspn(rest + length, "/");
        bool last = *rest == '\0';
        if (length == 0 || strcmp(name, "..") == 0) {
            fd_close(&at);
            return fd_adopt(-EINVAL);
        }
        struct fd next = step_into(launcher, fd_num(fd_is_open(&at) ? &at : start), name,
                                   folder || !last, last ? mode : 0755);
        fd_close(&at);
        at = next;
        if (last || !fd_is_open(&at)) {
            return at;
        }
    }
}

static int make_private_folders(struct launcher *launcher)
{
    int root = fd_num(&launcher->private_root);
    launcher->tmp = make_folder(root, "tmp", 01777);
    launcher->var_tmp = make_folder(root, "var-tmp", 01777);
    launcher->shm = make_folder(root, "shm", 01777);
    launcher->dev = make_folder(root, "dev", 0755);
    launcher->empty_folder = make_folder(root, "empty", 0555);
    launcher->empty_file = make_file(root, "void", 0);
    const struct fd *made[] = {&launcher->tmp, &launcher->var_tmp,      &launcher->shm,
                               &launcher->dev, &launcher->empty_folder, &launcher->empty_file};
    for (size_t i = 0; i < countof(made); i++) {
        if (!fd_is_open(made[i])) {
            return fd_error(made[i]);
        }
    }
    if (launcher->plan->home_path != 0) {
        const char *path = launch_plan_string(launcher->plan, launcher->plan->home_path);
        with_fd home = make_place(launcher, path, true, 0700);
        if (!fd_is_open(&home)) {
            return launcher_fail(launcher, fd_error(&home), "make the private home", path);
        }
    }
    return 0;
}

/* What was asked for is not what is: ask the kernel. */
static int check_bytes(const struct launch_plan *plan, int root_fd)
{
    enum { TMPFS_TYPE = 0x01021994 };
    struct statfs facts;
    int result = os_fstatfs(root_fd, &facts);
    if (result < 0) {
        return result;
    }
    uint64_t block = (uint64_t)facts.f_bsize;
    bool holds = facts.f_type == TMPFS_TYPE &&
                 (uint64_t)facts.f_blocks == (plan->private_bytes + block - 1) / block;
    return holds ? 0 : -ERANGE;
}

/* What the launcher made itself is nothing that the payload used: its quota begins behind it. */
int mounts_limit_files(struct launcher *launcher)
{
    uint64_t wanted = launcher->plan->private_inodes;
    int root = fd_num(&launcher->private_root);
    char options[40];
    struct statfs facts;
    int result = os_fstatfs(root, &facts);
    if (result < 0) {
        return result;
    }
    const char *end = options + sizeof options - 1;
    char *at = launcher_add_text(options, end, "nr_inodes=");
    (void)launcher_add_number(at, end, facts.f_files - facts.f_ffree + wanted);
    result = os_mount_change_memory(root, options);
    result = result < 0 ? result : os_fstatfs(root, &facts);
    return result < 0 ? result : (uint64_t)facts.f_ffree == wanted ? 0 : -ERANGE;
}

enum { OWN_INODES_MAX = 65536 }; /* until the payload's are limited */

int mounts_make_private(struct launcher *launcher)
{
    const struct launch_plan *plan = launcher->plan;
    const char *path = launch_plan_string(plan, plan->private_path);
    launcher->where = path;
    if (plan->private_bytes == 0 || plan->private_inodes == 0) {
        return -EINVAL; /* to tmpfs, no limit */
    }
    with_fd place = fd_adopt(place_open(path, O_DIRECTORY));
    if (!fd_is_open(&place)) {
        return fd_error(&place);
    }
    char options[96];
    const char *end = options + sizeof options - 1;
    char *at = launcher_add_text(options, end, "mode=0700,size=");
    at = launcher_add_number(at, end, plan->private_bytes);
    at = launcher_add_text(at, end, ",nr_inodes=");
    (void)launcher_add_number(at, end, OWN_INODES_MAX);
    int result = os_mount_memory(fd_num(&place), options);
    if (result < 0) {
        return result;
    }
    struct stat facts;
    launcher->private_root = fd_adopt(place_open(path, O_DIRECTORY));
    if (!fd_is_open(&launcher->private_root)) {
        return fd_error(&launcher->private_root);
    }
    int same = place_is_same(fd_num(&place), fd_num(&launcher->private_root));
    result = same < 0 ? same : os_fstat(fd_num(&launcher->private_root), &facts);
    if (result < 0 || same) {
        return result < 0 ? result : -EXDEV; /* the path led elsewhere the second time */
    }
    launcher->private_device = facts.st_dev;
    result = check_bytes(plan, fd_num(&launcher->private_root));
    if (result < 0) {
        return launcher_fail(launcher, result, "limit the private file system", path);
    }
    launcher->where = NULL;
    return make_private_folders(launcher);
}

/* --- mounts on places --------------------------------------------------------------------------- */

static bool says_missing(int result)
{
    return result == -ENOENT || result == -ENOTDIR || result == -ELOOP;
}

static int must_be(const struct os_place *put, int found_fd)
{
    struct os_place seen;
    int result = os_place_of(found_fd, &seen);
    bool same = result == 0 && seen.mount_id == put->mount_id && seen.inode == put->inode &&
                seen.device[0] == put->device[0] && seen.device[1] == put->device[1];
    return result < 0 ? result : same ? 0 : -EXDEV;
}

struct fd mounts_attach(int copy_fd, int on_fd, const char *path)
{
    struct os_place put;
    int result = os_place_of(copy_fd, &put);
    result = result < 0 ? result : os_mount_attach(copy_fd, on_fd);
    if (result < 0) {
        return fd_adopt(result);
    }
    struct fd found = fd_adopt(place_open(path, 0));
    if (!fd_is_open(&found)) {
        return fd_adopt(says_missing(fd_error(&found)) ? -EXDEV : fd_error(&found));
    }
    result = must_be(&put, fd_num(&found));
    if (result < 0) {
        fd_close(&found);
        return fd_adopt(result);
    }
    return found;
}

static struct fd bind_on(int source_fd, int on_fd, const char *path)
{
    with_fd copy = fd_adopt(os_mount_copy(source_fd));
    return fd_is_open(&copy) ? mounts_attach(fd_num(&copy), on_fd, path)
                             : fd_adopt(fd_error(&copy));
}

int mounts_must_be_read_only(int fd)
{
    struct statfs facts;
    int result = os_fstatfs(fd, &facts);
    return result < 0 ? result : facts.f_flags & 1 ? 0 : -EPERM; /* ST_RDONLY */
}

static int pin(struct launcher *launcher, const char *path, bool closed)
{
    with_fd place = fd_adopt(place_open(path, 0));
    if (!fd_is_open(&place)) {
        return fd_error(&place);
    }
    with_fd pinned = bind_on(fd_num(&place), fd_num(&place), path);
    if (!fd_is_open(&pinned) || !closed) {
        return fd_error(&pinned);
    }
    int result = os_mounts_read_only(fd_num(&pinned));
    if (result == -ENOSYS) {
        result = mountinfo_close(launcher, path);
    }
    return result < 0 ? result : mounts_must_be_read_only(fd_num(&pinned));
}

/* The link itself, at the end of a path without any other. */
static int open_link(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    if (length >= sizeof folder) {
        return -ENAMETOOLONG;
    }
    memcpy(folder, path, length);
    folder[length] = '\0';
    with_fd parent = fd_adopt(place_open(folder, O_DIRECTORY));
    struct stat facts;
    with_fd found =
        fd_adopt(fd_is_open(&parent) ? os_openat(fd_num(&parent), slash + 1, O_PATH | O_NOFOLLOW, 0)
                                     : fd_error(&parent));
    int result = fd_is_open(&found) ? os_fstat(fd_num(&found), &facts) : fd_error(&found);
    if (result < 0) {
        return result;
    }
    return S_ISLNK(facts.st_mode) ? fd_take(&found).plus_one - 1 : -ESTALE;
}

/* By something empty that nobody can write to. */
static int cover(const struct fd *empty, int on_fd, const char *path)
{
    with_fd covered = bind_on(fd_num(empty), on_fd, path);
    int result = fd_is_open(&covered) ? os_mount_read_only(fd_num(&covered)) : fd_error(&covered);
    return result < 0 ? result : mounts_must_be_read_only(fd_num(&covered));
}

int mounts_cover(const struct launcher *launcher, int place_fd, const char *path)
{
    struct stat facts;
    int result = os_fstat(place_fd, &facts);
    if (result < 0) {
        return result;
    }
    bool is_folder = S_ISDIR(facts.st_mode);
    return cover(is_folder ? &launcher->empty_folder : &launcher->empty_file, place_fd, path);
}

/* Only where the plan says that it is a link may it be one: any other was put there meanwhile. A folder is
 * hidden as a whole, and was there: what was moved away would be seen under its new name. */
static int mask(const struct launcher *launcher, mode_t type, const char *path)
{
    with_fd place = fd_adopt(type == S_IFLNK ? open_link(path)
                                             : place_open(path, type == S_IFDIR ? O_DIRECTORY : 0));
    if (!fd_is_open(&place)) {
        /* Who may not pass through a folder above it does not reach it either: not here, where nobody
         * has a capability that would. */
        int result = fd_error(&place);
        bool missing = says_missing(result) && result != -ELOOP && type != S_IFDIR;
        bool out_of_reach = missing || result == -EACCES;
        return out_of_reach ? 0 : result;
    }
    return mounts_cover(launcher, fd_num(&place), path);
}

/* --- the first mount of the private file system ------------------------------------------------- */

/* It shows what covers other things, and more than the payload is to have. It is covered and not taken away:
 * for that the kernel would wait until no processor looks at it any more. */
int mounts_hide_private(struct launcher *launcher)
{
    const char *path = launch_plan_string(launcher->plan, launcher->plan->private_path);
    launcher->where = path;
    int result = cover(&launcher->empty_folder, fd_num(&launcher->private_root), path);
    fd_close(&launcher->tmp);
    fd_close(&launcher->var_tmp);
    fd_close(&launcher->shm);
    fd_close(&launcher->dev);
    fd_close(&launcher->empty_folder);
    fd_close(&launcher->empty_file);
    return result;
}

/* --- the items of the plan ---------------------------------------------------------------------- */

static int keep_item(struct launcher *launcher, const struct launch_item *item, const char *path)
{
    with_fd source = fd_adopt(place_open(path, 0));
    struct stat facts;
    int result = fd_is_open(&source) ? os_fstat(fd_num(&source), &facts) : fd_error(&source);
    if (result < 0) {
        return result;
    }
    with_fd place = make_place(launcher, path, S_ISDIR(facts.st_mode), 0755);
    if (!fd_is_open(&place)) {
        return fd_error(&place);
    }
    int same = place_is_same(fd_num(&source), fd_num(&place));
    if (same != 0) {
        return same < 0 ? same : 0; /* a folder above it was kept, and all that lies in that */
    }
    struct os_place put;
    with_fd copy = fd_adopt(os_mount_copy(fd_num(&source)));
    result = fd_is_open(&copy) ? os_place_of(fd_num(&copy), &put) : fd_error(&copy);
    result = result < 0 ? result : os_mount_attach(fd_num(&copy), fd_num(&place));
    if (result < 0) {
        return result;
    }
    with_fd placed = make_place(launcher, path, S_ISDIR(facts.st_mode), 0755);
    return fd_is_open(&placed) ? must_be(&put, fd_num(&placed)) : fd_error(&placed);
}

static int expect_item(struct launcher *launcher, const struct launch_item *item, const char *path)
{
    with_fd place = fd_adopt(place_open(path, 0));
    struct stat facts;
    int result = fd_is_open(&place) ? os_fstat(fd_num(&place), &facts) : fd_error(&place);
    if (result < 0) {
        return result;
    }
    bool same = facts.st_dev == item->device && facts.st_ino == item->inode &&
                (facts.st_mode & S_IFMT) == item->type;
    return same ? 0 : -ESTALE;
}

static int pin_item(struct launcher *launcher, const struct launch_item *item, const char *path)
{
    return pin(launcher, path, false);
}

static int close_item(struct launcher *launcher, const struct launch_item *item, const char *path)
{
    return pin(launcher, path, true);
}

static int mask_item(struct launcher *launcher, const struct launch_item *item, const char *path)
{
    return mask(launcher, item->type, path);
}

static const struct {
    int (*run)(struct launcher *launcher, const struct launch_item *item, const char *path);
    const char *what;
} kinds[LAUNCH_KIND_COUNT] = {
    [LAUNCH_KEEP] = {keep_item, "keep visible"},
    [LAUNCH_EXPECT] = {expect_item, "find what was there before"},
    [LAUNCH_PIN] = {pin_item, "pin"},
    [LAUNCH_CLOSE] = {close_item, "close"},
    [LAUNCH_MASK] = {mask_item, "cover"},
};

static int do_items(struct launcher *launcher, bool keep)
{
    const struct launch_plan *plan = launcher->plan;
    for (uint32_t i = 0; i < plan->item_count; i++) {
        const struct launch_item *item = &launch_plan_items(plan)[i];
        if ((item->kind == LAUNCH_KEEP) != keep || !kinds[item->kind].run) {
            continue;
        }
        const char *path = launch_plan_string(plan, item->path);
        int result = kinds[item->kind].run(launcher, item, path);
        if (result < 0) {
            return launcher_fail(launcher, result, kinds[item->kind].what, path);
        }
    }
    return 0;
}

int mounts_keep(struct launcher *launcher)
{
    return do_items(launcher, true);
}

int mounts_do_items(struct launcher *launcher)
{
    return do_items(launcher, false);
}

/* What was asked for is not what is: a kernel before Linux 5.10 does nothing, and says that it did. */
static int close_to_links(struct launcher *launcher, int placed_fd, const char *path)
{
    int result = os_mount_without_links(placed_fd);
    result = result < 0 ? result : os_mount_is_without_links(placed_fd);
    return result > 0
               ? 0
               : launcher_fail(launcher, result < 0 ? result : -EOPNOTSUPP,
                               "keep links from being followed (nosymfollow, Linux 5.10)", path);
}

int mounts_place_private(struct launcher *launcher)
{
    const struct {
        const char *path;
        const struct fd *folder;
        bool may_lack;
        bool has_links; /* those that berm itself makes */
    } places[] = {
        {"/tmp", &launcher->tmp, false, false},
        {"/var/tmp", &launcher->var_tmp, true, false}, /* missing, or a link: nothing to write to */
        {"/dev", &launcher->dev, false, true},
        {"/dev/shm", &launcher->shm, false, false},
    };
    for (size_t i = 0; i < countof(places); i++) {
        with_fd place = fd_adopt(place_open(places[i].path, O_DIRECTORY));
        if (!fd_is_open(&place)) {
            if (says_missing(fd_error(&place)) && places[i].may_lack) {
                continue;
            }
            return launcher_fail(launcher, fd_error(&place), NULL, places[i].path);
        }
        with_fd placed = bind_on(fd_num(places[i].folder), fd_num(&place), places[i].path);
        if (!fd_is_open(&placed)) {
            return launcher_fail(launcher, fd_error(&placed), NULL, places[i].path);
        }
        int result = launcher->plan->no_links && !places[i].has_links
                         ? close_to_links(launcher, fd_num(&placed), places[i].path)
                         : 0;
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

/* --- what the kernel shows of itself ------------------------------------------------------------ */

static const struct {
    const char *path;
    bool covered; /* or else read-only */
} kernel_places[] = {
    {"/proc/sys", false},           /* a uid that is root outside may set the host's there */
    {"/proc/sysrq-trigger", false}, /* reboots the host */
    {"/proc/irq", false},           /* moves interrupts */
    {"/proc/bus", false},           /* devices of the host, by their registers */
    {"/proc/fs", false},            /* settings of mounted file systems */
    {"/proc/acpi", false},          /* wakes and sleeps the host */
    {"/proc/scsi", false},          /* adds and removes devices */
    {"/proc/kcore", true},          /* all memory */
    {"/proc/kmsg", true},           /* the kernel's log, taken from who should read it */
    {"/proc/keys", true},           /* keys of others of the same uid */
    {"/proc/key-users", true},      /* and who has how many */
    {"/proc/timer_list", true},     /* addresses and processes of the host */
    {"/proc/sched_debug", true},    /* processes of the host */
    {"/proc/latency_stats", true},  /* where the kernel waits, and a switch */
    {"/proc/kpagecount", true},     /* which memory is shared with whom */
    {"/proc/kpageflags", true},     /* what is done with each page */
    {"/proc/kpagecgroup", true},    /* and whose it is */
    {"/sys/firmware", true},        /* tables and variables of the firmware */
    {"/sys/kernel/debug", true},    /* the kernel's insides, by whoever mounted it */
    {"/sys/kernel/tracing", true},  /* what all processes do */
    {"/sys/kernel/security", true}, /* the policies that hold the host */
};

int mounts_close_kernel(struct launcher *launcher)
{
    for (size_t i = 0; i < countof(kernel_places); i++) {
        const char *path = kernel_places[i].path;
        int result =
            kernel_places[i].covered ? mask(launcher, false, path) : pin(launcher, path, true);
        if (result < 0 && result != -ENOENT) {
            return launcher_fail(launcher, result, NULL, path);
        }
    }
    return 0;
}
