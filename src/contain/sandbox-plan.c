/* The policy: what is open and what is closed. Nothing here changes anything. */
#include "sandbox-priv.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "confine.h"
#include "file.h"
#include "filter.h"
#include "infrastructure.h"
#include "memory.h"
#include "process.h"
#include "text.h"

void sandbox_add_mount(struct sandbox *sandbox, enum mount_kind kind, const char *path,
                       const char *origin)
{
    sandbox->mounts =
        memory_resize(sandbox->mounts, (sandbox->mount_count + 1) * sizeof *sandbox->mounts);
    sandbox->mounts[sandbox->mount_count++] =
        (struct sandbox_mount){.kind = kind, .path = memory_copy_string(path), .origin = origin};
}

void sandbox_add_rule(struct sandbox *sandbox, enum launch_kind kind, const char *path,
                      const struct stat *stat, const char *origin)
{
    sandbox->rules =
        memory_resize(sandbox->rules, (sandbox->rule_count + 1) * sizeof *sandbox->rules);
    struct sandbox_rule *rule = &sandbox->rules[sandbox->rule_count++];
    *rule = (struct sandbox_rule){.kind = kind, .path = memory_copy_string(path), .origin = origin};
    if (stat) {
        rule->stat = *stat;
    }
}

void sandbox_refuse(struct checks *checks, const char *code, char *what, const char *saw,
                    const char *remedy)
{
    checks_add_take(checks, code, false, what, memory_copy_string(saw), memory_copy_string(remedy));
}

/* --- what is out of sight ----------------------------------------------------------------------- */

static bool is_covered(const struct sandbox *sandbox, const char *path)
{
    for (size_t i = 0; i < sandbox->hidden_count; i++) {
        if (path_is_beneath(path, sandbox->hidden[i])) {
            return true;
        }
    }
    return false;
}

static bool is_shown(const struct sandbox *sandbox, const char *path)
{
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        const char *shown = sandbox->shown[i].path;
        if (path_is_beneath(path, shown) &&
            (!path_is_temporary(path) || path_is_temporary(shown))) {
            return true;
        }
    }
    return false;
}

static const char *const private_places[] = {"/run", "/dev", "/proc", "/sys/fs/cgroup"};

static bool is_private(const char *path)
{
    for (size_t i = 0; i < countof(private_places); i++) {
        if (path_is_beneath(path, private_places[i])) {
            return true;
        }
    }
    return path_is_temporary(path);
}

bool sandbox_hides(const struct sandbox *sandbox, const char *path)
{
    return (is_private(path) || is_covered(sandbox, path)) && !is_shown(sandbox, path);
}

static void hide(struct sandbox *sandbox, const char *path, const char *origin)
{
    with_host_path place = {0};
    if (!path || path[0] != '/' || host_path_open(AT_FDCWD, path, &place) < 0 ||
        !S_ISDIR(place.stat.st_mode) || is_private(place.path) || is_covered(sandbox, place.path)) {
        return;
    }
    BUG_IF(sandbox->hidden_count == HIDDEN_MAX);
    sandbox_add_mount(sandbox, MOUNT_EMPTY, place.path, origin);
    sandbox->hidden[sandbox->hidden_count++] = memory_copy_string(place.path);
}

/* A home that holds the system itself (that of daemons is often "/") cannot be covered. */
static bool holds_the_system(const char *path)
{
    static const char *const parts[] = {"/usr", "/etc", "/dev", "/proc", "/sys", "/var/lib"};
    for (size_t i = 0; i < countof(parts); i++) {
        if (path_is_beneath(parts[i], path)) {
            return true;
        }
    }
    return false;
}

void sandbox_show_cgroup(struct sandbox *sandbox, const char *folder)
{
    BUG_IF(!path_is_beneath(folder, "/sys/fs/cgroup") || strstr(folder, "/../"));
    sandbox_add_mount(sandbox, MOUNT_READ_ONLY, folder,
                      "its own control group, to read its limits");
}

