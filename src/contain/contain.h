/* contain.h
 *
 * Which adapter holds a run, what it promises, and the refusal of what it cannot promise.
 *
 * Calling sequence
 *   scope_probe(&question, &offer)               what can hold it (scope.h)
 *   contain_choose(&offer, &contain)             the adapter of this run
 *   contain_hold(sandboxed, swap_limited, &guarantees)   what its scope gives: as a promise, and once the
 *                                                scope was made and every limit read back (scope_limits())
 *   contain_with_sandbox(&offer, environment)    what --sandbox would add, where it was not asked for
 *   contain_require(&contain, set, &facts, &checks)   one check for each guarantee that was required:
 *                                                what was probed, what would establish it (CT-3)
 *
 * The adapter of a host without a scope is `portable-process-group-small-only`: the process tree is
 * found through the child subreaper and ended through pidfds, memory and tasks are observed. With one,
 * the kernel enforces memory, tasks, swap and the end of all descendants; but a payload of the same user
 * could write the limit files, or ask its manager for another unit, unless a sandbox keeps it from both.
 */
#pragma once

#include "checks.h"
#include "guarantee.h"
#include "sandbox.h"
#include "scope.h"

struct contain {
    const char *adapter_id;
    const struct scope_offer *offer; /* NULL: nobody looked; borrowed */
    struct guarantees guarantees;
    const struct sandbox *sandbox; /* NULL: none; borrowed */
    const json_t *could;           /* contain_with_sandbox(), NULL: nobody asked; borrowed */
};

void contain_choose(const struct scope_offer *offer, struct contain *ret_contain);
void contain_hold(bool sandboxed, bool swap_limited, struct guarantees *guarantees);
void contain_require(const struct contain *contain, uint32_t required, struct checks *checks);
/* What a sandbox could enforce on this host as far as that can be seen without starting anything
 * (EN-1): "option", how it is asked for; "enforced", names of guarantees; and where it cannot be made,
 * or only perhaps, "saw" and "remedy". The environment is the caller's: it may pin bubblewrap. */
json_t *contain_with_sandbox(const struct scope_offer *offer, char *const *environment) must_check;
/* report.adapter: id, platform, capability flags, guarantees, reasons. */
json_t *contain_to_json(const struct contain *contain) must_check;
/* What an envelope says of it: adapter and promotions. No adapter of this version can earn the last. */
void contain_add_to_envelope(const struct contain *contain, json_t *envelope);
