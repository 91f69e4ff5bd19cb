#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 1024 };

static bool is_beneath(const char *path, const char *root)
{
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_ancestor(const struct own *own, pid_t pid)
{
    pid_t at = own->pid;
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++) {
        at = berm_own_parent_of(own, at);
        if (at == pid) {
            return true;
        }
    }
    return false;
}

/* The launcher made it in a file system that nobody inside can write to. */
static bool is_closed_place(const struct view *view)
{
    char folder[CONTEXT_ADDRESS_SIZE];
    struct statvfs facts;
    const char *slash = strrchr(view->socket, '/');
    size_t length = (size_t)(slash - view->socket);
    if (length == 0 || length >= sizeof folder) {
        return false;
    }
    memcpy(folder, view->socket, length);
    folder[length] = '\0';
    int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool closed = fd >= 0 && fstatvfs(fd, &facts) == 0 && (facts.f_flag & ST_RDONLY);
    if (fd >= 0) {
        close(fd);
    }
    return closed;
}

enum berm_context_why berm_peer_judge(const struct view *view, const struct own *own, int fd,
                                      bool in_sandbox)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    char path[CONTEXT_LEAF_SIZE];
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        return BERM_CONTEXT_WHY_KERNEL;
    }
    /* 0: it lives outside of this PID namespace, so it is none of the payload's. Its user may have no name
     * in here. That is believed at one place only, which the payload could not make. */
    if (peer.pid == 0) {
        return in_sandbox && is_closed_place(view) ? BERM_CONTEXT_WHY_NONE : BERM_CONTEXT_WHY_PLACE;
    }
    if (peer.pid == own->pid) {
        return BERM_CONTEXT_WHY_PEER_INSIDE;
    }
    int result = berm_own_cgroup_of(own, peer.pid, path);
    if (result < 0) {
        return BERM_CONTEXT_WHY_PEER_STRANGE;
    }
    if (is_beneath(path, own->cgroup)) {
        return BERM_CONTEXT_WHY_PEER_INSIDE;
    }
    bool own_user = peer.uid == geteuid() || peer.uid == 0;
    return own_user && is_ancestor(own, peer.pid) ? BERM_CONTEXT_WHY_NONE
                                                  : BERM_CONTEXT_WHY_PEER_STRANGE;
}