static void plan_base(const struct sandbox_request *request, struct sandbox *sandbox)
{
    sandbox_add_mount(sandbox, MOUNT_READ_ONLY, "/", "the host, read-only");
    sandbox_add_mount(sandbox, MOUNT_EMPTY, "/run", "sockets and files of daemons stay outside");
    sandbox_add_mount(sandbox, MOUNT_FOLDER, SANDBOX_PRIVATE, "where the private one is made");
    sandbox_add_mount(sandbox, MOUNT_DEVICES, "/dev",
                      "null, zero, full, random, tty and terminals");
    sandbox_add_mount(sandbox, MOUNT_PROCESSES, "/proc", "the sandbox's own processes");
    struct stat stat;
    if (os_stat_entry(AT_FDCWD, "/sys/fs/cgroup", &stat) == 0) {
        sandbox_add_mount(sandbox, MOUNT_EMPTY, "/sys/fs/cgroup", "control groups stay outside");
    }
    const char *home = text_variable(request->inherited, "HOME");
    hide(sandbox, "/home", "home folders are private");
    hide(sandbox, "/root", "home folders are private");
    with_host_path place = {0};
    if (home && home[0] == '/' && host_path_open(AT_FDCWD, home, &place) == 0 &&
        !holds_the_system(place.path)) {
        sandbox->home = memory_copy_string(place.path);
        hide(sandbox, place.path, "the caller's home");
    }
}

/* --- what is shown ------------------------------------------------------------------------------ */

void sandbox_show(struct sandbox *sandbox, const struct host_path *place, bool writable,
                  const char *origin)
{
    sandbox->shown =
        memory_resize(sandbox->shown, (sandbox->shown_count + 1) * sizeof *sandbox->shown);
    sandbox->shown[sandbox->shown_count++] =
        (struct shown_place){.path = memory_copy_string(place->path),
                             .stat = place->stat,
                             .writable = writable,
                             .asked_for = origin[0] == '-',
                             .origin = origin};
}

/* Folders before what lies in them, and of one place the writable one first. */
static int compare_shown(const void *a, const void *b)
{
    const struct shown_place *left = a;
    const struct shown_place *right = b;
    int order = strcmp(left->path, right->path);
    return order ? order : (int)right->writable - (int)left->writable;
}

/* Whether a place before it opens it already, and as far. */
static bool is_open_already(const struct sandbox *sandbox, size_t index)
{
    const struct shown_place *wanted = &sandbox->shown[index];
    for (size_t i = 0; i < index && !wanted->from; i++) { /* a copy is nowhere else */
        const struct shown_place *before = &sandbox->shown[i];
        /* The private ones come over what was opened from above them. */
        bool kept = !path_is_temporary(wanted->path) || path_is_temporary(before->path);
        if (kept && path_is_beneath(wanted->path, before->path) &&
            (before->writable || !wanted->writable)) {
            return true;
        }
    }
    return false;
}

/* What was shown must still be itself in the sandbox. */
static void plan_shown(struct sandbox *sandbox)
{
    if (sandbox->shown_count > 0) {
        qsort(sandbox->shown, sandbox->shown_count, sizeof *sandbox->shown, compare_shown);
    }
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        const struct shown_place *place = &sandbox->shown[i];
        if (!is_open_already(sandbox, i)) {
            sandbox_add_mount(sandbox, place->writable ? MOUNT_WRITABLE : MOUNT_READ_ONLY,
                              place->path, place->origin);
            sandbox->mounts[sandbox->mount_count - 1].from = memory_copy_or_null(place->from);
            if (path_is_temporary(place->path)) {
                sandbox_add_rule(sandbox, LAUNCH_KEEP, place->path, NULL, place->origin);
            }
        }
        sandbox_add_rule(sandbox, LAUNCH_EXPECT, place->path, &place->stat, place->origin);
        if (place->writable) {
            sandbox_add_rule(sandbox, LAUNCH_WRITABLE, place->path, NULL, place->origin);
        }
    }
}

bool sandbox_has_entry(int dir_fd, const char *name, struct stat *ret_stat)
{
    return os_stat_entry(dir_fd, name, ret_stat) == 0;
}

