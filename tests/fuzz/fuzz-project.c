/* berm.yaml comes with whatever was cloned: what is read of any bytes is a project as the rules say, and what
 * is refused says where, and why. */
#include <stdint.h>
#include <string.h>

#include "project.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
