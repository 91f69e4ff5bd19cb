/* watchdog.h
 *
 * The process that outlives the controller of a run and finishes the job after its death, in parts; what
 * it says and is told stands in watch-message.h.
 *
 *   watchdog.c        the words of the controller, the loop, the order of the end
 *   watch-start.c     what it makes and takes before it is ready
 *   watch-manifest.c  the durable list of what there is
 *   watch-leaf.c      the payload's cgroup: killed, removed, and the anchor let go
 *   watch-tree.c      directories, removed by their identity
 *   watch-slot.c      the report of the crash
 *   watch-daemon.c    what managed daemons left in folders of the host
 *
 * It has a session of its own, ignores the signals that end a terminal or a unit, and holds everything by
 * descriptor. What is removed by name is compared with its recorded identity right before.
 *
 * A part answers 0 or -errno, or bits of what is left (WATCH_LEFT_...).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attributes.h"
#include "fd.h"
#include "watch-message.h"

struct watchdog {
    struct watch_manifest manifest;      /* as it stands in its file, or will */
    const struct watch_reports *reports; /* sealed and mapped; NULL: none yet */
    size_t reports_bytes;
    int64_t unit_until_ns; /* so long systemd may look for its number, for a scope of its own */
    int64_t deadline_ns;   /* of a controller that neither goes on nor dies; INT64_MAX: none */
    bool warned;           /* it passed once: the leaf was killed */
    bool adopted;          /* the manifest is another's, which died */
    int64_t scope_ms;      /* for systemd to remove the scope; 0: REMOVE_MS */
    bool dying;            /* the controller is no more: nothing is made any more */
    int deaf;              /* times in a row that the channel could not be read */
    uint32_t told;         /* the orders that came, by bit */

    struct fd controller; /* pidfd */
    struct fd folder;     /* of manifests */
    struct fd slots[WATCH_SLOTS];
    struct fd spares[WATCH_SLOTS]; /* files without a name, with blocks set aside */
    struct fd lock;
    struct fd parents[WATCH_DIRECTORIES];
    struct fd daemons[WATCH_DAEMONS]; /* their folders */
    struct fd leaf;
    struct fd scope;
    struct fd scope_parent;
    struct fd anchor;
    struct fd gate;
    struct fd kept; /* until it exits, for somebody who counts on that */

    const char *what; /* of a failure */
};

static inline int watchdog_fail(struct watchdog *watchdog, int sys, const char *what)
{
    watchdog->what = what;
    return sys;
}

/* watchdog.c */
struct watch_identity watch_identity_of(int fd); /* inode 0: it cannot be told */
/* Of an entry itself, no link is followed; -errno. */
int watch_look(int folder, const char *name, struct watch_identity *ret_identity) must_check;
bool watch_same(const struct watch_identity *a, const struct watch_identity *b);
bool watch_is_at(int folder, const char *name, int fd); /* the name leads to that very file */
bool watch_is_nowhere(int folder, const char *name);
void watch_pause(int ms);
int64_t watch_now(void);
int watchdog_say(const struct watch_word *word, int fd) must_check; /* fd -1: none */

/* watch-start.c */
int start_prepare(struct watchdog *watchdog, struct fd *fds) must_check;
/* Only takes what came: of a manifest that is there, or when there is no controller any more. */
int start_take(struct watchdog *watchdog, struct fd *fds) must_check;

/* watch-manifest.c */
int manifest_write(struct watchdog *watchdog, enum watch_state state) must_check;
int manifest_remove(struct watchdog *watchdog) must_check;

/* watch-leaf.c */
void leaf_take(struct watchdog *watchdog, const struct watch_leaf *leaf, struct fd *fds);
void leaf_kill(struct watchdog *watchdog); /* one write, nothing is waited for */
/* NULL: neither the leaf nor a scope that nobody else removes is there; else what cannot be done. */
const char *leaf_left(const struct watchdog *watchdog);
void leaf_let_go(struct watchdog *watchdog);
uint32_t leaf_end(struct watchdog *watchdog);

/* watch-tree.c */
uint32_t tree_remove_directories(struct watchdog *watchdog);
void tree_remove_claim(const struct watchdog *watchdog);

/* watch-daemon.c */
uint32_t daemon_remove_objects(struct watchdog *watchdog);

/* watch-slot.c */
int slot_set_aside(struct watchdog *watchdog, size_t slot) must_check;
uint32_t slot_write_reports(struct watchdog *watchdog, enum watch_ending ending);
