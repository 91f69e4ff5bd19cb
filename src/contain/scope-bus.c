#include "scope-bus-priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "clock.h"
#include "event.h"
#include "library.h"
#include "memory.h"

/* What is called of libsystemd: it is loaded, not linked. */
#define CALLS(X)                                                                                   \
    X(sd_bus_new)                                                                                  \
    X(sd_bus_set_address)                                                                          \
    X(sd_bus_set_bus_client)                                                                       \
    X(sd_bus_start)                                                                                \
    X(sd_bus_is_ready)                                                                             \
    X(sd_bus_process)                                                                              \
    X(sd_bus_get_fd)                                                                               \
    X(sd_bus_get_events)                                                                           \
    X(sd_bus_get_timeout)                                                                          \
    X(sd_bus_close_unref)                                                                          \
    X(sd_bus_match_signal_async)                                                                   \
    X(sd_bus_slot_unref)                                                                           \
    X(sd_bus_call_async)                                                                           \
    X(sd_bus_path_encode)                                                                          \
    X(sd_bus_message_new_method_call)                                                              \
    X(sd_bus_message_append)                                                                       \
    X(sd_bus_message_open_container)                                                               \
    X(sd_bus_message_close_container)                                                              \
    X(sd_bus_message_enter_container)                                                              \
    X(sd_bus_message_read)                                                                         \
    X(sd_bus_message_get_error)                                                                    \
    X(sd_bus_message_unref)

static struct {
#define X(name) __typeof__(&name) name;
    CALLS(X)
#undef X
} sd;

static const struct {
    const char *name;
    void **at;
} calls[] = {
#define X(call) {#call, (void **)&sd.call},
    CALLS(X)
#undef X
};

static const char service[] = "org.freedesktop.systemd1";
static const char manager_path[] = "/org/freedesktop/systemd1";
static const char manager_interface[] = "org.freedesktop.systemd1.Manager";
static const char unknown_property[] = "org.freedesktop.DBus.Error.UnknownProperty";
/* systemd's word for a property of a transient unit that it does not know. */
static const char read_only_property[] = "org.freedesktop.DBus.Error.PropertyReadOnly";
static const char no_such_unit[] = "org.freedesktop.systemd1.NoSuchUnit";
static const char unit_exists[] = "org.freedesktop.systemd1.UnitExists";

enum { UNITS_MAX = 2 };

struct answer {
    bool came;
    char error_name[128];
    char error_text[256];
    char text[256];
};

struct bus {
    sd_bus *connection;
    sd_bus_slot *jobs; /* NULL: their ends are not listened to */
    struct bus_unit *units[UNITS_MAX];
    int unit_count;
    struct answer answer;
};

static void message_done(sd_bus_message **message)
{
    if (*message) {
        sd.sd_bus_message_unref(*message);
    }
}
#define with_message cleanup(message_done) sd_bus_message *

/* --- the library -------------------------------------------------------------------------------- */

static int load(struct err *err)
{
    static bool loaded;
    if (loaded) {
        return 0;
    }
    char why[256] = "";
    void *library = os_library_open("libsystemd.so.0", why, sizeof why);
    if (!library) {
        return err_set(err, ERR_UNAVAILABLE,
                       "libsystemd cannot be loaded (%s); install it (Debian: libsystemd0)", why);
    }
    for (size_t i = 0; i < countof(calls); i++) {
        *calls[i].at = os_library_symbol(library, calls[i].name);
        if (!*calls[i].at) {
            return err_set(err, ERR_UNAVAILABLE,
                           "libsystemd has no %s: it is too old; 246 or newer is needed",
                           calls[i].name);
        }
    }
    loaded = true;
    return 0;
}

/* --- the connection ----------------------------------------------------------------------------- */

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "");
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
    struct bus *bus = userdata;
    uint32_t id = 0;
    const char *job = NULL;
    const char *name = NULL;
    const char *result = NULL;
    if (sd.sd_bus_message_read(message, "uoss", &id, &job, &name, &result) < 0) {
        return 0;
    }
    for (int i = 0; i < bus->unit_count; i++) {
        struct bus_unit *unit = bus->units[i];
        if (strcmp(unit->name, name) == 0) {
            unit->job_ended = true;
            copy(unit->job_result, sizeof unit->job_result, result);
        }
    }
    return 0;
}

/* "unix:path=" with what is special in an address escaped (D-Bus specification, Server Addresses). */
static void address_of(const char *socket, char *address, size_t size)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/.\\*";
    int used = snprintf(address, size, "unix:path=");
    for (const char *at = socket; *at && used > 0 && (size_t)used + 4 < size; at++) {
        used += strchr(plain, *at)
                    ? snprintf(address + used, size - (size_t)used, "%c", *at)
                    : snprintf(address + used, size - (size_t)used, "%%%02x", (unsigned char)*at);
    }
}

