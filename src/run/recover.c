#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "archive.h"
#include "file.h"
#include "manifest-priv.h"
#include "memory.h"
#include "process.h"
#include "remains-priv.h"
#include "text.h"
#include "watch-host.h"
#include "watchdog.h"

enum {
    MANIFESTS_MAX = 10000,
    MANIFEST_BYTES_MAX = sizeof(struct watch_manifest) + WATCH_REPORTS_BYTES,
    LOCK_WAIT_MS = 5000,
    UNITS_MS = 20000, /* for systemd, and all runs together */
    UNITS_AT_START_MS = 3000,
    SCOPE_MS = 500, /* for systemd to remove a scope by itself, before it is asked to */
};

const char *recover_state_name(enum recover_state state)
{
    static const char *const names[RECOVER_STATE_COUNT] = {"active", "healed", "left", "elsewhere"};
    return names[state];
}

int recover_open_folder(char *const *environment, struct bfs_dir *ret_folder, struct err *err)
{
    with_archive archive = archive_open(environment, err);
    if (!archive) {
        return -1;
    }
    with_string path = memory_format("%s/../watch", archive_folder(archive));
    return bfs_dir_make(AT_FDCWD, path, 0700, BFS_TRUST_OWN, ret_folder, err);
}

/* --- one manifest -------------------------------------------------------------------------------- */

/* why: "", or what kept it from being done. */
static void say_left(uint32_t left, const char *why, char *text, size_t size)
{
    static const char *const words[] = {"processes", "a cgroup",     "a directory",
                                        "a report",  "the manifest", "a daemon's socket or lock"};
    size_t at = (size_t)snprintf(text, size, "left:");
    for (size_t i = 0; i < countof(words); i++) {
        if ((left >> i) & 1 && at < size) {
            at += (size_t)snprintf(text + at, size - at, " %s", words[i]);
        }
    }
    if (why[0] && at < size) {
        (void)snprintf(text + at, size - at, "; %s", why);
    }
}

static const char *what_was(const struct remains *remains)
{
    if (!remains->this_boot) {
        return "of a boot that ended";
    }
    if (!remains->had_leaf) {
        return "it had no leaf yet";
    }
    return fd_is_open(&remains->leaf) ? "its leaf was still there" : "its leaf was gone";
}

printf_like(3, 4) static void tell(struct recovered *one, enum recover_state state,
                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(one->what, sizeof one->what, format, args);
    va_end(args);
    one->state = state;
}

/* What it names is killed and removed: nobody else may have written it. */
static int check_owner(const char *name, const struct bfs_facts *facts, struct err *err)
{
    uid_t own = os_geteuid();
    if (facts->owner != own) {
        return err_set(err, ERR_REFUSED, "%s belongs to user %u, and not to %u: it is not obeyed",
                       name, facts->owner, own);
    }
    return (facts->mode & 022) == 0
               ? 0
               : err_set(err, ERR_REFUSED,
                         "%s can be written by others (mode %04o): it is not obeyed; `chmod 600` "
                         "it if it is berm's",
                         name, facts->mode & 07777u);
}

/* One pass over the manifests. */
struct pass {
    struct bfs_dir folder;
    struct watch_host here;
    const struct os_clock *clock;
    const char *runtime_dir; /* XDG_RUNTIME_DIR */
    int64_t until_ns;        /* that watchdogs are waited for */
    int64_t units_until_ns;  /* and systemd, for the units of all runs together */
};

/* ret_facts and *ret_reports are of the file whose bytes these are. */
static int read_manifest(const struct pass *pass, const char *name, struct buf *bytes,
                         struct bfs_facts *ret_facts, struct watch_manifest *ret_manifest,
                         struct span *ret_reports, struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = MANIFEST_BYTES_MAX};
    if (bfs_read(&pass->folder, name, &rule, bytes, ret_facts, err) < 0) {
        return err_wrap(err, "%s", name);
    }
    if (check_owner(name, ret_facts, err) < 0) {
        return -1;
    }
    return manifest_read(buf_span(bytes), ret_manifest, ret_reports, err) < 0
               ? err_wrap(err, "%s", name)
               : 0;
}

