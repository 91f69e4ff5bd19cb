/* What the kernel says of the finished sandbox, read from outside: the launcher's word is not taken
 * for it. Source: proc(5) status, mountinfo; capabilities(7); namespaces(7). */
#include "sandbox-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "buf.h"
#include "file.h"
#include "memory.h"
#include "names.h"
#include "process.h"

enum { STATUS_MAX = 16384 };

int sandbox_not_as_planned(struct err *err, const char *what, const char *seen)
{
    return err_set(err, ERR_UNAVAILABLE, "the sandbox is not as planned: %s (%s)", what, seen);
}

static int read_text(int proc_fd, const char *name, struct buf *ret_text, struct err *err)
{
    int result = host_text_read(proc_fd, name, ret_text);
    return result < 0 ? err_sys(err, result, "cannot read %s of the sandbox", name) : 0;
}

/* --- status ------------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    const char *value; /* the whole of it, or its last word */
    const char *what;
} status_lines[] = {
    {"\nCapInh:", "0000000000000000", "inheritable capabilities are left"},
    {"\nCapPrm:", "0000000000000000", "permitted capabilities are left"},
    {"\nCapEff:", "0000000000000000", "effective capabilities are left"},
    {"\nCapBnd:", "0000000000000000", "the bounding set is not empty"},
    {"\nCapAmb:", "0000000000000000", "ambient capabilities are left"},
    {"\nNoNewPrivs:", "1", "it may gain privileges"},
    {"\nSeccomp:", "2", "no system call filter is loaded"},
};

/* The value behind a key, without blanks; empty: no such line. */
static void line_of(const char *text, const char *key, char *value, size_t size)
{
    const char *line = strstr(text, key);
    line = line ? line + strlen(key) : "";
    line += strspn(line, " \t");
    size_t length = strcspn(line, "\n");
    (void)snprintf(value, size, "%.*s", (int)(length < size ? length : size - 1), line);
}

/* All four of a line are the same. */
static bool are_all(const char *value, unsigned long wanted)
{
    for (int i = 0; i < 4; i++) {
        char *end = NULL;
        if (strtoul(value, &end, 10) != wanted || end == value) {
            return false;
        }
        value = end;
    }
    return true;
}

static int check_ids(const struct sandbox *sandbox, const char *text, struct err *err)
{
    char value[128];
    uid_t wanted = sandbox->become ? sandbox->uid : os_geteuid();
    line_of(text, "\nUid:", value, sizeof value);
    if (wanted == 0 || !are_all(value, wanted)) {
        return sandbox_not_as_planned(err, "its user is another", value);
    }
    if (!sandbox->become) {
        return 0; /* its groups are the caller's */
    }
    line_of(text, "\nGid:", value, sizeof value);
    if (!are_all(value, sandbox->gid)) {
        return sandbox_not_as_planned(err, "its group is another", value);
    }
    line_of(text, "\nGroups:", value, sizeof value);
    return value[0] ? sandbox_not_as_planned(err, "it has other groups", value) : 0;
}

/* NSpid ends with the number inside: 1 for the launcher, and 2 for its first child. */
static int check_pid_inside(const char *text, const char *wanted, struct err *err)
{
    char value[128];
    line_of(text, "\nNSpid:", value, sizeof value);
    const char *last = strrchr(value, '\t');
    return last && strcmp(last + 1, wanted) == 0
               ? 0
               : sandbox_not_as_planned(err, "its pid namespace is another", value);
}

/* Whoever runs berm may be filtered already: there must be one more. Linux before 5.9 does not count. */
static int check_filters(const char *text, int64_t ours, struct err *err)
{
    return proc_number(text, "Seccomp_filters") >= ours + (ours >= 0)
               ? 0
               : sandbox_not_as_planned(err, "no system call filter is loaded",
                                        "none but berm's own");
}

static int check_status(const struct sandbox *sandbox, int proc_fd, const char *inside,
                        struct err *err)
{
    with_buf status = buf_new(STATUS_MAX);
    if (read_text(proc_fd, "status", &status, err) < 0) {
        return -1;
    }
    const char *text = buf_string(&status);
    for (size_t i = 0; i < countof(status_lines); i++) {
        char value[128];
        line_of(text, status_lines[i].key, value, sizeof value);
        if (strcmp(value, status_lines[i].value) != 0) {
            return sandbox_not_as_planned(err, status_lines[i].what,
                                          value[0] ? value : "no such line");
        }
    }
    return check_ids(sandbox, text, err) < 0 || check_filters(text, sandbox->own.filters, err) < 0
               ? -1
               : check_pid_inside(text, inside, err);
}

/* --- namespaces --------------------------------------------------------------------------------- */