static bool is_private(const char *socket)
{
    const char *name = strrchr(socket, '/');
    return name && strcmp(name, "/private") == 0;
}

static int connect_to(struct bus *bus, const char *socket)
{
    char address[512];
    address_of(socket, address, sizeof address);
    int result = sd.sd_bus_new(&bus->connection);
    result = result < 0 ? result : sd.sd_bus_set_address(bus->connection, address);
    if (!is_private(socket)) {
        result = result < 0 ? result : sd.sd_bus_set_bus_client(bus->connection, 1);
    }
    result = result < 0 ? result : sd.sd_bus_start(bus->connection);
    /* Asked for before the first unit is: no end of a job can be missed. */
    return result < 0 ? result
                      : sd.sd_bus_match_signal_async(bus->connection, &bus->jobs,
                                                     is_private(socket) ? NULL : service,
                                                     manager_path, manager_interface, "JobRemoved",
                                                     on_job_removed, NULL, bus);
}

int bus_open(const char *socket, struct bus **ret_bus, struct err *err)
{
    if (load(err) < 0) {
        return -1;
    }
    struct bus *bus = memory_new(sizeof *bus);
    int result = connect_to(bus, socket);
    if (result < 0) {
        bus_close(bus);
        return err_sys(err, result, "cannot connect to systemd at '%s'", socket);
    }
    *ret_bus = bus;
    return 0;
}

void bus_hear_no_jobs(struct bus *bus)
{
    if (bus->jobs) {
        sd.sd_bus_slot_unref(bus->jobs);
        bus->jobs = NULL;
    }
}

void bus_close(struct bus *bus)
{
    if (!bus) {
        return;
    }
    bus_hear_no_jobs(bus);
    if (bus->connection) {
        sd.sd_bus_close_unref(bus->connection);
    }
    memory_free(bus);
}

/* How long the next wait may be, in milliseconds, rounded up; 0: the deadline has passed. */
static int wait_ms(const struct bus *bus, int64_t deadline_ns)
{
    int64_t now = os_clock_real.monotonic_ns();
    uint64_t own_us = UINT64_MAX;
    if (sd.sd_bus_get_timeout(bus->connection, &own_us) < 0) {
        own_us = UINT64_MAX;
    }
    if (own_us <= INT64_MAX / 1000 && (int64_t)own_us * 1000 < deadline_ns) {
        deadline_ns = (int64_t)own_us * 1000;
    }
    int64_t left = deadline_ns - now;
    const int64_t most = INT64_C(3600000);
    int64_t ms = left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;
    return (int)(ms < most ? ms : most);
}

/* One turn: what is there is worked off, or something is waited for. */
static int turn(struct bus *bus, int64_t deadline_ns, struct err *err)
{
    int result = sd.sd_bus_process(bus->connection, NULL);
    if (result < 0) {
        return err_sys(err, result, "the connection to systemd broke");
    }
    /* What was sent in time is worked off a second longer; a flood of messages is not waited out. */
    if (result > 0 && os_clock_real.monotonic_ns() < deadline_ns + NS_PER_S) {
        return 0;
    }
    if (os_clock_real.monotonic_ns() >= deadline_ns) {
        return err_set(err, ERR_TIMEOUT, "systemd did not answer in time");
    }
    int events = sd.sd_bus_get_events(bus->connection);
    int fd = sd.sd_bus_get_fd(bus->connection);
    if (events < 0 || fd < 0) {
        return err_sys(err, events < 0 ? events : fd, "the connection to systemd broke");
    }
    result = os_poll(fd, (short)events, wait_ms(bus, deadline_ns));
    return result < 0 && result != -EINTR ? err_sys(err, result, "cannot wait for systemd") : 0;
}

