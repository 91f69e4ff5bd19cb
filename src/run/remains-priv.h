/* remains-priv.h
 *
 * What a manifest names, as it is today: whether its processes live, and what is still that very directory or
 * cgroup.
 *
 * Gone and unseen are two things. What the kernel says to be no more is left out. Whatever else keeps it from
 * being looked at (a folder that may not be entered, no descriptor left, no such call) is an error, and then
 * nothing of the run may be touched: it may be alive.
 *
 * Calling sequence
 *   remains->manifest = ...                     as it was read; its host is WATCH_HERE or WATCH_BEFORE
 *   remains_life(&manifest, wait_ms, &life, err)    only of WATCH_HERE
 *   remains_open(remains, err)                    all that there is; the manifest keeps no more than that
 *   remains_adopt(remains, ...)                   a new watchdog ends it
 *   remains_forget_units(remains, ...)            and systemd its units, when nobody is in them any more
 *   remains_done(remains)
 *
 * Ownership    descriptors are the struct's; zero is none.
 * Errors       ERR_SYS: "cannot look at ...".
 * Limitations  after a reboot no device number is the same for sure: directories are known by path, inode and
 *              owner then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bfs.h"
#include "clock.h"
#include "err.h"
#include "fd.h"
#include "span.h"
#include "watch-message.h"

enum remains_life {
    REMAINS_DEAD,
    REMAINS_RUNNING,   /* its controller lives */
    REMAINS_FINISHING, /* its watchdog alone does: it is at work, or stopped */
};
/* A watchdog without its controller is waited for so long. */
int remains_life(const struct watch_manifest *manifest, int wait_ms, enum remains_life *ret_life,
                 struct err *err) must_check;

struct remains {
    struct watch_manifest manifest;
    bool this_boot;
    bool had_leaf;                  /* one was armed */
    char units[2][WATCH_NAME_SIZE]; /* of its scope and of its watchdog's; empty: none */
    struct fd slots[WATCH_SLOTS];
    struct fd parents[WATCH_DIRECTORIES];
    struct fd daemons[WATCH_DAEMONS]; /* their folders */
    struct fd scope;
    struct fd scope_parent;
    struct fd leaf;
    struct fd gate;
};

int remains_open(struct remains *remains, struct err *err) must_check;
/* A new watchdog ends it. scope_ms: so long systemd may take to remove its scope; 0: as at any end. *ret_left:
 * WATCH_LEFT_... bits, 0: all is gone; so is the manifest, where its own identity stands in it. */
int remains_adopt(const struct remains *remains, const struct bfs_dir *folder, struct span reports,
                  const struct os_clock *clock, int64_t scope_ms, uint32_t *ret_left,
                  struct err *err) must_check;
/* systemd may have units of it. */
bool remains_have_units(const struct remains *remains);
/* systemd forgets them: it keeps one for nobody when who was to be moved there was dead. */
int remains_forget_units(const struct remains *remains, const char *runtime_dir,
                         int64_t deadline_ns, struct err *err) must_check;
void remains_done(struct remains *remains);