/* False: there is nothing to do for it, or nothing may be done; that was told. */
static bool is_dead(const struct pass *pass, const struct watch_manifest *manifest,
                    enum watch_where where, struct recovered *one)
{
    struct err err = {0};
    enum remains_life life = REMAINS_DEAD;
    int64_t left_ms = (pass->until_ns - pass->clock->monotonic_ns()) / NS_PER_MS;
    int wait_ms = left_ms > 0 ? (int)left_ms : 0;
    if (where == WATCH_ELSEWHERE) {
        bool here = strcmp(manifest->host.boot_id, pass->here.boot_id) == 0;
        tell(one, RECOVER_ELSEWHERE, "of another %s%s: `berm recover --runs` there",
             here ? "PID namespace (a container?)" : "machine, with machine id ",
             here                           ? ""
             : manifest->host.machine_id[0] ? manifest->host.machine_id
                                            : "unknown");
        return false;
    }
    if (where == WATCH_BEFORE) {
        return true;
    }
    if (remains_life(manifest, wait_ms, &life, &err) < 0) {
        tell(one, RECOVER_LEFT, "%s", err.msg);
        return false;
    }
    if (life == REMAINS_RUNNING || (life == REMAINS_FINISHING && pass->until_ns == 0)) {
        tell(one, RECOVER_ACTIVE, "%s",
             life == REMAINS_RUNNING ? "" : "berm died, and its watchdog is at work");
        return false;
    }
    if (life == REMAINS_FINISHING) {
        tell(
            one, RECOVER_LEFT,
            "berm died, and its watchdog, process %lld, has not ended; all watchdogs together were "
            "waited for %d s: `kill -CONT %lld` if it is stopped",
            (long long)manifest->watchdog.pid, RECOVER_WAIT_MS / 1000,
            (long long)manifest->watchdog.pid);
        return false;
    }
    return true;
}

/* A manifest as it was read. */
struct found {
    const char *name;
    struct bfs_facts facts;
    struct span reports;
};

/* is_last: whoever adopts the run removes it; else it is not told which file that is. */
static void bind_to_file(const struct pass *pass, const struct found *found, bool is_last,
                         struct watch_entry *ret_file)
{
    const struct bfs_facts *facts = &found->facts;
    const struct bfs_dir *folder = &pass->folder;
    *ret_file = (struct watch_entry){
        .parent = {folder->facts.device, folder->facts.inode, folder->facts.owner, 0}};
    if (is_last) {
        ret_file->self = (struct watch_identity){facts->device, facts->inode, facts->owner, 0};
    }
    (void)snprintf(ret_file->path, sizeof ret_file->path, "%s", folder->path);
    (void)snprintf(ret_file->name, sizeof ret_file->name, "%s", found->name);
}

static int adopt(const struct pass *pass, const struct found *found, const struct remains *remains,
                 int64_t scope_ms, uint32_t *ret_left, struct err *err)
{
    return remains_adopt(remains, &pass->folder, found->reports, pass->clock, scope_ms, ret_left,
                         err);
}

/* The run is ended and told first, though systemd is silent, which may have a unit that holds nobody: for that the
 * manifest alone waits. What systemd ended meanwhile is no more for who looks again. */
static int end_with_units(const struct pass *pass, const struct found *found,
                          const struct remains *remains, uint32_t *left, struct err *err)
{
    if (adopt(pass, found, remains, SCOPE_MS, left, err) < 0 ||
        remains_forget_units(remains, pass->runtime_dir, pass->units_until_ns, err) < 0) {
        return -1;
    }
    if ((*left & WATCH_LEFT_CGROUP) && adopt(pass, found, remains, 0, left, err) < 0) {
        return -1;
    }
    return *left != 0 ? 0
           : bfs_remove(&pass->folder, found->name, &found->facts, err) < 0
               ? -1
               : bfs_dir_sync(&pass->folder, err);
}

static void end(const struct pass *pass, const struct found *found, struct remains *remains,
                struct recovered *one)
{
    struct err err = {0};
    uint32_t left = 0;
    bool has_units = remains_have_units(remains);
    bind_to_file(pass, found, !has_units, &remains->manifest.file);
    watchdog_remove_unfinished(&pass->folder, found->name); /* what it says stands in the old one */
    int result = has_units ? end_with_units(pass, found, remains, &left, &err)
                           : adopt(pass, found, remains, 0, &left, &err);
    if (result < 0 || left != 0) {
        left |= result < 0 ? WATCH_LEFT_MANIFEST : 0;
        one->state = RECOVER_LEFT;
        say_left(left, err.msg, one->what, sizeof one->what);
    } else {
        tell(one, RECOVER_HEALED, "%s", what_was(remains));
    }
}

