#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "qualify-priv.h"
#include "recover.h"

enum { ENTRIES_MAX = 100000, TEXT_SIZE = 8192 };

/* The watchdog's own scope: systemd removes it when it comes to it, and nothing of the run was in there. */
static const char of_watchdog[] = "-watchdog.scope";

static bool none_begins(const struct strvec *names, const char *beginning)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->strings[i];
        if (strncmp(name, beginning, strlen(beginning)) == 0 && !strstr(name, of_watchdog)) {
            return false;
        }
    }
    return true;
}

/* What cannot be listed was not seen to be gone. */
static bool lists_none(const struct bfs_dir *dir, const char *beginning)
{
    struct err ignored = {0};
    with_strvec names = {0};
    return bfs_list(dir, ENTRIES_MAX, &names, &ignored) == 0 && none_begins(&names, beginning);
}

/* Its scope is named in the cgroup of whoever is in it. A cgroup that was removed had nobody in it: whom it is
 * still told of has ended, and waits for a parent to hear so. */
bool qualify_no_process(const char *run_id)
{
    struct err ignored = {0};
    with_bfs_dir proc = {0};
    with_strvec names = {0};
    with_string scope = memory_format("/berm-%s-", run_id);
    if (bfs_dir_open(AT_FDCWD, "/proc", BFS_TRUST_ANY, &proc, &ignored) < 0 ||
        bfs_list(&proc, ENTRIES_MAX, &names, &ignored) < 0) {
        return false;
    }
    for (size_t i = 0; i < names.count; i++) {
        char text[TEXT_SIZE];
        if (strspn(names.strings[i], "0123456789") != strlen(names.strings[i])) {
            continue;
        }
        with_string path = memory_format("%s/cgroup", names.strings[i]);
        if (os_read_small(bfs_dir_fd(&proc), path, text, sizeof text) > 0 && strstr(text, scope) &&
            !strstr(text, of_watchdog) && !strstr(text, " (deleted)")) {
            return false;
        }
    }
    return true;
}

bool qualify_no_manifest(const struct qualifying *qualifying, const char *run_id)
{
    struct err ignored = {0};
    with_bfs_dir folder = {0};
    return recover_open_folder(qualifying->request->environment, &folder, &ignored) == 0 &&
           lists_none(&folder, run_id);
}

bool qualify_no_scope(const char *scope, const char *run_id)
{
    struct err ignored = {0};
    with_bfs_dir parent = {0};
    const char *slash = scope ? strrchr(scope, '/') : NULL;
    if (!slash) {
        return false;
    }
    with_string path = memory_format("%.*s", (int)(slash - scope), scope);
    with_string beginning = memory_format("berm-%s-", run_id);
    return bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &parent, &ignored) == 0 &&
           lists_none(&parent, beginning);
}