static const char *const namespaces[NAMESPACES] = {"user", "mnt", "pid", "ipc", "uts", "net"};

static int check_namespaces(const struct sandbox *sandbox, int proc_fd, struct err *err)
{
    for (size_t i = 0; i < countof(namespaces); i++) {
        char path[24];
        char inside[64];
        (void)snprintf(path, sizeof path, "ns/%s", namespaces[i]);
        ssize_t length = os_readlinkat(proc_fd, path, inside, sizeof inside);
        if (length < 0) {
            return err_sys(err, (int)length, "cannot read namespace %s of the sandbox",
                           namespaces[i]);
        }
        bool shared = strcmp(inside, sandbox->own.namespaces[i]) == 0;
        bool wanted = sandbox->host_network && strcmp(namespaces[i], "net") == 0;
        if (shared != wanted) {
            return sandbox_not_as_planned(
                err, shared ? "a namespace is shared" : "a namespace is not", inside);
        }
    }
    return 0;
}

/* --- mounts ------------------------------------------------------------------------------------- */

static int check_mounts(const struct sandbox *sandbox, int proc_fd, dev_t private_device,
                        struct err *err)
{
    with_buf text = buf_new(MOUNTS_MAX);
    with_mount_table table = {0};
    if (read_text(proc_fd, "mountinfo", &text, err) < 0) {
        return -1;
    }
    if (mount_table_parse(buf_string(&text), &table) < 0) {
        return sandbox_not_as_planned(err, "a mount cannot be read", "mountinfo");
    }
    bool as_planned = sandbox_check_written(sandbox, &table, private_device, err) == 0 &&
                      sandbox_check_hidden(sandbox, &table, private_device, err) == 0 &&
                      sandbox_check_closed(sandbox, &table, private_device, err) == 0;
    return as_planned ? 0 : -1;
}

/* --- quota -------------------------------------------------------------------------------------- */

/* No link is followed on the way, which would lead out of the sandbox's root. */
static struct fd open_place(int proc_fd, const char *parent, const char *name)
{
    with_fd above = fd_adopt(os_openat(proc_fd, parent, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0));
    return fd_adopt(fd_is_open(&above)
                        ? os_openat(fd_num(&above), name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0)
                        : fd_error(&above));
}

static bool has_quota(const struct sandbox *sandbox, const struct statfs *facts)
{
    int64_t bytes = (int64_t)facts->f_blocks * facts->f_bsize;
    return facts->f_type == TMPFS_MAGIC && bytes >= sandbox->private_bytes &&
           bytes < sandbox->private_bytes + os_page_bytes() &&
           (int64_t)facts->f_ffree == sandbox->private_inodes; /* nobody has used any yet */
}

/* The private places, by descriptor: one file system of memory of exactly that size. */
static int check_private(struct sandbox *sandbox, int proc_fd, dev_t *ret_device, struct err *err)
{
    static const struct {
        const char *parent;
        const char *name;
        const char *path;
        bool may_lack; /* missing, or a link: then it is nothing that could be written to */
    } places[PRIVATE_COUNT] = {[PRIVATE_TMP] = {"root/.", "tmp", "/tmp", false},
                               [PRIVATE_VAR_TMP] = {"root/var", "tmp", "/var/tmp", true},
                               [PRIVATE_SHM] = {"root/dev", "shm", "/dev/shm", false}};
    for (size_t i = 0; i < countof(places); i++) {
        struct stat stat;
        struct statfs facts;
        with_fd dir = open_place(proc_fd, places[i].parent, places[i].name);
        int result = fd_error(&dir);
        if (places[i].may_lack && (result == -ENOENT || result == -ENOTDIR || result == -ELOOP)) {
            continue;
        }
        result = result < 0 ? result : os_fstat(fd_num(&dir), &stat);
        result = result < 0 ? result : os_fstatfs(fd_num(&dir), &facts);
        if (result < 0) {
            return err_sys(err, result, "cannot look at %s of the sandbox", places[i].path);
        }
        if (!has_quota(sandbox, &facts) || (i > 0 && stat.st_dev != *ret_device)) {
            return sandbox_not_as_planned(err, "a private folder has not its quota",
                                          places[i].path);
        }
        *ret_device = stat.st_dev;
        fd_close(&sandbox->private_dirs[i]);
        sandbox->private_dirs[i] = fd_take(&dir);
    }
    return 0;
}

