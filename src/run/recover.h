/* recover.h
 *
 * What a death of berm and of its watchdog, or a reboot, left of runs: healed from the manifests in the
 * state folder, by exact identities only.
 *
 * A manifest is stale when neither the controller nor the watchdog that it names lives: (pid, start time) in
 * this boot and PID namespace, or any of an earlier boot of this machine. Then its leaf is killed and removed
 * if it still is that very cgroup, its directories are removed if they are those that were made, the report of
 * the crash is written where this run's record still stands, and the manifest goes last: not before systemd, where it
 * made units of the run, has said that there are none (any more). A pid that was given
 * to another process, another directory of the name or another run's report is left alone. So is, whole, a
 * manifest that belongs to somebody else or that others may write, one of another machine or PID namespace
 * (a home can be shared), and one of which something could not be looked at.
 *
 * Calling sequence
 *   recover_runs(environment, clock, wait_ms, &recovery, err)      at once, or before a run that must be alone
 *   recovery_done(&recovery)
 *
 * wait_ms      for another berm that heals, and for watchdogs that are at work, all of them together. 0: neither
 *              is waited for, and a run whose watchdog is at work is active. systemd is waited for, for
 *              all runs together, 20 s more, and 3 s where wait_ms is 0 (before a run).
 * Errors       -1: the state folder cannot be had, has more than 10000 files, or another berm is doing the same
 *              (ERR_CONFLICT). What cannot be healed is a row with its reason.
 * Limitations  after a reboot no device number is the same for sure, so directories are known by path,
 *              inode and owner. A manifest that cannot be read is told and stays. What is not on a file
 *              system with nameless files (O_TMPFILE) can leave a file NAME.new beside its manifest. Without an
 *              /etc/machine-id what an earlier boot left stays, as of another machine.
 */
#pragma once

#include <stdint.h>

#include "bfs.h"
#include "clock.h"
#include "err.h"

enum recover_state {
    RECOVER_ACTIVE, /* the run, or its watchdog, lives */
    RECOVER_HEALED,
    RECOVER_LEFT,      /* something could not be removed, looked at or read */
    RECOVER_ELSEWHERE, /* of another machine or PID namespace, which alone can say whether it lives */
    RECOVER_STATE_COUNT
};
const char *recover_state_name(enum recover_state state);

struct recovered {
    char run_id[16]; /* "": not known */
    enum recover_state state;
    char what[300]; /* what was found, or is left */
};

struct recovery {
    struct recovered *runs;
    size_t count;
    int64_t counts[RECOVER_STATE_COUNT];
};

enum { RECOVER_WAIT_MS = 30000 }; /* who asks for it can wait so long */
int recover_runs(char *const *environment, const struct os_clock *clock, int wait_ms,
                 struct recovery *ret_recovery, struct err *err) must_check;
void recovery_done(struct recovery *recovery);
#define with_recovery cleanup(recovery_done) struct recovery

/* The folder of manifests, beside that of the records; made where it is missing. */
int recover_open_folder(char *const *environment, struct bfs_dir *ret_folder,
                        struct err *err) must_check;
