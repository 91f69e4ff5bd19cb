#include "config.h"

#include <fcntl.h>

#include "entrypoint.h"
#include "memory.h"
#include "project.h"

struct view {
    struct project project;
    struct bfs_dir root;
    struct entrypoint_files files;
    int64_t refusals;
};

static void view_done(struct view *view)
{
    project_done(&view->project);
    bfs_dir_done(&view->root);
}
#define with_view cleanup(view_done) struct view

static int open_view(const char *cwd, struct view *view, struct err *err)
{
    with_bfs_dir here = {0};
    with_string root = NULL;
    if (bfs_dir_open(AT_FDCWD, cwd ? cwd : ".", BFS_TRUST_ANY, &here, err) < 0 ||
        project_find(here.path, &root, err) < 0 || project_read(root, &view->project, err) < 0 ||
        bfs_dir_open(AT_FDCWD, root, BFS_TRUST_ANY, &view->root, err) < 0) {
        return -1;
    }
    view->files = entrypoint_files_of(&view->root);
    return 0;
}

static json_t *text(const char *string)
{
    return string ? json_text(span_of_string(string)) : json_null();
}

static json_t *texts(const struct strvec *strings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < strings->count; i++) {
        json_array_append_new(list, text(strings->strings[i]));
    }
    return list;
}

static json_t *item_json(const struct form_item *item)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", text(item->name));
    json_object_set_new(json, "line", json_integer(item->line));
    return json;
}

static json_t *parameters_json(const struct form_named *parameters)
{
    const struct project_parameter *list = parameters->items;
    json_t *json = json_object();
    for (size_t i = 0; i < parameters->count; i++) {
        json_object_set_new(json, list[i].item.name, texts(&list[i].values));
    }
    return json;
}

static json_t *sealed_json(const struct form_named *sealed)
{
    const struct project_sealed *list = sealed->items;
    json_t *all = json_array();
    for (size_t i = 0; i < sealed->count; i++) {
        json_t *json = item_json(&list[i].item);
        json_object_set_new(json, "flag", text(list[i].flag));
        json_object_set_new(json, "of", text(list[i].of));
        if (!list[i].of) {
            json_object_set_new(json, "executable", json_boolean(list[i].executable));
            json_object_set_new(json, "manifest", text(list[i].manifest));
            json_object_set_new(json, "max_mib", json_integer(list[i].max_mib));
        }
        json_array_append_new(all, json);
    }
    return all;
}

static int set_audit(struct view *view, char *const *argv, enum entrypoint_begin begin,
                     json_t *json, struct err *err)
{
    struct entrypoint_verdict verdict = {0};
    if (entrypoint_audit(argv, begin, &view->files, &verdict, err) < 0) {
        return -1;
    }
    view->refusals += verdict.rule != RULE_NONE;
    json_object_set_new(json, "refused", entrypoint_to_json(&verdict));
    return 0;
}

static const char *network_name(const struct project_entrypoint *entrypoint)
{
    return entrypoint->network == PROJECT_NETWORK_REQUIRED ? "required" : "isolated";
}

static void set_authority(const struct project_entrypoint *entrypoint, json_t *json)
{
    json_object_set_new(json, "network", json_string(network_name(entrypoint)));
    json_object_set_new(json, "network_reason", text(entrypoint->network_reason));
    json_object_set_new(json, "scratch", text(entrypoint->scratch));
    json_object_set_new(json, "scratch_reason", text(entrypoint->scratch_reason));
}

static int add_entrypoints(struct view *view, json_t *all, struct err *err)
{
    const struct project_entrypoint *list = view->project.entrypoint.items;
    for (size_t i = 0; i < view->project.entrypoint.count; i++) {
        json_t *json = item_json(&list[i].item);
        json_array_append_new(all, json);
        json_object_set_new(json, "argv", texts(&list[i].argv));
        json_object_set_new(json, "parameters", parameters_json(&list[i].parameters));
        set_authority(&list[i], json);
        json_object_set_new(json, "environment", texts(&list[i].environment));
        json_object_set_new(json, "toolchain", text(list[i].toolchain));
        json_object_set_new(json, "dependencies", texts(&list[i].dependencies));
        json_object_set_new(json, "sealed", sealed_json(&list[i].sealed));
        if (set_audit(view, strvec_argv(&list[i].argv), ENTRYPOINT_FILE, json, err) < 0) {
            return err_wrap(err, "entrypoint %s", list[i].item.name);
        }
    }
    return 0;
}

