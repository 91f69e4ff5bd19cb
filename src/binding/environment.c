#include "environment.h"

#include <ctype.h>
#include <string.h>

#include "memory.h"
#include "variable-priv.h"

/* "NAME=VALUE" taken apart; value is NULL when there is no '='. */
struct variable {
    struct span name;
    const char *value;
    const char *entry;
    bool is_override;
};

static struct variable variable_of(const char *entry)
{
    const char *equals = strchr(entry, '=');
    struct span name = equals ? span_of(entry, (size_t)(equals - entry)) : span_of_string(entry);
    return (struct variable){.name = name, .value = equals ? equals + 1 : NULL, .entry = entry};
}

static int compare_names(struct span a, struct span b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static bool is_well_formed(struct span name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!isgraph((unsigned char)name.p[i])) {
            return false;
        }
    }
    return name.n > 0;
}

/* Everything the caller has and everything that was asked for, so that one sort brings together
 * what has the same name. */
struct variables {
    struct variable *all;
    size_t count;
};

static void variables_done(struct variables *variables)
{
    memory_free(variables->all);
}

static void add_inherited(struct variables *variables, char *const *entries)
{
    for (; entries && *entries; entries++) {
        struct variable variable = variable_of(*entries);
        /* execve(2) lets anything through; what has no name or no value is no variable. */
        if (variable.value && variable.name.n > 0) {
            variables->all[variables->count++] = variable;
        }
    }
}

static int add_overrides(struct variables *variables, const struct strvec *overrides,
                         struct err *err)
{
    for (size_t i = 0; overrides && i < overrides->count; i++) {
        struct variable variable = variable_of(overrides->strings[i]);
        if (!is_well_formed(variable.name)) {
            return err_set(err, ERR_USAGE, "'%.*s' is no name of an environment variable",
                           (int)(variable.name.n < 200 ? variable.name.n : 200), variable.name.p);
        }
        variable.is_override = true;
        variables->all[variables->count++] = variable;
    }
    return 0;
}

/* By name; the caller's before what was asked for; each in the order it came in. The two arrays of
 * entries are not one, so the order is that of the elements before sorting (a stable merge). */
static void sort_variables(struct variable *all, size_t count, struct variable *space)
{
    if (count < 2) {
        return;
    }
    size_t half = count / 2;
    sort_variables(all, half, space);
    sort_variables(all + half, count - half, space);
    memcpy(space, all, half * sizeof *all);
    for (size_t left = 0, right = half, out = 0; left < half; out++) {
        bool take_right = right < count && compare_names(all[right].name, space[left].name) < 0;
        all[out] = take_right ? all[right++] : space[left++];
    }
}

static void hold_back(struct environment *environment, struct span name, enum held_reason reason)
{
    size_t count = environment->held_names.count;
    strvec_push_format(&environment->held_names, "%.*s", (int)name.n, name.p);
    environment->held_reasons =
        memory_resize(environment->held_reasons, (count + 1) * sizeof *environment->held_reasons);
    environment->held_reasons[count] = reason;
}

static void take_inherited(const struct variable *variable, bool pass_all,
                           struct environment *environment)
{
    if (variable_refusal(variable->name, variable->value)) {
        hold_back(environment, variable->name, HELD_REFUSED);
    } else if (pass_all) {
        strvec_push(&environment->child, variable->entry);
    } else if (variable_is_credential(variable->name)) {
        hold_back(environment, variable->name, HELD_CREDENTIAL);
    } else if (!variable_is_listed(variable->name, variable->value)) {
        hold_back(environment, variable->name, HELD_NOT_LISTED);
    } else {
        strvec_push(&environment->child, variable->entry);
    }
}

static int take_asked_for(const struct variable *variable, struct environment *environment,
                          struct err *err)
{
    const char *reason = variable_refusal(variable->name, variable->value);
    if (reason) {
        return err_set(err, ERR_REFUSED, "environment variable %.*s is never passed: it %s",
                       (int)(variable->name.n < 200 ? variable->name.n : 200), variable->name.p,
                       reason);
    }
    if (variable->value) {
        strvec_push(&environment->child, variable->entry);
    }
    return 0;
}

/* All variables of one name: the caller's first counts, as getenv(3) finds it, and the last of the
 * overrides, as with options. */
static int take_group(const struct variable *group, size_t count, bool pass_all,
                      struct environment *environment, struct err *err)
{
    const struct variable *first = &group[0];
    const struct variable *last = &group[count - 1];
    if (!last->is_override) {
        take_inherited(first, pass_all, environment);
        return 0;
    }
    /* "NAME" alone passes what the caller has; nothing when the caller has none. */
    return take_asked_for(last->value || first->is_override ? last : first, environment, err);
}

static size_t count_strings(char *const *strings)
{
    size_t count = 0;
    while (strings && strings[count]) {
        count++;
    }
    return count;
}

int environment_build(const struct environment_request *request,
                      struct environment *ret_environment, struct err *err)
{
    size_t room = count_strings(request->inherited);
    room += request->overrides ? request->overrides->count : 0;
    cleanup(variables_done) struct variables variables = {
        .all = memory_new(2 * room * sizeof *variables.all)};
    add_inherited(&variables, request->inherited);
    if (add_overrides(&variables, request->overrides, err) < 0) {
        return -1;
    }
    sort_variables(variables.all, variables.count, variables.all + room);

    with_environment environment = {0};
    for (size_t start = 0, end; start < variables.count; start = end) {
        end = start + 1;
        while (end < variables.count &&
               compare_names(variables.all[start].name, variables.all[end].name) == 0) {
            end++;
        }
        if (take_group(&variables.all[start], end - start, request->pass_all, &environment, err) <
            0) {
            return -1;
        }
    }
    *ret_environment = environment;
    environment = (struct environment){0};
    return 0;
}

void environment_declare(const char *runtime, struct strvec *ret_environment)
{
    strvec_push_format(ret_environment, "PATH=%s%s/usr/local/bin:/usr/bin:/bin",
                       runtime ? runtime : "", runtime ? "/bin:" : "");
    strvec_push(ret_environment, "LANG=C.UTF-8");
}

char *const *environment_envp(const struct environment *environment)
{
    return strvec_argv(&environment->child);
}

json_t *environment_recorded(const struct environment *environment)
{
    json_t *record = json_object();
    for (size_t i = 0; i < environment->child.count; i++) {
        struct variable variable = variable_of(environment->child.strings[i]);
        if (!variable_is_recorded(variable.name)) {
            continue;
        }
        with_string name = memory_format("%.*s", (int)variable.name.n, variable.name.p);
        /* A name that is not UTF-8 is refused by jansson; such a variable stays out of the record. */
        (void)json_object_set_new(record, name, json_text(span_of_string(variable.value)));
    }
    return record;
}

void environment_done(struct environment *environment)
{
    if (!environment) {
        return;
    }
    strvec_done(&environment->child);
    strvec_done(&environment->held_names);
    memory_free(environment->held_reasons);
    *environment = (struct environment){0};
}
