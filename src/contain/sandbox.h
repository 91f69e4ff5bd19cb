/* sandbox.h
 *
 * What the payload may see, write and reach: planned as data, printed, rendered for bubblewrap and
 * for the launcher, and believed only after the kernel has been asked what the finished sandbox is.
 *
 * Calling sequence
 *   sandbox_plan(&request, &checks)       the plan, or NULL: the reasons stand in the checks. It reads
 *                                         and starts nothing
 *   sandbox_to_json(sandbox)              effective mounts, namespaces, closures and their origin
 *   sandbox_ready(sandbox, err)           renders it: the descriptors that the gate hands on
 *   ... supervise/ starts bubblewrap, the launcher says LAUNCH_READY ...
 *   sandbox_verify(sandbox, ...)          by /proc of the payload's process: identity, namespaces, capabilities,
 *                                         mounts, quota. Only then is the payload released
 *   sandbox_raise(sandbox, &guarantees)   what was verified, as levels
 *   sandbox_find_links(sandbox, &links)   at every sample, and once when nobody is left in it: with no_links
 *   sandbox_look_back(sandbox, &notes)    after the run: what appeared in the writable roots
 *
 * What is open   the host's root, read-only; the project (the nearest folder at or above cwd that
 *              holds .git or .berm; else cwd), read-only; --readable and --writable folders; one
 *              private file system of memory with a quota in bytes and inodes, at /tmp, /var/tmp and
 *              /dev/shm; the network only when asked for.
 *              With `sources` frozen copies are seen by the paths of what they are copies of, and nothing of
 *              that itself.
 * What is closed  /home, /root and the caller's home; /run; devices but the plain ones; cgroupfs;
 *              berm's own state; .git and .berm in every writable root, and where git is led from
 *              there or from a folder above (a link, a gitdir: file, commondir), with the way to it: a root in
 *              which that is not there yet is refused; sockets of daemons that can be reached by a path; the system calls of filter.h; user namespaces.
 * Links        with no_links none is followed in /tmp, /var/tmp and /dev/shm (nosymfollow, Linux 5.10; without it the
 *              launcher refuses), and none may be there (SB-8). They are looked for through the held
 *              descriptors, by names of one component, without following any and without leaving the mount. While
 *              the payload runs it can move a folder from before a look to behind it; when nobody is left,
 *              nothing moves any more, and that look is exact.
 * Never uid 0  inside: without a namespace of its own for /proc/sys and the like, root without
 *              capabilities still writes there. Run by root it needs a user (preflight/user.h).
 * Ownership    the sandbox owns its descriptors; the accessors lend them.
 * Limitations  .git and .berm are closed at the top of a writable root, not in folders below it. A
 *              whole .git is read-only, so a commit fails: with only its hooks and its config closed
 *              a file named commondir would bring in others. A socket by path, in a place that
 *              is visible, can be reached when its daemon made it after the plan was made, lives in
 *              another network namespace, or moved it after bind(2). A hidden place is
 *              hidden by every path of its whole, but not a part of it that is bound elsewhere. With Landlock,
 *              POSIX message queues cannot be opened for writing: they lie in no file system that a
 *              rule could name. Programs of 32 bits are refused.
 * Source       mount_namespaces(7), user_namespaces(7), bwrap(1), gitrepository-layout(5).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binding.h"
#include "checks.h"
#include "err.h"
#include "guarantee.h"
#include "json.h"
#include "proc.h"
#include "strvec.h"

struct launch_word; /* launch-message.h */

/* A frozen copy that is seen by the path of what it is a copy of: of a repository (snapshot.h), of a runtime. */
enum { SANDBOX_SOURCES = 2 };
struct sandbox_source {
    int fd;            /* of its top folder; borrowed */
    const char *copy;  /* where it lies: a physical path */
    const char *place; /* where it is seen */
    bool is_project;   /* it stands for the project, which is not shown then */
};

struct sandbox_request {
    int cwd_fd;           /* borrowed; with a source it lies in the copy */
    const char *cwd_path; /* as it is called inside */
    struct sandbox_source sources[SANDBOX_SOURCES]; /* copy NULL: no more */
    char *const *writable; /* NULL-terminated; relative names start at cwd; NULL: none */
    char *const *readable;
    bool host_network;
    bool gpu;                 /* its devices are shown; having none is a refusal */
    char *const *inherited;   /* the caller's environment: its home, its control addresses */
    char *const *environment; /* the payload's, as it would be without a sandbox */
    const char *state_dir;    /* berm's own; NULL: none */
    const char *report;       /* path of the report that was asked for; NULL: none */
    const struct binding *binding;
    int64_t private_bytes;
    int64_t private_inodes;
    bool no_links; /* of declared work: none in the temporary folders */
    bool become;   /* run as the user below; else as the caller */
    uid_t uid;
    gid_t gid;
};

struct sandbox;

/* Where a path of the host is seen: what lies in a copy has the path of the original. To be freed. */
char *sandbox_inside(const struct sandbox *sandbox, const char *path) must_check;
struct sandbox *sandbox_plan(const struct sandbox_request *request,
                             struct checks *checks) must_check;
