#include "binding-priv.h"

static json_t *text(const char *string)
{
    return string ? json_text(span_of_string(string)) : json_null();
}

static json_t *identity_to_json(const struct file_identity *identity)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "device",
                     (json_int_t)identity->device, "inode", (json_int_t)identity->inode, "mode",
                     (json_int_t)identity->mode, "owner", (json_int_t)identity->owner, "group",
                     (json_int_t)identity->group, "size_bytes", (json_int_t)identity->size_bytes,
                     "mtime_ns", (json_int_t)identity->mtime_ns, "ctime_ns",
                     (json_int_t)identity->ctime_ns, "sha256", identity->sha256);
}

static json_t *decision_to_json(const struct decision *decision)
{
    json_t *weaknesses = json_array();
    for (size_t i = 0; i < decision->weaknesses.count; i++) {
        (void)json_array_append_new(weaknesses, text(decision->weaknesses.strings[i]));
    }
    const char *reason =
        decision->matched_root ? "beneath a root of the policy" : "the policy allows any place";
    return json_pack("{s:s, s:b, s:o, s:s, s:o}", "policy", policy_name(decision->policy),
                     "allowed", 1, "matched_root", text(decision->matched_root), "reason", reason,
                     "weaknesses", weaknesses);
}

static json_t *file_to_json(const struct bound_file *bound)
{
    const struct found *found = &bound->found;
    return json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "requested_name", text(bound->name),
        "invocation_path", text(found->invocation), "canonical_target", text(found->walk.canonical),
        "origin", found->origin == ORIGIN_PATH_SEARCH ? "path_search" : "explicit_path",
        "matched_path_entry", text(found->matched_entry), "policy_decision",
        decision_to_json(&bound->decision), "identity", identity_to_json(&bound->identity));
}

json_t *binding_to_json(const struct binding *binding)
{
    json_t *record = file_to_json(&binding->files[0]);
    json_t *interpreters = json_array();
    for (size_t i = 1; i < binding->file_count; i++) {
        (void)json_array_append_new(interpreters, file_to_json(&binding->files[i]));
    }
    (void)json_object_set_new(record, "interpreters", interpreters);
    return record;
}