static bool is_project(const char *path)
{
    struct stat stat;
    with_fd dir = fd_adopt(os_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0));
    return fd_is_open(&dir) && (sandbox_has_entry(fd_num(&dir), ".git", &stat) ||
                                sandbox_has_entry(fd_num(&dir), ".berm", &stat));
}

/* A hidden place itself, or the folder that private files come to: nothing to be shown as a whole. */
static bool is_whole_place(const struct sandbox *sandbox, const char *path)
{
    static const char *const places[] = {"/", "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < countof(places); i++) {
        if (strcmp(path, places[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sandbox->hidden_count; i++) {
        if (path_is_beneath(sandbox->hidden[i], path)) {
            return true;
        }
    }
    return sandbox->home && strcmp(path, sandbox->home) == 0;
}

/* The nearest folder at or above cwd that is a project, below the home or place that it is in. */
static char *find_project(const struct sandbox *sandbox, const char *cwd)
{
    with_string path = memory_copy_string(cwd);
    while (!is_whole_place(sandbox, path)) {
        if (is_project(path)) {
            return memory_copy_string(path);
        }
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            break;
        }
        *slash = '\0';
    }
    return memory_copy_string(cwd);
}

char *sandbox_inside(const struct sandbox *sandbox, const char *path)
{
    for (size_t i = 0; i < SANDBOX_SOURCES; i++) {
        const struct shown_copy *shown = &sandbox->copies[i];
        if (shown->copy && path_is_beneath(path, shown->copy)) {
            return memory_format("%s%s", shown->place, path + strlen(shown->copy));
        }
    }
    return memory_copy_string(path);
}

static void plan_project(const struct sandbox_request *request, struct sandbox *sandbox,
                         struct checks *checks)
{
    if (sources_plan(request, sandbox, checks)) {
        return;
    }
    with_host_path place = {0};
    with_string project = find_project(sandbox, request->cwd_path);
    if (!is_whole_place(sandbox, project) && host_path_open(AT_FDCWD, project, &place) == 0) {
        sandbox_show(sandbox, &place, false, "the project");
    }
    if (sandbox_hides(sandbox, request->cwd_path)) {
        sandbox_refuse(
            checks, CHECK_CWD,
            memory_format("the working folder '%s' is hidden in the sandbox", request->cwd_path),
            "it is no folder inside a home, a temporary or a runtime folder, but one of them",
            "run it from a folder of its own\nor open it with --readable DIR");
    }
}

/* It would bring back all at once what is hidden: daemons' places, devices, processes. */
static bool holds_private(const char *path)
{
    for (size_t i = 0; i < countof(private_places); i++) {
        if (path_is_beneath(private_places[i], path)) {
            return true;
        }
    }
    return false;
}

static void plan_readable(const struct sandbox_request *request, struct sandbox *sandbox,
                          struct checks *checks)
{
    for (char *const *path = request->readable; path && *path; path++) {
        with_host_path place = {0};
        int result = host_path_open(request->cwd_fd, *path, &place);
        if (result < 0 || is_private(place.path) != path_is_temporary(place.path) ||
            holds_private(place.path) || strcmp(place.path, "/tmp") == 0 ||
            strcmp(place.path, "/var/tmp") == 0 || strcmp(place.path, "/dev/shm") == 0) {
            struct err err = {0};
            (void)err_sys(&err, result < 0 ? result : EACCES, "--readable '%s'", *path);
            sandbox_refuse(
                checks, CHECK_ROOTS, memory_copy_string(err.msg),
                result < 0 ? "" : "runtime and temporary folders stay private as a whole",
                result < 0 ? "give a folder or file that is there"
                           : "give a folder or file below it; what is outside of them is "
                             "readable as it is");
            continue;
        }
        sandbox_show(sandbox, &place, false, "--readable");
    }
}

/* The files that are executed, and what a script is read from. */
static void plan_executable(const struct sandbox_request *request, struct sandbox *sandbox,
                            struct checks *checks)
{
    unsigned char head[EI_NIDENT];
    ssize_t got = os_pread(binding_exec_fd(request->binding), head, sizeof head, 0);
    if (got > 0 && filter_ends_program(head, (size_t)got)) {
        size_t last = binding_file_count(request->binding) - 1;
        sandbox_refuse(checks, CHECK_EXECUTABLE,
                       memory_format("'%s' is a program of 32 bits, which a sandbox ends at once",
                                     binding_file_path(request->binding, last)),
                       "the system call filter knows the calls of one machine only",
                       "build it for 64 bits\nor run it without --sandbox");
    }
    for (size_t i = 0; i < binding_file_count(request->binding); i++) {
        with_host_path place = {0};
        with_string path = sandbox_inside(sandbox, binding_file_path(request->binding, i));
        if (sandbox_hides(sandbox, path) && host_path_open(AT_FDCWD, path, &place) == 0) {
            sandbox_show(sandbox, &place, false, "what is executed");
        }
    }
    with_host_path resolver = {0};
    if (request->host_network && host_path_open(AT_FDCWD, "/etc/resolv.conf", &resolver) == 0) {
        sandbox_show(sandbox, &resolver, false, "names of the network");
    }
}

/* A home in a folder that is shown for another reason (the project is around it). */
static void plan_home(struct sandbox *sandbox)
{
    for (size_t i = 0; sandbox->home && i < sandbox->shown_count; i++) {
        const struct shown_place *place = &sandbox->shown[i];
        sandbox->home_is_open = sandbox->home_is_open ||
                                (place->asked_for && path_is_beneath(sandbox->home, place->path));
    }
    if (!sandbox->home || sandbox->home_is_open || sandbox_hides(sandbox, sandbox->home) ||
        is_covered(sandbox, sandbox->home)) {
        return;
    }
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        const struct shown_place *place = &sandbox->shown[i];
        if (path_is_beneath(place->path, sandbox->home)) {
            return; /* its own part is shown, and only that */
        }
    }
    sandbox_add_rule(sandbox, LAUNCH_MASK, sandbox->home, NULL, "the caller's home");
}

static void plan_state(const struct sandbox_request *request, struct sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        const struct sandbox_rule *rule = &sandbox->rules[i];
        if (rule->kind == LAUNCH_MASK && request->state_dir &&
            strcmp(rule->path, request->state_dir) == 0) {
            return; /* closed in a root already */
        }
    }
    if (request->state_dir && !sandbox_hides(sandbox, request->state_dir)) {
        sandbox_add_rule(sandbox, LAUNCH_MASK, request->state_dir, NULL, "berm's own state");
    }
}

