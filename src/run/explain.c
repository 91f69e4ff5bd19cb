#include "run-priv.h"

#include <string.h>

#include "redact.h"

static json_t *limits_to_json(const struct run_limits *limits)
{
    json_t *list = json_array();
    for (int i = 0; i < limits->count; i++) {
        const struct limit_fact *fact = &limits->facts[i];
        const struct limit *row = supervise_limit(fact->limit);
        json_t *entry = json_object();
        json_object_set_new(entry, "name", json_string(row->told));
        json_object_set_new(entry, "unit", json_string(row->unit));
        json_object_set_new(entry, "value",
                            fact->value > 0 ? json_integer(fact->value) : json_null());
        json_object_set_new(entry, "source", json_string(fact->source));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *environment_to_json(const struct environment *environment)
{
    static const char *const reasons[] = {[HELD_NOT_LISTED] = "not on the list",
                                          [HELD_REFUSED] = "steers other programs",
                                          [HELD_CREDENTIAL] = "looks like a credential"};
    json_t *passed = json_array();
    for (size_t i = 0; i < environment->child.count; i++) {
        const char *entry = environment->child.strings[i];
        json_array_append_new(passed, json_text(span_of(entry, strcspn(entry, "="))));
    }
    json_t *held = json_array();
    for (size_t i = 0; i < environment->held_names.count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "name",
                            json_text(span_of_string(environment->held_names.strings[i])));
        json_object_set_new(one, "reason", json_string(reasons[environment->held_reasons[i]]));
        json_array_append_new(held, one);
    }
    json_t *json = json_object();
    json_object_set_new(json, "passed", passed);
    json_object_set_new(json, "held_back", held);
    return json;
}

json_t *run_explain(const struct run_request *asked, struct err *err)
{
    struct run_request wanted = run_tier_widen(asked);
    const struct run_request *request = &wanted;
    if (run_request_check(request, err) < 0) {
        return NULL;
    }
    struct scope_offer offer;
    prepare_offer(request, &offer);
    with_preparation preparation = {.offer = &offer};
    prepare(request, &preparation);
    json_t *json = json_object();
    json_object_set_new(json, "schema", json_string("berm.explain/v1"));
    json_object_set_new(json, "command", redact_argv(request->argv));
    json_object_set_new(json, "cwd", json_text(span_of_string(preparation.cwd_path)));
    json_object_set_new(json, "project", run_project_to_json(&preparation, request->workload));
    json_object_set_new(json, "executable",
                        preparation.binding ? binding_to_json(preparation.binding) : json_null());
    json_object_set_new(json, "limits", limits_to_json(&preparation.limits));
    json_object_set_new(json, "environment", environment_to_json(&preparation.environment));
    json_object_set_new(json, "adapter", json_string(preparation.contain.adapter_id));
    if (preparation.sandbox) {
        json_object_set_new(json, "sandbox", sandbox_explain(preparation.sandbox));
    } else {
        json_object_set_new(json, "mounts",
                            json_string("none: the payload sees what its user sees"));
    }
    prepare_promise(&preparation, &preparation.contain.guarantees);
    enum containment label = guarantees_label(&preparation.contain.guarantees);
    json_object_set_new(json, "containment", json_string(containment_name(label)));
    json_object_set_new(json, "guarantees", guarantees_to_json(&preparation.contain.guarantees));
    json_object_set_new(json, "checks", checks_to_json(&preparation.checks));
    json_object_set_new(json, "would_run", json_boolean(checks_ok(&preparation.checks)));
    return json;
}
