/* berm-context.h where no run can be: every process is outside. */
#include "berm-context.h"

#include <stdio.h>
#include <string.h>

#include "host.h"

int berm_context_read(struct berm_context *ret_context, size_t size, int timeout_ms)
{
    (void)timeout_ms;
    struct berm_context context = {.verdict = BERM_CONTEXT_OUTSIDE, .why = BERM_CONTEXT_WHY_KERNEL};
    (void)snprintf(context.text, sizeof context.text, "%s", HOST_LACKS);
    memcpy(ret_context, &context, size < sizeof context ? size : sizeof context);
    return context.verdict;
}
