/* sandbox-priv.h
 *
 * What the files of the sandbox share: the plan as lists of operations.
 *
 *   host-path.c              a path, opened and named by the kernel
 *   sockets.c            control sockets that a path leads to
 *   sandbox-plan.c       what is open and what is closed: the policy
 *   sandbox-roots.c      its part about what may be written
 *   sandbox-git.c        and about where git is led to
 *   sandbox-sources.c    and about copies that are shown in the place of something
 *   sandbox-bwrap.c      mounts → bubblewrap's arguments
 *   sandbox-launch.c     rules → the launcher's plan
 *   sandbox-verify.c     what the kernel says of it
 *   sandbox-levels.c     plan, or what was verified → levels
 *   sandbox-mounts.c     its part about the mounts
 *   sandbox-hidden.c     about what they hide
 *   sandbox-closed.c     and about what the rules cover and close, and copies
 *   sandbox-links.c      links in the temporary folders
 *   sandbox-reach.c      what the payload's user could get to
 *   sandbox-way.c        the way that a name leads
 *   sandbox-json.c       what a person reads
 */
#pragma once

#include <sys/stat.h>

#include "buf.h"
#include "fd.h"
#include "filter.h"
#include "launch-message.h"
#include "mountinfo.h"
#include "path.h"
#include "sandbox.h"

/* --- places ------------------------------------------------------------------------------------- */

struct host_path {
    struct fd fd; /* O_PATH */
    char *path;   /* physical, as the kernel names it */
    struct stat stat;
};
/* The whole of a file that the kernel makes, into a buffer whose limit bounds it: 0, -EFBIG or another
 * -errno. */
int host_text_read(int dir_fd, const char *path, struct buf *ret_text) must_check;
/* Links on the way are followed; what is at the end is held. -errno: not there, or nameless. */
int host_path_open(int base_fd, const char *path, struct host_path *ret_place) must_check;
void host_path_done(struct host_path *place);
#define with_host_path cleanup(host_path_done) struct host_path

/* sandbox-way.c: what is passed on the way that a name leads from a folder. */
struct way {
    struct strvec folders; /* by their physical paths, but for the last */
    struct strvec links;
    char *
        missing; /* the first that is not there, or cannot be looked at; NULL: it leads to something */
    char *nearest; /* and what that would lie in */
};
void way_follow(int base_fd, const char *name, struct way *ret_way);
void way_done(struct way *way);
#define with_way cleanup(way_done) struct way

/* --- the plan ----------------------------------------------------------------------------------- */

/* What bubblewrap mounts, in this order. */
enum mount_kind {
    MOUNT_READ_ONLY, /* the host's, at the same place */
    MOUNT_WRITABLE,
    MOUNT_EMPTY, /* an empty file system of memory, which the launcher makes read-only; or its own cover */
    MOUNT_FOLDER,
    MOUNT_DEVICES, /* the launcher makes it */
    MOUNT_PROCESSES,
    MOUNT_KIND_COUNT
};
struct sandbox_mount {
    enum mount_kind kind;
    char *path;
    char *from;         /* another path of the host that is seen there; NULL: the same */
    const char *origin; /* static: why it is there */
};

/* What the launcher does after that (launch-message.h). */
struct sandbox_rule {
    enum launch_kind kind;
    char *path;
    struct stat stat; /* LAUNCH_EXPECT: what must be there */
    const char *origin;
};

enum { ROOTS_MAX = 32, HIDDEN_MAX = 8 };

/* Visible where it would be hidden, or writable. */
struct shown_place {
    char *path;
    char *from; /* NULL: the same path */
    struct stat stat;
    bool writable;
    bool asked_for; /* by an option, which is its origin */
    const char *origin;
};

struct writable_root {
    struct fd fd;
    char *path;
    bool had_git;
    bool had_berm;
};

/* sandbox-mounts.c: mountinfo as a whole. The order of its lines says nothing: since Linux 6.8 it is that in
 * which the mounts were made, and not that in which they were put into their places. */
struct mount_table {
    char *text; /* what the mounts' strings lie in */
    struct mountinfo *mounts;
    size_t count;
};
/* -EINVAL: a line is no mount. */
int mount_table_parse(const char *text, struct mount_table *ret_table) must_check;
void mount_table_done(struct mount_table *table);
/* No path leads to it, for whoever has the root of the table: other mounts stand over it. */
bool mount_is_covered(const struct mount_table *table, const struct mountinfo *entry);
/* In sight, and mounted at that very path; NULL: none, or more than one. */
const struct mountinfo *mount_at(const struct mount_table *table, const char *path);
/* In sight, and what a path leads to; NULL: none. */
const struct mountinfo *mount_behind(const struct mount_table *table, const char *path);
/* What of its file system a path shows that leads to it; the caller frees it. */
char *mount_root_of(const struct mountinfo *entry, const char *path);
/* Nothing that is mounted beneath shows through. */
bool mount_is_alone(const struct mount_table *table, const struct mountinfo *cover);
/* One of the launcher's covers, which hides the path. */
bool mount_is_cover(const struct mountinfo *entry, dev_t private_device, const char *path);
#define MOUNT_EMPTY_ROOT                                                                           \
    "/empty" /* of the private file system: a folder, and a file without a mode */
