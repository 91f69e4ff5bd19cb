/* Where the payload's bytes go on to. */
#include "streams-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "event.h"
#include "file.h"

enum {
    MAJOR_MEMORY = 1,
    MAJOR_TTY = 5,
    MINOR_PTMX = 2
}; /* Documentation/admin-guide/devices.txt */

/* A description of our own on the same pipe or terminal, on which O_NONBLOCK disturbs nobody. */
static void open_own(struct sink *sink)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", sink->fd);
    sink->own = fd_adopt(os_openat(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0));
    if (fd_is_open(&sink->own)) {
        sink->kind = SINK_OWN;
        sink->fd = fd_num(&sink->own);
    } else if (fd_error(&sink->own) == -ENXIO) {
        sink->kind = SINK_GONE; /* a pipe that nobody reads any more */
        sink->error = EPIPE;
    } else {
        sink->kind = SINK_POLLED;
    }
}

void sink_open(struct sink *sink, int fd)
{
    *sink = (struct sink){.kind = SINK_NONE, .fd = fd, .holder = -1};
    if (fd < 0) {
        return;
    }
    struct stat stat;
    int result = os_fstat(fd, &stat);
    if (result < 0) {
        sink->kind = SINK_GONE;
        sink->error = -result;
        return;
    }
    bool master = major(stat.st_rdev) == MAJOR_TTY && minor(stat.st_rdev) == MINOR_PTMX;
    if (S_ISREG(stat.st_mode) || S_ISBLK(stat.st_mode) ||
        (S_ISCHR(stat.st_mode) && major(stat.st_rdev) == MAJOR_MEMORY)) {
        sink->kind = SINK_PLAIN;
    } else if (S_ISSOCK(stat.st_mode)) {
        sink->kind = SINK_SOCKET;
    } else if (S_ISFIFO(stat.st_mode) || (S_ISCHR(stat.st_mode) && !master && os_is_terminal(fd))) {
        open_own(sink); /* a pty master opened anew would be another pty */
    } else {
        sink->kind = SINK_POLLED;
    }
}

static ssize_t write_polled(int fd, const char *bytes, size_t n)
{
    int ready = os_poll(fd, POLLOUT, 0);
    if (ready < 0) {
        return ready == -EINTR ? -EAGAIN : ready;
    }
    if (ready == 0) {
        return -EAGAIN;
    }
    return os_write(fd, bytes, n < PIPE_BUF ? n : PIPE_BUF); /* so much fits without waiting */
}

ssize_t sink_write(struct sink *sink, const char *bytes, size_t n)
{
    switch (sink->kind) {
    case SINK_PLAIN:
    case SINK_OWN:
        return os_write(sink->fd, bytes, n);
    case SINK_SOCKET:
        return os_send(sink->fd, bytes, n);
    case SINK_POLLED:
        return write_polled(sink->fd, bytes, n);
    case SINK_GONE:
        return -sink->error;
    case SINK_NONE:
    default:
        return (ssize_t)n;
    }
}

void sink_done(struct sink *sink)
{
    fd_close(&sink->own);
    *sink = (struct sink){.holder = -1};
}
