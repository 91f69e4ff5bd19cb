/* berm.yaml comes with whatever was cloned: what is read of any bytes is a project as the rules say, and what
 * is refused says where, and why. Bytes that begin like a script or like a
 * package.json are audited as one, to an end and within the budgets. */
#include <stdint.h>
#include <string.h>

#include "entrypoint.h"
#include "memory.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_an_argv(const struct strvec *argv, const struct form_named *parameters)
{
    BUG_IF(argv->count == 0 || argv->strings[0][0] == '\0');
    for (size_t i = 0; i < argv->count; i++) {
        struct span whole;
        struct span name;
        for (const char *rest = argv->strings[i]; project_placeholder(rest, &whole, &name);
             rest = whole.p + whole.n) {
            bool known = false;
            const struct project_parameter *list = parameters->items;
            for (size_t j = 0; j < parameters->count; j++) {
                known = known || span_equals(name, list[j].item.name);
            }
            BUG_IF(!known);
        }
        with_buf shown = buf_new(1 << 20);
        text_neutralise(&shown, span_of_string(argv->strings[i]));
        BUG_IF(strcmp(buf_string(&shown), argv->strings[i]) != 0);
    }
}

static void is_a_project(const struct project *project)
{
    BUG_IF(!project->present || project->schema != 1 || project->require.count > 16);
    const struct project_entrypoint *entrypoints = project->entrypoint.items;
    for (size_t i = 0; i < project->entrypoint.count; i++) {
        const struct project_entrypoint *one = &entrypoints[i];
        is_an_argv(&one->argv, &one->parameters);
        BUG_IF(one->argv.strings[0][0] == '/' || one->sealed.count > 16);
        BUG_IF((one->network == PROJECT_NETWORK_REQUIRED) != (one->network_reason != NULL));
        BUG_IF((one->scratch != NULL) != (one->scratch_reason != NULL));
        BUG_IF(form_find(&project->entrypoint, sizeof *one, one->item.name) != one);
    }
    const struct project_workload *workloads = project->workload.items;
    for (size_t i = 0; i < project->workload.count; i++) {
        is_an_argv(&workloads[i].argv, &workloads[i].parameters);
    }
}

struct script {
    struct span bytes;
    size_t looks;
};

/* Many names are there; which depends on their length. Few have the bytes, or time would go into the rest. */
static int look(void *context, const char *path, struct buf *text, struct entrypoint_look *ret_look,
                struct err *err)
{
    struct script *script = context;
    size_t n = strlen(path);
    BUG_IF(++script->looks > AUDIT_LOOKS || n == 0 || path[0] == '/' || strstr(path, "//"));
    BUG_IF(strncmp(path, "../", 3) == 0 || strstr(path, "/../") || strcmp(path, "..") == 0);
    *ret_look = (struct entrypoint_look){.kind = n % 4 == 3 || n == 12 ? LOOK_FILE : LOOK_NOTHING,
                                         .links = 1,
                                         .executable = n % 2,
                                         .size_bytes = (int64_t)script->bytes.n};
    if (text && ret_look->kind == LOOK_FILE && (n % 8 == 3 || n == 12)) {
        buf_add_span(text, script->bytes);
    }
    return 0;
}

static void audit_it(struct span bytes)
{
    static char run[] = "run";
    char *const argv[] = {run, NULL};
    struct script script = {bytes, 0};
    const struct entrypoint_files files = {look, &script};
    struct entrypoint_verdict verdict = {0};
    struct err err = {0};
    BUG_IF(entrypoint_audit(argv, ENTRYPOINT_FILE, &files, &verdict, &err) < 0);
    BUG_IF((verdict.rule == RULE_NONE) != (verdict.where[0] == '\0'));
    BUG_IF(strnlen(verdict.saw, sizeof verdict.saw) == sizeof verdict.saw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && (data[0] == '#' || data[0] == '{')) {
        audit_it(span_of((const char *)data, size));
    }
    struct err err = {0};
    with_project project = {0};
    if (project_parse(span_of((const char *)data, size), "f", &project, &err) == 0) {
        BUG_IF(err.code != ERR_NONE);
        is_a_project(&project);
        return 0;
    }
    BUG_IF(err.code != ERR_CORRUPT && err.code != ERR_OVER_BUDGET && err.code != ERR_USAGE &&
           err.code != ERR_RANGE);
    BUG_IF(strncmp(err.msg, "f:", 2) != 0);
    return 0;
}
