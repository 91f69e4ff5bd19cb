#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "event.h"
#include "scope-priv.h"
#include "scope-wait-priv.h"
#include "socket.h"

enum { ANSWER_S = 5, BETWEEN_LOOKS_MS = 5 };

static int read_identity(const char *place, char *text, size_t size, struct err *err)
{
    struct os_peer peer = {0};
    struct proc_stat stat = {0};
    with_fd socket = fd_adopt(os_socket_new_stream());
    int result =
        fd_is_open(&socket) ? os_socket_connect(fd_num(&socket), place) : fd_error(&socket);
    result = result < 0 ? result : os_socket_peer(fd_num(&socket), &peer);
    result = result < 0 ? result : peer.pid > 0 ? 0 : -ESRCH;
    with_fd process = fd_adopt(result < 0 ? result : os_proc_stat_open(peer.pid));
    result = fd_is_open(&process) ? os_proc_stat_read(fd_num(&process), &stat) : fd_error(&process);
    if (result < 0) {
        return err_sys(err, result, "cannot tell who listens at '%s'", place);
    }
    (void)snprintf(text, size, "uid %u, pid %d, started %llu", peer.uid, peer.pid,
                   (unsigned long long)stat.start_ticks);
    return 0;
}

static int read_version(const char *place, char *text, size_t size, struct err *err)
{
    struct bus *bus = NULL;
    struct patience patience = {.who = {.fds = {-1, -1}}};
    int64_t deadline_ns = os_clock_real.monotonic_ns() + ANSWER_S * NS_PER_S;
    int result = bus_open(place, &patience, &bus, err) < 0 || bus_push(bus, deadline_ns, err) < 0
                     ? -1
                     : bus_version(bus, text, size, deadline_ns, err);
    bus_close(bus);
    return result < 0 ? -1 : 0;
}

static bool is_of_a_manager(const struct scope_offer *offer)
{
    return offer->adapter == SCOPE_SYSTEMD_USER || offer->adapter == SCOPE_SYSTEMD_SYSTEM;
}

/* As scope_name() makes them: no other unit of the caller's is ever stopped. */
static bool is_ours(const char *unit)
{
    static const char prefix[] = "berm-";
    static const char suffix[] = ".scope";
    size_t n = strlen(unit);
    size_t plain = strspn(unit, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > sizeof prefix + sizeof suffix && strncmp(unit, prefix, sizeof prefix - 1) == 0 &&
           plain == n - (sizeof suffix - 1) && strcmp(unit + plain, suffix) == 0;
}

/* What kept systemd from being asked; NULL: there is none, or nothing did. */
static const struct scope_obstacle *unasked(const struct scope_offer *offer)
{
    for (int i = 0; i < offer->obstacle_count; i++) {
        const struct scope_obstacle *obstacle = &offer->obstacles[i];
        if (obstacle->adapter != SCOPE_DELEGATED) {
            return obstacle->code == SCOPE_OBSTACLE_NO_MANAGER ? NULL : obstacle;
        }
    }
    return NULL;
}

int scope_forget_unit(const struct scope_offer *offer, const char *unit, int64_t deadline_ns,
                      struct err *err)
{
    if (!is_ours(unit)) {
        return err_set(err, ERR_CORRUPT, "'%.64s' is no unit of a run", unit);
    }
    if (!is_of_a_manager(offer)) {
        const struct scope_obstacle *obstacle = unasked(offer);
        return obstacle ? err_set(err, ERR_UNAVAILABLE, "systemd cannot be asked for %s: %s; %s",
                                  unit, obstacle->saw, obstacle->remedy)
                        : 0;
    }
    struct bus *bus = NULL;
    struct patience patience = {.who = {.fds = {-1, -1}}};
    int known =
        bus_open(offer->place, &patience, &bus, err) < 0 || bus_push(bus, deadline_ns, err) < 0
            ? -1
            : bus_stop_unit(bus, unit, deadline_ns, err);
    while (known > 0 && os_clock_real.monotonic_ns() < deadline_ns) {
        (void)!os_poll(-1, 0, BETWEEN_LOOKS_MS);
        known = bus_has_unit(bus, unit, deadline_ns, err);
    }
    bus_close(bus);
    return known > 0 ? err_set(err, ERR_TIMEOUT,
                               "systemd did not stop %s in time: `systemctl kill -s KILL %s`, with "
                               "--user for a user's, or `berm recover --runs`",
                               unit, unit)
                     : known;
}

int scope_manager_read(const struct scope_offer *offer, struct scope_manager *ret_manager,
                       struct err *err)
{
    struct scope_manager manager = {.library = NULL};
    if (is_of_a_manager(offer)) {
        if (read_version(offer->place, manager.version, sizeof manager.version, err) < 0 ||
            read_identity(offer->place, manager.identity, sizeof manager.identity, err) < 0) {
            return -1;
        }
        manager.library = bus_library();
    }
    *ret_manager = manager;
    return 0;
}
