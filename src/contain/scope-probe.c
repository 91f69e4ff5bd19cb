/* What this host and this caller can have, and why not more. Looks only. */
#include "scope-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"
#include "file.h"
#include "process.h"
#include "socket.h"

const char *scope_obstacle_name(enum scope_obstacle_code code)
{
    static const char *const names[] = {
#define X(enumerator, code) [enumerator] = code,
        SCOPE_OBSTACLES(X)
#undef X
    };
    return names[code];
}

printf_like(5, 6) static void add(struct scope_offer *offer, enum scope_obstacle_code code,
                                  enum scope_adapter adapter, const char *remedy,
                                  const char *format, ...)
{
    if (offer->obstacle_count == SCOPE_OBSTACLES_MAX) {
        return;
    }
    struct scope_obstacle *obstacle = &offer->obstacles[offer->obstacle_count++];
    *obstacle = (struct scope_obstacle){.code = code, .adapter = adapter};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(obstacle->saw, sizeof obstacle->saw, format, args);
    va_end(args);
    (void)snprintf(obstacle->remedy, sizeof obstacle->remedy, "%s", remedy);
}

/* --- what both need ----------------------------------------------------------------------------- */

static bool has_tree(struct scope_offer *offer)
{
    with_fd tree = fd_adopt(os_cgroup_open(SCOPE_TREE));
    if (fd_is_open(&tree)) {
        return true;
    }
    struct cgroup_facts facts;
    cgroup_read(&facts);
    add(offer, SCOPE_OBSTACLE_LAYOUT, SCOPE_NONE,
        "boot with systemd.unified_cgroup_hierarchy=1 (and without systemd.legacy_systemd_cgroup_"
        "controller), or start the container with cgroup v2 alone",
        "'" SCOPE_TREE "' is not a cgroup v2 file system (layout: %s)",
        cgroup_layout_name(facts.layout));
    return false;
}

static bool has_kill(struct scope_offer *offer)
{
    struct utsname names;
    unsigned major = 0;
    unsigned minor = 0;
    if (os_uname(&names) < 0 || sscanf(names.release, "%u.%u", &major, &minor) != 2) {
        return true; /* what is missing is refused when it is made */
    }
    if (major > 5 || (major == 5 && minor >= 14)) {
        return true;
    }
    add(offer, SCOPE_OBSTACLE_OLD_KERNEL, SCOPE_NONE, "use Linux 5.14 or newer",
        "Linux %u.%u has no cgroup.kill", major, minor);
    return false;
}

static bool has_controllers(const char *text)
{
    return cgroup_has_word(text, "memory") && cgroup_has_word(text, "pids");
}

/* --- systemd ------------------------------------------------------------------------------------ */