/* --- graphics --------------------------------------------------------------------------------- */

static void find_device(struct sandbox *sandbox, const char *path)
{
    struct stat stat;
    if (os_stat_entry(AT_FDCWD, path, &stat) == 0 &&
        (S_ISCHR(stat.st_mode) || S_ISDIR(stat.st_mode))) {
        strvec_push(&sandbox->gpu, path);
    }
}

/* Hidden unless they are asked for; when they are and there are none, a program would quietly compute on
 * the processor: that is a refusal (R35). */
static void plan_gpu(const struct sandbox_request *request, struct sandbox *sandbox,
                     struct checks *checks)
{
    static const char *const devices[] = {"/dev/dri",
                                          "/dev/kfd",
                                          "/dev/accel",
                                          "/dev/dxg",
                                          "/dev/nvidiactl",
                                          "/dev/nvidia-uvm",
                                          "/dev/nvidia-modeset",
                                          "/dev/nvidia-caps",
                                          "/dev/nvidia-uvm-tools"};
    enum { NUMBERED = 16 };
    for (size_t i = 0; i < countof(devices); i++) {
        find_device(sandbox, devices[i]);
    }
    /* Where they are hidden, it is enough to know that there is any: these come with one of those. */
    for (int i = 0; i < NUMBERED && request->gpu; i++) {
        with_string path = memory_format("/dev/nvidia%d", i);
        find_device(sandbox, path);
    }
    sandbox->gpu_shown = request->gpu;
    if (!request->gpu) {
        return;
    }
    for (size_t i = 0; i < sandbox->gpu.count; i++) {
        sandbox_add_rule(sandbox, LAUNCH_KEEP, sandbox->gpu.strings[i], NULL, "--gpu");
    }
    if (sandbox->gpu.count == 0) {
        sandbox_refuse(checks, CHECK_SANDBOX, memory_copy_string("--gpu: there is no GPU here"),
                       "no device of /dev/dri, /dev/kfd, /dev/accel, /dev/dxg or /dev/nvidia*",
                       "load its driver, or run without --gpu");
    }
}

