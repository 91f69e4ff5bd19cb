/* contain.h
 *
 * Which adapter holds a run, what it promises, and the refusal of what it cannot promise.
 *
 * Calling sequence
 *   contain_choose(&contain)                     the strongest adapter of this host
 *   contain_with_sandbox(environment)            what --sandbox would add, where it was not asked for
 *   contain_require(&contain, set, &facts, &checks)   one check for each guarantee that was required:
 *                                                what was probed, what would establish it (CT-3)
 *
 * The adapter of a host without a scope is `portable-process-group-small-only`: the process tree is
 * found through the child subreaper and ended through pidfds, memory and tasks are observed.
 *
 * Limitations  there is this one adapter, and the record states its levels as they stand here. A
 *              stronger one will need a choice by what the host has, a hook between the creation of
 *              the gate and its release (supervise.h), a read-back of what it set, and levels that
 *              follow from that read-back.
 */
#pragma once

#include "cgroup.h"
#include "checks.h"
#include "guarantee.h"
#include "sandbox.h"

struct contain {
    const char *adapter_id;
    struct guarantees guarantees;
    const struct sandbox *sandbox; /* NULL: none; borrowed */
    const json_t *could;           /* contain_with_sandbox(), NULL: nobody asked; borrowed */
};

/* Those that a sandbox enforces: requiring one of them asks for it. */
uint32_t contain_needs_sandbox(uint32_t required);

void contain_choose(struct contain *ret_contain);
void contain_require(const struct contain *contain, uint32_t required,
                     const struct cgroup_facts *cgroup, struct checks *checks);
/* What a sandbox could enforce on this host as far as that can be seen without starting anything
 * (EN-1): "option", how it is asked for; "enforced", names of guarantees; and where it cannot be made,
 * or only perhaps, "saw" and "remedy". The environment is the caller's: it may pin bubblewrap. */
json_t *contain_with_sandbox(char *const *environment) must_check;
/* report.adapter: id, platform, capability flags, guarantees, reasons. */
json_t *contain_to_json(const struct contain *contain) must_check;
/* What an envelope says of it: adapter, attestation and promotions. No adapter of this version can
 * earn the last two. */
void contain_add_to_envelope(const struct contain *contain, json_t *envelope);
