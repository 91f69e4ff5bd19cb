/* A plan that the launcher accepts leads nowhere outside of its bytes: every string, item and
 * instruction that it points to is read to its end. What is not accepted is not looked into. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "launch-message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes of strings in a row; reads them all. */
static size_t walk(const struct launch_plan *plan, uint32_t offset, uint32_t count)
{
    const char *first = launch_plan_string(plan, offset);
    const char *at = first;
    for (uint32_t i = 0; i < count; i++) {
        at += strlen(at) + 1;
    }
    BUG_IF(at > (const char *)plan + plan->total_bytes);
    return (size_t)(at - first);
}

static void look_at_items(const struct launch_plan *plan)
{
    for (uint32_t i = 0; i < plan->item_count; i++) {
        const struct launch_item *item = &launch_plan_items(plan)[i];
        BUG_IF(item->kind >= LAUNCH_KIND_COUNT);
        BUG_IF(launch_plan_string(plan, item->path)[0] != '/');
        BUG_IF(walk(plan, item->path, 1) < 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of its own size, so that one byte too far is seen. */
    struct launch_plan *plan = malloc(size ? size : 1);
    BUG_IF(!plan);
    memcpy(plan, data, size);
    if (launch_plan_check(plan, size)) {
        look_at_items(plan);
        unsigned sum = 0;
        for (uint32_t i = 0; i < plan->filter_count; i++) {
            sum += launch_plan_filter(plan)[i].code;
        }
        BUG_IF(sum > UINT16_MAX * (unsigned)LAUNCH_FILTER_MAX);
        BUG_IF(plan->argument_count == 0);
        (void)walk(plan, plan->arguments, plan->argument_count);
        (void)walk(plan, plan->variables, plan->variable_count);
        const uint32_t paths[] = {plan->private_path, plan->file.path, plan->cwd};
        for (size_t i = 0; i < countof(paths); i++) {
            BUG_IF(walk(plan, paths[i], 1) < 2);
        }
    }
    free(plan);
    return 0;
}
