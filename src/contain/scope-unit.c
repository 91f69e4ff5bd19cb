/* What systemd is asked about units, and what it answers. */
#include "scope-sd-priv.h"

#include <stdio.h>
#include <string.h>

static const char unknown_property[] = "org.freedesktop.DBus.Error.UnknownProperty";
/* systemd's word for a property of a transient unit that it does not know. */
static const char read_only_property[] = "org.freedesktop.DBus.Error.PropertyReadOnly";
static const char no_such_unit[] = "org.freedesktop.systemd1.NoSuchUnit";
static const char unit_exists[] = "org.freedesktop.systemd1.UnitExists";

int bus_on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
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
            bus_copy(unit->job_result, sizeof unit->job_result, result);
        }
    }
    return 0;
}

static int on_started(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
    struct bus_unit *unit = userdata;
    const sd_bus_error *error = sd.sd_bus_message_get_error(message);
    unit->answered = true;
    if (error) {
        bus_copy(unit->error_name, sizeof unit->error_name, error->name);
        bus_copy(unit->error_text, sizeof unit->error_text, error->message);
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
    result = result < 0
                 ? result
                 : sd.sd_bus_message_append(message, "(sv)", "PIDs", "au", 1, (uint32_t)unit->pid);
    result = result < 0 || !unit->delegate ? result : add_delegation(message, unit);
    result = result < 0 || !unit->limits ? result : add_limits(message, unit);
    return result < 0 ? result : sd.sd_bus_message_close_container(message);
}

static int ask_for(struct bus *bus, struct bus_unit *unit)
{
    with_message message = NULL;
    int result =
        sd.sd_bus_message_new_method_call(bus->connection, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                          SYSTEMD_INTERFACE, "StartTransientUnit");
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
    BUG_IF(bus->unit_count == BUS_UNITS_MAX);
    bus->units[bus->unit_count++] = unit;
    int result = ask_for(bus, unit);
    return result < 0 ? err_sys(err, result, "cannot ask systemd for %s", unit->name) : 0;
}

bool bus_unit_is_taken(const struct bus_unit *unit)
{
    return strcmp(unit->error_name, unit_exists) == 0;
}

static int judge(const struct bus_unit *unit, struct err *err)
{
    if (unit->error_name[0]) {
        return err_set(err, bus_unit_is_taken(unit) ? ERR_CONFLICT : ERR_UNAVAILABLE,
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
        if (bus_turn(bus, deadline_ns, err) < 0) {
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
    int result = judge(unit, err);
    unit->refused = result < 0; /* the job is at its end, or never was one */
    return result;
}

/* --- questions ---------------------------------------------------------------------------------- */

static int ask_property(struct bus *bus, const char *path, const struct bus_property *property,
                        struct err *err)
{
    with_message message = NULL;
    int result = sd.sd_bus_message_new_method_call(bus->connection, &message, SYSTEMD_SERVICE, path,
                                                   "org.freedesktop.DBus.Properties", "Get");
    result = result < 0
                 ? result
                 : sd.sd_bus_message_append(message, "ss", property->interface, property->name);
    return result < 0 ? err_sys(err, result, "cannot ask systemd for %s", property->name)
                      : bus_ask(bus, message, property->is_text ? "s" : "t", err);
}

static int take_property(const struct answer *answer, struct bus_property *property,
                         struct err *err)
{
    property->known = strcmp(answer->error_name, unknown_property) != 0;
    if (property->known && answer->error_name[0]) {
        return err_set(err, ERR_UNAVAILABLE, "systemd does not tell %s: %s (%s)", property->name,
                       answer->error_text, answer->error_name);
    }
    bus_copy(property->text, sizeof property->text, answer->text);
    property->number = answer->number;
    return 0;
}

static int get_properties(struct bus *bus, const char *path, struct bus_property *properties,
                          int count, int64_t deadline_ns, struct err *err)
{
    for (int i = 0; i < count; i++) {
        if (ask_property(bus, path, &properties[i], err) < 0) {
            return -1;
        }
    }
    int result = bus_hear(bus, deadline_ns, err);
    for (int i = 0; i < count && result == 0; i++) {
        result = take_property(&bus->answers[i], &properties[i], err);
    }
    return result;
}

int bus_unit_properties(struct bus *bus, const char *unit, struct bus_property *properties,
                        int count, int64_t deadline_ns, struct err *err)
{
    char *path = NULL;
    int result = sd.sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
    if (result < 0) {
        return err_sys(err, result, "cannot name %s", unit);
    }
    result = get_properties(bus, path, properties, count, deadline_ns, err);
    free(path);
    return result;
}

int bus_version(struct bus *bus, char *text, size_t size, int64_t deadline_ns, struct err *err)
{
    struct bus_property version = {
        .interface = SYSTEMD_INTERFACE, .name = "Version", .is_text = true};
    if (get_properties(bus, SYSTEMD_PATH, &version, 1, deadline_ns, err) < 0) {
        return -1;
    }
    bus_copy(text, size, version.text);
    return version.known;
}

/* mode: NULL, or the second argument. */
static int call_for(struct bus *bus, const char *method, const char *unit, const char *mode,
                    int64_t deadline_ns, struct err *err)
{
    with_message message = NULL;
    const struct answer *answer = &bus->answers[0];
    int result = sd.sd_bus_message_new_method_call(bus->connection, &message, SYSTEMD_SERVICE,
                                                   SYSTEMD_PATH, SYSTEMD_INTERFACE, method);
    result = result < 0 ? result : sd.sd_bus_message_append(message, "s", unit);
    result = result < 0 || !mode ? result : sd.sd_bus_message_append(message, "s", mode);
    if (result < 0) {
        return err_sys(err, result, "cannot ask systemd for %s", unit);
    }
    if (bus_ask(bus, message, NULL, err) < 0 || bus_hear(bus, deadline_ns, err) < 0) {
        return -1;
    }
    if (!answer->error_name[0]) {
        return 1;
    }
    return strcmp(answer->error_name, no_such_unit) == 0
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "systemd refused %s of %s: %s (%s)", method, unit,
                         answer->error_text, answer->error_name);
}

int bus_has_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err)
{
    return call_for(bus, "GetUnit", unit, NULL, deadline_ns, err);
}

int bus_stop_unit(struct bus *bus, const char *unit, int64_t deadline_ns, struct err *err)
{
    return call_for(bus, "StopUnit", unit, "replace", deadline_ns, err);
}

int bus_attach(struct bus *bus, const char *unit, const char *cgroup, pid_t pid,
               int64_t deadline_ns, struct err *err)
{
    with_message message = NULL;
    const struct answer *answer = &bus->answers[0];
    int result =
        sd.sd_bus_message_new_method_call(bus->connection, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                          SYSTEMD_INTERFACE, "AttachProcessesToUnit");
    result = result < 0 ? result
                        : sd.sd_bus_message_append(message, "ssau", unit, cgroup, 1, (uint32_t)pid);
    if (result < 0) {
        return err_sys(err, result, "cannot ask systemd to move process %d", pid);
    }
    if (bus_ask(bus, message, NULL, err) < 0 || bus_hear(bus, deadline_ns, err) < 0) {
        return -1;
    }
    return answer->error_name[0]
               ? err_set(err, ERR_UNAVAILABLE,
                         "systemd does not move process %d into %s%s: %s (%s)", pid, unit, cgroup,
                         answer->error_text, answer->error_name)
               : 0;
}
