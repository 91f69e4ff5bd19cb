#include "production-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "boundary.h"
#include "cgroupfs.h"
#include "clock.h"
#include "file.h"
#include "memory.h"
#include "process.h"
#include "production-claim-priv.h"

const struct production_place production_host = {
    .cgroups = "/sys/fs/cgroup", .owner = 0, .folders = {"/run/lock", "/tmp", NULL}};

static int read_boot_id(char boot_id[CLAIM_TEXT_SIZE], struct err *err)
{
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    ssize_t n = os_read_small(AT_FDCWD, path, boot_id, CLAIM_TEXT_SIZE);
    if (n < 0) {
        return err_sys(err, (int)n, "cannot read '%s'", path);
    }
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return 0;
}

/* And his: nobody claims in the name of a process of another user. */
static bool is_alive(const struct claim *claim)
{
    struct stat facts;
    with_fd process = fd_adopt(os_proc_open(claim->process));
    return fd_is_open(&process) && os_fstat(fd_num(&process), &facts) == 0 &&
           facts.st_uid == claim->uid;
}

/* NULL: nobody who claims it lives. */
static const struct claim *find_living(const struct claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        if (is_alive(&claims->list[i])) {
            return &claims->list[i];
        }
    }
    return NULL;
}

/* Somebody has it: whoever claims it and lives, else the watchdog of one who died. */
static int name_holder(const struct claims *claims, const char *root, struct err *err)
{
    const struct claim *living = find_living(claims);
    const struct claim *holder = living ? living : claims->count > 0 ? &claims->list[0] : NULL;
    if (!holder) {
        return err_set(err, ERR_CONFLICT,
                       "a process that claims no run holds the lock of '%s' (`lslocks` names it)",
                       root);
    }
    return err_set(err, ERR_CONFLICT, "run %s of user %u holds it since %s: process %d%s",
                   holder->run_id, holder->uid, holder->since, holder->process.pid,
                   is_alive(holder) ? "" : ", which died, and its watchdog is at work");
}

/* Nobody has it: what died is no more, or is still in the tree. */
static int check_remains(const struct claims *claims, int root_fd, struct err *err)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim *one = &claims->list[i];
        with_string path = NULL;
        int found = claim_find_scope(root_fd, one, &path, err);
        if (found < 0) {
            return -1;
        }
        if (found > 0) {
            return err_set(err, ERR_CONFLICT,
                           "run %s of user %u died, and its cgroup '%s' is still there: `berm "
                           "recover --runs` as that user",
                           one->run_id, one->uid, path);
        }
    }
    return 0;
}

/* In a user namespace of one's own the tree is another's: there are no folders that can be believed. */
static int check_root(const struct production_place *place, int root_fd, struct err *err)
{
    struct stat facts;
    int result = os_fstat(root_fd, &facts);
    if (result < 0) {
        return err_sys(err, result, "cannot look at '%s'", place->cgroups);
    }
    return facts.st_uid == place->owner
               ? 0
               : err_set(err, ERR_UNAVAILABLE,
                         "'%s' belongs to user %u, and not to %u (a user namespace?): the "
                         "production lock is had outside of it",
                         place->cgroups, facts.st_uid, place->owner);
}

static int open_root(const struct production_place *place, struct fd *ret_fd, struct err *err)
{
    with_fd root = fd_adopt(os_cgroup_open(place->cgroups));
    *ret_fd = fd_adopt(fd_is_open(&root) ? os_openat(fd_num(&root), ".", O_RDONLY | O_DIRECTORY, 0)
                                         : fd_error(&root));
    return fd_is_open(ret_fd) ? check_root(place, fd_num(ret_fd), err)
                              : err_set(err, ERR_UNAVAILABLE,
                                        "'%s' is no cgroup tree that can be opened (%s), which the "
                                        "production lock needs",
                                        place->cgroups, strerrorname_np(-fd_error(ret_fd)));
}

