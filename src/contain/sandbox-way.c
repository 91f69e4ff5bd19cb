/* The way that a name of the host leads, one component after the other, as the kernel goes it: whoever may write a folder
 * on it can lead it elsewhere. Source: path_resolution(7). */
#include "sandbox-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

enum { LINKS_FOLLOWED = 40 };

static char *joined(const struct host_path *folder, const char *name)
{
    return memory_format("%s/%s", strcmp(folder->path, "/") == 0 ? "" : folder->path, name);
}

/* Cuts the first component off what is left to go; NULL: that was all. */
static char *next_of(char **rest)
{
    char *name = *rest + strspn(*rest, "/");
    size_t length = strcspn(name, "/");
    char *found = length > 0 ? memory_format("%.*s", (int)length, name) : NULL;
    memmove(*rest, name + length, strlen(name + length) + 1);
    return found;
}

static int move_to(struct host_path *at, int base_fd, const char *name)
{
    struct host_path next = {0};
    int result = host_path_open(base_fd, name, &next);
    if (result == 0) {
        host_path_done(at);
        *at = next;
    }
    return result;
}

static int follow_link(struct way *way, struct host_path *at, const char *name, char **rest)
{
    char target[4096];
    strvec_push_take(&way->links, joined(at, name));
    ssize_t length = os_readlinkat(fd_num(&at->fd), name, target, sizeof target);
    if (length < 0 || way->links.count > LINKS_FOLLOWED) {
        return length < 0 ? (int)length : -ELOOP;
    }
    char *longer = memory_format("%s/%s", target, *rest);
    memory_free(*rest);
    *rest = longer;
    return target[0] == '/' ? move_to(at, AT_FDCWD, "/") : 0;
}

void way_follow(int base_fd, const char *name, struct way *ret_way)
{
    with_host_path at = {0};
    with_string rest = memory_copy_string(name);
    struct way way = {0};
    int result = host_path_open(base_fd, name[0] == '/' ? "/" : ".", &at);
    for (char *step; result == 0 && (step = next_of(&rest)) != NULL; memory_free(step)) {
        struct stat stat;
        result = os_stat_entry(fd_num(&at.fd), step, &stat);
        bool is_link = result == 0 && S_ISLNK(stat.st_mode);
        result = result < 0 ? result
                 : is_link  ? follow_link(&way, &at, step, &rest)
                            : move_to(&at, fd_num(&at.fd), step);
        if (result < 0) {
            way.missing = joined(&at, step);
            way.nearest = memory_copy_string(at.path);
        } else if (!is_link && rest[0]) {
            strvec_push(&way.folders, at.path);
        }
    }
    *ret_way = way;
}

void way_done(struct way *way)
{
    strvec_done(&way->folders);
    strvec_done(&way->links);
    memory_free(way->missing);
    memory_free(way->nearest);
    *way = (struct way){0};
}