static int add_workloads(struct view *view, json_t *all, struct err *err)
{
    const struct project_workload *list = view->project.workload.items;
    for (size_t i = 0; i < view->project.workload.count; i++) {
        const struct project_workload *one = &list[i];
        json_t *json = item_json(&one->item);
        json_array_append_new(all, json);
        json_object_set_new(json, "argv", texts(&one->argv));
        json_object_set_new(json, "parameters", parameters_json(&one->parameters));
        json_object_set_new(json, "timeout_s",
                            one->timeout_s ? json_integer(one->timeout_s) : json_null());
        json_object_set_new(json, "structured_output", json_boolean(one->structured_output));
        json_object_set_new(json, "oracle",
                            one->oracle.item.line ? texts(&one->oracle.argv) : json_null());
        if (set_audit(view, strvec_argv(&one->argv), ENTRYPOINT_FILE_OR_INTERPRETER, json, err) <
            0) {
            return err_wrap(err, "workload %s", one->item.name);
        }
    }
    return 0;
}

static int add_daemons(struct view *view, json_t *all, struct err *err)
{
    const struct project_daemon *list = view->project.daemon.items;
    for (size_t i = 0; i < view->project.daemon.count; i++) {
        json_t *json = item_json(&list[i].item);
        json_array_append_new(all, json);
        json_object_set_new(json, "exec", text(list[i].exec));
        json_object_set_new(json, "socket", text(list[i].socket));
        json_object_set_new(json, "lock", text(list[i].lock));
        char *const argv[] = {list[i].exec, NULL};
        if (set_audit(view, argv, ENTRYPOINT_FILE, json, err) < 0) {
            return err_wrap(err, "daemon %s", list[i].item.name);
        }
    }
    return 0;
}

json_t *run_config(const char *cwd, struct err *err)
{
    with_view view = {0};
    if (open_view(cwd, &view, err) < 0) {
        return NULL;
    }
    with_json json = json_object();
    json_t *entrypoints = json_array();
    json_t *workloads = json_array();
    json_t *daemons = json_array();
    json_object_set_new(json, "schema", json_string("berm.config/v1"));
    json_object_set_new(json, "file", text(view.project.path));
    json_object_set_new(json, "root", text(view.project.root));
    json_object_set_new(json, "require", texts(&view.project.require));
    json_object_set_new(json, "entrypoints", entrypoints);
    json_object_set_new(json, "workloads", workloads);
    json_object_set_new(json, "daemons", daemons);
    if (add_entrypoints(&view, entrypoints, err) < 0 || add_workloads(&view, workloads, err) < 0 ||
        add_daemons(&view, daemons, err) < 0) {
        return NULL;
    }
    json_object_set_new(json, "refusals", json_integer(view.refusals));
    return json_incref(json);
}

json_t *run_config_check(const char *cwd, char *const *argv, struct err *err)
{
    with_view view = {0};
    const struct project_entrypoint *entrypoint = NULL;
    struct entrypoint_verdict verdict = {0};
    if (open_view(cwd, &view, err) < 0 ||
        entrypoint_judge(&view.project, argv, &view.files, &entrypoint, &verdict, err) < 0) {
        return NULL;
    }
    json_t *json = json_object();
    json_object_set_new(json, "file", text(view.project.path));
    json_object_set_new(json, "entrypoint", text(entrypoint ? entrypoint->item.name : NULL));
    if (entrypoint) {
        set_authority(entrypoint, json);
    }
    json_object_set_new(json, "refused", entrypoint_to_json(&verdict));
    return json;
}
