#include "scope-sd-priv.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "library.h"
#include "memory.h"
#include "scope-wait-priv.h"

struct sd_calls sd;

static const struct {
    const char *name;
    void **at;
} calls[] = {
#define X(call) {#call, (void **)&sd.call},
    CALLS(X)
#undef X
};

/* --- the library -------------------------------------------------------------------------------- */

static const char *library_path;

const char *bus_library(void)
{
    return library_path;
}

int bus_load(struct err *err)
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
    library_path = os_library_path(library);
    loaded = true;
    return 0;
}

/* --- the connection ----------------------------------------------------------------------------- */

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
                                                     is_private(socket) ? NULL : SYSTEMD_SERVICE,
                                                     SYSTEMD_PATH, SYSTEMD_INTERFACE, "JobRemoved",
                                                     bus_on_job_removed, NULL, bus);
}

int bus_open(const char *socket, struct patience *patience, struct bus **ret_bus, struct err *err)
{
    if (bus_load(err) < 0) {
        return -1;
    }
    struct bus *bus = memory_new(sizeof *bus);
    bus->patience = patience;
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

/* When the library itself has something to do. */
static int64_t own_moment_ns(const struct bus *bus)
{
    uint64_t own_us = UINT64_MAX;
    bool has = sd.sd_bus_get_timeout(bus->connection, &own_us) >= 0 && own_us <= INT64_MAX / 1000;
    return has ? (int64_t)own_us * 1000 : INT64_MAX;
}

int bus_turn(struct bus *bus, int64_t deadline_ns, struct err *err)
{
    int64_t until_ns = patience_until(bus->patience, deadline_ns);
    int result = sd.sd_bus_process(bus->connection, NULL);
    if (result < 0) {
        return err_sys(err, result, "the connection to systemd broke");
    }
    /* What was sent in time is worked off a second longer; a flood of messages is not waited out. */
    if (result > 0 && os_clock_real.monotonic_ns() < until_ns + NS_PER_S) {
        return 0;
    }
    if (os_clock_real.monotonic_ns() >= until_ns) {
        return patience_is_lost(bus->patience)
                   ? err_set(err, ERR_CANCELLED, "asked to stop while systemd did not answer")
                   : err_set(err, ERR_TIMEOUT, "systemd did not answer in time");
    }
    int events = sd.sd_bus_get_events(bus->connection);
    int fd = sd.sd_bus_get_fd(bus->connection);
    if (events < 0 || fd < 0) {
        return err_sys(err, events < 0 ? events : fd, "the connection to systemd broke");
    }
    int64_t own_ns = own_moment_ns(bus);
    result = patience_wait(bus->patience, fd, (short)events,
                           own_ns < deadline_ns ? own_ns : deadline_ns);
    return result < 0 ? err_sys(err, result, "cannot wait for systemd") : 0;
}

int bus_push(struct bus *bus, int64_t deadline_ns, struct err *err)
{
    while (sd.sd_bus_is_ready(bus->connection) <= 0 ||
           (sd.sd_bus_get_events(bus->connection) & POLLOUT) != 0) {
        if (bus_turn(bus, deadline_ns, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
    struct answer *answer = userdata;
    const sd_bus_error *error = sd.sd_bus_message_get_error(message);
    const char *text = NULL;
    answer->came = true;
    if (error) {
        bus_copy(answer->error_name, sizeof answer->error_name, error->name);
        bus_copy(answer->error_text, sizeof answer->error_text, error->message);
    } else if (!answer->type ||
               sd.sd_bus_message_enter_container(message, 'v', answer->type) <= 0) {
        return 0;
    } else if (answer->type[0] == 't') {
        (void)!sd.sd_bus_message_read(message, "t", &answer->number); /* else it stays 0 */
    } else if (sd.sd_bus_message_read(message, "s", &text) > 0) {
        bus_copy(answer->text, sizeof answer->text, text);
    }
    return 0;
}

int bus_ask(struct bus *bus, sd_bus_message *message, const char *type, struct err *err)
{
    BUG_IF(bus->answer_count == BUS_ANSWERS_MAX);
    if (bus->lost) {
        return err_set(err, ERR_UNAVAILABLE, "the connection to systemd was given up");
    }
    struct answer *answer = &bus->answers[bus->answer_count++];
    *answer = (struct answer){.type = type};
    int result =
        sd.sd_bus_call_async(bus->connection, NULL, message, on_answer, answer, UINT64_MAX);
    if (result < 0) {
        bus->answer_count = 0;
        bus->lost = true;
        return err_sys(err, result, "cannot ask systemd");
    }
    return 0;
}

int bus_hear(struct bus *bus, int64_t deadline_ns, struct err *err)
{
    int count = bus->answer_count;
    bus->answer_count = 0;
    for (int i = 0; i < count; i++) {
        while (!bus->answers[i].came) {
            if (bus_turn(bus, deadline_ns, err) < 0) {
                bus->lost = true;
                return -1;
            }
        }
    }
    return 0;
}
