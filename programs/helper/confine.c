#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "clock.h"
#include "confine.h"
#include "file.h"
#include "launcher.h"
#include "process.h"

int confine_open_payload(struct launcher *launcher)
{
    const struct launch_file *file = &launcher->plan->file;
    const char *path = launch_plan_string(launcher->plan, file->path);
    launcher->where = path;
    with_fd found = fd_adopt(place_open(path, 0));
    struct stat facts;
    int result = fd_is_open(&found) ? os_fstat(fd_num(&found), &facts) : fd_error(&found);
    if (result < 0) {
        return result;
    }
    bool same = facts.st_dev == file->device && facts.st_ino == file->inode &&
                facts.st_mode == file->mode && facts.st_size == file->size_bytes &&
                clock_timespec_ns(facts.st_mtim) == file->mtime_ns &&
                clock_timespec_ns(facts.st_ctim) == file->ctime_ns;
    if (!same) {
        return launcher_fail(launcher, -ESTALE, "find the file that was hashed", path);
    }
    struct fd taken = fd_take(&found);
    launcher->file_fd = fd_num(&taken);
    return 0;
}

int confine_enter_cwd(struct launcher *launcher)
{
    const struct launch_plan *plan = launcher->plan;
    const char *path = launch_plan_string(plan, plan->cwd);
    launcher->where = path;
    with_fd place = fd_adopt(place_open(path, O_DIRECTORY));
    struct stat facts;
    int result = fd_is_open(&place) ? os_fstat(fd_num(&place), &facts) : fd_error(&place);
    if (result < 0) {
        return result;
    }
    if (facts.st_dev != plan->cwd_device || facts.st_ino != plan->cwd_inode) {
        return launcher_fail(launcher, -ESTALE, "find the working folder that was there before",
                             path);
    }
    static char here[4096];
    result = os_fchdir(fd_num(&place));
    result = result < 0 ? result : os_getcwd(here, sizeof here);
    if (result == 0 && strcmp(here, path) != 0) {
        return launcher_fail(launcher, -EXDEV, "stay in the working folder", path);
    }
    return result;
}

enum { CHANNEL_AT = 3, FILE_AT, PRIVATE_AT, FIRST_CLOSED };

/* What was asked for is not what is: ask the kernel. */
static int must_be_closed(void)
{
    for (int fd = FIRST_CLOSED; fd < LAUNCH_FIRST_FREE_FD + 2; fd++) {
        struct stat facts;
        int result = os_fstat(fd, &facts);
        if (result != -EBADF) {
            return result < 0 ? result : -EBUSY;
        }
    }
    return 0;
}

/* The payload's streams to where it expects them; behind them, close-on-exec, what is still needed;
 * nothing else stays. */
int confine_descriptors(struct launcher *launcher)
{
    int file = os_dup_above(launcher->file_fd, LAUNCH_FIRST_FREE_FD);
    int private =
        file < 0 ? file : os_dup_above(fd_num(&launcher->private_root), LAUNCH_FIRST_FREE_FD);
    if (private < 0) {
        return private;
    }
    for (int stream = 0; stream < 3; stream++) {
        int result = os_dup_to(LAUNCH_STDIN_FD + stream, stream);
        if (result < 0) {
            return result;
        }
    }
    int result = os_move_to(LAUNCH_CHANNEL_FD, CHANNEL_AT);
    if (result < 0) {
        return result;
    }
    launcher->channel = CHANNEL_AT;
    result = os_move_to(file, FILE_AT);
    result = result < 0 ? result : os_move_to(private, PRIVATE_AT);
    result = result < 0 ? result : os_close_from(FIRST_CLOSED);
    launcher->file_fd = FILE_AT;
    launcher->private_root = fd_adopt(PRIVATE_AT);
    return result < 0 ? result : must_be_closed();
}

int confine_limits(struct launcher *launcher)
{
    const struct rlimit none = {0, 0};
    return os_setrlimit(RLIMIT_CORE, &none);
}

int confine_capabilities(struct launcher *launcher)
{
    enum { MORE_THAN_ANY_KERNEL_HAS = 64 };
    int in_bounds = 0;
    for (int i = 0; i < MORE_THAN_ANY_KERNEL_HAS; i++) {
        in_bounds = os_capability_in_bounds(i);
        int result = in_bounds > 0 ? os_capability_unbound(i) : 0;
        if (result < 0) {
            return result;
        }
        if (in_bounds < 0) {
            break;
        }
    }
    int result = os_capabilities_drop();
    result = result < 0 ? result : os_set_no_new_privileges();
    if (result < 0) {
        return result;
    }
    /* What was asked for is not what is: ask the kernel. */
    for (int i = 0; i < MORE_THAN_ANY_KERNEL_HAS; i++) {
        in_bounds = os_capability_in_bounds(i);
        if (in_bounds != 0) {
            break;
        }
    }
    if (in_bounds > 0) {
        return -EPERM;
    }
    if (in_bounds < 0 && in_bounds != -EINVAL) {
        return in_bounds;
    }
    result = os_capabilities_gone();
    int held = os_has_no_new_privileges();
    return result < 0 ? result : held < 0 ? held : held == 1 ? 0 : -EPERM;
}

/* --- Landlock ----------------------------------------------------------------------------------- */

enum {
    RIGHTS_OF_A_FILE = OS_LANDLOCK_WRITE_FILE | OS_LANDLOCK_TRUNCATE,
    RIGHTS = RIGHTS_OF_A_FILE | OS_LANDLOCK_REMOVE_DIR | OS_LANDLOCK_REMOVE_FILE |
             OS_LANDLOCK_MAKE_CHAR | OS_LANDLOCK_MAKE_DIR | OS_LANDLOCK_MAKE_REG |
             OS_LANDLOCK_MAKE_SOCK | OS_LANDLOCK_MAKE_FIFO | OS_LANDLOCK_MAKE_BLOCK |
             OS_LANDLOCK_MAKE_SYM | OS_LANDLOCK_REFER,
};
/* The first that does not forbid to rename from one folder to another, wherever that is. */
enum { ABI_OF_REFER = 2, ABI_OF_TRUNCATE = 3 };

