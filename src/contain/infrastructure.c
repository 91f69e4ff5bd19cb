#include "infrastructure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "buf.h"
#include "file.h"
#include "memory.h"
#include "process.h"
#include "text.h"

static const char *const fixed_paths[] = {BWRAP_PATHS};

/* --- which one ---------------------------------------------------------------------------------- */

int infrastructure_pin(char *const *environment, struct infrastructure_request *ret_request,
                       struct err *err)
{
    static const char *const names[][2] = {
        {"BERM_BWRAP_PATH", "BERM_BWRAP_SHA256"},
        {"LAMINA_SAFE_BWRAP_PATH", "LAMINA_SAFE_BWRAP_SHA256"},
    };
    struct infrastructure_request request = {0};
    for (size_t i = 0; i < countof(names) && !request.pinned_path; i++) {
        request.pinned_path = text_variable(environment, names[i][0]);
        request.pinned_sha256 = text_variable(environment, names[i][1]);
        if (!request.pinned_path != !request.pinned_sha256) {
            return err_set(err, ERR_USAGE,
                           "%s and %s pin bubblewrap together: set both, or neither", names[i][0],
                           names[i][1]);
        }
    }
    *ret_request = request;
    return 0;
}

static bool is_digest(const char *text)
{
    return strlen(text) == HASH_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdefABCDEF") == HASH_HEX_SIZE - 1;
}

/* --- find and hold ------------------------------------------------------------------------------ */

/* The binding refused it already; why a set-id bubblewrap is worse than any other needs saying. */
static bool is_set_id(const char *path)
{
    struct stat stat;
    with_fd file = fd_adopt(os_openat(AT_FDCWD, path, O_PATH, 0));
    return fd_is_open(&file) && os_fstat(fd_num(&file), &stat) == 0 &&
           (stat.st_mode & (S_ISUID | S_ISGID));
}

static struct binding *bind_at(const char *path, struct err *err)
{
    const char *argv[] = {path, NULL};
    const char *environment[] = {NULL};
    struct binding_request request = {
        .name = path,
        .argv = (char *const *)(uintptr_t)argv,
        .cwd_fd = -1,
        .cwd_path = "/",
        .environment = (char *const *)(uintptr_t)environment,
        .policy = POLICY_EXACT_PATH,
        .roots = argv,
    };
    with_binding binding = binding_resolve(&request, err);
    if (!binding && is_set_id(path)) {
        (void)err_set(err, ERR_UNAVAILABLE,
                      "'%s' is set-id, so a fault of bubblewrap's is a fault of root's "
                      "(CVE-2020-5291): chmod u-s,g-s it, or pin another with BERM_BWRAP_PATH and "
                      "BERM_BWRAP_SHA256",
                      path);
    }
    if (binding && binding_argv(binding)[1]) {
        (void)err_set(err, ERR_REFUSED,
                      "'%s' is a script and not bubblewrap: name the program that it starts", path);
        return NULL;
    }
    struct binding *bound = binding;
    binding = NULL;
    return bound;
}

static int check_owner_is_root(const char *path, struct err *err)
{
    struct stat stat;
    int result = os_stat_entry(AT_FDCWD, path, &stat);
    if (result < 0) {
        return err_sys(err, result, "look at '%s'", path);
    }
    if (stat.st_uid != 0) {
        return err_set(err, ERR_REFUSED,
                       "'%s' on the way to bubblewrap belongs to user %u and not to root: install "
                       "bubblewrap as root, or pin it with BERM_BWRAP_PATH and BERM_BWRAP_SHA256",
                       path, stat.st_uid);
    }
    return 0;
}

/* From the top down: what is root's and nobody else can write holds the next name still. */
static int check_all_is_roots(const char *path, struct err *err)
{
    for (const char *end = path + 1;; end = strchrnul(end + 1, '/')) {
        with_string place = memory_format("%.*s", (int)(end - path), path);
        if (check_owner_is_root(place, err) < 0) {
            return -1;
        }
        if (*end == '\0') {
            return 0;
        }
    }
}