int production_lock_try(const struct production_place *place, struct production_lock *ret_lock,
                        struct err *err)
{
    char boot_id[CLAIM_TEXT_SIZE];
    with_production_lock lock = {0};
    with_claims claims = {0};
    if (open_root(place, &lock.fd, err) < 0 || read_boot_id(boot_id, err) < 0 ||
        claims_open(place->folders, place->owner, &lock.folder, err) < 0) {
        return -1;
    }
    int held = os_flock(fd_num(&lock.fd), LOCK_EX | LOCK_NB);
    if (held < 0 && held != -EWOULDBLOCK) {
        return err_sys(err, held, "cannot lock '%s'", place->cgroups);
    }
    if (claims_read(place->folders, place->owner, boot_id, &claims, err) < 0) {
        return -1;
    }
    if (held < 0) {
        return name_holder(&claims, place->cgroups, err);
    }
    if (check_remains(&claims, fd_num(&lock.fd), err) < 0) {
        return -1;
    }
    *ret_lock = lock;
    lock = (struct production_lock){0};
    return 0;
}

int production_lock_look(const struct production_place *place, struct err *err)
{
    char boot_id[CLAIM_TEXT_SIZE];
    with_claims claims = {0};
    if (read_boot_id(boot_id, err) < 0 ||
        claims_read(place->folders, place->owner, boot_id, &claims, err) < 0) {
        return -1;
    }
    return find_living(&claims) ? name_holder(&claims, place->cgroups, err) : 0;
}

static int identify_self(struct claim *claim, struct err *err)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(os_getpid()));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    if (result < 0) {
        return err_sys(err, result, "cannot identify this process");
    }
    claim->uid = os_geteuid();
    claim->process = (struct proc_identity){os_getpid(), stat.start_ticks};
    return read_boot_id(claim->boot_id, err);
}

int production_lock_claim(struct production_lock *lock, const char *run_id, const char *scope,
                          int64_t realtime_ns, struct err *err)
{
    char name[CLAIM_NAME_SIZE];
    struct claim claim = {0};
    if (identify_self(&claim, err) < 0) {
        return -1;
    }
    (void)snprintf(claim.run_id, sizeof claim.run_id, "%s", run_id);
    (void)snprintf(claim.scope, sizeof claim.scope, "%s", scope);
    clock_format_utc(realtime_ns, claim.since);
    if (claim_make(&lock->folder, &claim, err) < 0) {
        return err_wrap(err, "cannot claim the production lock");
    }
    claim_name(claim.uid, name);
    lock->claimed = memory_copy_string(name);
    os_boundary(BOUNDARY_LOCK_CLAIMED);
    return 0;
}

int production_lock_release(struct production_lock *lock, struct err *err)
{
    int result = lock->claimed ? claim_remove(&lock->folder, lock->claimed, err) : 0;
    if (fd_is_open(&lock->fd)) {
        (void)!os_flock(fd_num(&lock->fd),
                        LOCK_UN); /* of all who were given it: the watchdog may linger */
    }
    production_lock_done(lock);
    return result < 0 ? err_wrap(err, "cannot take the claim of the production lock back") : 0;
}

static int forget_in(const struct production_place *place, const char *path, bool look,
                     struct err *err)
{
    char name[CLAIM_NAME_SIZE];
    struct bfs_facts facts;
    struct err missing = {0};
    with_bfs_dir folder = {0};
    claim_name(os_geteuid(), name);
    if (bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &folder, &missing) < 0 ||
        folder.facts.owner != place->owner || bfs_stat(&folder, name, &facts, &missing) < 0) {
        return 0;
    }
    return look ? 1 : claim_remove(&folder, name, err);
}

int production_lock_forget(const struct production_place *place, struct err *err)
{
    int count = 0;
    struct err seen = {0};
    with_production_lock lock = {0};
    for (size_t i = 0; place->folders[i]; i++) {
        count += forget_in(place, place->folders[i], true, err);
    }
    if (count == 0) {
        return 0;
    }
    /* Only its holder makes one; and who gets it has seen that no claim counts. */
    if (production_lock_try(place, &lock, &seen) < 0) {
        return seen.code == ERR_CONFLICT ? 0 : err_set(err, seen.code, "%s", seen.msg);
    }
    for (size_t i = 0; place->folders[i]; i++) {
        if (forget_in(place, place->folders[i], false, err) < 0) {
            return -1;
        }
    }
    return 0;
}

void production_lock_done(struct production_lock *lock)
{
    fd_close(&lock->fd);
    bfs_dir_done(&lock->folder);
    memory_free(lock->claimed);
    *lock = (struct production_lock){0};
}
