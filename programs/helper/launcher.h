/* launcher.h
 *
 * The first process of a sandbox: a duty of the helper program (helper.h), in parts. What it says and is
 * told stands in launch-message.h.
 *
 *   launcher.c   the steps in their order, the words to the controller
 *   place.c      a path, opened without following a link
 *   mounts.c     the private file system, and what the plan covers, pins and closes
 *   devices.c    a /dev of its own
 *   mountinfo.c  the mounts that there are: those of memory and of the kernel are closed, named or not
 *   confine.c    descriptors, capabilities, Landlock, the system call filter
 *   offer.c      the socket at which programs of the payload ask about their run
 *   reaper.c     the payload's start, and what the first process of a PID namespace has to do
 *
 * A step answers 0 or -errno. What it could not do is in its row of the table; `where` and `what`
 * say it closer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attributes.h"
#include "fd.h"
#include "launch-message.h"

enum { LAUNCHER_DEVICES = 6 };

struct launcher {
    const struct launch_plan *plan;
    int channel;
    int file_fd; /* the payload's, O_PATH */
    mode_t mask;

    dev_t private_device;
    struct fd private_root; /* the private file system: later, what Landlock is tried on */
    struct fd tmp;
    struct fd var_tmp; /* a tree of its own: what is closed in one must not be open in the other */
    struct fd shm;
    struct fd dev;
    struct fd devices[LAUNCHER_DEVICES]; /* copies, until each is in its place */
    struct fd empty_folder;              /* what covers a folder, and anything else */
    struct fd empty_file;

    pid_t payload;     /* the process that becomes it; 0: it has ended */
    struct fd release; /* one byte and it goes on */
    struct fd start;   /* end-of-file: it executed */

    bool shows_others; /* there is a second mount of /proc */
    int landlock_abi;
    uint32_t facts; /* enum launch_fact */

    int64_t began_ns;

    const char *what;  /* of a failure: instead of the step's own words, or NULL */
    const char *where; /* and the path, or NULL */
};

/* Note what failed and where; returns sys. */
static inline int launcher_fail(struct launcher *launcher, int sys, const char *what,
                                const char *where)
{
    launcher->what = what;
    launcher->where = where;
    return sys;
}

/* place.c */

/* O_PATH, no component may be a link: -ELOOP. flags: O_DIRECTORY or 0. */
int place_open(const char *path, int flags) must_check;
/* Both lead to one file, whatever mounts they lead through. */
int place_is_same(int a, int b) must_check; /* 1, 0 or -errno */

/* mounts.c, in the order of the steps */
int mounts_cut_off(struct launcher *launcher) must_check;
int mounts_make_private(struct launcher *launcher) must_check;
int mounts_keep(struct launcher *launcher) must_check;
int mounts_place_private(struct launcher *launcher) must_check;
int mounts_do_items(struct launcher *launcher) must_check;
int mounts_close_kernel(struct launcher *launcher) must_check;
int mounts_limit_files(struct launcher *launcher) must_check;
int mounts_hide_private(struct launcher *launcher) must_check;
/* What place_fd holds is out of reach, and the path leads to what covers it. Before the private one is hidden. */
int mounts_cover(const struct launcher *launcher, int place_fd, const char *path) must_check;
/* An empty file, in the private file system only. */
int mounts_make_file(int dir_fd, const char *name, mode_t mode) must_check;
/* The copy of a mount at the place of on_fd, which `path` names. Answers a descriptor in it: the path must
 * lead to that, or somebody changed the way to it (-EXDEV). */
struct fd mounts_attach(int copy_fd, int on_fd, const char *path) must_check;
int mounts_must_be_read_only(int fd) must_check; /* fd lies in the mount; -EPERM: it is not */

/* devices.c */
int devices_take(struct launcher *launcher)
    must_check; /* before the kernel's file systems are closed */
int devices_make(struct launcher *launcher) must_check;  /* before the private folders are placed */
int devices_close(struct launcher *launcher) must_check; /* after it: filled, then read-only */

/* mountinfo.c */

/* What is mounted at a place or beneath it is read-only, one mount after the other. */
int mountinfo_close(struct launcher *launcher, const char *path) must_check;
/* In what is mounted at a place or beneath it, devices can be used. */
int mountinfo_open_devices(struct launcher *launcher, const char *path) must_check;
/* No file system of memory but the private one stays writable, nor one of the kernel, even in a folder that
 * was opened. Before anything is copied to another place: what is copied is closed there as well, and
 * there are fewer mounts to look at. That nothing else can be written is what the controller looks at. */
int mountinfo_close_others(struct launcher *launcher) must_check;
/* A second mount of /proc is covered, wherever it is: when all that is shown was seen to be what it was. */
int mountinfo_cover_others(struct launcher *launcher) must_check;

/* confine.c */
int confine_open_payload(struct launcher *launcher) must_check;
int confine_enter_cwd(struct launcher *launcher) must_check;
int confine_descriptors(struct launcher *launcher) must_check;
int confine_limits(struct launcher *launcher) must_check;
int confine_capabilities(struct launcher *launcher) must_check;
int confine_landlock(struct launcher *launcher) must_check;
int confine_filter(struct launcher *launcher) must_check;
/* The kernel's limit for this user namespace: none may be made in it. Only who has CAP_SYS_RESOURCE in it
 * could lift that. While /proc/sys can be written. */
int confine_limit_user_namespaces(struct launcher *launcher) must_check;
int confine_no_user_namespace(struct launcher *launcher) must_check;

/* offer.c: made while nobody else is there to use the place, and sent away at once. */
int offer_context(struct launcher *launcher) must_check;

/* launcher.c */

/* Text without stdio: `at` is where it goes on, `end` the last byte of its place, for the NUL; what does
 * not fit is left out. They answer the new end. */
char *launcher_add_text(char *at, const char *end, const char *text);
char *launcher_add_number(char *at, const char *end, uint64_t number);
/* One packet to the controller; nobody is left to tell when it cannot be sent. */
void launcher_say(const struct launcher *launcher, enum launch_said said, int value, int extra);
no_return void launcher_give_up(const struct launcher *launcher, enum launch_said said, int sys,
                                const char *what);

/* reaper.c */

/* The payload's process, blocked: the controller looks at it before it is released. */
int reaper_fork(struct launcher *launcher) must_check;
/* Let it go on, reap until nothing is left, exit. */
no_return void reaper_main(struct launcher *launcher);
