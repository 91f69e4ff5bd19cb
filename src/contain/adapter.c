/* adapter.c
 *
 * The adapter of a run, in the words of a report. Of the host nothing is asked here, so that the portable
 * program says the same as berm on a host without a scope.
 */
#include "contain.h"

#include <string.h>

#include "process.h"

static const char no_sandbox[] = "a process group has no sandbox";
static const char sampled[] = "watched by sampling: a burst between two looks can pass";
static const char no_cgroup[] = "a process group has no limit on it in the kernel";

static const struct {
    enum guarantee_level level;
    const char *why;
} portable[] = {
    [GUARANTEE_FILESYSTEM] = {LEVEL_NONE, no_sandbox},
    [GUARANTEE_WRITABLE_ROOTS] = {LEVEL_NONE, no_sandbox},
    [GUARANTEE_NETWORK] = {LEVEL_NONE, no_sandbox},
    [GUARANTEE_DESCENDANTS] =
        {LEVEL_OBSERVED, "a child subreaper finds every descendant; one that changed its user "
                         "cannot be ended, and a death of berm itself ends the first only"},
    [GUARANTEE_MEMORY] = {LEVEL_OBSERVED, sampled},
    [GUARANTEE_PIDS] = {LEVEL_OBSERVED, sampled},
    [GUARANTEE_SWAP] = {LEVEL_NONE, no_cgroup},
    [GUARANTEE_TEMP_BYTES] = {LEVEL_NONE, no_sandbox},
    [GUARANTEE_TEMP_INODES] = {LEVEL_NONE, no_sandbox},
    [GUARANTEE_CONTROL_SOCKETS] = {LEVEL_NONE, no_sandbox},
    [GUARANTEE_SYSCALLS] = {LEVEL_NONE, no_sandbox},
};
_Static_assert(countof(portable) == GUARANTEE_COUNT, "every guarantee has a level");

void contain_choose(const struct scope_offer *offer, struct contain *ret_contain)
{
    bool has_scope = offer && offer->adapter != SCOPE_NONE;
    *ret_contain = (struct contain){.adapter_id = has_scope ? scope_adapter_id(offer->adapter)
                                                            : "portable-process-group-small-only",
                                    .offer = offer};
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        ret_contain->guarantees.level[i] = portable[i].level;
        ret_contain->guarantees.why[i] = portable[i].why;
    }
}

static bool enforces(const struct contain *contain, enum guarantee guarantee)
{
    return contain->guarantees.level[guarantee] == LEVEL_ENFORCED;
}

/* Why something is not given at all, each reason once. */
static json_t *reasons_to_json(const struct guarantees *guarantees)
{
    json_t *reasons = json_array();
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        bool told = guarantees->level[i] != LEVEL_NONE || !guarantees->why[i];
        for (size_t j = 0; j < i && !told; j++) {
            told = guarantees->level[j] == LEVEL_NONE && guarantees->why[j] &&
                   strcmp(guarantees->why[i], guarantees->why[j]) == 0;
        }
        if (!told) {
            json_array_append_new(reasons, json_text(span_of_string(guarantees->why[i])));
        }
    }
    return reasons;
}

json_t *contain_to_json(const struct contain *contain)
{
    enum containment label = guarantees_label(&contain->guarantees);
    const struct {
        const char *name;
        bool holds;
    } flags[] = {
        {"production_enforcement", label == CONTAINMENT_MANAGED},
        {"aggregate_memory", enforces(contain, GUARANTEE_MEMORY)},
        {"aggregate_pids", enforces(contain, GUARANTEE_PIDS)},
        {"complete_descendant_ownership", enforces(contain, GUARANTEE_DESCENDANTS)},
    };
    json_t *json = json_object();
    json_object_set_new(json, "id", json_string(contain->adapter_id));
    json_object_set_new(json, "platform", json_string(os_platform()));
    for (size_t i = 0; i < countof(flags); i++) {
        json_object_set_new(json, flags[i].name, json_boolean(flags[i].holds));
    }
    json_object_set_new(json, "label", json_string(containment_name(label)));
    json_object_set_new(json, "guarantees", guarantees_to_json(&contain->guarantees));
    json_object_set_new(json, "reasons", reasons_to_json(&contain->guarantees));
    if (contain->sandbox) {
        json_object_set_new(json, "sandbox", sandbox_to_json(contain->sandbox));
    }
    if (contain->could) {
        json_object_set_new(json, "with_sandbox", json_deep_copy(contain->could));
    }
    return json;
}

void contain_add_to_envelope(const struct contain *contain, json_t *envelope)
{
    json_object_set_new(envelope, "adapter", contain_to_json(contain));
    json_object_set_new(envelope, "promotion", json_pack("{s:[], s:n}", "completed", "value"));
    json_object_set_new(envelope, "production_tiers_fail_closed", json_true());
}
