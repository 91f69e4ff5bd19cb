/* A hidden place is hidden by its path; a bind mount, or a second mount of its file system, shows it
 * by another one. */
#include "sandbox-priv.h"

#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

void sandbox_aliases(const struct sandbox *sandbox, const char *path, struct strvec *ret_paths)
{
    with_strvec found = {0};
    struct stat wanted;
    if (os_stat_entry(AT_FDCWD, path, &wanted) < 0) {
        return;
    }
    mounts_other_paths(&sandbox->host_mounts, path, &found);
    for (size_t i = 0; i < found.count; i++) {
        struct stat stat;
        if (strcmp(found.strings[i], path) != 0 &&
            os_stat_entry(AT_FDCWD, found.strings[i], &stat) == 0 && stat.st_dev == wanted.st_dev &&
            stat.st_ino == wanted.st_ino) {
            strvec_push(ret_paths, found.strings[i]);
        }
    }
}

/* Opened as a whole: by an option that names it, or what it lies in. */
static bool is_asked_for(const struct sandbox *sandbox, const char *path)
{
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        const struct shown_place *place = &sandbox->shown[i];
        if (place->asked_for && path_is_beneath(path, place->path)) {
            return true;
        }
    }
    return false;
}

static void close_alias(struct sandbox *sandbox, const char *alias, const char *hidden,
                        struct checks *checks)
{
    if (sandbox_hides(sandbox, alias) || is_asked_for(sandbox, alias)) {
        return;
    }
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        const char *shown = sandbox->shown[i].path;
        if (path_is_beneath(shown, alias)) {
            sandbox_refuse(checks, CHECK_ROOTS,
                           memory_format("'%s' is seen by a second mount of '%s', which is hidden",
                                         shown, hidden),
                           alias, "name it by its path in the hidden place itself");
            return;
        }
    }
    sandbox_add_rule(sandbox, LAUNCH_MASK, alias, NULL, "another mount of a hidden place");
}

static void close_aliases_of(struct sandbox *sandbox, const char *hidden, struct checks *checks)
{
    with_strvec paths = {0};
    sandbox_aliases(sandbox, hidden, &paths);
    for (size_t i = 0; i < paths.count; i++) {
        close_alias(sandbox, paths.strings[i], hidden, checks);
    }
}

void aliases_close(struct sandbox *sandbox, struct checks *checks)
{
    static const char *const always[] = {"/run", "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < countof(always); i++) {
        close_aliases_of(sandbox, always[i], checks);
    }
    for (size_t i = 0; i < sandbox->hidden_count; i++) {
        close_aliases_of(sandbox, sandbox->hidden[i], checks);
    }
    if (sandbox->home && !sandbox->home_is_open) {
        close_aliases_of(sandbox, sandbox->home, checks);
    }
}