/* Of the folders of the host none may be written but that one. */
bool sandbox_writes_only(const struct sandbox *sandbox, uint64_t device, uint64_t inode);
/* As a record keeps it; and with everything that a person may ask for. */
json_t *sandbox_to_json(const struct sandbox *sandbox) must_check;
json_t *sandbox_explain(const struct sandbox *sandbox) must_check;
/* The payload's own cgroup, a folder beneath /sys/fs/cgroup: shown at its place, read-only, so that a program
 * can read its limits and change none. Nothing else of the tree is. Before sandbox_ready(). */
void sandbox_show_cgroup(struct sandbox *sandbox, const char *folder);
/* The files that are handed to the gate; then what stands in them, sealed. In between it may stand already,
 * blocked. */
int sandbox_open(struct sandbox *sandbox, struct err *err) must_check;
int sandbox_ready(struct sandbox *sandbox, struct err *err) must_check;
void sandbox_free(struct sandbox *sandbox);

/* For the gate: bubblewrap itself, and what it is started with. */
const struct binding *sandbox_tool(const struct sandbox *sandbox);
char *const *sandbox_tool_argv(const struct sandbox *sandbox);
char *const *sandbox_tool_environment(const struct sandbox *sandbox);
int sandbox_plan_fd(const struct sandbox *sandbox);
int sandbox_image_fd(const struct sandbox *sandbox);
int sandbox_args_fd(const struct sandbox *sandbox);
/* True when the gate must become that user first. */
bool sandbox_becomes(const struct sandbox *sandbox, uid_t *ret_uid, gid_t *ret_gid);

/* What a verification compares with berm's own: read once, by the first that asks. Whoever waits for the sandbox
 * has the time. */
int sandbox_know_self(struct sandbox *sandbox, struct err *err) must_check;
/* Where a path of the payload lies that it may write to, by its components alone: whoever goes there from
 * the folder must follow no link and leave no file system. .git and .berm of a writable root are nowhere, and so is
 * what is closed in it, wherever git is led. */
enum sandbox_place {
    SANDBOX_NOWHERE,
    SANDBOX_PRIVATE_PLACE, /* in /tmp, of the private file system */
    SANDBOX_WRITABLE_PLACE,
};
/* ret_fd: the folder, lent; -1 for the private one before sandbox_verify(). ret_rest: the way from there,
 * in path; "" is the folder itself. */
enum sandbox_place sandbox_place_of(const struct sandbox *sandbox, const char *path, int *ret_fd,
                                    const char **ret_rest);

/* payload: the blocked process that will become it. ERR_UNAVAILABLE names the first thing that is not as
 * planned. */
int sandbox_verify(struct sandbox *sandbox, struct proc_identity launcher,
                   struct proc_identity payload, const struct launch_word *word,
                   struct err *err) must_check;
bool sandbox_verified(const struct sandbox *sandbox);
/* Which levels the plan promises once it is verified; what stays lower says why. */
void sandbox_promise(const struct sandbox *sandbox, struct guarantees *guarantees);
/* What would help where that promises less; NULL: nothing is missing. Static. */
const char *sandbox_remedy(const struct sandbox *sandbox, enum guarantee guarantee);
/* The same for any sandbox with a network of its own. */
void sandbox_could(struct guarantees *guarantees);
/* The same for what was verified; without a verification nothing is raised. */
void sandbox_raise(const struct sandbox *sandbox, struct guarantees *guarantees);

struct sandbox_use {
    int64_t bytes;
    int64_t bytes_limit;
    int64_t inodes;
    int64_t inodes_limit;
};
/* Of the private file system, through its held descriptor; deleted files that are open count. */
int sandbox_use_read(const struct sandbox *sandbox, struct sandbox_use *ret_use) must_check;
/* Links in the temporary folders, or why it cannot be said that there are none. */
enum { LINKS_TOLD = 16, LINK_PATH_SIZE = 257 };
struct sandbox_links {
    int64_t count;
    size_t told;                            /* of them, by their paths */
    char paths[LINKS_TOLD][LINK_PATH_SIZE]; /* from the root on, without its slash: untrusted bytes.
                                               What is too long is cut and ends with "..." */
    const char *why;                        /* static; NULL: all was looked at */
    int sys;                                /* errno of that; 0: a budget is used up, which is: */
    int64_t limit;
    const char *unit;           /* static; NULL: no budget */
    const char *remedy;         /* static: what helps then */
    char where[LINK_PATH_SIZE]; /* and the path, as above; "": of none */
};
/* The reason with its limit. */
enum { LINKS_WHY_SIZE = 128 };
void sandbox_links_say_why(const struct sandbox_links *links, char text[LINKS_WHY_SIZE]);
/* Of a sandbox with no_links. */
bool sandbox_bars_links(const struct sandbox *sandbox);
/* True: there is a link, or it cannot be said that there is none, which counts as one. At most as many entries as
 * the private file system can hold, 128 folders in each other and a second of processor time; nothing but folders is
 * opened. Allocates nothing. */
bool sandbox_find_links(struct sandbox *sandbox, struct sandbox_links *ret_links) must_check;
/* Let go of the descriptors: the private file system can vanish only then. */
void sandbox_let_go(struct sandbox *sandbox);

/* What a person should know afterwards: each .git or .berm that was not there before the run, and
 * that home and network were both open. */
void sandbox_look_back(const struct sandbox *sandbox, struct strvec *notes);

static inline void sandbox_freep(struct sandbox **sandbox)
{
    sandbox_free(*sandbox);
    *sandbox = NULL;
}
#define with_sandbox cleanup(sandbox_freep) struct sandbox *