static int bind_fixed(struct binding **ret_binding, struct err *err)
{
    for (size_t i = 0; i < countof(fixed_paths); i++) {
        struct err failure = {0};
        with_binding binding = bind_at(fixed_paths[i], &failure);
        if (!binding && failure.code == ERR_NOT_FOUND) {
            continue;
        }
        if (!binding || check_all_is_roots(binding_file_path(binding, 0), &failure) < 0) {
            if (err) {
                *err = failure;
            }
            return -1;
        }
        *ret_binding = binding;
        binding = NULL;
        return 0;
    }
    return err_set(err, ERR_UNAVAILABLE,
                   "bubblewrap is not there (/usr/bin/bwrap, /bin/bwrap, /usr/local/bin/bwrap): "
                   "install the package bubblewrap, or pin one with BERM_BWRAP_PATH and "
                   "BERM_BWRAP_SHA256");
}

static int bind_pinned(const struct infrastructure_request *request, struct binding **ret_binding,
                       struct err *err)
{
    const char *path = request->pinned_path;
    if (path[0] != '/' || !request->pinned_sha256 || !is_digest(request->pinned_sha256)) {
        return err_set(err, ERR_USAGE,
                       "a pinned bubblewrap needs an absolute path and a SHA-256 of 64 hexadecimal "
                       "digits, not '%s' and '%s'",
                       path, request->pinned_sha256 ? request->pinned_sha256 : "");
    }
    with_binding binding = bind_at(path, err);
    if (!binding) {
        return err_wrap(err, "the pinned bubblewrap");
    }
    if (strcmp(binding_file_path(binding, 0), path) != 0) {
        return err_set(err, ERR_REFUSED,
                       "the pinned bubblewrap '%s' is reached through a link: pin '%s'", path,
                       binding_file_path(binding, 0));
    }
    if (strcasecmp(binding_file_identity(binding, 0)->sha256, request->pinned_sha256) != 0) {
        return err_set(err, ERR_CHANGED,
                       "the pinned bubblewrap '%s' has SHA-256 %s and not %s: look why, then pin "
                       "the right one",
                       path, binding_file_identity(binding, 0)->sha256, request->pinned_sha256);
    }
    *ret_binding = binding;
    binding = NULL;
    return 0;
}

int infrastructure_bind_bwrap(const struct infrastructure_request *request,
                              struct binding **ret_binding, struct err *err)
{
    return request->pinned_path ? bind_pinned(request, ret_binding, err)
                                : bind_fixed(ret_binding, err);
}

/* --- why it cannot work ------------------------------------------------------------------------- */

static long read_number(int sys_fd, const char *name)
{
    char text[32];
    return os_read_small(sys_fd, name, text, sizeof text) > 0 ? strtol(text, NULL, 10) : -1;
}

void infrastructure_read_host(int sys_fd, struct infrastructure_host *ret_host)
{
    *ret_host = (struct infrastructure_host){
        .is_root = os_geteuid() == 0,
        .apparmor_restricts = read_number(sys_fd, "kernel/apparmor_restrict_unprivileged_userns"),
        .clone_allowed = read_number(sys_fd, "kernel/unprivileged_userns_clone"),
        .namespaces_max = read_number(sys_fd, "user/max_user_namespaces"),
    };
}

static void read_this_host(struct infrastructure_host *ret_host)
{
    with_fd sys = fd_adopt(os_openat(AT_FDCWD, "/proc/sys", O_PATH | O_DIRECTORY, 0));
    infrastructure_read_host(fd_is_open(&sys) ? fd_num(&sys) : -1, ret_host);
}

#define AS_ROOT "\nor run berm as root with --user NAME"
#define IN_CONTAINER                                                                               \
    "allow them to the container: docker run --security-opt seccomp=unconfined --security-opt "    \
    "apparmor=unconfined --security-opt systempaths=unconfined\n"                                  \
    "or run berm outside of it, or in a virtual machine"
