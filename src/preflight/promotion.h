/* promotion.h
 *
 * Promotions: the record that a workload succeeded at a tier, which opens the next (TR-2…TR-4). They are
 * `promotions.json` in the state folder, mode 0600 (docs/formats/promotions-v1.md).
 *
 * A promotion is one of a workload of a repository at a tier; a later one of the same takes its place. It says which
 * work that was: the frozen identity (frozen.h), which binds source, words, inputs and the berm program. It opens
 * the next tier for that very work only, so that a changed line, argument, berm or bubblewrap that the identity knows of
 * needs the smaller tiers anew.
 *
 * Calling sequence
 *   promotions_read(&folder, &promotions, err)         1; 0: there is none
 *   promotions_allow(&promotions, &work, tier, &why)   are the smaller tiers there? `why` says which is not
 *   promotion_add(&folder, &promotion, &facts, err)    after a run: ERR_REFUSED names every fact that is missing
 *   promotions_done(&promotions)
 *
 * At most      PROMOTIONS_MAX; the oldest gives way, and can be earned again.
 * Ownership    promotions that were read own what they hold; promotion_add() borrows.
 * Errors       as state-file-priv.h: a file that cannot be believed is an error and never "none".
 * Limitations  it is not signed: whoever writes files as this user can write one.
 */
#pragma once

#include <stdbool.h>

#include "bfs.h"
#include "buf.h"
#include "err.h"
#include "record.h"

enum promotion_tier { PROMOTION_SMALL, PROMOTION_MEDIUM, PROMOTION_LARGE, PROMOTION_TIER_COUNT };
const char *promotion_tier_name(enum promotion_tier tier);
extern const char *const promotion_tier_names[]; /* NULL-terminated */

struct promotion {
    char *repository; /* physical path of its root */
    char *workload;
    int tier; /* enum promotion_tier */
    char *frozen_digest;
    char *report_digest; /* of the report that was published */
    char *run_id;
    char *recorded_at;
    char *build; /* digest of the berm program that ran it */
};
struct promotions {
    struct object_list promotions; /* struct promotion */
};
extern const struct record promotions_record;

enum { PROMOTIONS_MAX = 200 };
#define PROMOTIONS_FILE "promotions.json"

/* Work that wants to be run. */
struct promotion_work {
    const char *repository;
    const char *workload;
    const char *frozen_digest;
};

/* X(member, what is missing): what must be so before a success counts (TR-3). */
#define PROMOTION_FACTS(X)                                                                         \
    X(command_succeeded, "the command did not succeed")                                            \
    X(report_valid, "no valid report stands in its place")                                         \
    X(descendants_gone, "it is not proved that no descendant is left")                             \
    X(scope_removed, "its scope is not proved to be removed")                                      \
    X(temporary_removed, "its temporary folder is not proved to be removed")                       \
    X(cleanup_clean, "cleaning up did not go without an error")                                    \
    X(watchdog_disarmed, "its watchdog was not disarmed")                                          \
    X(source_unchanged, "its source is not what was frozen before the run")

struct promotion_facts {
#define X(member, missing) bool member;
    PROMOTION_FACTS(X)
#undef X
};
/* Every one that is missing is told in `why`. */
bool promotion_is_earned(const struct promotion_facts *facts, struct buf *why);

int promotions_read(const struct bfs_dir *folder, struct promotions *ret_promotions,
                    struct err *err) must_check;
/* NULL: there is none. */
const struct promotion *promotions_find(const struct promotions *promotions,
                                        const struct promotion_work *work,
                                        enum promotion_tier tier);
bool promotions_allow(const struct promotions *promotions, const struct promotion_work *work,
                      enum promotion_tier tier, struct buf *why);
int promotion_add(const struct bfs_dir *folder, const struct promotion *promotion,
                  const struct promotion_facts *facts, struct err *err) must_check;
void promotions_done(struct promotions *promotions);
#define with_promotions cleanup(promotions_done) struct promotions
