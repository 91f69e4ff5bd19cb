/* cgroup.h
 *
 * Where this process stands in the cgroup tree and what memory its ancestors leave it. Reads only.
 *
 * Calling sequence
 *   cgroup_read(&facts)      never fails: what cannot be read is unknown and says why
 *
 * Errors       none; `layout` says CGROUP_NONE when there is nothing to read
 * Limitations  the mount points are the usual ones (/sys/fs/cgroup and, in a hybrid layout,
 *              /sys/fs/cgroup/unified and /sys/fs/cgroup/memory).
 * Source       cgroups(7); the kernel's admin-guide/cgroup-v2.rst: memory.max, memory.current,
 *              inactive_file of memory.stat; cgroup-v1/memory.rst: memory.limit_in_bytes.
 */
#pragma once

#include <stdint.h>

#include "attributes.h"

enum cgroup_layout { CGROUP_NONE, CGROUP_V1, CGROUP_HYBRID, CGROUP_V2 };
static inline const char *cgroup_layout_name(enum cgroup_layout layout)
{
    static const char *const names[] = {
        [CGROUP_NONE] = "none", [CGROUP_V1] = "v1", [CGROUP_HYBRID] = "hybrid", [CGROUP_V2] = "v2"};
    return names[layout];
}

struct cgroup_facts {
    enum cgroup_layout layout;
    char path[512];                 /* own path in the v2 tree, "" when there is none */
    char controllers[256];          /* what v2 offers in the own folder, as the kernel lists them */
    int64_t memory_max_bytes;       /* the smallest limit among the ancestors; -1: no limit */
    int64_t memory_available_bytes; /* the least that an ancestor leaves, page cache counted as
                                       free; -1: no limit */
    char memory_bound_by[640];      /* the folder that says so */
};

void cgroup_read(struct cgroup_facts *ret_facts);
/* The same beneath other roots, for tests: proc_file instead of /proc/self/cgroup. */
void cgroup_read_at(const char *proc_file, const char *folder_root, struct cgroup_facts *ret_facts);
