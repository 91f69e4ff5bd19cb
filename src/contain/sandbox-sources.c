/* Copies in the place of what they were made of: how they lie in each other, and beside what options open. */
#include "sandbox-priv.h"

#include <string.h>

#include "file.h"
#include "memory.h"

/* A copy is read-only, and its identity is compared like that of any other place. */
static void show_source(const struct sandbox_source *source, struct shown_copy *ret_copy,
                        struct sandbox *sandbox, struct checks *checks)
{
    struct err err = {0};
    struct host_path place = {.path = memory_copy_string(source->place)};
    int result = os_fstat(source->fd, &place.stat);
    if (result < 0) {
        (void)err_sys(&err, result, "the copy of '%s'", source->place);
        sandbox_refuse(checks, CHECK_SANDBOX, memory_copy_string(err.msg), "",
                       source->is_project ? "run it again: the copy is made anew"
                                          : "stage it again: berm toolchain stage DIR");
    } else {
        *ret_copy = (struct shown_copy){memory_copy_string(source->copy),
                                        memory_copy_string(source->place)};
        sandbox_show(sandbox, &place, false,
                     source->is_project ? "the frozen copy of the repository"
                                        : "the staged copy of a runtime");
        sandbox->shown[sandbox->shown_count - 1].from = memory_copy_string(source->copy);
    }
    host_path_done(&place);
}

bool sources_plan(const struct sandbox_request *request, struct sandbox *sandbox,
                  struct checks *checks)
{
    bool is_project = false;
    for (size_t i = 0; i < SANDBOX_SOURCES && request->sources[i].copy; i++) {
        show_source(&request->sources[i], &sandbox->copies[i], sandbox, checks);
        is_project = is_project || request->sources[i].is_project;
    }
    return is_project;
}

/* --- what lies in what -------------------------------------------------------------------------- */

/* The innermost in whose place it lies; a copy is not in itself. NULL: none. */
static const struct sandbox_source *find_around(const struct sandbox_request *request,
                                                const struct shown_place *place)
{
    const struct sandbox_source *found = NULL;
    for (size_t i = 0; i < SANDBOX_SOURCES && request->sources[i].copy; i++) {
        const struct sandbox_source *one = &request->sources[i];
        bool is_itself = place->from && strcmp(place->path, one->place) == 0;
        if (!is_itself && path_is_beneath(place->path, one->place) &&
            (!found || strlen(one->place) > strlen(found->place))) {
            found = one;
        }
    }
    return found;
}

/* It would be mounted before the copy, and what is written there would be written beside it. */
static bool holds_source(const struct sandbox_request *request, const struct shown_place *place)
{
    for (size_t i = 0; i < SANDBOX_SOURCES && request->sources[i].copy; i++) {
        if (path_is_beneath(request->sources[i].place, place->path)) {
            return true;
        }
    }
    return false;
}

/* In a folder that cannot be written nobody makes the place to mount on. */
static bool has_place_for(const struct sandbox_source *around, const struct shown_place *place)
{
    struct stat stat;
    const char *below = place->path + strlen(around->place);
    below += strspn(below, "/");
    return os_stat_entry(around->fd, below, &stat) == 0 &&
           S_ISDIR(stat.st_mode) == S_ISDIR(place->stat.st_mode) && !S_ISLNK(stat.st_mode);
}

static void check_inner(const struct sandbox_source *around, const struct shown_place *place,
                        struct checks *checks)
{
    if (!place->from && !place->writable) {
        if (place->asked_for) {
            sandbox_refuse(checks, CHECK_ROOTS,
                           memory_format("%s '%s' is not possible", place->origin, place->path),
                           "it lies in what is shown as a copy, and would be seen as it was then",
                           "leave it out, or give a folder outside of it");
        }
    } else if (!has_place_for(around, place)) {
        with_string saw = memory_format(
            "the copy of '%s' has nothing there, as of what git ignores", around->place);
        sandbox_refuse(checks, CHECK_ROOTS,
                       memory_format("%s: '%s' cannot be shown", place->origin, place->path), saw,
                       place->from ? "stage it from a folder outside of the repository"
                                   : "keep a file in it that git does not ignore\nor give a folder "
                                     "outside of the repository");
    }
}

void sources_check(const struct sandbox_request *request, const struct sandbox *sandbox,
                   struct checks *checks)
{
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        const struct shown_place *place = &sandbox->shown[i];
        const struct sandbox_source *around = find_around(request, place);
        if (place->writable && holds_source(request, place)) {
            sandbox_refuse(checks, CHECK_ROOTS,
                           memory_format("%s '%s' is not possible", place->origin, place->path),
                           "what it holds is shown as a copy, which nobody writes",
                           "give a folder below it");
        } else if (around) {
            check_inner(around, place, checks);
        }
    }
}
