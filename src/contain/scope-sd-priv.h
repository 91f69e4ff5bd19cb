/* scope-sd-priv.h
 *
 * A connection to systemd between its two parts: scope-bus.c loads the library, connects and waits,
 * scope-unit.c knows the messages about units.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-bus.h>

#include "err.h"
#include "scope-bus-priv.h"

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

/* Set by the first bus_open(). */
struct sd_calls {
#define X(name) __typeof__(&name) name;
    CALLS(X)
#undef X
};
extern struct sd_calls sd;

#define SYSTEMD_SERVICE   "org.freedesktop.systemd1"
#define SYSTEMD_PATH      "/org/freedesktop/systemd1"
#define SYSTEMD_INTERFACE "org.freedesktop.systemd1.Manager"

enum { BUS_UNITS_MAX = 2, BUS_ANSWERS_MAX = 2 };

struct answer {
    const char *type; /* of the variant that it holds: "s" or "t"; NULL: it holds none */
    bool came;
    char error_name[128];
    char error_text[256];
    char text[256];
    uint64_t number;
};

struct bus {
    sd_bus *connection;
    sd_bus_slot *jobs; /* NULL: their ends are not listened to */
    struct bus_unit *units[BUS_UNITS_MAX];
    int unit_count;
    struct answer answers[BUS_ANSWERS_MAX]; /* in the order of the calls */
    bool lost; /* an answer is owed: what comes now would be taken for another's */
    int answer_count;
    struct patience *patience;
};

static inline void message_done(sd_bus_message **message)
{
    if (*message) {
        sd.sd_bus_message_unref(*message);
    }
}
#define with_message cleanup(message_done) sd_bus_message *

/* Cut where it is too long. */
static inline void bus_copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "");
}

/* scope-bus.c */
/* One turn: what is there is worked off, or something is waited for. */
int bus_turn(struct bus *bus, int64_t deadline_ns, struct err *err) must_check;
/* A call, whose answer is the next of bus->answers. */
int bus_ask(struct bus *bus, sd_bus_message *message, const char *type, struct err *err) must_check;
/* Until all have come; the next call is the first again. */
int bus_hear(struct bus *bus, int64_t deadline_ns, struct err *err) must_check;

/* scope-unit.c */
int bus_on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error);