#define BY_HAND "see what it says by hand: bwrap --unshare-all --ro-bind / / --proc /proc true"

struct reason {
    const char *why;
    const char *remedy;
};

static const struct reason apparmor = {
    "kernel.apparmor_restrict_unprivileged_userns is 1: AppArmor closes user namespaces to it",
    "install an AppArmor profile that allows bubblewrap user namespaces (Ubuntu: "
    "bwrap-userns-restrict of apparmor-profiles)" AS_ROOT};
static const struct reason debian = {
    "kernel.unprivileged_userns_clone is 0: only root may make user namespaces",
    "allow them: sysctl kernel.unprivileged_userns_clone=1" AS_ROOT};
static const struct reason none_allowed = {
    "user.max_user_namespaces is 0: nobody may make user namespaces",
    "allow them: sysctl user.max_user_namespaces=15000"};
static const struct reason namespaces = {
    "user namespaces are closed here, as most containers do it", IN_CONTAINER};
static const struct reason mounts = {"mounting is closed here, as most containers do it",
                                     IN_CONTAINER};
static const struct reason exhausted = {
    "too many namespaces, or one inside another too deep",
    "raise what /proc/sys/user/max_*_namespaces allow, or run berm in fewer namespaces"};
static const struct reason no_support = {"the kernel has no user namespaces",
                                         "start a kernel with CONFIG_USER_NS=y"};
static const struct reason too_old = {"this bubblewrap does not know what berm asks of it",
                                      "install bubblewrap 0.8 or newer"};
static const struct reason capabilities = {
    "it was started with capabilities that it did not expect",
    "start berm without ambient capabilities (capsh --noamb), and bwrap without file capabilities"};
static const struct reason path = {
    "a path of the plan cannot be mounted as it was planned",
    "look at the path that it names; berm run --explain shows the plan"};
static const struct reason denied = {
    "the user that it runs as may not enter the folder, or one on the way to it",
    "let that user pass through each folder on the way (chmod o+x, setfacl -m u:NAME:x)\n"
    "or run it as the user whose folder it is (as root: --user NAME)"};
static const struct reason launcher = {
    "the launcher could not finish it",
    "look at the step and the path that it names; berm run --explain --sandbox shows the plan"};
static const struct reason silent = {"bubblewrap ended without a word", BY_HAND};
static const struct reason unknown = {"bubblewrap failed", BY_HAND};

/* What bubblewrap says, in the order in which a line is compared. A reason that the host's settings
 * may explain better asks them first. */
static const struct {
    const char *words;
    const struct reason *reason;
    bool asks_host;
} said[] = {
    {"namespaces exceeded", &exhausted, true}, /* a maximum of 0 is exceeded as well */
    {"does not support user namespaces", &no_support, true},
    {"No permissions to creat", &namespaces, true},
    {"Creating new namespace failed", &namespaces, true},
    {"setting up uid map", &namespaces, true},
    {"setting up gid map", &namespaces, true},
    {"error writing to setgroups", &namespaces, true},
    {"loopback: Failed", &namespaces, true},
    {"max_user_namespaces", &namespaces, true},
    {"Failed to make / slave", &mounts, true},
    {"Failed to mount tmpfs", &mounts, true},
    {"setting up newroot bind", &mounts, true},
    {"Can't mount proc", &mounts, true},
    {"Can't mount tmpfs", &mounts, true},
    {"Can't mount devpts", &mounts, true},
    {"Can't mount mqueue", &mounts, true},
    {"pivot_root", &mounts, true},
    {"Unknown option", &too_old, false},
    {"Unexpected capabilities", &capabilities, false},
    {"cannot be set up: cannot ", &launcher, false},
    {"Can't find source path", &path, false},
    {"Can't bind mount", &path, false},
    {"Can't create file", &path, false},
    {"Can't mkdir", &path, false},
    {"Can't get type of source", &path, false},
};

