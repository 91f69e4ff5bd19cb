/* recover.h
 *
 * What a death of berm and of its watchdog, or a reboot, left of runs: healed from the manifests in the
 * state folder, by exact identities only.
 *
 * A manifest is stale when neither the controller nor the watchdog that it names lives: (pid, start time,
 * boot). Then its leaf is killed and removed if it still is that very cgroup, its directories are removed
 * if they are those that were made, the report of the crash is written where this run's record still
 * stands, and the manifest goes last. A pid that was given to another process, another directory of the name
 * or another run's report is left alone.
 *
 * Calling sequence
 *   recover_runs(environment, clock, &recovery, err)      at once, or before a run that must be alone
 *   recovery_done(&recovery)
 *
 * Errors       -1: the state folder cannot be had, or another berm is doing the same (ERR_CONFLICT). What
 *              cannot be healed is a row with its reason.
 * Limitations  after a reboot no device number is the same for sure, so directories are known by path,
 *              inode and owner. A manifest that cannot be read is told and stays. What is not on a file
 *              system with nameless files (O_TMPFILE) can leave a file NAME.new beside its manifest.
 */
#pragma once

#include <stdint.h>

#include "bfs.h"
#include "clock.h"
#include "err.h"

enum recover_state {
    RECOVER_ACTIVE, /* the run, or its watchdog, lives */
    RECOVER_HEALED,
    RECOVER_LEFT, /* something could not be removed, or the manifest cannot be read */
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

int recover_runs(char *const *environment, const struct os_clock *clock,
                 struct recovery *ret_recovery, struct err *err) must_check;
void recovery_done(struct recovery *recovery);
#define with_recovery cleanup(recovery_done) struct recovery

/* The folder of manifests, beside that of the records; made where it is missing. */
int recover_open_folder(char *const *environment, struct bfs_dir *ret_folder,
                        struct err *err) must_check;
