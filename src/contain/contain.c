#include "contain.h"

#include <string.h>

#include "infrastructure.h"
#include "memory.h"
#include "process.h"
#include "text.h"

static const char could_be_lifted[] =
    "the kernel enforces it; without --sandbox a process of the same user could lift it";

void contain_hold(bool sandboxed, bool swap_limited, struct guarantees *guarantees)
{
    static const enum guarantee held[] = {GUARANTEE_MEMORY, GUARANTEE_PIDS, GUARANTEE_SWAP,
                                          GUARANTEE_DESCENDANTS};
    for (size_t i = 0; i < countof(held); i++) {
        guarantees->level[held[i]] = sandboxed ? LEVEL_ENFORCED : LEVEL_LIMITED;
        guarantees->why[held[i]] = sandboxed ? NULL : could_be_lifted;
    }
    if (!swap_limited) {
        guarantees->level[GUARANTEE_SWAP] = LEVEL_NONE;
        guarantees->why[GUARANTEE_SWAP] =
            "the host swaps, and its kernel has no memory.swap.max: boot with swapaccount=1";
    }
}

/* What a probe found, and what would help, for the guarantees that need a mechanism of one kind. */
struct finding {
    char *saw;
    char *remedy;
};

/* Memory, pids and swap: a scope, and a sandbox around whoever could write its files. */
static struct finding probe_scope(const struct contain *contain)
{
    const struct scope_offer *offer = contain->offer;
    if (offer && offer->adapter != SCOPE_NONE) {
        return (struct finding){memory_copy_string("there is a scope, but no sandbox around it"),
                                memory_copy_string("mend what keeps the sandbox from being made")};
    }
    bool told = offer && offer->obstacle_count > 0;
    return (struct finding){
        memory_copy_string(told ? offer->obstacles[0].saw : "nobody looked for a cgroup"),
        memory_copy_string(told ? offer->obstacles[0].remedy
                                : "run without --require; the limit is observed all the same")};
}

/* With a sandbox it is a matter of what was asked for; without one, why there is none was told. */
static struct finding probe_sandbox(const struct contain *contain, enum guarantee guarantee)
{
    const char *why = contain->guarantees.why[guarantee];
    if (!contain->sandbox) {
        return (struct finding){memory_copy_string("no sandbox can be made, see the other reasons"),
                                memory_copy_string("mend what they name, or do not require it")};
    }
    const char *remedy = sandbox_remedy(contain->sandbox, guarantee);
    return (struct finding){memory_copy_string(why ? why : "the sandbox does not close it"),
                            memory_copy_string(remedy ? remedy : "do not require it")};
}

static bool needs_scope(enum guarantee guarantee)
{
    return guarantee == GUARANTEE_MEMORY || guarantee == GUARANTEE_PIDS ||
           guarantee == GUARANTEE_SWAP;
}

void contain_require(const struct contain *contain, uint32_t required, struct checks *checks)
{
    static const char *const codes[] = {
#define X(enumerator, name, promise) [enumerator] = "preflight.guarantee." name,
        GUARANTEES(X)
#undef X
    };
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        if (!(required >> i & 1)) {
            continue;
        }
        enum guarantee guarantee = (enum guarantee)i;
        enum guarantee_level level = contain->guarantees.level[i];
        if (level == LEVEL_ENFORCED) {
            checks_add_take(checks, codes[i], true,
                            memory_format("%s is enforced", guarantee_name(guarantee)),
                            memory_copy_string(contain->adapter_id), memory_copy_string(""));
            continue;
        }
        struct finding finding =
            needs_scope(guarantee) ? probe_scope(contain) : probe_sandbox(contain, guarantee);
        checks_add_take(checks, codes[i], false,
                        memory_format("%s cannot be enforced (here: %s)", guarantee_name(guarantee),
                                      guarantee_level_name(level)),
                        finding.saw, finding.remedy);
    }
}

/* false: there is no bubblewrap, or user namespaces are closed; true with texts: it has to be tried. */
static bool could_sandbox(char *const *environment, char **ret_saw, char **ret_remedy)
{
    struct err err = {0};
    struct infrastructure_request wanted;
    with_binding tool = NULL;
    if (infrastructure_pin(environment, &wanted, &err) < 0 ||
        infrastructure_bind_bwrap(&wanted, &tool, &err) < 0) {
        *ret_saw = memory_copy_string(err.msg); /* it ends in what would help */
        *ret_remedy = NULL;
        return false;
    }
    return infrastructure_probe(ret_saw, ret_remedy) != OUTLOOK_CLOSED;
}

json_t *contain_with_sandbox(const struct scope_offer *offer, char *const *environment)
{
    with_string saw = NULL;
    with_string remedy = NULL;
    struct guarantees could = {0};
    if (could_sandbox(environment, &saw, &remedy)) {
        sandbox_could(&could);
        if (offer && offer->adapter != SCOPE_NONE) {
            contain_hold(true, true, &could);
        }
    }
    json_t *enforced = json_array();
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        if (could.level[i] == LEVEL_ENFORCED) {
            json_array_append_new(enforced, json_string(guarantee_name((enum guarantee)i)));
        }
    }
    bool needs_user = os_geteuid() == 0 && !text_variable(environment, "SUDO_UID");
    json_t *json = json_object();
    json_object_set_new(json, "option",
                        json_string(needs_user ? "--sandbox --user NAME" : "--sandbox"));
    json_object_set_new(json, "enforced", enforced);
    json_object_set_new(json, "saw", saw ? json_text(span_of_string(saw)) : json_null());
    json_object_set_new(json, "remedy", remedy ? json_text(span_of_string(remedy)) : json_null());
    return json;
}
