/* no-sandbox.h
 *
 * For tests whose runs have no sandbox and whose binding is their own: nothing of contain/ is linked.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "sandbox.h"

const struct binding *sandbox_tool(const struct sandbox *sandbox)
{
    abort();
}

char *const *sandbox_tool_argv(const struct sandbox *sandbox)
{
    abort();
}

char *const *sandbox_tool_environment(const struct sandbox *sandbox)
{
    abort();
}

bool sandbox_becomes(const struct sandbox *sandbox, uid_t *ret_uid, gid_t *ret_gid)
{
    abort();
}

int sandbox_plan_fd(const struct sandbox *sandbox)
{
    abort();
}

int sandbox_image_fd(const struct sandbox *sandbox)
{
    abort();
}

int sandbox_args_fd(const struct sandbox *sandbox)
{
    abort();
}

int sandbox_know_self(struct sandbox *sandbox, struct err *err)
{
    abort();
}

int sandbox_verify(struct sandbox *sandbox, struct proc_identity launcher,
                   struct proc_identity payload, const struct launch_word *word, struct err *err)
{
    abort();
}

enum sandbox_place sandbox_place_of(const struct sandbox *sandbox, const char *path, int *ret_fd,
                                    const char **ret_rest)
{
    abort();
}

/* What is said to be found in its temporary folders. */
static struct sandbox_links sandbox_links;
static bool sandbox_bars;
static unused int sandbox_links_looks;
static int64_t sandbox_links_ns; /* of the processor, that a look takes */

bool sandbox_bars_links(const struct sandbox *sandbox)
{
    return sandbox_bars;
}

bool sandbox_find_links(struct sandbox *sandbox, struct sandbox_links *ret_links)
{
    sandbox_links_looks++;
    for (int64_t began_ns = os_processor_ns(); os_processor_ns() - began_ns < sandbox_links_ns;) {
    }
    *ret_links = sandbox_links;
    return sandbox_links.count > 0 || sandbox_links.why;
}

/* What its private file system is said to hold; bytes_limit 0: it is not known. */
static struct sandbox_use sandbox_use;

int sandbox_use_read(const struct sandbox *sandbox, struct sandbox_use *ret_use)
{
    *ret_use = sandbox_use;
    return sandbox_use.bytes_limit > 0 ? 0 : -EBADF;
}
