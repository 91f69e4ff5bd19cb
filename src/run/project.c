/* What the project of the working folder declares, as far as it concerns a run: it adds what it requires, and
 * says whether the command is the workload that it was called. */
#include "run-priv.h"

#include <fcntl.h>
#include <string.h>

#include "entrypoint.h"
#include "memory.h"

static void refuse(struct checks *checks, const char *code, const struct err *err,
                   const char *remedy)
{
    checks_add_take(checks, code, false, memory_copy_string(err->msg), memory_copy_string(""),
                    memory_copy_string(remedy));
}

/* What was to be judged could not be looked at, and so nothing is said of it. */
static void refuse_unseen(struct checks *checks, const struct err *err)
{
    refuse(checks, CHECK_ENTRYPOINT, err,
           "let this user read what is named, let nobody change it meanwhile, and run it again");
}

static int read_project(struct preparation *preparation, struct err *err)
{
    with_string root = NULL;
    return project_find(preparation->cwd_path, &root, err) < 0
               ? -1
               : project_read(root, &preparation->project, err);
}

/* Never less than was asked for. */
static void add_required(const struct project *project, struct run_request *request,
                         struct strvec *notes)
{
    uint32_t wanted = 0;
    with_buf names = buf_new(1000);
    for (size_t i = 0; i < project->require.count; i++) {
        uint32_t one = 0;
        BUG_IF(guarantee_parse_set(project->require.strings[i], &one, NULL) < 0);
        wanted |= one;
        buf_add_format(&names, "%s%s", i > 0 ? ", " : "", project->require.strings[i]);
    }
    if ((wanted & ~request->require) != 0) {
        strvec_push_format(notes, "'%s' requires %s", project->path, buf_string(&names));
    }
    request->require |= wanted;
}

static void refuse_command(struct checks *checks, const char *what,
                           const struct entrypoint_verdict *verdict)
{
    with_buf saw = buf_new(2000);
    entrypoint_explain(verdict, &saw);
    checks_add_take(checks, CHECK_ENTRYPOINT, false, memory_copy_string(what),
                    memory_copy_string(buf_string(&saw)),
                    memory_copy_string(verdict->rule == RULE_UNDECLARED
                                           ? "give the words of its argv in berm.yaml, with values "
                                             "of its parameters"
                                           : entrypoint_instead(verdict->rule)));
}

static int judge_work(const struct preparation *preparation, const struct run_request *request,
                      const struct project_workload *workload,
                      struct entrypoint_verdict *ret_verdict, struct err *err)
{
    with_bfs_dir root = {0};
    if (bfs_dir_open(AT_FDCWD, preparation->project.root, BFS_TRUST_ANY, &root, err) < 0) {
        return -1;
    }
    const struct entrypoint_files files = entrypoint_files_of(&root);
    return workload_judge(workload, request->argv, &files, ret_verdict, err);
}

/* The words of a declaration are those of a command in the folder of its file. */
static int check_place(const struct preparation *preparation, const char *option, struct err *err)
{
    const struct project *project = &preparation->project;
    if (!project->present) {
        return err_set(err, ERR_NOT_FOUND, "%s: there is no berm.yaml here", option);
    }
    return strcmp(preparation->cwd_path, project->root) == 0
               ? 0
               : err_set(err, ERR_REFUSED, "%s: its words are meant for '%s'", option,
                         project->root);
}

static const struct project_workload *find_work(const struct preparation *preparation,
                                                const char *name, struct err *err)
{
    const struct project *project = &preparation->project;
    const struct project_workload *found = form_find(&project->workload, sizeof *found, name);
    if (project->present && !found) {
        (void)err_set(err, ERR_NOT_FOUND, "--workload %s: '%s' declares no such workload", name,
                      project->path);
        return NULL;
    }
    with_string option = memory_format("--workload %s", name);
    return check_place(preparation, option, err) < 0 ? NULL : found;
}

static void check_work(struct run_request *request, struct preparation *preparation)
{
    struct err err = {0};
    struct checks *checks = &preparation->checks;
    const struct project_workload *workload = find_work(preparation, request->workload, &err);
    if (!workload) {
        refuse(checks, CHECK_ENTRYPOINT, &err,
               "declare it under workload: in berm.yaml, and run it in the folder of that file");
        return;
    }
    struct entrypoint_verdict verdict = {0};
    if (judge_work(preparation, request, workload, &verdict, &err) < 0) {
        refuse_unseen(checks, &err);
    } else if (verdict.rule != RULE_NONE) {
        with_string what =
            memory_format("the command is not to be run as workload '%s'", workload->item.name);
        refuse_command(checks, what, &verdict);
    } else {
        request->workload_structured = workload->structured_output;
    }
    request->workload_timeout_ms = workload->timeout_s * 1000;
}