static int allow(struct launcher *launcher, int ruleset, const char *path, uint64_t rights)
{
    launcher->where = path;
    with_fd place = fd_adopt(place_open(path, 0));
    struct stat facts;
    int result = fd_is_open(&place) ? os_fstat(fd_num(&place), &facts) : fd_error(&place);
    if (result < 0) {
        return result;
    }
    rights &= S_ISDIR(facts.st_mode) ? RIGHTS : RIGHTS_OF_A_FILE;
    result = os_landlock_allow(ruleset, fd_num(&place), rights);
    launcher->where = result < 0 ? path : NULL;
    return result;
}

static int allow_places(struct launcher *launcher, int ruleset, uint64_t rights)
{
    static const char *const always[] = {"/tmp", "/dev", "/dev/shm", "/proc"};
    for (size_t i = 0; i < countof(always); i++) {
        int result = allow(launcher, ruleset, always[i], rights);
        if (result < 0) {
            return result;
        }
    }
    /* The same private folder as /tmp, where the host has it and no link. */
    int result = allow(launcher, ruleset, "/var/tmp", rights);
    if (result < 0 && result != -ENOENT && result != -ENOTDIR && result != -ELOOP) {
        return result;
    }
    const struct launch_plan *plan = launcher->plan;
    for (uint32_t i = 0; i < plan->item_count; i++) {
        const struct launch_item *item = &launch_plan_items(plan)[i];
        const char *path = launch_plan_string(plan, item->path);
        result = item->kind == LAUNCH_WRITABLE ? allow(launcher, ruleset, path, rights) : 0;
        if (result < 0) {
            return result;
        }
    }
    launcher->where = NULL;
    return 0;
}

/* What was asked for is not what is. The root of the private file system lies beneath no rule, and nobody
 * but Landlock forbids to make something in it; its scopes came into force with its rules. */
static int must_be_in_force(const struct launcher *launcher)
{
    int result = os_mkdirat(fd_num(&launcher->private_root), "made", 0700);
    return result == -EACCES ? 0 : result < 0 ? result : -EPERM;
}

static int set_rules(struct launcher *launcher)
{
    int abi = os_landlock_abi();
    if (abi == -ENOSYS || abi == -EOPNOTSUPP || (abi >= 0 && abi < ABI_OF_REFER)) {
        return 0;
    }
    if (abi < 0) {
        return abi;
    }
    const struct launch_plan *plan = launcher->plan;
    bool scopes = abi >= OS_LANDLOCK_ABI_OF_SCOPES && plan->scopes;
    uint64_t rights = abi >= ABI_OF_TRUNCATE ? RIGHTS : RIGHTS & ~OS_LANDLOCK_TRUNCATE;
    with_fd ruleset = fd_adopt(os_landlock_new(
        rights, scopes ? OS_LANDLOCK_SCOPE_SIGNAL | OS_LANDLOCK_SCOPE_ABSTRACT : 0));
    int result = fd_is_open(&ruleset) ? allow_places(launcher, fd_num(&ruleset), rights)
                                      : fd_error(&ruleset);
    result = result < 0 ? result : os_landlock_enforce(fd_num(&ruleset));
    result = result < 0 ? result : must_be_in_force(launcher);
    if (result < 0) {
        return result;
    }
    launcher->landlock_abi = abi;
    launcher->facts |= LAUNCH_FACT_LANDLOCK | (scopes ? LAUNCH_FACT_SCOPES : 0);
    return 0;
}

/* Above the mounts, not in their place: what a mount lets through by mistake, a rule still stops.
 * The first process keeps to the same rules, so it may still signal the others. */
int confine_landlock(struct launcher *launcher)
{
    int result = set_rules(launcher);
    fd_close(&launcher->private_root);
    return result;
}

/* --- what may be called ------------------------------------------------------------------------- */

int confine_filter(struct launcher *launcher)
{
    const struct launch_plan *plan = launcher->plan;
    if (plan->filter_count == 0) {
        return 0;
    }
    int result = os_filter_load(launch_plan_filter(plan), plan->filter_count);
    launcher->facts |= result < 0 ? 0 : LAUNCH_FACT_FILTER;
    return result;
}

int confine_limit_user_namespaces(struct launcher *launcher)
{
    static const char path[] = "/proc/sys/user/max_user_namespaces";
    char text[16];
    with_fd file = fd_adopt(os_openat(AT_FDCWD, path, O_WRONLY, 0));
    int result = fd_is_open(&file) ? os_write_all(fd_num(&file), "0", 1) : fd_error(&file);
    if (result == 0) {
        ssize_t length = os_read_small(AT_FDCWD, path, text, sizeof text);
        result = length < 0 ? (int)length : strcmp(text, "0\n") == 0 ? 0 : -EPERM;
    }
    return result < 0 ? launcher_fail(launcher, result, NULL, path) : 0;
}

/* Tried as the payload would try it, after everything that may forbid it: in a namespace of its own
 * it would have all capabilities again. Should it be had, this process is not used any further. */
int confine_no_user_namespace(struct launcher *launcher)
{
    int result = os_unshare(CLONE_NEWUSER);
    if (result >= 0) {
        return -EPERM;
    }
    launcher->facts |= LAUNCH_FACT_USERNS_CLOSED;
    return 0;
}