/* --- environment -------------------------------------------------------------------------------- */

static bool leads_out_of_sight(const struct sandbox *sandbox, const char *entry)
{
    const char *value = strchr(entry, '=') + 1;
    return strncmp(entry, "XDG_", 4) == 0 && value[0] == '/' && sandbox_hides(sandbox, value);
}

static void plan_environment(const struct sandbox_request *request, struct sandbox *sandbox)
{
    const char *home = text_variable(request->environment, "HOME");
    bool new_home = !home || home[0] != '/' || sandbox_hides(sandbox, home);
    for (char *const *entry = request->environment; *entry; entry++) {
        with_string name = memory_format("%.*s", (int)strcspn(*entry, "="), *entry);
        if (sockets_is_control_variable(name) || leads_out_of_sight(sandbox, *entry) ||
            strcmp(name, "TMPDIR") == 0 || (new_home && strcmp(name, "HOME") == 0)) {
            continue;
        }
        strvec_push(&sandbox->environment, *entry);
    }
    strvec_push(&sandbox->environment, "TMPDIR=/tmp");
    if (new_home) {
        strvec_push(&sandbox->environment, "HOME=" SANDBOX_HOME);
        sandbox->home_inside = memory_copy_string(SANDBOX_HOME);
    }
}

/* bubblewrap and the launcher get nothing of the caller's environment (IB-3), but for the wish of a
 * test that a call of the launcher fails. */
static void plan_tool_environment(const struct sandbox_request *request, struct sandbox *sandbox)
{
#ifdef BERM_FAULTS
    const char *fault = text_variable(request->inherited, "BERM_FAULT");
    if (fault) {
        strvec_push_format(&sandbox->tool_environment, "BERM_FAULT=%s", fault);
    }
#endif
}

static int plan_tool(const struct sandbox_request *request, struct sandbox *sandbox,
                     struct checks *checks)
{
    struct err err = {0};
    struct infrastructure_request wanted;
    if (infrastructure_pin(request->inherited, &wanted, &err) < 0 ||
        infrastructure_bind_bwrap(&wanted, &sandbox->tool, &err) < 0) {
        sandbox_refuse(checks, CHECK_SANDBOX, memory_copy_string(err.msg), "",
                       "install bubblewrap, or name the one to be used by BERM_BWRAP_PATH and "
                       "BERM_BWRAP_SHA256 together");
        return -1;
    }
    char *saw = NULL;
    char *remedy = NULL;
    if (infrastructure_probe(&saw, &remedy) == OUTLOOK_CLOSED) {
        checks_add_take(checks, CHECK_SANDBOX, false,
                        memory_copy_string("this host makes no sandbox"), saw, remedy);
        return -1;
    }
    memory_free(saw);
    memory_free(remedy);
    plan_tool_environment(request, sandbox);
    sandbox->filter_count = filter_build(sandbox->filter, FILTER_PROGRAM_MAX);
    return 0;
}

/* Without it nobody can say by which other paths a hidden place is seen. */
static int read_host_mounts(struct sandbox *sandbox, struct checks *checks)
{
    with_buf text = buf_new(MOUNTS_MAX);
    int result = host_text_read(AT_FDCWD, "/proc/self/mountinfo", &text);
    result = result < 0 ? result : mount_table_parse(buf_string(&text), &sandbox->host_mounts);
    if (result < 0) {
        struct err err = {0};
        (void)err_sys(&err, result, "cannot read the mounts of this host");
        sandbox_refuse(checks, CHECK_SANDBOX, memory_copy_string(err.msg),
                       "/proc/self/mountinfo, of which at most 4 MiB are read",
                       "unmount what is not needed");
    }
    return result;
}