int bus_push(struct bus *bus, int64_t deadline_ns, struct err *err)
{
    while (sd.sd_bus_is_ready(bus->connection) <= 0 ||
           (sd.sd_bus_get_events(bus->connection) & POLLOUT) != 0) {
        if (turn(bus, deadline_ns, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* --- units -------------------------------------------------------------------------------------- */

static int on_started(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
    struct bus_unit *unit = userdata;
    const sd_bus_error *error = sd.sd_bus_message_get_error(message);
    unit->answered = true;
    if (error) {
        copy(unit->error_name, sizeof unit->error_name, error->name);
        copy(unit->error_text, sizeof unit->error_text, error->message);
    }
    return 0;
}

/* systemd's word for "no limit" is the largest number, which is also ours. */
static int add_limits(sd_bus_message *message, const struct bus_unit *unit)
{
    const struct {
        const char *name;
        uint64_t value;
    } limits[] = {
        {"MemoryMax", unit->memory_max_bytes},
        {"MemorySwapMax", 0},
        {"TasksMax", unit->tasks_max},
    };
    int result = 0;
    for (size_t i = 0; i < countof(limits) && result >= 0; i++) {
        result = sd.sd_bus_message_append(message, "(sv)", limits[i].name, "t", limits[i].value);
    }
    if (result >= 0 && unit->runtime_max_us != UINT64_MAX && unit->without < 2) {
        result =
            sd.sd_bus_message_append(message, "(sv)", "RuntimeMaxUSec", "t", unit->runtime_max_us);
    }
    /* Its default without delegation is to stop the scope after an OOM kill, and a killed group
     * would take the anchor with it. */
    return result < 0 || unit->without > 0
               ? result
               : sd.sd_bus_message_append(message, "(sv)", "OOMPolicy", "s", "continue");
}

static int add_pids(sd_bus_message *message, const struct bus_unit *unit)
{
    int result = sd.sd_bus_message_open_container(message, 'r', "sv");
    result = result < 0 ? result : sd.sd_bus_message_append(message, "s", "PIDs");
    result = result < 0 ? result : sd.sd_bus_message_open_container(message, 'v', "au");
    result = result < 0 ? result : sd.sd_bus_message_open_container(message, 'a', "u");
    for (int i = 0; i < unit->pid_count && result >= 0; i++) {
        result = sd.sd_bus_message_append(message, "u", (uint32_t)unit->pids[i]);
    }
    for (int i = 0; i < 3 && result >= 0; i++) {
        result = sd.sd_bus_message_close_container(message);
    }
    return result;
}

/* All five controllers, which Delegate=yes means, cost several times the start. */
static int add_delegation(sd_bus_message *message, const struct bus_unit *unit)
{
    return unit->delegate_io ? sd.sd_bus_message_append(message, "(sv)", "DelegateControllers",
                                                        "as", 3, "memory", "pids", "io")
                             : sd.sd_bus_message_append(message, "(sv)", "DelegateControllers",
                                                        "as", 2, "memory", "pids");
}

static int add_properties(sd_bus_message *message, const struct bus_unit *unit)
{
    int result = sd.sd_bus_message_open_container(message, 'a', "(sv)");
    result = result < 0 ? result
                        : sd.sd_bus_message_append(message, "(sv)(sv)", "Description", "s",
                                                   unit->description, "CollectMode", "s",
                                                   "inactive-or-failed");
    /* All helpers ignore SIGTERM: this is how long a logout waits for them. */
    result = result < 0 ? result
                        : sd.sd_bus_message_append(message, "(sv)", "TimeoutStopUSec", "t",
                                                   UINT64_C(5000000));
    result = result < 0 ? result : add_pids(message, unit);
    result = result < 0 || !unit->delegate ? result : add_delegation(message, unit);
    result = result < 0 || !unit->limits ? result : add_limits(message, unit);
    return result < 0 ? result : sd.sd_bus_message_close_container(message);
}

static int ask_for(struct bus *bus, struct bus_unit *unit)
{
    with_message message = NULL;
    int result = sd.sd_bus_message_new_method_call(bus->connection, &message, service, manager_path,
                                                   manager_interface, "StartTransientUnit");
    result = result < 0 ? result : sd.sd_bus_message_append(message, "ss", unit->name, "fail");
    result = result < 0 ? result : add_properties(message, unit);
    /* No auxiliary units. */
    result = result < 0 ? result : sd.sd_bus_message_append(message, "a(sa(sv))", 0);
    return result < 0
               ? result
               : sd.sd_bus_call_async(bus->connection, NULL, message, on_started, unit, UINT64_MAX);
}

int bus_start_unit(struct bus *bus, struct bus_unit *unit, struct err *err)
{
    BUG_IF(bus->unit_count == UNITS_MAX);
    bus->units[bus->unit_count++] = unit;
    int result = ask_for(bus, unit);
    return result < 0 ? err_sys(err, result, "cannot ask systemd for %s", unit->name) : 0;
}

static int judge(const struct bus_unit *unit, struct err *err)
{
    if (unit->error_name[0]) {
        bool taken = strcmp(unit->error_name, unit_exists) == 0;
        return err_set(err, taken ? ERR_CONFLICT : ERR_UNAVAILABLE,
                       "systemd refused to make %s: %s (%s)", unit->name, unit->error_text,
                       unit->error_name);
    }
    if (strcmp(unit->job_result, "done") != 0) {
        return err_set(err, ERR_UNAVAILABLE, "systemd could not make %s: its job ended as '%s'",
                       unit->name, unit->job_result);
    }
    return 0;
}

int bus_wait_unit(struct bus *bus, struct bus_unit *unit, int64_t deadline_ns, struct err *err)
{
    while (!unit->answered || (!unit->error_name[0] && !unit->job_ended)) {
        if (turn(bus, deadline_ns, err) < 0) {
            return err_wrap(err, "%s", unit->name);
        }
        bool unknown = unit->answered && strcmp(unit->error_name, read_only_property) == 0;
        if (unknown && unit->without < 2) {
            unit->without++;
            unit->answered = false;
            unit->error_name[0] = '\0';
            int result = ask_for(bus, unit);
            if (result < 0) {
                return err_sys(err, result, "cannot ask systemd for %s", unit->name);
            }
        }
    }
    return judge(unit, err);
}

/* --- questions ---------------------------------------------------------------------------------- */

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
    struct answer *answer = userdata;
    const sd_bus_error *error = sd.sd_bus_message_get_error(message);
    const char *text = NULL;
    answer->came = true;
    if (error) {
        copy(answer->error_name, sizeof answer->error_name, error->name);
        copy(answer->error_text, sizeof answer->error_text, error->message);
    } else if (sd.sd_bus_message_enter_container(message, 'v', "s") > 0 &&
               sd.sd_bus_message_read(message, "s", &text) > 0) {
        copy(answer->text, sizeof answer->text, text);
    }
    return 0;
}

static int ask(struct bus *bus, sd_bus_message *message, int64_t deadline_ns, struct err *err)
{
    bus->answer = (struct answer){0};
    int result =
        sd.sd_bus_call_async(bus->connection, NULL, message, on_answer, &bus->answer, UINT64_MAX);
    if (result < 0) {
        return err_sys(err, result, "cannot ask systemd");
    }
    while (!bus->answer.came) {
        if (turn(bus, deadline_ns, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int get_string(struct bus *bus, const char *path, const char *interface,
                      const char *property, char *text, size_t size, int64_t deadline_ns,
                      struct err *err)
{
    with_message message = NULL;
    int result = sd.sd_bus_message_new_method_call(bus->connection, &message, service, path,
                                                   "org.freedesktop.DBus.Properties", "Get");
    result = result < 0 ? result : sd.sd_bus_message_append(message, "ss", interface, property);
    if (result < 0) {
        return err_sys(err, result, "cannot ask systemd for %s", property);
    }
    if (ask(bus, message, deadline_ns, err) < 0) {
        return -1;
    }
    if (strcmp(bus->answer.error_name, unknown_property) == 0) {
        return 0;
    }
    if (bus->answer.error_name[0]) {
        return err_set(err, ERR_UNAVAILABLE, "systemd does not tell %s: %s (%s)", property,
                       bus->answer.error_text, bus->answer.error_name);
    }
    copy(text, size, bus->answer.text);
    return 1;
}

int bus_manager_string(struct bus *bus, const char *property, char *text, size_t size,
                       int64_t deadline_ns, struct err *err)
{
    return get_string(bus, manager_path, manager_interface, property, text, size, deadline_ns, err);
}

int bus_unit_string(struct bus *bus, const char *unit, const char *interface, const char *property,
                    char *text, size_t size, int64_t deadline_ns, struct err *err)
{
    char *path = NULL;
    int result = sd.sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
    if (result < 0) {
        return err_sys(err, result, "cannot name %s", unit);
    }
    result = get_string(bus, path, interface, property, text, size, deadline_ns, err);
    free(path);
    return result;
}

int bus_has_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err)
{
    with_message message = NULL;
    int result = sd.sd_bus_message_new_method_call(bus->connection, &message, service, manager_path,
                                                   manager_interface, "GetUnit");
    result = result < 0 ? result : sd.sd_bus_message_append(message, "s", unit);
    if (result < 0) {
        return err_sys(err, result, "cannot ask systemd for %s", unit);
    }
    if (ask(bus, message, deadline_ns, err) < 0) {
        return -1;
    }
    if (!bus->answer.error_name[0]) {
        return 1;
    }
    return strcmp(bus->answer.error_name, no_such_unit) == 0
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "systemd does not tell whether %s is there: %s (%s)",
                         unit, bus->answer.error_text, bus->answer.error_name);
}