static bool is_socket(const char *path)
{
    struct stat facts;
    return os_stat_entry(AT_FDCWD, path, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

static bool find_socket(const struct scope_question *question, char *place, size_t size)
{
    if (os_geteuid() == 0) {
        static const char *const sockets[] = {"/run/dbus/system_bus_socket",
                                              "/run/systemd/private"};
        for (size_t i = 0; i < countof(sockets); i++) {
            (void)snprintf(place, size, "%s", sockets[i]);
            if (is_socket(place)) {
                return true;
            }
        }
        return false;
    }
    char usual[64];
    (void)snprintf(usual, sizeof usual, "/run/user/%u", os_geteuid());
    const char *own = question->runtime_dir;
    const char *const folders[] = {own && own[0] == '/' ? own : usual, usual};
    static const char *const names[] = {"bus", "systemd/private"};
    for (size_t i = 0; i < countof(folders); i++) {
        for (size_t j = 0; j < countof(names); j++) {
            int length = snprintf(place, size, "%s/%s", folders[i], names[j]);
            if (length > 0 && (size_t)length < size && is_socket(place)) {
                return true;
            }
        }
    }
    return false;
}

/* Where the manager keeps its units, as systemd lays it out. */
static bool manager_has_controllers(struct scope_offer *offer, enum scope_adapter adapter)
{
    char path[128] = SCOPE_TREE "/cgroup.controllers";
    char text[512];
    unsigned uid = os_geteuid();
    if (adapter == SCOPE_SYSTEMD_USER) {
        (void)snprintf(path, sizeof path,
                       SCOPE_TREE "/user.slice/user-%u.slice/user@%u.service/cgroup.controllers",
                       uid, uid);
    }
    if (os_read_small(AT_FDCWD, path, text, sizeof text) < 0 || has_controllers(text)) {
        return true; /* laid out in another way: its leaf will tell */
    }
    text[strcspn(text, "\n")] = '\0';
    add(offer, SCOPE_OBSTACLE_CONTROLLER, adapter,
        "delegate them to user managers: Delegate=cpu memory pids in a drop-in of user@.service, "
        "or "
        "remove cgroup_disable= from the kernel's command line",
        "'%s' has only '%s': memory and pids are needed", path, text);
    return false;
}

static bool manager_answers(struct scope_offer *offer, enum scope_adapter adapter)
{
    enum { ANSWER_S = 5 };
    struct err err = {0};
    struct bus *bus = NULL;
    struct patience patience = {.who = {.fds = {-1, -1}}};
    char version[64];
    int64_t deadline_ns = os_clock_real.monotonic_ns() + ANSWER_S * NS_PER_S;
    bool loaded = bus_open(offer->place, &patience, &bus, &err) == 0;
    bool answers = loaded && bus_push(bus, deadline_ns, &err) == 0 &&
                   bus_version(bus, version, sizeof version, deadline_ns, &err) == 1;
    bus_close(bus);
    if (!loaded && err.code == ERR_UNAVAILABLE) {
        add(offer, SCOPE_OBSTACLE_NO_LIBRARY, adapter, "install libsystemd (Debian: libsystemd0)",
            "%s", err.msg);
    } else if (!answers) {
        add(offer, SCOPE_OBSTACLE_NO_ANSWER, adapter,
            "see whether the manager runs: systemctl status, or systemctl --user status",
            "'%s': %s", offer->place, err.msg);
    }
    return answers;
}

/* It knows processes by their numbers in its own PID namespace: from another one berm would name
 * somebody else. Who is asked to see the number of the socket's owner: 0 is none that is seen here. */
static bool manager_sees_us(struct scope_offer *offer, enum scope_adapter adapter)
{
    struct os_peer peer = {0};
    with_fd socket = fd_adopt(os_socket_new_stream());
    int result =
        fd_is_open(&socket) ? os_socket_connect(fd_num(&socket), offer->place) : fd_error(&socket);
    result = result < 0 ? result : os_socket_peer(fd_num(&socket), &peer);
    if (result == 0 && peer.pid > 0) {
        return true;
    }
    add(offer, result < 0 ? SCOPE_OBSTACLE_NO_ANSWER : SCOPE_OBSTACLE_NO_MANAGER, adapter,
        "name a cgroup with --cgroup-parent", "'%s': %s", offer->place,
        result < 0 ? strerrordesc_np(-result) : "its owner lives in another PID namespace");
    return false;
}

static bool is_booted(void)
{
    struct stat facts;
    return os_stat_entry(AT_FDCWD, "/run/systemd/system", &facts) == 0;
}

static bool probe_systemd(const struct scope_question *question, struct scope_offer *offer)
{
    enum scope_adapter adapter = os_geteuid() == 0 ? SCOPE_SYSTEMD_SYSTEM : SCOPE_SYSTEMD_USER;
    if (!is_booted()) {
        add(offer, SCOPE_OBSTACLE_NO_MANAGER, adapter,
            "use a host with systemd, or name a cgroup with --cgroup-parent",
            "'/run/systemd/system' is not there: systemd is not the init system");
        return false;
    }
    if (!find_socket(question, offer->place, sizeof offer->place)) {
        add(offer, SCOPE_OBSTACLE_NO_MANAGER, adapter,
            adapter == SCOPE_SYSTEMD_USER
                ? "log in, or let the user's manager run without a login: loginctl enable-linger; "
                  "it "
                  "needs the packages dbus-user-session and libpam-systemd (Debian)"
                : "start dbus or systemd's own socket",
            "no socket of systemd's %s manager: neither '%s' nor another",
            adapter == SCOPE_SYSTEMD_USER ? "user" : "system", offer->place);
        return false;
    }
    if (!manager_sees_us(offer, adapter) || !manager_has_controllers(offer, adapter) ||
        (question->ask && !manager_answers(offer, adapter))) {
        return false;
    }
    offer->adapter = adapter;
    return true;
}

/* --- a cgroup of one's own ---------------------------------------------------------------------- */

static int own_cgroup(char path[CGROUP_PATH_SIZE])
{
    with_fd self = fd_adopt(os_openat(AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY, 0));
    return fd_is_open(&self) ? os_cgroup_of(fd_num(&self), path) : fd_error(&self);
}

static bool may_write(int folder_fd, const char *file)
{
    return os_faccessat(folder_fd, file, W_OK) == 0;
}

/* The root of all, which alone may hand on controllers and have processes. */
static bool is_root_cgroup(int folder_fd)
{
    char text[32];
    return os_cgroup_read(folder_fd, "cgroup.type", text, sizeof text) == -ENOENT;
}

/* Who moves a process must be able to write to the nearest cgroup above both its places. */
static bool may_move_into(struct scope_offer *offer, const char *folder)
{
    char own[CGROUP_PATH_SIZE] = "/";
    char above[CGROUP_PATH_SIZE + sizeof SCOPE_TREE];
    int result = own_cgroup(own);
    const char *target = folder + sizeof SCOPE_TREE - 1;
    size_t same = 0;
    for (size_t i = 0; result == 0; i++) {
        bool own_ends = own[i] == '/' || own[i] == '\0';
        bool target_ends = target[i] == '/' || target[i] == '\0';
        if (own_ends && target_ends) {
            same = i;
        }
        if (own[i] != target[i] || own[i] == '\0') {
            break;
        }
    }
    (void)snprintf(above, sizeof above, SCOPE_TREE "%.*s", (int)same, own);
    with_fd fd = fd_adopt(result == 0 ? os_cgroup_open(above) : result);
    if (fd_is_open(&fd) && may_write(fd_num(&fd), "cgroup.procs")) {
        return true;
    }
    add(offer, SCOPE_OBSTACLE_NOT_WRITABLE, SCOPE_DELEGATED,
        "start berm beneath the cgroup that it is to use: the nearest cgroup above both must be "
        "writable",
        "'%s/cgroup.procs' may not be written, so no process may be moved from '%s' to '%s'", above,
        own, folder);
    return false;
}

static bool may_hand_on(struct scope_offer *offer, int folder_fd, const char *folder)
{
    char text[CGROUP_TEXT_SIZE] = "";
    ssize_t got = os_cgroup_read(folder_fd, "cgroup.controllers", text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    if (got < 0 || !has_controllers(text)) {
        add(offer, SCOPE_OBSTACLE_CONTROLLER, SCOPE_DELEGATED,
            "hand memory and pids down to it: echo '+memory +pids' >cgroup.subtree_control in the "
            "cgroup above",
            "'%s/cgroup.controllers' has only '%s': memory and pids are needed", folder, text);
        return false;
    }
    got = os_cgroup_read(folder_fd, "cgroup.subtree_control", text, sizeof text);
    if (got >= 0 && has_controllers(text)) {
        return true;
    }
    if (!may_write(folder_fd, "cgroup.subtree_control")) {
        add(offer, SCOPE_OBSTACLE_NOT_WRITABLE, SCOPE_DELEGATED,
            "delegate it: make the folder and its cgroup.procs and cgroup.subtree_control yours",
            "'%s/cgroup.subtree_control' may not be written", folder);
        return false;
    }
    got = os_cgroup_read(folder_fd, "cgroup.procs", text, sizeof text);
    if (got > 0 && !is_root_cgroup(folder_fd)) {
        add(offer, SCOPE_OBSTACLE_PROCESSES, SCOPE_DELEGATED,
            "move them one cgroup down: mkdir leaf; for each of cgroup.procs: echo PID "
            ">leaf/cgroup.procs; then start berm again",
            "'%s/cgroup.procs' is not empty: a cgroup with processes in it cannot hand on memory "
            "and "
            "pids (no internal processes)",
            folder);
        return false;
    }
    return true;
}

static bool probe_folder(struct scope_offer *offer, const char *folder)
{
    with_fd fd = fd_adopt(os_cgroup_open(folder));
    if (!fd_is_open(&fd)) {
        add(offer, SCOPE_OBSTACLE_NO_CGROUP, SCOPE_DELEGATED,
            "name a folder beneath " SCOPE_TREE " that is there", "'%s' is no cgroup: %s", folder,
            strerrordesc_np(-fd_error(&fd)));
        return false;
    }
    if (!may_write(fd_num(&fd), ".")) {
        add(offer, SCOPE_OBSTACLE_NOT_WRITABLE, SCOPE_DELEGATED,
            "delegate it: make the folder and its cgroup.procs and cgroup.subtree_control yours",
            "'%s' may not be written", folder);
        return false;
    }
    if (!may_hand_on(offer, fd_num(&fd), folder) || !may_move_into(offer, folder)) {
        return false;
    }
    (void)snprintf(offer->place, sizeof offer->place, "%s", folder);
    offer->adapter = SCOPE_DELEGATED;
    return true;
}

static bool is_delegated(const char *folder)
{
    static const char *const marks[] = {"trusted.delegate", "user.delegate"};
    with_fd fd = fd_adopt(os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0));
    char value[8];
    for (size_t i = 0; fd_is_open(&fd) && i < countof(marks); i++) {
        if (os_fgetxattr(fd_num(&fd), marks[i], value, sizeof value) == 1 && value[0] == '1') {
            return true;
        }
    }
    return false;
}

/* What systemd manages is nobody's, whoever may write it, but for a unit that it marked as delegated and
 * what lies beneath. A user's manager is such a unit, and its tree is its own. */
static bool is_ours(const char *folder)
{
    char above[CGROUP_PATH_SIZE + sizeof SCOPE_TREE];
    (void)snprintf(above, sizeof above, "%s", folder);
    while (strlen(above) > sizeof SCOPE_TREE - 1) {
        char *slash = strrchr(above, '/');
        if (strncmp(slash, "/user@", sizeof "/user@" - 1) == 0) {
            return false;
        }
        if (is_delegated(above)) {
            return true;
        }
        *slash = '\0';
    }
    return false;
}

/* From the own cgroup upwards, as far as it is the caller's; the first reason is that of the own. */
static void probe_owned(struct scope_offer *offer)
{
    char own[CGROUP_PATH_SIZE];
    char folder[CGROUP_PATH_SIZE + sizeof SCOPE_TREE];
    int result = own_cgroup(own);
    if (result < 0) {
        add(offer, SCOPE_OBSTACLE_NO_CGROUP, SCOPE_DELEGATED, "mount /proc",
            "'/proc/self/cgroup': %s", strerrordesc_np(-result));
        return;
    }
    int told = offer->obstacle_count;
    bool managed = is_booted();
    (void)snprintf(folder, sizeof folder, SCOPE_TREE "%s", strcmp(own, "/") == 0 ? "" : own);
    for (;;) {
        struct scope_offer one = {0};
        bool ours = !managed || is_ours(folder);
        if (ours && probe_folder(&one, folder)) {
            offer->adapter = one.adapter;
            (void)snprintf(offer->place, sizeof offer->place, "%s", one.place);
            return;
        }
        if (one.obstacle_count > 0 && offer->obstacle_count == told && told < SCOPE_OBSTACLES_MAX) {
            offer->obstacles[offer->obstacle_count++] = one.obstacles[0];
        }
        char *slash = strrchr(folder, '/');
        if (!ours || strlen(folder) <= sizeof SCOPE_TREE - 1 ||
            (one.obstacle_count > 0 && one.obstacles[0].code == SCOPE_OBSTACLE_NOT_WRITABLE)) {
            break;
        }
        *slash = '\0';
    }
    if (offer->obstacle_count == told) {
        add(offer, SCOPE_OBSTACLE_NOT_WRITABLE, SCOPE_DELEGATED,
            "start berm in a unit with Delegate=yes, or name a cgroup with --cgroup-parent",
            "'" SCOPE_TREE "%s' belongs to systemd, which delegated nothing there", own);
    }
}

void scope_probe(const struct scope_question *question, struct scope_offer *ret_offer)
{
    *ret_offer = (struct scope_offer){0};
    if (!has_tree(ret_offer) || !has_kill(ret_offer)) {
        return;
    }
    if (!question->parent) {
        if (!probe_systemd(question, ret_offer)) {
            probe_owned(ret_offer);
        }
        return;
    }
    static const char tree[] = SCOPE_TREE;
    if (strncmp(question->parent, tree, sizeof tree - 1) != 0) {
        add(ret_offer, SCOPE_OBSTACLE_NO_CGROUP, SCOPE_DELEGATED,
            "name a folder beneath " SCOPE_TREE, "'%s' does not lie beneath " SCOPE_TREE,
            question->parent);
        return;
    }
    (void)probe_folder(ret_offer, question->parent);
}