static void heal(const struct pass *pass, const char *name, struct remains *remains,
                 struct recovered *one)
{
    struct found found = {.name = name};
    struct err err = {0};
    with_buf bytes = buf_new(MANIFEST_BYTES_MAX);
    struct watch_manifest *manifest = &remains->manifest;
    if (read_manifest(pass, name, &bytes, &found.facts, manifest, &found.reports, &err) < 0) {
        tell(one, RECOVER_LEFT, "%s", err.msg);
        return;
    }
    memcpy(one->run_id, manifest->run_id, sizeof one->run_id);
    enum watch_where where = watch_host_compare(&pass->here, &manifest->host);
    if (!is_dead(pass, manifest, where, one)) {
        return;
    }
    remains->this_boot = where == WATCH_HERE;
    if (remains_open(remains, &err) < 0) {
        tell(one, RECOVER_LEFT, "%s", err.msg);
        return;
    }
    end(pass, &found, remains, one);
}

/* --- all of them --------------------------------------------------------------------------------- */

static bool is_manifest(const char *name)
{
    static const char suffix[] = ".watch";
    size_t n = strlen(name);
    return n >= sizeof suffix && strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

/* Two at once would adopt one run twice. */
static int lock(const struct bfs_dir *folder, int wait_ms, struct err *err)
{
    int result = os_flock_within(bfs_dir_fd(folder), wait_ms);
    return result == -EWOULDBLOCK
               ? err_set(err, ERR_CONFLICT,
                         "another berm is healing runs of '%s': waited %d ms; try again",
                         folder->path, wait_ms)
           : result < 0 ? err_sys(err, result, "cannot lock '%s'", folder->path)
                        : 0;
}

static int begin(struct pass *pass, char *const *environment, int wait_ms, struct strvec *names,
                 struct err *err)
{
    if (watch_host_read(&pass->here, err) < 0 ||
        recover_open_folder(environment, &pass->folder, err) < 0 ||
        lock(&pass->folder, wait_ms < LOCK_WAIT_MS ? wait_ms : LOCK_WAIT_MS, err) < 0) {
        return -1;
    }
    pass->units_until_ns =
        pass->clock->monotonic_ns() + (wait_ms > 0 ? UNITS_MS : UNITS_AT_START_MS) * NS_PER_MS;
    pass->until_ns = wait_ms > 0 ? pass->clock->monotonic_ns() + wait_ms * NS_PER_MS : 0;
    return bfs_list(&pass->folder, MANIFESTS_MAX, names, err) < 0
               ? err_wrap(err, "cannot list the manifests (remove what is no berm-*.watch)")
               : 0;
}

/* Its run may have ended by itself since the list was made. */
static bool is_no_more(const struct pass *pass, const char *name)
{
    struct bfs_facts there;
    struct err err = {0};
    return bfs_stat(&pass->folder, name, &there, &err) < 0 && err.code == ERR_NOT_FOUND;
}

int recover_runs(char *const *environment, const struct os_clock *clock, int wait_ms,
                 struct recovery *ret_recovery, struct err *err)
{
    struct pass pass = {.clock = clock,
                        .runtime_dir = text_variable(environment, "XDG_RUNTIME_DIR")};
    with_strvec names = {0};
    if (begin(&pass, environment, wait_ms, &names, err) < 0) {
        bfs_dir_done(&pass.folder);
        return -1;
    }
    struct recovery recovery = {.runs = memory_new((names.count + 1) * sizeof *recovery.runs)};
    for (size_t i = 0; i < names.count; i++) {
        struct recovered *one = &recovery.runs[recovery.count];
        if (!is_manifest(names.strings[i])) {
            continue;
        }
        struct remains *remains = memory_new(sizeof *remains);
        heal(&pass, names.strings[i], remains, one);
        remains_done(remains);
        memory_free(remains);
        if (one->state == RECOVER_LEFT && is_no_more(&pass, names.strings[i])) {
            *one = (struct recovered){0};
            continue;
        }
        recovery.counts[one->state]++;
        recovery.count++;
    }
    bfs_dir_done(&pass.folder);
    *ret_recovery = recovery;
    return 0;
}

void recovery_done(struct recovery *recovery)
{
    if (recovery) {
        memory_free(recovery->runs);
        *recovery = (struct recovery){0};
    }
}
