#include "cgroup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "file.h"

/* Where one version of the memory controller keeps its numbers. */
struct memory_files {
    const char *limit;
    const char *usage;
    const char *cache; /* the line of memory.stat that counts what reclaim can take at once */
};
static const struct memory_files files_v2 = {"memory.max", "memory.current", "\ninactive_file "};
static const struct memory_files files_v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                             "\ntotal_inactive_file "};

/* Version 1 says "no limit" with a huge page-rounded number. */
static const int64_t no_limit_from = INT64_C(1) << 60;

static int64_t read_number(int dir_fd, const char *name)
{
    char text[64];
    if (os_read_small(dir_fd, name, text, sizeof text) <= 0 || strncmp(text, "max", 3) == 0) {
        return -1;
    }
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    return end == text || value < 0 || value >= no_limit_from ? -1 : value;
}

static int64_t read_reclaimable(int dir_fd, const char *line)
{
    char text[8192];
    text[0] = '\n';
    if (os_read_small(dir_fd, "memory.stat", text + 1, sizeof text - 1) <= 0) {
        return 0;
    }
    const char *found = strstr(text, line);
    return found ? strtoll(found + strlen(line), NULL, 10) : 0;
}

static void look_at_level(const char *folder, const struct memory_files *files,
                          struct cgroup_facts *facts)
{
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0));
    if (!fd_is_open(&dir)) {
        return;
    }
    int64_t limit = read_number(fd_num(&dir), files->limit);
    if (limit < 0) {
        return;
    }
    int64_t usage = read_number(fd_num(&dir), files->usage);
    int64_t available = limit - usage + read_reclaimable(fd_num(&dir), files->cache);
    if (usage < 0 || available > limit) {
        available = limit;
    }
    if (available < 0) {
        available = 0;
    }
    if (facts->memory_max_bytes < 0 || limit < facts->memory_max_bytes) {
        facts->memory_max_bytes = limit;
    }
    if (facts->memory_available_bytes < 0 || available < facts->memory_available_bytes) {
        facts->memory_available_bytes = available;
        (void)snprintf(facts->memory_bound_by, sizeof facts->memory_bound_by, "%s", folder);
    }
}

/* Every folder from the root down to the path: a limit of any ancestor holds. */
static void look_at_ancestors(const char *folder_root, const char *path,
                              const struct memory_files *files, struct cgroup_facts *facts)
{
    char folder[640];
    int length =
        snprintf(folder, sizeof folder, "%s%s", folder_root, strcmp(path, "/") == 0 ? "" : path);
    if (length < 0 || (size_t)length >= sizeof folder) {
        return;
    }
    size_t top = strlen(folder_root);
    for (;;) {
        look_at_level(folder, files, facts);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) {
            return;
        }
        *slash = '\0';
    }
}

/* The path of the line "N:NAME:/path" (version 1) or "0::/path" (version 2, name ""). */
static bool find_path(const char *text, const char *name, char *path, size_t size)
{
    char wanted[64];
    int wanted_length = snprintf(wanted, sizeof wanted, ":%s:", name);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n");
        const char *found = memmem(line, length, wanted, (size_t)wanted_length);
        if (found && found < (const char *)memchr(line, '/', length)) {
            found += wanted_length;
            size_t n = length - (size_t)(found - line);
            if (n == 0 || n >= size || found[0] != '/') {
                return false;
            }
            memcpy(path, found, n);
            path[n] = '\0';
            return true;
        }
    }
    return false;
}

static bool has_file(const char *folder, const char *name)
{
    char path[640];
    struct stat stat;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && os_stat_entry(AT_FDCWD, path, &stat) == 0;
}

/* Those of the own folder: what an ancestor did not hand down is not to be had here. Where the path
 * leads nowhere, because the tree is shown from another place, those of the root that is visible. */
static void read_controllers(const char *root, struct cgroup_facts *facts)
{
    const char *const folders[] = {facts->path, ""};
    for (size_t i = 0; i < countof(folders); i++) {
        char path[1280];
        (void)snprintf(path, sizeof path, "%s%s/cgroup.controllers", root, folders[i]);
        if (os_read_small(AT_FDCWD, path, facts->controllers, sizeof facts->controllers) >= 0) {
            facts->controllers[strcspn(facts->controllers, "\n")] = '\0';
            return;
        }
        facts->controllers[0] = '\0';
    }
}

void cgroup_read_at(const char *proc_file, const char *folder_root, struct cgroup_facts *ret_facts)
{
    *ret_facts = (struct cgroup_facts){.memory_max_bytes = -1, .memory_available_bytes = -1};
    char text[8192];
    if (os_read_small(AT_FDCWD, proc_file, text, sizeof text) <= 0) {
        return;
    }
    char path[512];
    char sub_folder[600];
    if (has_file(folder_root, "cgroup.controllers")) {
        ret_facts->layout = CGROUP_V2;
        if (find_path(text, "", ret_facts->path, sizeof ret_facts->path)) {
            look_at_ancestors(folder_root, ret_facts->path, &files_v2, ret_facts);
        }
        read_controllers(folder_root, ret_facts);
        return;
    }
    (void)snprintf(sub_folder, sizeof sub_folder, "%s/unified", folder_root);
    bool unified = has_file(sub_folder, "cgroup.controllers");
    if (unified) {
        if (!find_path(text, "", ret_facts->path, sizeof ret_facts->path)) {
            ret_facts->path[0] = '\0';
        }
        read_controllers(sub_folder, ret_facts);
    }
    if (find_path(text, "memory", path, sizeof path)) {
        ret_facts->layout = unified ? CGROUP_HYBRID : CGROUP_V1;
        (void)snprintf(sub_folder, sizeof sub_folder, "%s/memory", folder_root);
        look_at_ancestors(sub_folder, path, &files_v1, ret_facts);
    } else if (unified) {
        ret_facts->layout = CGROUP_HYBRID;
    }
}

void cgroup_read(struct cgroup_facts *ret_facts)
{
    cgroup_read_at("/proc/self/cgroup", "/sys/fs/cgroup", ret_facts);
}
