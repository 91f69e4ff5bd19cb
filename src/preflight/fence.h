/* fence.h
 *
 * Fences: the record that some work was being attempted, or hit a limit, which blocks a blind retry at a tier
 * (FZ-1, FZ-4, FZ-5). They are `fences.json` in the state folder, mode 0600 (docs/formats/fences-v1.md).
 *
 * The key is the frozen identity (frozen.h): source, words, inputs and the berm program. Limits are no part of it, so that
 * other limits are no way around, and neither is another checkout of the same bytes.
 *
 * Calling sequence of an attempt
 *   fence_raise(&folder, &fence, err)       right before the release; it is durable when this returns, and when this
 *                                           fails none of it stands, or that is told. ERR_CONFLICT: one stands
 *                                           already, and what it says is told
 *   fence_judge(&facts, &state)             after the run: whether it goes, or as what it stays
 *   fence_lower() or fence_keep()           only of the run that raised it: ERR_NOT_FOUND when it is another's
 * A death of berm in between keeps it: nobody has to be alive for that.
 * Before an attempt
 *   fences_read(), fences_find()
 * A person's
 *   fence_clear(&folder, "3fa9", reason, realtime_ns, &cleared, err)    by the beginning of its id
 *
 * History      what a person cleared stays in the file with the reason; the newest FENCES_CLEARED_MAX of them, and
 *              how many there were before. What an attempt lowers itself leaves nothing.
 * At most      FENCES_MAX stand; one more is refused (ERR_OVER_BUDGET) until some are cleared.
 * Ownership    fences that were read own what they hold; the others borrow.
 * Errors       as state-file-priv.h: a file that cannot be believed is an error and never "none".
 * Limitations  it is not signed, and keeps a mistake from being repeated, not somebody who means it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bfs.h"
#include "buf.h"
#include "err.h"
#include "record.h"

/* X(enumerator, name, what happened) */
#define FENCE_STATES(X)                                                                            \
    X(FENCE_ACTIVE, "active", "it is being attempted, or berm died in an attempt")                 \
    X(FENCE_LIMIT, "limit", "it was ended at a limit")                                             \
    X(FENCE_INTERRUPTED, "interrupted",                                                            \
      "it was interrupted, and how it would have ended is not "                                    \
      "known")                                                                                     \
    X(FENCE_FAILED, "failed", "it ended, and not everything about its end could be proved")

enum fence_state {
#define X(enumerator, name, what) enumerator,
    FENCE_STATES(X)
#undef X
        FENCE_STATE_COUNT
};
const char *fence_state_name(enum fence_state state);
const char *fence_state_words(enum fence_state state);

struct fence {
    char *frozen_digest;
    int state;   /* enum fence_state */
    char *limit; /* of FENCE_LIMIT; else NULL */
    char *tier;
    char *repository;
    char *workload;
    char *run_id;
    char *since;
};
struct fence_clearing {
    struct fence fence;
    char *cleared_at;
    char *reason;
};
struct fences {
    struct object_list standing; /* struct fence */
    struct object_list cleared;  /* struct fence_clearing, the oldest first */
    int64_t cleared_before;      /* that were given up */
};
extern const struct record fences_record;
extern const struct record fence_clearing_record;

enum { FENCES_MAX = 100, FENCES_CLEARED_MAX = 90, FENCE_ID_LENGTH = 12, FENCE_REASON_BYTES = 400 };
#define FENCES_FILE "fences.json"

/* What an attempt came to. */
struct fence_facts {
    bool released;     /* the payload was told to go on */
    const char *limit; /* that was passed, whatever was the outcome; NULL: none */
    bool interrupted;  /* berm was asked to stop */
    bool clean;     /* the command ended by itself, and nothing is left (success, command_failed) */
    bool published; /* the final report stands in its place */
    bool disarmed;  /* so said the watchdog */
};
/* True: the fence goes. Else *ret_state is what it stays as. */
bool fence_judge(const struct fence_facts *facts, enum fence_state *ret_state);

int fences_read(const struct bfs_dir *folder, struct fences *ret_fences,
                struct err *err) must_check;
const struct fence *fences_find(const struct fences *fences, const char *frozen_digest);
/* "run k7f3 hit the limit memory at ... (fence 3fa9c0ffee12)" */
void fence_explain(const struct fence *fence, struct buf *out);

int fence_raise(const struct bfs_dir *folder, const struct fence *fence,
                struct err *err) must_check;
/* Neither finds a fence of another run; none is fine for fence_lower(). */
int fence_lower(const struct bfs_dir *folder, const char *frozen_digest, const char *run_id,
                struct err *err) must_check;
/* As it now is; put up again when a person cleared it during the attempt. */
int fence_keep(const struct bfs_dir *folder, const struct fence *fence, struct err *err) must_check;
/* id: at least four hexadecimal digits, the beginning of one digest. ERR_NOT_FOUND; ERR_USAGE: of several, or
 * no reason. *ret_cleared is the caller's to end with record_done(). */
int fence_clear(const struct bfs_dir *folder, const char *id, const char *reason,
                int64_t realtime_ns, struct fence_clearing *ret_cleared,
                struct err *err) must_check;
void fences_done(struct fences *fences);
#define with_fences cleanup(fences_done) struct fences
