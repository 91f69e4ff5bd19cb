/* A scope that is a transient unit of the user's manager, or of the system's. */
#include "scope-priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "anchor-message.h"
#include "clock.h"
#include "process.h"

static uint64_t or_infinity(int64_t value, int64_t slack)
{
    return value == CGROUP_NO_LIMIT ? UINT64_MAX : (uint64_t)(value + slack);
}

static uint64_t runtime_us(const struct scope *scope)
{
    int64_t ns = scope->request.runtime_max_ns;
    return ns == 0 ? UINT64_MAX : (uint64_t)(ns / 1000);
}

static int begin(struct scope *scope, struct err *err)
{
    const struct scope_request *request = &scope->request;
    scope->unit = (struct bus_unit){
        .name = scope->name,
        .description = scope->description,
        .pid = request->anchor.pid,
        .delegate = true,
        .delegate_io = request->with_io,
        .limits = true,
        .memory_max_bytes = or_infinity(scope->limits.memory_max_bytes, SCOPE_MEMORY_SLACK_BYTES),
        .tasks_max = or_infinity(scope->limits.pids_max, SCOPE_PIDS_SLACK),
        .runtime_max_us = runtime_us(scope),
    };
    scope->watchdog_unit = (struct bus_unit){
        .name = scope->watchdog_name,
        .description = scope->description,
        .pid = request->watchdog.pid,
    };
    return bus_open(scope->offer.place, &scope->patience, &scope->bus, err) < 0 ||
                   bus_start_unit(scope->bus, &scope->unit, err) < 0 ||
                   bus_push(scope->bus, request->deadline_ns, err) < 0
               ? -1
               : 0;
}

/* Whom nobody has waited for yet is in /proc still, and can be moved no more. */
static bool has_ended(struct proc_identity who)
{
    struct proc_stat stat;
    with_fd file = fd_adopt(os_proc_stat_open(who.pid));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    if (result < 0) {
        return result == -ESRCH || result == -ENOENT;
    }
    return stat.start_ticks != who.start_ticks || stat.state == 'Z' || stat.state == 'X';
}

/* Only now: systemd reads what it is asked before it works at any of it, and the run waits for its own unit alone. */
static int ask_for_watchdogs(struct scope *scope, struct err *err)
{
    const struct scope_request *request = &scope->request;
    if (request->watchdog.pid == 0) {
        return 0;
    }
    if (has_ended(request->watchdog)) { /* its number may be somebody else's by now */
        return err_set(err, ERR_UNAVAILABLE, "the watchdog ended before it had a scope of its own");
    }
    int64_t until_ns = request->deadline_ns + SCOPE_SETTLE_MS * NS_PER_MS;
    int told = request->tell_watchdog ? request->tell_watchdog(request->tell_context, until_ns) : 0;
    if (told < 0) {
        return err_sys(err, told, "cannot tell the watchdog of its scope");
    }
    return bus_start_unit(scope->bus, &scope->watchdog_unit, err) < 0 ||
                   bus_push(scope->bus, request->deadline_ns, err) < 0
               ? -1
               : 0;
}

static int must_be_in(struct proc_identity who, const char *unit, struct err *err)
{
    char path[CGROUP_PATH_SIZE] = "";
    int result = scope_cgroup_of(who, path);
    if (result < 0) {
        return err_sys(err, result, "cannot see the cgroup of process %d", who.pid);
    }
    return cgroup_path_names(path, unit)
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "systemd made %s, but process %d is in '%s'", unit,
                         who.pid, path);
}

static int join(struct scope *scope, struct err *err)
{
    const struct scope_request *request = &scope->request;
    return bus_wait_unit(scope->bus, &scope->unit, request->deadline_ns, err) < 0 ||
                   ask_for_watchdogs(scope, err) < 0 ||
                   scope_find_folder(scope, request->anchor, err) < 0
               ? -1
               : 0;
}

static int join_watchdog(struct scope *scope, struct err *err)
{
    const struct scope_request *request = &scope->request;
    if (request->watchdog.pid == 0) {
        return 0;
    }
    return bus_wait_unit(scope->bus, &scope->watchdog_unit, request->deadline_ns, err) < 0 ||
                   must_be_in(request->watchdog, scope->watchdog_name, err) < 0
               ? -1
               : 0;
}

/* An OOM of the leaf must stop nothing but the leaf; and whoever is dead, the scope has an end. */
static int verify(struct scope *scope, struct err *err)
{
    static const char interface[] = "org.freedesktop.systemd1.Scope";
    struct bus_property seen[] = {{.interface = interface, .name = "OOMPolicy", .is_text = true},
                                  {.interface = interface, .name = "RuntimeMaxUSec"}};
    if (join_watchdog(scope, err) < 0) {
        return -1;
    }
    bus_hear_no_jobs(scope->bus);
    if (bus_unit_properties(scope->bus, scope->name, seen, countof(seen),
                            scope->request.deadline_ns, err) < 0) {
        return -1;
    }
    if (seen[0].known && strcmp(seen[0].text, "continue") != 0) {
        return err_set(err, ERR_UNAVAILABLE, "OOMPolicy of %s is '%s', wanted 'continue'",
                       scope->name, seen[0].text);
    }
    bool was_set = seen[1].known && scope->unit.without < 2;
    scope->without_end = !was_set && runtime_us(scope) != UINT64_MAX;
    if (was_set && seen[1].number != runtime_us(scope)) {
        return err_set(err, ERR_UNAVAILABLE, "RuntimeMaxUSec of %s is %llu, wanted %llu",
                       scope->name, (unsigned long long)seen[1].number,
                       (unsigned long long)runtime_us(scope));
    }
    return 0;
}

/* Whoever was dead when systemd moved it is in no cgroup and is told of by nobody: an empty unit would stay. */
static int stop_empty(struct scope *scope, int64_t deadline_ns, struct err *err)
{
    bool never_seen = !fd_is_open(&scope->folder) && !bus_unit_is_taken(&scope->unit);
    bool alone = scope->request.watchdog.pid > 0 && has_ended(scope->request.watchdog) &&
                 !bus_unit_is_taken(&scope->watchdog_unit);
    return (never_seen && bus_stop_unit(scope->bus, scope->name, deadline_ns, err) < 0) ||
                   (alone && bus_stop_unit(scope->bus, scope->watchdog_name, deadline_ns, err) < 0)
               ? -1
               : 0;
}

/* 1: systemd has it still; 0: it has none of this run's. */
static int ask_again(struct scope *scope, int64_t deadline_ns, struct err *err)
{
    if (stop_empty(scope, deadline_ns, err) < 0) {
        return -1;
    }
    return bus_unit_is_taken(&scope->unit)
               ? 0
               : bus_has_unit(scope->bus, scope->name, deadline_ns, err);
}

/* The connection may be older than the bus: then it is made again, once. */
static int forget(struct scope *scope, int64_t deadline_ns, struct err *err)
{
    struct err first = {0};
    int known = scope->bus ? ask_again(scope, deadline_ns, &first) : -1;
    if (known >= 0) {
        return known;
    }
    bus_close(scope->bus);
    scope->bus = NULL;
    return bus_open(scope->offer.place, &scope->patience, &scope->bus, err) < 0
               ? -1
               : ask_again(scope, deadline_ns, err);
}

static int fetch(struct scope *scope, struct proc_identity who, struct err *err)
{
    return bus_attach(scope->bus, scope->name, "/" ANCHOR_LEAF_NAME, who.pid,
                      scope->request.deadline_ns, err);
}

const struct scope_operations scope_systemd_operations = {begin, join, verify, fetch, forget};