static const struct reason *ask_host(const struct infrastructure_host *host)
{
    if (host->namespaces_max == 0) {
        return &none_allowed;
    }
    if (!host->is_root && host->clone_allowed == 0) {
        return &debian;
    }
    return !host->is_root && host->apparmor_restricts == 1 ? &apparmor : NULL;
}

/* What opens folders, when the user that it runs as may not; of bubblewrap, then of the launcher. */
static bool is_denied(const char *line)
{
    static const char *const words[] = {"Can't find source path", "cannot find what was there",
                                        "cannot keep visible", "cannot enter the working folder",
                                        "cannot open the payload's file"};
    for (size_t i = 0; i < countof(words) && strstr(line, ": Permission denied"); i++) {
        if (strstr(line, words[i])) {
            return true;
        }
    }
    return false;
}

static const struct reason *understand(const struct infrastructure_host *host, const char *line)
{
    if (is_denied(line)) {
        return &denied;
    }
    for (size_t i = 0; i < countof(said); i++) {
        if (strstr(line, said[i].words)) {
            const struct reason *better = said[i].asks_host ? ask_host(host) : NULL;
            return better ? better : said[i].reason;
        }
    }
    return NULL;
}

/* The line that explains the most: the first that is understood, else the first with a word in it. */
static struct span pick_line(const struct infrastructure_host *host, const char *diagnostics,
                             const struct reason **ret_reason)
{
    struct span first = {0};
    *ret_reason = NULL;
    for (const char *at = diagnostics; *at; at += *at == '\n') {
        struct span line = span_of(at, strcspn(at, "\n"));
        with_string text = memory_format("%.*s", (int)line.n, line.p);
        *ret_reason = understand(host, text);
        if (*ret_reason) {
            return line;
        }
        if (first.n == 0) {
            first = line;
        }
        at += line.n;
    }
    return first;
}

enum { LINE_SHOWN = 300, SAW_MAX = 4096 };

void infrastructure_explain_on(const struct infrastructure_host *host, const char *diagnostics,
                               char **ret_saw, char **ret_remedy)
{
    const struct reason *reason = NULL;
    struct span line = pick_line(host, diagnostics, &reason);
    if (!reason) {
        reason = line.n == 0 ? &silent : &unknown;
    }
    with_buf saw = buf_new(SAW_MAX);
    buf_add_string(&saw, reason->why);
    if (line.n > 0) {
        buf_add_string(&saw, " (it says: ");
        text_neutralise(&saw, span_of(line.p, line.n < LINE_SHOWN ? line.n : LINE_SHOWN));
        buf_add_string(&saw, line.n > LINE_SHOWN ? "...)" : ")");
    }
    *ret_saw = memory_copy_string(buf_string(&saw));
    *ret_remedy = memory_copy_string(reason->remedy);
}

void infrastructure_explain(const char *diagnostics, char **ret_saw, char **ret_remedy)
{
    struct infrastructure_host host;
    read_this_host(&host);
    infrastructure_explain_on(&host, diagnostics, ret_saw, ret_remedy);
}

enum infrastructure_outlook infrastructure_probe_on(const struct infrastructure_host *host,
                                                    char **ret_saw, char **ret_remedy)
{
    const struct reason *reason = ask_host(host);
    if (!reason) {
        return OUTLOOK_OPEN;
    }
    *ret_saw = memory_copy_string(reason->why);
    *ret_remedy = memory_copy_string(reason->remedy);
    return reason == &apparmor ? OUTLOOK_DOUBTFUL : OUTLOOK_CLOSED;
}

enum infrastructure_outlook infrastructure_probe(char **ret_saw, char **ret_remedy)
{
    struct infrastructure_host host;
    read_this_host(&host);
    return infrastructure_probe_on(&host, ret_saw, ret_remedy);
}
