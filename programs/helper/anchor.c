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

/* After this time systemd has the number that it was told, or never will. */
enum { JOIN_S = 5, LOOK_MS = 10 };

struct anchor {
    const char *unit;
    int64_t began_ns;
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
    sigset_t none;
    sigemptyset(&none);
    return result < 0 ? result : os_signal_mask(SIG_SETMASK, &none, NULL);
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
    while (!has_joined(anchor) &&
           os_clock_real.monotonic_ns() < anchor->began_ns + JOIN_S * NS_PER_S) {
        wait_a_moment();
    }
    os_exit(0);
}

/* Nobody is left who could do it: no process of the leaf outlives us, and no leaf an orderly death. */
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
    /* Of its kind only the kernel's word counts: what is not removed holds nobody. */
    (void)!os_cgroup_remove(fd_num(&anchor->folders[1]), ANCHOR_LEAF_NAME);
}

static void say(enum anchor_word word)
{
    const char byte = (char)word;
    (void)!os_send(ANCHOR_CHANNEL_FD, &byte,
                   1); /* who does not hear it has closed, which is heard */
}

static void obey(struct anchor *anchor)
{
    char order = 0;
    struct fd folders[ANCHOR_FOLDERS] = {0};
    ssize_t got = os_recv_fds(ANCHOR_CHANNEL_FD, &order, 1, folders, ANCHOR_FOLDERS);
    if (got == -EAGAIN || got == -EPROTO) {
        return;
    }
    if (got <= 0) {
        end_payload(anchor);
        leave(anchor);
    }
    if (order == ANCHOR_LEAVE) {
        leave(anchor);
    }
    if (order == ANCHOR_HOLD && fd_is_open(&folders[0])) {
        for (size_t i = 0; i < countof(folders); i++) {
            fd_close(&anchor->folders[i]);
            anchor->folders[i] = folders[i];
        }
        say(ANCHOR_HOLDS);
    }
}

void anchor_main(int argc, char **argv)
{
    fault_role("anchor");
    static struct anchor anchor;
    if (argc != 2) {
        os_exit(HELPER_EXIT_USAGE);
    }
    anchor.unit = argv[1];
    anchor.began_ns = os_clock_real.monotonic_ns();
    int result = ignore_endings();
    result = result < 0 ? result : os_close_from(ANCHOR_CHANNEL_FD + 1);
    if (result < 0) {
        leave(&anchor); /* not at once: who started us may have told systemd already */
    }
    say(ANCHOR_READY);
    for (;;) {
        int ready = os_poll(ANCHOR_CHANNEL_FD, POLLIN, -1);
        if (ready > 0) {
            obey(&anchor);
        } else if (ready != -EINTR) {
            wait_a_moment();
        }
    }
}
