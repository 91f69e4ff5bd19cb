/* Is there a symbolic link in the temporary folders? A walk from the held descriptors downwards: a folder is
 * opened by its name alone, in the folder that lists it, so that no link and no mount leads out of there; and
 * nothing but folders is opened, so that nothing blocks. Source: openat2(2), getdents(2). */
#include "sandbox-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "file.h"
#include "memory.h"

enum {
    RESOLVE =
        OS_RESOLVE_BENEATH | OS_RESOLVE_NO_SYMLINKS | OS_RESOLVE_NO_MAGICLINKS | OS_RESOLVE_NO_XDEV,
    LISTED = 2048,
    ASKED_EVERY = 256, /* entries, for the time */
    NAME_BYTES = 256,
};

struct link_level {
    struct fd dir;
    size_t path_length; /* of its own path, in the walk's */
    size_t at;          /* of what is listed, what was not looked at yet: from here */
    size_t end;
    _Alignas(struct dirent64) char listed[LISTED];
};

struct link_walk {
    struct link_level levels[LINK_DEPTH];
    int depth;
    const struct link_budget *budget; /* borrowed */
    int64_t entries_left;
    int64_t until_ns; /* of the processor time */
    struct sandbox_links *links;
    char path[(LINK_DEPTH + 1) * NAME_BYTES];
};

struct link_walk *link_walk_new(void)
{
    return memory_new(sizeof(struct link_walk));
}

void link_walk_free(struct link_walk *walk)
{
    memory_free(walk);
}

/* As much as fits; what is cut ends with dots. */
static void keep_path(char kept[LINK_PATH_SIZE], const char *path)
{
    static const char dots[] = "...";
    size_t length = strlen(path);
    bool fits = length < LINK_PATH_SIZE;
    memcpy(kept, path, fits ? length + 1 : LINK_PATH_SIZE - sizeof dots);
    if (!fits) {
        memcpy(kept + LINK_PATH_SIZE - sizeof dots, dots, sizeof dots);
    }
}

/* The path of the walk is that of an entry until the next one. */
static void name_entry(struct link_walk *walk, const char *name)
{
    size_t length = walk->levels[walk->depth - 1].path_length;
    size_t n = strnlen(name, NAME_BYTES - 1);
    walk->path[length] = '/';
    memcpy(walk->path + length + 1, name, n);
    walk->path[length + 1 + n] = '\0';
}

static int give_up(struct link_walk *walk, const char *why, const char *remedy)
{
    struct sandbox_links *links = walk->links;
    links->why = why;
    links->remedy = remedy;
    keep_path(links->where, walk->path);
    return -1;
}

static int give_up_over(struct link_walk *walk, const char *why, int64_t limit, const char *unit,
                        const char *remedy)
{
    walk->links->limit = limit;
    walk->links->unit = unit;
    return give_up(walk, why, remedy);
}

static int give_up_for(struct link_walk *walk, int result, const char *why)
{
    walk->links->sys = -result;
    return give_up(walk, why,
                   result == -EACCES
                       ? "let the owner of each folder there read and enter it (chmod u+rx)"
                       : "mend what the kernel says of it, and run it again");
}

static void found(struct link_walk *walk)
{
    struct sandbox_links *links = walk->links;
    if (links->told < LINKS_TOLD) {
        keep_path(links->paths[links->told++], walk->path);
    }
    links->count++;
}

/* The folder at the walk's path, which is `name` in dir_fd. */
static int enter(struct link_walk *walk, int dir_fd, const char *name)
{
    if (walk->depth == LINK_DEPTH) {
        return give_up_over(walk, "folders lie too deep in each other", LINK_DEPTH, "folders",
                            "make them flatter");
    }
    with_fd dir = fd_adopt(os_openat2(dir_fd, name, O_RDONLY | O_DIRECTORY, 0, RESOLVE));
    int result = fd_error(&dir);
    if (result == -ELOOP) {
        found(walk); /* it was a folder when it was listed */
        return 0;
    }
    /* Removed meanwhile, or replaced by what is no folder. Or another mount: nobody in there can make one, so it
     * is the launcher's, of a place that is shown or covered, and stands before what lies beneath it. */
    bool is_none = result == -ENOENT || result == -ENOTDIR || result == -EXDEV;
    if (is_none && walk->depth > 0) {
        return 0;
    }
    if (result < 0) {
        return give_up_for(walk, result, "a folder cannot be opened");
    }
    struct link_level *level = &walk->levels[walk->depth++];
    level->dir = fd_take(&dir);
    level->path_length = strlen(walk->path);
    level->at = level->end = 0;
    return 0;
}

