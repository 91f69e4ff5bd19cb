/* adopt.h
 *
 * The work of a watchdog that died as well, or that a reboot ended, done from its manifest: by a new
 * watchdog, which takes the manifest over and ends the run as the first would have.
 *
 * Calling sequence
 *   read a manifest; open what it names and compare identities; blank what is another by now or gone
 *   adopt_finish(&adoption, clock, &left, err)
 *
 * Ownership    everything is borrowed.
 * Errors       -1: it could not be started, or died; 0: *ret_left has what is left (WATCH_LEFT_...), and
 *              with 0 the manifest is gone, if it was not to stay
 * Limitations  whether the run's processes are dead is the caller's question, and that nobody else adopts it.
 */
#pragma once

#include <stdint.h>

#include "clock.h"
#include "err.h"
#include "span.h"
#include "watch-message.h"

struct adoption {
    const struct watch_manifest *manifest; /* with its own identity in .file.self; none: it stays */
    struct span reports;                   /* struct watch_reports and its texts */
    int folder_fd;
    int slot_fds[WATCH_SLOTS];         /* of those whose path is not blank */
    int parent_fds[WATCH_DIRECTORIES]; /* likewise */
    int daemon_fds[WATCH_DAEMONS];     /* of those on a file system of the host */
    int leaf_fd;                       /* -1: there is none any more */
    int scope_fd;                      /* likewise */
    int scope_parent_fd;               /* -1: systemd removes the scope */
    int gate_pidfd;                    /* -1: it is gone */
    int64_t scope_ms; /* so long systemd may take to remove the scope; 0: as for a watchdog */
};

int adopt_finish(const struct adoption *adoption, const struct os_clock *clock, uint32_t *ret_left,
                 struct err *err) must_check;
