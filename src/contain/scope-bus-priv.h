/* scope-bus-priv.h
 *
 * A connection to a systemd manager over sd-bus, with a deadline for everything. libsystemd is loaded by
 * the first call of bus_open(), or before it by bus_load(). Between calls nothing is sent or read.
 *
 * Calling sequence
 *   bus_open(socket, &bus, err)                      starts to connect
 *   bus_start_unit(bus, &unit, err)                  queued; unit lives until bus_close()
 *   bus_push(bus, deadline, err)                     until all that is queued has left
 *   bus_wait_unit(bus, &unit, deadline, err)         the job was done
 *   bus_unit_properties(bus, unit, list, count, deadline, err), bus_has_unit(...), bus_attach(...)
 *   bus_close(bus)
 *
 * Limitations  one answer at a time is waited for, but for the jobs of units.
 * Source       sd-bus(3), org.freedesktop.systemd1(5): StartTransientUnit, JobRemoved, GetUnit,
 *              AttachProcessesToUnit (systemd 238).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct bus;
struct patience;

/* What StartTransientUnit is asked for, and what came of it. */
struct bus_unit {
    const char *name;
    const char *description;
    pid_t pid;     /* who is in it from the start */
    bool delegate; /* memory and pids */
    bool delegate_io;
    bool limits;               /* the four below */
    uint64_t memory_max_bytes; /* UINT64_MAX: no limit; likewise for all */
    uint64_t tasks_max;
    uint64_t runtime_max_us;

    bool refused; /* systemd makes none, by its own word: it looks for nobody any more */
    int without; /* asked for again: 1 without OOMPolicy, 2 without RuntimeMaxUSec either (older systemd) */
    bool answered;
    bool job_ended;
    char error_name[128]; /* "": none */
    char error_text[256];
    char job_result[32];
};

/* The patience is borrowed, and cuts every deadline short. The socket of a bus (".../bus", ".../system_bus_socket") or of the manager itself (".../private").
 * ERR_UNAVAILABLE: libsystemd is not to be had. */
int bus_open(const char *socket, struct patience *patience, struct bus **ret_bus,
             struct err *err) must_check;
void bus_close(struct bus *bus);
int bus_load(struct err *err) must_check; /* what bus_open() does first */
const char *bus_library(void);            /* the file that libsystemd came from; NULL: not known */
/* No unit is waited for any more: what jobs others have would only pile up in a long run. */
void bus_hear_no_jobs(struct bus *bus);

/* Another has the name: there is none of this run's. As soon as systemd said so, waited for or not. */
bool bus_unit_is_taken(const struct bus_unit *unit);
int bus_start_unit(struct bus *bus, struct bus_unit *unit, struct err *err) must_check;
int bus_push(struct bus *bus, int64_t deadline_ns, struct err *err) must_check;
int bus_wait_unit(struct bus *bus, struct bus_unit *unit, int64_t deadline_ns,
                  struct err *err) must_check;
struct bus_property {
    const char *interface;
    const char *name;
    bool is_text; /* else it is a number */
    bool known;   /* else this systemd has no such property */
    char text[64];
    uint64_t number;
};
/* All are asked for at once, and then waited for. */
int bus_unit_properties(struct bus *bus, const char *unit, struct bus_property *properties,
                        int count, int64_t deadline_ns, struct err *err) must_check;
/* Of the manager. 1; 0: it has none. */
int bus_version(struct bus *bus, char *text, size_t size, int64_t deadline_ns,
                struct err *err) must_check;
int bus_has_unit(struct bus *bus, const char *unit, int64_t deadline_ns,
                 struct err *err) must_check; /* 1 or 0 */
/* And whoever is in it is ended. 1: systemd is at it; 0: it has no such unit. */
int bus_stop_unit(struct bus *bus, const char *unit, int64_t deadline_ns,
                  struct err *err) must_check;
/* Into a cgroup ("/payload") of a unit that is delegated: systemd may do that where the caller may not. */
int bus_attach(struct bus *bus, const char *unit, const char *cgroup, pid_t pid,
               int64_t deadline_ns, struct err *err) must_check;