static int check_user(const struct sandbox_request *request, struct checks *checks)
{
    uid_t uid = request->become ? request->uid : os_geteuid();
    if (uid != 0) {
        return 0;
    }
    sandbox_refuse(checks, CHECK_USER, memory_copy_string("the sandbox is not run as root"),
                   "uid 0 without capabilities still writes to /proc/sys",
                   "name an ordinary user with --user NAME\nor run berm as that user");
    return -1;
}

struct sandbox *sandbox_plan(const struct sandbox_request *request, struct checks *checks)
{
    with_sandbox sandbox = memory_new(sizeof *sandbox);
    *sandbox = (struct sandbox){.host_network = request->host_network,
                                .kernel_abi = os_landlock_abi(),
                                .private_bytes = request->private_bytes,
                                .private_inodes = request->private_inodes,
                                .become = request->become,
                                .uid = request->uid,
                                .gid = request->gid,
                                .image = -1,
                                .binding = request->binding,
                                .cwd = memory_copy_string(request->cwd_path)};
    sandbox->walk = request->no_links ? link_walk_new() : NULL;
    struct err err = {0};
    int result = os_fstat(request->cwd_fd, &sandbox->cwd_stat);
    if (result < 0) {
        (void)err_sys(&err, result, "working folder");
        sandbox_refuse(checks, CHECK_CWD, memory_copy_string(err.msg), "",
                       "run it in a folder that is there, and that this user may look into");
        return NULL;
    }
    bool possible = check_user(request, checks) == 0;
    possible = plan_tool(request, sandbox, checks) == 0 && possible;
    plan_base(request, sandbox);
    plan_gpu(request, sandbox, checks);
    for (char *const *root = request->writable; root && *root; root++) {
        roots_plan(request, sandbox, *root, checks);
    }
    plan_readable(request, sandbox, checks);
    plan_project(request, sandbox, checks);
    plan_executable(request, sandbox, checks);
    sources_check(request, sandbox, checks);
    plan_shown(sandbox);
    for (size_t i = 0; i < sandbox->root_count; i++) {
        roots_close(request, sandbox, &sandbox->roots[i], checks);
    }
    plan_home(sandbox);
    possible = read_host_mounts(sandbox, checks) == 0 && possible;
    aliases_close(sandbox, checks);
    plan_state(request, sandbox);
    sockets_close(sandbox, request->inherited);
    plan_environment(request, sandbox);
    if (!possible) {
        return NULL;
    }
    struct sandbox *made = sandbox;
    sandbox = NULL;
    return made;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox) {
        return;
    }
    for (size_t i = 0; i < sandbox->mount_count; i++) {
        memory_free(sandbox->mounts[i].path);
        memory_free(sandbox->mounts[i].from);
    }
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        memory_free(sandbox->rules[i].path);
    }
    for (size_t i = 0; i < sandbox->hidden_count; i++) {
        memory_free(sandbox->hidden[i]);
    }
    for (size_t i = 0; i < sandbox->root_count; i++) {
        fd_close(&sandbox->roots[i].fd);
        memory_free(sandbox->roots[i].path);
    }
    for (size_t i = 0; i < sandbox->shown_count; i++) {
        memory_free(sandbox->shown[i].path);
        memory_free(sandbox->shown[i].from);
    }
    memory_free(sandbox->shown);
    memory_free(sandbox->mounts);
    memory_free(sandbox->rules);
    memory_free(sandbox->home);
    memory_free(sandbox->home_inside);
    mount_table_done(&sandbox->host_mounts);
    memory_free(sandbox->cwd);
    for (size_t i = 0; i < SANDBOX_SOURCES; i++) {
        memory_free(sandbox->copies[i].copy);
        memory_free(sandbox->copies[i].place);
    }
    strvec_done(&sandbox->gpu);
    strvec_done(&sandbox->environment);
    strvec_done(&sandbox->tool_argv);
    strvec_done(&sandbox->tool_environment);
    binding_free(sandbox->tool);
    fd_close(&sandbox->plan);
    fd_close(&sandbox->args);
    sandbox_let_go(sandbox);
    link_walk_free(sandbox->walk);
    memory_free(sandbox);
}
