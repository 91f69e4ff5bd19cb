/* watchdog.h
 *
 * The controller's side of the watchdog: the small process that outlives berm, ends what a run started,
 * removes what was made for it and writes the report of the crash (WD-1…WD-6, RS-5). What the two say to each
 * other stands in watch-message.h.
 *
 * Calling sequence
 *   watchdog_start(&request, err)                     right after the slots are taken; comes back before it lives
 *   watchdog_seal_reports(texts, &reports, err)       what the slots are to say if berm dies from now on
 *   watchdog_watch(watchdog, reports_fd, err)         its orders: before any lock or directory there is a durable
 *                                                     intent (WD-1, WD-2)
 *   watchdog_ready(watchdog, err)                     before anything is made that it would have to end
 *   watchdog_process(), watchdog_directory_fd()       for its scope, and what it made
 *   watchdog_arm(watchdog, &leaf, err)                before anybody is in the leaf: it is told of it
 *   watchdog_armed(watchdog, err)                     waits until it holds the leaf and its manifest says so:
 *                                                     only now may the payload be released
 *   watchdog_note_daemon()                            each step of a managed daemon, durable when it returns
 *   watchdog_report(), watchdog_set_deadline()        at each change of state; they neither wait nor allocate
 *   supervise_run() with watchdog_fd(): its death stops the run
 *   watchdog_let_go(watchdog)                         the leaf is empty: the anchor may leave
 *   watchdog_disarm(watchdog, err)                    after publication: directories and manifest are
 *                                                     removed and it is gone
 *   watchdog_free(watchdog)
 *
 * A disarming is refused as long as the leaf, or a scope that nobody else removes, is there: the watchdog goes on watching, and may be asked again.
 * Every way out of a run disarms: to free a watchdog that was not disarmed is to die, and it does what it
 * does then, which includes the report of a crash.
 *
 * Its scope    (watchdog_asked()) a unit of its own keeps it alive when the run's scope, or the terminal's, is killed. The
 *              caller asks systemd for it, with the pid of watchdog_process(); request.unit is its name,
 *              and until it stands there the watchdog does not leave before the moment that was told: no other
 *              process gets its pid meanwhile.
 * Deadline     for a berm that is stopped, or hangs: the watchdog then kills the leaf, and ten seconds later
 *              berm itself.
 * Loss         watchdog_fd() becomes readable, and watchdog_is_lost() says so. What it had made and reported, and nothing else, is removed
 *              by watchdog_disarm() then (WD-3).
 * Ownership    the request and what it points to are borrowed for the watchdog's life; reports are copied
 *              by the kernel.
 * Errors       ERR_CONFLICT: the lock is held by another run; ERR_TIMEOUT: it was not ready in time;
 *              ERR_SYS, ERR_UNAVAILABLE: it cannot be started, or said what it could not do.
 * Limitations  without a leaf it ends the payload's first process, and nothing that left it. A file system
 *              that neither reserves nor has nameless files can refuse the report when it is full.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bfs.h"
#include "clock.h"
#include "err.h"
#include "fd.h"
#include "proc.h"
#include "span.h"
#include "watch-message.h"

struct watchdog;

struct watchdog_slot {
    const struct bfs_dir *parent; /* NULL: there is no such slot */
    const char *name;
};

struct watchdog_request {
    const char *run_id;
    const struct bfs_dir *folder; /* of manifests */
    struct watchdog_slot slots[WATCH_SLOTS];
    const struct bfs_dir
        *directories[WATCH_DIRECTORIES]; /* where each is to be made; NULL: no more */
    int lock_fd;                         /* to be locked and held; -1: none */
    const char *lock_path;
    const struct bfs_dir
        *claim_folder; /* of what claims the lock, and goes before it; NULL: nothing */
    const char *claim;
    const char *unit;       /* the watchdog's own scope; NULL: it gets none */
    const char *scope_unit; /* the run's, that systemd is yet to make; NULL: none */
    const char *scope_path; /* of a scope's folder that is yet to be made, by a name that nobody can
                                 guess, and that nobody else removes; NULL: none */
    char *const *environment; /* NULL: none, as it should be but for tests */
    int64_t ready_ns;         /* to be ready within */
    const struct os_clock *clock;
};

/* texts of one slot: nothing left, something left; empty: leave the slot as it is. */
int watchdog_seal_reports(const struct span texts[WATCH_SLOTS][WATCH_ENDINGS],
                          struct fd *ret_reports, struct err *err) must_check;

struct watchdog *watchdog_start(const struct watchdog_request *request, struct err *err) must_check;
/* Both -1: it is no more, and nothing of it is left; what follows but watchdog_free() does nothing. */
int watchdog_watch(struct watchdog *watchdog, int reports_fd, struct err *err) must_check;
int watchdog_ready(struct watchdog *watchdog, struct err *err) must_check;
struct proc_identity watchdog_process(const struct watchdog *watchdog);
int watchdog_fd(const struct watchdog *watchdog); /* readable: it is lost, or an answer came late */
bool watchdog_is_lost(
    struct watchdog *watchdog); /* asked when it is readable; late answers are taken */
int watchdog_directory_fd(const struct watchdog *watchdog, size_t index); /* borrowed */
const char *watchdog_directory_name(const struct watchdog *watchdog, size_t index);

struct watchdog_leaf {
    int leaf_fd; /* all are borrowed */
    int scope_fd;
    int scope_parent_fd; /* of a scope that nobody else removes; -1: systemd does */
    int anchor_fd;       /* a socket whose end lets the anchor leave; -1: none */
    int gate_pidfd;      /* -1: none */
    struct proc_identity gate;
    int kept_fd;             /* what must stay open as long as the payload may live; -1: nothing */
    const char *path;        /* of the scope's folder */
    const char *name;        /* of the leaf in it */
    const char *anchor_name; /* of the anchor's leaf; NULL: none */
    const char *unit;        /* NULL: none */
};
int watchdog_arm(struct watchdog *watchdog, const struct watchdog_leaf *leaf,
                 struct err *err) must_check;
int watchdog_armed(struct watchdog *watchdog, struct err *err) must_check;

/* folder_fd: of one on a file system of the host; else -1. It waits for an answer, and allocates nothing. */
int watchdog_note_daemon(struct watchdog *watchdog, size_t which, const struct watch_daemon *daemon,
                         int folder_fd, struct err *err) must_check;

/* Right before systemd is asked for its scope: until it is in there, or that (monotonic) moment, it does not exit.
 * 0: systemd made none. -errno, as the next three. */
int watchdog_asked(struct watchdog *watchdog, int64_t until_ns) must_check;
int watchdog_report(struct watchdog *watchdog, int reports_fd) must_check;
int watchdog_set_deadline(struct watchdog *watchdog, int64_t monotonic_ns) must_check;
int watchdog_let_go(struct watchdog *watchdog) must_check;
int watchdog_disarm(struct watchdog *watchdog, struct err *err) must_check;
void watchdog_free(struct watchdog *watchdog);

/* The next state of a manifest, complete but not in its place: nobody else can guess its name. */
void watchdog_remove_unfinished(const struct bfs_dir *folder, const char *name);

static inline void watchdog_freep(struct watchdog **watchdog)
{
    watchdog_free(*watchdog);
    *watchdog = NULL;
}
#define with_watchdog cleanup(watchdog_freep) struct watchdog *