#define MOUNT_VOID_ROOT "/void"
enum { MOUNTS_MAX = 4 << 20 }; /* bytes of the text that are read */
#define with_mount_table cleanup(mount_table_done) struct mount_table

enum { NAMESPACES = 6 };
enum { PRIVATE_TMP, PRIVATE_VAR_TMP, PRIVATE_SHM, PRIVATE_COUNT };

/* sandbox-links.c: what a look needs, allocated before it. */
enum { LINK_DEPTH = 128 }; /* folders in each other: one descriptor for each */
struct link_walk;
struct link_walk *link_walk_new(void) must_check;
void link_walk_free(struct link_walk *walk);
struct link_folder {
    int fd; /* borrowed; O_PATH is enough */
    const char *name;
};
struct link_budget {
    int64_t entries;
    int64_t processor_ns;
};
/* As sandbox_find_links() does, of any folders. */
bool links_find(struct link_walk *walk, const struct link_folder *folders, size_t count,
                const struct link_budget *budget, struct sandbox_links *ret_links) must_check;

/* berm's own, with which the sandbox's is compared. */
struct own_facts {
    bool known;
    int64_t filters; /* -1: this kernel does not count them */
    char namespaces[NAMESPACES][64];
};

struct sandbox {
    struct sandbox_mount *mounts;
    size_t mount_count;
    struct sandbox_rule *rules;
    size_t rule_count;
    char *hidden[HIDDEN_MAX]; /* covered by an empty file system */
    size_t hidden_count;
    struct shown_place *shown;
    size_t shown_count;
    struct writable_root roots[ROOTS_MAX];
    size_t root_count;
    char *home;        /* the caller's, physical; NULL: none that could be hidden */
    char *home_inside; /* NULL: HOME stays as it is */
    struct strvec environment;
    struct mount_table host_mounts;
    bool home_is_open;   /* by an option */
    bool sockets_closed; /* every socket by path that was found is covered or hidden */

    bool host_network;
    int kernel_abi;    /* of Landlock, before anything is started; below 1: none */
    struct strvec gpu; /* devices of the host that are there */
    bool gpu_shown;
    int64_t private_bytes;
    int64_t private_inodes;
    bool become;
    uid_t uid;
    gid_t gid;
    char *cwd;
    struct stat cwd_stat;
    struct shown_copy {
        char *copy; /* NULL: no more */
        char *place;
    } copies[SANDBOX_SOURCES];
    const struct binding *binding; /* the payload's; borrowed */
    struct binding *tool;          /* bubblewrap */
    struct sock_filter filter[FILTER_PROGRAM_MAX];
    size_t filter_count;

    struct strvec tool_argv;
    struct strvec tool_environment; /* nothing of the caller's (IB-3) */
    struct fd plan;
    int image; /* lent by helper_image_file(); -1: not yet */
    struct fd args;

    struct own_facts own;
    bool verified;
    int landlock_abi; /* that the launcher used; 0: none */
    int facts;        /* enum launch_fact */
    struct fd private_dirs[PRIVATE_COUNT];
    struct link_walk *walk; /* NULL: links may be in there */
};

void sandbox_add_mount(struct sandbox *sandbox, enum mount_kind kind, const char *path,
                       const char *origin);
void sandbox_add_rule(struct sandbox *sandbox, enum launch_kind kind, const char *path,
                      const struct stat *stat, const char *origin);
/* Whether a physical path of the host is out of sight by what was planned so far. */
bool sandbox_hides(const struct sandbox *sandbox, const char *path);
void sandbox_show(struct sandbox *sandbox, const struct host_path *place, bool writable,
                  const char *origin);
/* `what` is taken over, the others are copied. */
void sandbox_refuse(struct checks *checks, const char *code, char *what, const char *saw,
                    const char *remedy);
bool sandbox_has_entry(int dir_fd, const char *name, struct stat *ret_stat);

/* sandbox-sources.c: what is shown as a copy, true: the project too; and, when all that is shown is known, whether the
 * rest of it goes with that. */
bool sources_plan(const struct sandbox_request *request, struct sandbox *sandbox,
                  struct checks *checks) must_check;
