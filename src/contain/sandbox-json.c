/* The plan as a person and a record read it. */
#include "sandbox-priv.h"

#include <string.h>

#include "filter.h"

static void set(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_text(span_of_string(text)));
}

static void because(json_t *object, const char *reason, bool explain)
{
    if (explain) {
        set(object, "because", reason);
    }
}

static json_t *mounts_to_json(const struct sandbox *sandbox, bool explain)
{
    static const char *const kinds[] = {
        [MOUNT_READ_ONLY] = "read-only", [MOUNT_WRITABLE] = "writable",
        [MOUNT_EMPTY] = "hidden",        [MOUNT_FOLDER] = "folder",
        [MOUNT_DEVICES] = "devices",     [MOUNT_PROCESSES] = "processes"};
    json_t *list = json_array();
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        const struct sandbox_mount *entry = &sandbox->mounts[i];
        if (entry->kind == MOUNT_FOLDER) {
            continue; /* nothing that the payload meets */
        }
        json_t *one = json_object();
        set(one, "path", entry->path);
        set(one, "is", kinds[entry->kind]);
        if (entry->from) {
            set(one, "from", entry->from);
        }
        because(one, entry->origin, explain);
        json_array_append_new(list, one);
    }
    static const char *const private[] = {"/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof private / sizeof private[0]; i++) {
        json_t *one = json_object();
        set(one, "path", private[i]);
        set(one, "is", "private");
        because(one, "one file system of memory with a quota, gone after the run", explain);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *rules_to_json(const struct sandbox *sandbox, bool explain)
{
    static const char *const kinds[] = {
        [LAUNCH_KEEP] = "shown",       [LAUNCH_EXPECT] = "identity compared",
        [LAUNCH_PIN] = "pinned",       [LAUNCH_CLOSE] = "read-only",
        [LAUNCH_MASK] = "unreachable", [LAUNCH_WRITABLE] = "writable"};
    json_t *list = json_array();
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        const struct sandbox_rule *rule = &sandbox->rules[i];
        if (!explain && (rule->kind == LAUNCH_KEEP || rule->kind == LAUNCH_EXPECT)) {
            continue; /* they change nothing */
        }
        json_t *one = json_object();
        set(one, "path", rule->path);
        set(one, "is", kinds[rule->kind]);
        because(one, rule->origin, explain);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *environment_to_json(const struct sandbox *sandbox)
{
    json_t *names = json_array();
    for (size_t i = 0; i < sandbox->environment.count; i++) {
        const char *entry = sandbox->environment.strings[i];
        json_array_append_new(names, json_text(span_of(entry, strcspn(entry, "="))));
    }
    return names;
}

static json_t *gpu_to_json(const struct sandbox *sandbox)
{
    json_t *devices = json_array();
    for (size_t i = 0; sandbox->gpu_shown && i < sandbox->gpu.count; i++) {
        json_array_append_new(devices, json_string(sandbox->gpu.strings[i]));
    }
    return devices;
}

static json_t *to_json(const struct sandbox *sandbox, bool explain)
{
    json_t *json = json_object();
    set(json, "tool", binding_file_path(sandbox->tool, 0));
    set(json, "tool_sha256", binding_file_identity(sandbox->tool, 0)->sha256);
    json_object_set_new(json, "verified", json_boolean(sandbox->verified));
    set(json, "network", sandbox->host_network ? "host" : "isolated");
    json_t *namespaces = json_array();
    static const char *const names[] = {"user", "mount", "pid", "ipc", "uts", "network"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] - (sandbox->host_network ? 1 : 0); i++) {
        json_array_append_new(namespaces, json_string(names[i]));
    }
    json_object_set_new(json, "namespaces", namespaces);
    json_object_set_new(json, "mounts", mounts_to_json(sandbox, explain));
    json_object_set_new(json, "closures", rules_to_json(sandbox, explain));
    json_object_set_new(json, "environment", environment_to_json(sandbox));
    json_object_set_new(json, "gpu", gpu_to_json(sandbox));
    json_object_set_new(json, "private_bytes", json_integer(sandbox->private_bytes));
    json_object_set_new(json, "private_inodes", json_integer(sandbox->private_inodes));
    json_object_set_new(json, "links_refused", json_boolean(sandbox_bars_links(sandbox)));
    json_object_set_new(json, "sockets_closed", json_boolean(sandbox->sockets_closed));
    if (sandbox->verified) {
        json_object_set_new(json, "landlock_abi", json_integer(sandbox->landlock_abi));
        json_object_set_new(json, "filter", json_boolean(sandbox->facts & LAUNCH_FACT_FILTER));
    }
    return json;
}

json_t *sandbox_to_json(const struct sandbox *sandbox)
{
    return to_json(sandbox, false);
}

/* With reasons, and every closed call; a record leaves both out, since they are the same in each. */
json_t *sandbox_explain(const struct sandbox *sandbox)
{
    json_t *json = to_json(sandbox, true);
    json_t *calls = json_array();
    size_t count = 0;
    const struct filter_row *rows = filter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_object();
        set(one, "call", rows[i].call);
        set(one, "because", rows[i].reason);
        if (rows[i].when) {
            set(one, "when", rows[i].when);
        }
        json_array_append_new(calls, one);
    }
    json_object_set_new(json, "closed_calls", calls);
    return json;
}