/* That they can be looked through at all is known before the payload runs. */
static int check_links(struct sandbox *sandbox, struct err *err)
{
    struct sandbox_links links;
    if (!sandbox_bars_links(sandbox) || !sandbox_find_links(sandbox, &links)) {
        return 0;
    }
    if (!links.why) {
        return sandbox_not_as_planned(err, "a link is in a temporary folder", links.paths[0]);
    }
    char why[LINKS_WHY_SIZE];
    const char *sys = links.sys > 0 ? names_errno(links.sys) : NULL;
    sandbox_links_say_why(&links, why);
    return err_set(err, ERR_UNAVAILABLE,
                   "links in the temporary folders cannot be ruled out: %s: '%s'%s%s%s; %s", why,
                   links.where, sys ? " (" : "", sys ? sys : "", sys ? ")" : "", links.remedy);
}

int sandbox_know_self(struct sandbox *sandbox, struct err *err)
{
    struct own_facts *own = &sandbox->own;
    if (own->known) {
        return 0;
    }
    with_buf status = buf_new(STATUS_MAX);
    int result = host_text_read(AT_FDCWD, "/proc/self/status", &status);
    if (result < 0) {
        return err_sys(err, result, "cannot read what filters berm itself");
    }
    own->filters = proc_number(buf_string(&status), "Seccomp_filters");
    for (size_t i = 0; i < countof(namespaces); i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "/proc/self/ns/%s", namespaces[i]);
        ssize_t length =
            os_readlinkat(AT_FDCWD, path, own->namespaces[i], sizeof own->namespaces[i]);
        if (length < 0) {
            return err_sys(err, (int)length, "cannot read berm's own namespace %s", namespaces[i]);
        }
    }
    own->known = true;
    return 0;
}

/* What was promised of a network of the host (CT-3): the launcher alone saw its rules come into force. */
static int check_scopes(const struct sandbox *sandbox, const struct launch_word *word,
                        struct err *err)
{
    bool wanted = sandbox->host_network && sandbox_closes_abstract(sandbox);
    return !wanted || (word->extra & LAUNCH_FACT_SCOPES)
               ? 0
               : sandbox_not_as_planned(err, "abstract sockets of the host's network are open",
                                        "no scope of Landlock is in force");
}

/* Of the launcher, who it is and what it may do; of what becomes the payload, everything. */
static int check_process(struct sandbox *sandbox, struct proc_identity who, bool is_payload,
                         struct err *err)
{
    dev_t private_device = 0;
    with_fd proc = fd_adopt(os_proc_open(who));
    if (!fd_is_open(&proc)) {
        return err_sys(err, fd_error(&proc), "cannot look at the sandbox");
    }
    if (check_status(sandbox, fd_num(&proc), is_payload ? "2" : "1", err) < 0) {
        return -1;
    }
    bool as_planned =
        !is_payload || (check_namespaces(sandbox, fd_num(&proc), err) == 0 &&
                        check_private(sandbox, fd_num(&proc), &private_device, err) == 0 &&
                        check_mounts(sandbox, fd_num(&proc), private_device, err) == 0 &&
                        check_links(sandbox, err) == 0);
    return as_planned ? 0 : -1;
}

int sandbox_verify(struct sandbox *sandbox, struct proc_identity launcher,
                   struct proc_identity payload, const struct launch_word *word, struct err *err)
{
    if (check_scopes(sandbox, word, err) < 0 || sandbox_know_self(sandbox, err) < 0 ||
        check_process(sandbox, launcher, false, err) < 0 ||
        check_process(sandbox, payload, true, err) < 0) {
        return -1;
    }
    sandbox->landlock_abi = word->value;
    sandbox->facts = word->extra;
    sandbox->verified = true;
    return 0;
}

bool sandbox_verified(const struct sandbox *sandbox)
{
    return sandbox->verified;
}

/* --- use ---------------------------------------------------------------------------------------- */

int sandbox_use_read(const struct sandbox *sandbox, struct sandbox_use *ret_use)
{
    struct statfs facts;
    const struct fd *held = &sandbox->private_dirs[PRIVATE_TMP];
    int result = fd_is_open(held) ? os_fstatfs(fd_num(held), &facts) : -EBADF;
    if (result < 0) {
        return result;
    }
    int64_t used = sandbox->private_inodes - (int64_t)facts.f_ffree;
    *ret_use = (struct sandbox_use){
        .bytes = (int64_t)(facts.f_blocks - facts.f_bfree) * facts.f_bsize,
        .bytes_limit = (int64_t)facts.f_blocks * facts.f_bsize,
        .inodes = used > 0 ? used : 0, /* it may remove what was made for it, its home */
        .inodes_limit = sandbox->private_inodes,
    };
    return 0;
}

void sandbox_let_go(struct sandbox *sandbox)
{
    for (size_t i = 0; i < PRIVATE_COUNT; i++) {
        fd_close(&sandbox->private_dirs[i]);
    }
}