void sources_check(const struct sandbox_request *request, const struct sandbox *sandbox,
                   struct checks *checks);

/* sandbox-roots.c: one folder of --writable; and, when all that is shown is known, what is closed in it. */
void roots_plan(const struct sandbox_request *request, struct sandbox *sandbox, const char *wanted,
                struct checks *checks);
void roots_close(const struct sandbox_request *request, struct sandbox *sandbox,
                 struct writable_root *root, struct checks *checks);

/* The place, in every root that it lies in, with the way to it; that way alone, to a path of a root; and whether a path of a
 * root is closed by the rules so far, by whatever name: a repository may have its folder anywhere. */
void roots_close_place(struct sandbox *sandbox, enum launch_kind kind, const char *path,
                       const struct stat *stat, const char *origin);
void roots_pin_down_to(struct sandbox *sandbox, const char *root, const char *path);
bool roots_hold_closed(const struct sandbox *sandbox, const char *path) must_check;

/* sandbox-git.c: what the entry of a folder leads to, -errno: to nothing that is there; all that git is led to from a folder's
 * .git; and from those of the folders above a root. */
int git_close_led(struct sandbox *sandbox, const struct writable_root *folder, const char *name,
                  const char *origin, struct checks *checks, struct host_path *ret_place);
void git_close_way(struct sandbox *sandbox, const struct writable_root *root,
                   struct checks *checks);
void git_close_ways_from_above(struct sandbox *sandbox, const struct writable_root *root,
                               struct checks *checks);

/* Where a place of the host is within a root, by identity: another bind of it has another path (I10). NULL: it is not.
 * The caller frees it. */
char *path_in_root(const struct writable_root *root, const char *path) must_check;

/* Beneath /tmp, /var/tmp or /dev/shm. */
bool path_is_temporary(const char *path);

/* sandbox-aliases.c: the paths by which other mounts of the host show the place as well. */
void sandbox_aliases(const struct sandbox *sandbox, const char *path, struct strvec *ret_paths);
/* What is hidden is covered there too. */
void aliases_close(struct sandbox *sandbox, struct checks *checks);

/* sockets.c: a rule LAUNCH_MASK for each that is visible. */
void sockets_close(struct sandbox *sandbox, char *const *inherited);
/* A variable that leads to a daemon. */
bool sockets_is_control_variable(const char *name);

/* sandbox-bwrap.c, sandbox-launch.c: the rendered text, to be put into a sealed memfd. */
/* A place that is hidden with all that is in it: the launcher covers it. */
bool sandbox_is_bare(const struct sandbox *sandbox, size_t index);
void sandbox_render_arguments(const struct sandbox *sandbox, struct buf *out);
void sandbox_render_items(const struct sandbox *sandbox, struct buf *items, struct buf *text);
int sandbox_render_plan(const struct sandbox *sandbox, struct buf *out, struct err *err) must_check;

/* Of the sandbox's mountinfo: nothing can be written but what the plan opens. */
int sandbox_check_written(const struct sandbox *sandbox, const struct mount_table *table,
                          dev_t private_device, struct err *err) must_check;
/* And what it hides leads to a cover, and to nothing of the host's. */
int sandbox_check_hidden(const struct sandbox *sandbox, const struct mount_table *table,
                         dev_t private_device, struct err *err) must_check;
/* And what its rules cover, close and pin is so, and copies are seen where they should be. */
int sandbox_check_closed(const struct sandbox *sandbox, const struct mount_table *table,
                         dev_t private_device, struct err *err) must_check;

/* sandbox-reach.c: whoever the sandbox becomes cannot pass to it, by the modes and access lists of what leads there. Those
 * beneath a writable root prove nothing, whichever mount shows it. */
bool sandbox_is_out_of_reach(const struct sandbox *sandbox, const char *path);
/* Or nothing is there. */
bool sandbox_is_nowhere(const struct sandbox *sandbox, const char *path);
/* Where else a mount of the same file system would show a physical path of the host; another mount may
 * cover it there. */
void mounts_other_paths(const struct mount_table *table, const char *path,
                        struct strvec *ret_paths);
/* sandbox-levels.c: abstract sockets, by a network of its own or by a scope of Landlock. */
bool sandbox_closes_abstract(const struct sandbox *sandbox);
/* sandbox-verify.c: ERR_UNAVAILABLE with both texts; returns -1. */
int sandbox_not_as_planned(struct err *err, const char *what, const char *seen);

#define SANDBOX_PRIVATE "/run/berm/private" /* an empty folder, when the launcher is ready */
#define SANDBOX_CONTEXT "/run/berm/context"
#define SANDBOX_HOME    "/tmp/home"
