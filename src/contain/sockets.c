/* Sockets by path behind which a daemon acts for whoever connects (SB-5). A list of names would
 * always be too short: every socket that the kernel knows a path of is looked at, besides those that
 * the caller's environment names. What is out of sight needs no cover. */
#include "sandbox-priv.h"

#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "memory.h"

enum { UNIX_TABLE_MAX = 4 << 20, SOCKETS_MAX = 256 };

static const char *const control_variables[] = {
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "DBUS_STARTER_BUS_TYPE",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "CONTAINER_HOST",
    "CONTAINERD_ADDRESS",
    "PODMAN_HOST",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "XDG_RUNTIME_DIR",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "PULSE_SERVER",
    "PIPEWIRE_REMOTE",
    "SWAYSOCK",
    "I3SOCK",
    "TMUX",
    "STY",
    "VSCODE_IPC_HOOK_CLI",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
};

bool sockets_is_control_variable(const char *name)
{
    for (size_t i = 0; i < countof(control_variables); i++) {
        if (strcmp(control_variables[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void cover_at(struct sandbox *sandbox, const char *path, const char *origin, size_t *count)
{
    if (sandbox_hides(sandbox, path)) {
        return;
    }
    for (size_t i = 0; i < sandbox->rule_count; i++) {
        if (sandbox->rules[i].kind == LAUNCH_MASK && strcmp(sandbox->rules[i].path, path) == 0) {
            return;
        }
    }
    if (*count == SOCKETS_MAX) {
        sandbox->sockets_closed = false;
        return;
    }
    (*count)++;
    sandbox_add_rule(sandbox, LAUNCH_MASK, path, NULL, origin);
}

static void cover(struct sandbox *sandbox, const char *path, const char *origin, size_t *count)
{
    with_host_path place = {0};
    with_strvec others = {0};
    /* Not there, or not to be reached by this user: then not by the payload either. */
    if (host_path_open(AT_FDCWD, path, &place) < 0 || !S_ISSOCK(place.stat.st_mode)) {
        return;
    }
    cover_at(sandbox, place.path, origin, count);
    sandbox_aliases(sandbox, place.path, &others);
    for (size_t i = 0; i < others.count; i++) {
        cover_at(sandbox, others.strings[i], origin, count);
    }
}

/* An address has its path behind the first slash of "unix:path=/p,guid=x", "unix:///p", "/p". */
static void cover_address(struct sandbox *sandbox, const char *address, size_t *count)
{
    while (address && (address = strchr(address, '/')) != NULL) {
        while (address[1] == '/') {
            address++;
        }
        size_t length = strcspn(address, ",;: ");
        with_string path = memory_format("%.*s", (int)(length < 4096 ? length : 4096), address);
        cover(sandbox, path, "the caller's environment leads to it", count);
        address = strchr(address + length, ';');
    }
}

/* "Num: RefCount Protocol Flags Type St Inode Path": the path is the rest of the line, and whatever
 * bind(2) was given. NULL: no such line. Empty: it has no path. */
static const char *path_of(char *line)
{
    char *rest = line;
    for (int i = 0; i < 7; i++) {
        rest += strspn(rest, " ");
        size_t length = strcspn(rest, " ");
        if (length == 0 || (i == 0 && rest[length - 1] != ':')) {
            return NULL;
        }
        rest += length;
    }
    return *rest == ' ' ? rest + 1 : rest;
}

/* Where a relative name leads to, its daemon knows; and a name with a newline is no line. Nobody can
 * say that those are covered. */
static void cover_table(struct sandbox *sandbox, char *table, size_t *count)
{
    char *rest = table;
    (void)strsep(&rest, "\n"); /* the heading */
    for (char *line; (line = strsep(&rest, "\n")) != NULL && (rest || line[0] != '\0');) {
        const char *path = path_of(line);
        if (path && path[0] == '/') {
            cover(sandbox, path, "a daemon listens there", count);
        } else if (!path || (path[0] != '\0' && path[0] != '@')) {
            sandbox->sockets_closed = false;
        }
    }
}

void sockets_close(struct sandbox *sandbox, char *const *inherited)
{
    size_t count = 0;
    sandbox->sockets_closed = true;
    for (char *const *entry = inherited; *entry; entry++) {
        const char *value = strchr(*entry, '=');
        with_string name = memory_format("%.*s", (int)strcspn(*entry, "="), *entry);
        if (value && sockets_is_control_variable(name)) {
            cover_address(sandbox, value + 1, &count);
        }
    }
    with_buf table = buf_new(UNIX_TABLE_MAX);
    if (host_text_read(AT_FDCWD, "/proc/net/unix", &table) < 0) {
        sandbox->sockets_closed = false;
        return;
    }
    with_string text = memory_copy_string(buf_string(&table)); /* a table of text has no NUL */
    cover_table(sandbox, text, &count);
}