/* SB-3: of the repository itself one folder, for small work. No link leads to another. */
static void grant_scratch(const struct project_entrypoint *entrypoint,
                          const struct run_request *request, const struct bfs_dir *root,
                          struct preparation *preparation)
{
    struct err err = {0};
    struct checks *checks = &preparation->checks;
    if (request->tier != CONTEXT_TIER_SMALL) {
        checks_add_take(checks, CHECK_ENTRYPOINT, false,
                        memory_format("entrypoint '%s' may write '%s', and only small work writes "
                                      "anything beside its private folders",
                                      entrypoint->item.name, entrypoint->scratch),
                        memory_copy_string(entrypoint->scratch_reason),
                        memory_copy_string("run it with --tier small, or declare another "
                                           "entrypoint, which writes below /tmp"));
    } else if (bfs_dir_open_beneath(root, entrypoint->scratch, &preparation->scratch, &err) < 0) {
        refuse(checks, CHECK_ENTRYPOINT, &err,
               "make the folder that the entrypoint names as its scratch; a link is none");
    }
}

/* What it may do besides is what its declaration says, and its tier lets it. */
static void grant(struct run_request *request, const struct bfs_dir *root,
                  struct preparation *preparation)
{
    const struct project_entrypoint *entrypoint = preparation->entrypoint;
    if (entrypoint->network == PROJECT_NETWORK_REQUIRED) {
        request->host_network = true;
        request->require &= ~(UINT32_C(1) << GUARANTEE_NETWORK);
    }
    if (entrypoint->scratch) {
        grant_scratch(entrypoint, request, root, preparation);
    }
}

/* What is declared is what was read; the files are those of `folder`. NULL: it is refused, and said so. */
static const struct project_entrypoint *judge_entrypoint(struct preparation *preparation,
                                                         const struct run_request *request,
                                                         const struct bfs_dir *folder)
{
    struct err err = {0};
    struct entrypoint_verdict verdict = {0};
    const struct project_entrypoint *entrypoint = NULL;
    const struct entrypoint_files files = entrypoint_files_of(folder);
    if (entrypoint_judge(&preparation->project, request->argv, &files, &entrypoint, &verdict,
                         &err) < 0) {
        refuse_unseen(&preparation->checks, &err);
    } else if (!entrypoint) {
        refuse_command(&preparation->checks, "the command is none that a tier launches", &verdict);
    }
    return entrypoint;
}

static void check_entrypoint(struct run_request *request, struct preparation *preparation)
{
    struct err err = {0};
    with_bfs_dir root = {0};
    if (check_place(preparation, "--tier", &err) < 0) {
        refuse(&preparation->checks, CHECK_ENTRYPOINT, &err,
               "declare it under entrypoint: in berm.yaml, and run it in the folder of that file");
        return;
    }
    if (bfs_dir_open(AT_FDCWD, preparation->project.root, BFS_TRUST_ANY, &root, &err) < 0) {
        refuse_unseen(&preparation->checks, &err);
        return;
    }
    preparation->entrypoint = judge_entrypoint(preparation, request, &root);
    if (preparation->entrypoint) {
        grant(request, &root, preparation);
    }
}

bool run_project_judge_copy(const struct run_request *request, struct preparation *preparation,
                            const struct bfs_dir *folder)
{
    return judge_entrypoint(preparation, request, folder) != NULL;
}

/* At a tier a workload is a name for evidence; what is declared under it holds all the same. */
static bool is_declared_work(const struct run_request *request, const struct project *project)
{
    return request->workload &&
           (request->tier == CONTEXT_TIER_NONE ||
            form_find(&project->workload, sizeof(struct project_workload), request->workload));
}

/* What means nothing without a sandbox is refused and not forgotten; the project may have required one. */
static void check_sandbox(const struct run_request *request, struct checks *checks)
{
    const char *name = run_needs_sandbox(request);
    if (name) {
        checks_add_take(checks, CHECK_SANDBOX, false,
                        memory_format("%s: has a meaning only in a sandbox", name),
                        memory_copy_string("neither the request nor a berm.yaml requires one"),
                        memory_copy_string("add --sandbox"));
    }
}

void run_project_apply(struct run_request *request, struct preparation *preparation)
{
    struct err err = {0};
    if (read_project(preparation, &err) < 0) {
        refuse(&preparation->checks, CHECK_PROJECT, &err,
               "mend it: what a project requires is not guessed");
        return;
    }
    if (preparation->project.present) {
        add_required(&preparation->project, request, &preparation->notes);
    }
    check_sandbox(request, &preparation->checks);
    if (is_declared_work(request, &preparation->project)) {
        check_work(request, preparation);
    }
    if (request->tier != CONTEXT_TIER_NONE) {
        check_entrypoint(request, preparation);
    }
}

json_t *run_project_to_json(const struct preparation *preparation, const char *workload)
{
    const struct project *project = &preparation->project;
    if (!project->present) {
        return json_null();
    }
    json_t *require = json_array();
    for (size_t i = 0; i < project->require.count; i++) {
        json_array_append_new(require, json_string(project->require.strings[i]));
    }
    json_t *json = json_object();
    json_object_set_new(json, "file", json_text(span_of_string(project->path)));
    json_object_set_new(json, "require", require);
    json_object_set_new(json, "workload",
                        workload ? json_text(span_of_string(workload)) : json_null());
    return json;
}
