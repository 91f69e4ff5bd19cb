#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "anchor-message.h"
#include "cgroupfs.h"
#include "clock.h"
#include "event.h"
#include "fault.h"
#include "file.h"
#include "helper.h"
#include "process.h"

enum { LOOK_MS = 10 };

struct anchor {
    char unit[ANCHOR_UNIT_SIZE];       /* "": none that will take it, or not told yet */
    int64_t until_ns;                  /* then systemd has its number, or never will */
    struct fd folders[ANCHOR_FOLDERS]; /* the leaf, the scope; closed until it holds them */
};

static int ignore_endings(void)
{
    static const int endings[] = {SIGTERM, SIGHUP,  SIGINT,  SIGQUIT,
                                  SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
    int result = 0;
    for (size_t i = 0; i < countof(endings) && result == 0; i++) {
        result = os_signal_ignore(endings[i]);
    }
    return result;
}

static void wait_a_moment(void)
{
    (void)!os_poll(-1, 0, LOOK_MS);
}

static bool has_joined(const struct anchor *anchor)
{
    char path[CGROUP_PATH_SIZE];
    with_fd self = fd_adopt(os_openat(AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY, 0));
    return fd_is_open(&self) && os_cgroup_of(fd_num(&self), path) == 0 &&
           cgroup_path_names(path, anchor->unit);
}

no_return static void leave(const struct anchor *anchor)
{
    while (anchor->unit[0] != '\0' && !has_joined(anchor) &&
           os_clock_real.monotonic_ns() < anchor->until_ns) {
        wait_a_moment();
    }
    os_exit(0);
}

/* Nobody else is left who could do it. */
static void end_payload(const struct anchor *anchor)
{
    if (!fd_is_open(&anchor->folders[0])) {
        return;
    }
    int leaf = fd_num(&anchor->folders[0]);
    for (;;) {
        int result = os_cgroup_kill(leaf);
        with_fd events = fd_adopt(os_cgroup_open_file(leaf, "cgroup.events"));
        int populated =
            fd_is_open(&events) ? os_cgroup_populated(fd_num(&events)) : fd_error(&events);
        if (populated == 0 || cgroup_is_gone(populated) || cgroup_is_gone(result)) {
            break;
        }
        wait_a_moment();
    }
    /* Whoever comes later finds no leaf, or an empty one. */
    (void)!os_cgroup_remove(fd_num(&anchor->folders[1]), ANCHOR_LEAF_NAME);
}

static void say(enum anchor_word word)
{
    const char byte = (char)word;
    (void)!os_send(ANCHOR_CHANNEL_FD, &byte, 1); /* who does not hear it gives up, which is heard */
}

static void take_unit(struct anchor *anchor, const struct anchor_unit *unit, size_t length)
{
    if (length != sizeof *unit || unit->name[sizeof unit->name - 1] != '\0' ||
        ignore_endings() < 0) {
        return;
    }
    memcpy(anchor->unit, unit->name, sizeof anchor->unit);
    anchor->until_ns = unit->until_ns;
    say(ANCHOR_READY);
}

static void join(const struct fd *folder)
{
    const struct anchor_joined joined = {.word = ANCHOR_JOINED,
                                         .result = os_cgroup_join(fd_num(folder))};
    (void)!os_send(ANCHOR_CHANNEL_FD, &joined, sizeof joined); /* as in say() */
}

static void take_folders(struct anchor *anchor, struct fd folders[ANCHOR_FOLDERS])
{
    for (size_t i = 0; i < ANCHOR_FOLDERS; i++) {
        fd_close(&anchor->folders[i]);
        anchor->folders[i] = fd_take(&folders[i]);
    }
    say(ANCHOR_HOLDS);
}

/* False: there is nothing to obey now. */
static bool obey(struct anchor *anchor)
{
    struct anchor_unit packet;
    struct fd folders[ANCHOR_FOLDERS] = {0};
    ssize_t got = os_recv_fds(ANCHOR_CHANNEL_FD, &packet, sizeof packet, folders, ANCHOR_FOLDERS);
    if (got < 0) {
        return false; /* an end is told by 0 alone: nobody is killed because of a failed call */
    }
    if (got == 0) {
        end_payload(anchor);
        leave(anchor);
    }
    switch (packet.order) {
    case ANCHOR_UNIT:
        take_unit(anchor, &packet, (size_t)got);
        break;
    case ANCHOR_JOIN:
        if (fd_is_open(&folders[0])) {
            join(&folders[0]);
        }
        break;
    case ANCHOR_HOLD:
        if (fd_is_open(&folders[0])) {
            take_folders(anchor, folders);
        }
        break;
    case ANCHOR_LEAVE:
        leave(anchor);
    default:
        break;
    }
    for (size_t i = 0; i < ANCHOR_FOLDERS; i++) {
        fd_close(&folders[i]); /* what came with another order */
    }
    return true;
}

void anchor_main(int argc, char **argv)
{
    fault_role("anchor");
    static struct anchor anchor;
    sigset_t none;
    sigemptyset(&none);
    int result = os_signal_mask(SIG_SETMASK, &none, NULL);
    result = result < 0 ? result : os_close_from(ANCHOR_CHANNEL_FD + 1);
    if (result < 0) {
        os_exit(HELPER_EXIT_REFUSED); /* nobody was told of this process yet */
    }
    for (;;) {
        int ready = os_poll(ANCHOR_CHANNEL_FD, POLLIN, -1);
        if (!obey(&anchor) && ready != 0) {
            wait_a_moment();
        }
    }
}