static int type_of(const struct link_walk *walk, const struct dirent64 *entry,
                   unsigned char *ret_type)
{
    struct stat stat;
    *ret_type = entry->d_type;
    if (entry->d_type != DT_UNKNOWN) {
        return 0;
    }
    int result = os_stat_entry(fd_num(&walk->levels[walk->depth - 1].dir), entry->d_name, &stat);
    if (result == 0) {
        *ret_type = IFTODT(stat.st_mode);
    }
    return result == -ENOENT ? 0 : result;
}

static int look_at(struct link_walk *walk, const struct dirent64 *entry)
{
    unsigned char type;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
        return 0;
    }
    name_entry(walk, entry->d_name);
    if (walk->entries_left-- <= 0) {
        return give_up_over(walk, "there are too many entries", walk->budget->entries, "entries",
                            "keep fewer files there, and move no folders while others are made");
    }
    if (walk->entries_left % ASKED_EVERY == 0 && os_processor_ns() > walk->until_ns) {
        return give_up_over(walk, "a look takes too long", walk->budget->processor_ns / NS_PER_S,
                            "s of the processor", "keep fewer files there");
    }
    int result = type_of(walk, entry, &type);
    if (result < 0) {
        return give_up_for(walk, result, "an entry cannot be looked at");
    }
    if (type == DT_LNK) {
        found(walk);
    }
    return type == DT_DIR ? enter(walk, fd_num(&walk->levels[walk->depth - 1].dir), entry->d_name)
                          : 0;
}

/* One entry, or the next part of the list. */
static int step(struct link_walk *walk)
{
    struct link_level *level = &walk->levels[walk->depth - 1];
    if (level->at < level->end) {
        const struct dirent64 *entry = (const void *)(level->listed + level->at);
        level->at += entry->d_reclen;
        return look_at(walk, entry);
    }
    ssize_t got = os_getdents(fd_num(&level->dir), level->listed, sizeof level->listed);
    if (got == -ENOENT && walk->depth > 1) {
        got = 0; /* it was removed when it was open, and nothing can come into it any more */
    }
    if (got < 0) {
        walk->path[level->path_length] = '\0';
        return give_up_for(walk, (int)got, "a folder cannot be listed");
    }
    level->at = 0;
    level->end = (size_t)got;
    if (got == 0) {
        fd_close(&level->dir);
        walk->depth--;
    }
    return 0;
}

bool links_find(struct link_walk *walk, const struct link_folder *folders, size_t count,
                const struct link_budget *budget, struct sandbox_links *ret_links)
{
    *ret_links = (struct sandbox_links){0};
    walk->links = ret_links;
    walk->depth = 0;
    walk->budget = budget;
    walk->entries_left = budget->entries;
    walk->until_ns = os_processor_ns() + budget->processor_ns;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        size_t length = strlen(folders[i].name);
        BUG_IF(length >= NAME_BYTES);
        memcpy(walk->path, folders[i].name, length + 1);
        result = enter(walk, folders[i].fd, ".");
        while (result == 0 && walk->depth > 0) {
            result = step(walk);
        }
    }
    while (walk->depth > 0) {
        fd_close(&walk->levels[--walk->depth].dir);
    }
    return ret_links->count > 0 || ret_links->why;
}

bool sandbox_bars_links(const struct sandbox *sandbox)
{
    return sandbox->walk != NULL;
}

bool sandbox_find_links(struct sandbox *sandbox, struct sandbox_links *ret_links)
{
    static const char *const names[PRIVATE_COUNT] = {"tmp", "var/tmp", "dev/shm"};
    enum { OWN_ENTRIES = 1024 }; /* that the launcher made, on the way to what is shown in there */
    const struct link_budget budget = {sandbox->private_inodes + OWN_ENTRIES, NS_PER_S};
    struct link_folder folders[PRIVATE_COUNT];
    size_t count = 0;
    if (!fd_is_open(&sandbox->private_dirs[PRIVATE_TMP])) {
        *ret_links = (struct sandbox_links){
            .why = "they are not held", .sys = EBADF, .remedy = "run it again"};
        return true;
    }
    for (size_t i = 0; i < PRIVATE_COUNT; i++) {
        if (fd_is_open(&sandbox->private_dirs[i])) {
            folders[count++] = (struct link_folder){fd_num(&sandbox->private_dirs[i]), names[i]};
        }
    }
    return links_find(sandbox->walk, folders, count, &budget, ret_links);
}

void sandbox_links_say_why(const struct sandbox_links *links, char text[LINKS_WHY_SIZE])
{
    (void)snprintf(text, LINKS_WHY_SIZE, "%s", links->why ? links->why : "they were not looked at");
    if (links->unit) {
        size_t length = strlen(text);
        (void)snprintf(text + length, LINKS_WHY_SIZE - length, ", at most %" PRId64 " %s",
                       links->limit, links->unit);
    }
}
