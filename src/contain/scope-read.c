/* What the kernel counts of a leaf. Nothing here allocates: it is read while the payload lives. */
#include "scope-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "boundary.h"
#include "file.h"

static const char *const event_files[SCOPE_EVENT_FDS] = {"memory.events.local", "pids.events",
                                                         "cgroup.events"};
enum { EVENTS_MEMORY, EVENTS_PIDS, EVENTS_CGROUP };

int scope_events_open(struct scope *scope)
{
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        scope->events[i] = fd_adopt(os_cgroup_open_file(fd_num(&scope->leaf), event_files[i]));
        if (!fd_is_open(&scope->events[i])) {
            return fd_error(&scope->events[i]);
        }
    }
    int changed = scope_events_read(scope, &scope->last);
    return changed < 0 ? changed : 0;
}

void scope_event_fds(const struct scope *scope, int fds[SCOPE_EVENT_FDS])
{
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        fds[i] = fd_num(&scope->events[i]);
    }
}

int scope_events_read(struct scope *scope, struct scope_events *ret_events)
{
    char memory[512] = "";
    char pids[128] = "";
    char cgroup[128] = "";
    ssize_t got[SCOPE_EVENT_FDS] = {
        os_cgroup_reread(fd_num(&scope->events[EVENTS_MEMORY]), memory, sizeof memory),
        os_cgroup_reread(fd_num(&scope->events[EVENTS_PIDS]), pids, sizeof pids),
        os_cgroup_reread(fd_num(&scope->events[EVENTS_CGROUP]), cgroup, sizeof cgroup),
    };
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        if (got[i] < 0 && !cgroup_is_gone((int)got[i])) {
            return (int)got[i];
        }
        scope->leaf_gone = scope->leaf_gone || got[i] < 0;
    }
    struct scope_events seen = {
        .oom = cgroup_value(memory, "oom"),
        .oom_kill = cgroup_value(memory, "oom_kill"),
        .memory_max = cgroup_value(memory, "max"),
        .memory_high = cgroup_value(memory, "high"),
        .pids_max = cgroup_value(pids, "max"),
        .populated = scope->leaf_gone ? 0 : (int)cgroup_value(cgroup, "populated"),
        .gone = scope->leaf_gone,
    };
    if (scope->leaf_gone) { /* counters that were seen before stay what they were */
        seen = scope->last;
        seen.populated = 0;
        seen.gone = 1;
    } else if (seen.populated < 0 || seen.oom < 0) {
        return -EIO;
    }
    int changed = memcmp(&seen, &scope->last, sizeof seen) != 0;
    scope->last = seen;
    *ret_events = seen;
    return changed;
}

int scope_pressure_fd(struct scope *scope, int stall_ms)
{
    if (fd_is_open(&scope->pressure)) {
        return fd_num(&scope->pressure);
    }
    with_fd file =
        fd_adopt(os_openat(fd_num(&scope->leaf), "memory.pressure", O_RDWR | O_NONBLOCK, 0));
    if (!fd_is_open(&file)) {
        return fd_error(&file);
    }
    /* A shorter window is for root alone (Linux 6.1). */
    char trigger[64];
    int length = snprintf(trigger, sizeof trigger, "some %d 2000000", stall_ms * 1000);
    ssize_t written = os_write(fd_num(&file), trigger, (size_t)length + 1);
    if (written != length + 1) {
        return written < 0 ? (int)written : -EIO;
    }
    scope->pressure = fd_take(&file);
    return fd_num(&scope->pressure);
}

/* --- counters ----------------------------------------------------------------------------------- */

static const struct {
    const char *file;
    const char *key; /* NULL: the file is the number; "key=": the sum of all lines; "name key=" */
    size_t offset;
} counters[] = {
#define X(field, file, key) {file, key, offsetof(struct scope_counters, field)},
    SCOPE_COUNTERS(X)
#undef X
};

static int64_t value_of(const char *text, const char *key)
{
    if (!key) {
        int64_t value = cgroup_number(text);
        return value == CGROUP_NO_LIMIT ? -1 : value;
    }
    size_t length = strlen(key);
    if (key[length - 1] != '=') {
        return cgroup_value(text, key);
    }
    char name[16] = "";
    char word[16];
    const char *blank = strchr(key, ' ');
    const char *first = blank ? blank + 1 : key;
    (void)snprintf(name, sizeof name, "%.*s", blank ? (int)(first - key) : 0, key);
    (void)snprintf(word, sizeof word, "%.*s", (int)strlen(first) - 1, first);
    return cgroup_nested_sum(text, name, word);
}

static int read_number(const struct scope *scope, const char *file, int64_t *ret_number)
{
    char text[32];
    ssize_t got = os_cgroup_read(fd_num(&scope->leaf), file, text, sizeof text);
    *ret_number = got < 0 ? -1 : cgroup_number(text);
    return got < 0 ? (int)got : *ret_number < 0 ? -EIO : 0;
}

static int64_t number_in(const struct scope *scope, const char *file)
{
    int64_t number = -1;
    (void)!read_number(scope, file, &number); /* -1: unknown */
    return number;
}

int64_t scope_memory_bytes(const struct scope *scope)
{
    return number_in(scope, "memory.current");
}

int scope_memory_kept(const struct scope *scope, int64_t *ret_bytes)
{
    static const char *const cached[] = {"active_file", "inactive_file", "slab_reclaimable"};
    char text[CGROUP_TEXT_SIZE];
    int64_t before = 0;
    int64_t after = 0;
    int result = read_number(scope, "memory.current", &before);
    ssize_t got = result < 0
                      ? result
                      : os_cgroup_read(fd_num(&scope->leaf), "memory.stat", text, sizeof text);
    result = got < 0 ? (int)got : read_number(scope, "memory.current", &after);
    if (result < 0) {
        return result;
    }
    /* What the kernel took back before the parts were read is still in the first sum, and what it cached
     * behind them is in the second already: each alone can be too much. */
    int64_t bytes = before < after ? before : after;
    for (size_t i = 0; i < countof(cached); i++) {
        int64_t part = cgroup_value(text, cached[i]);
        if (part < 0) {
            return -EIO;
        }
        bytes -= part;
    }
    *ret_bytes = bytes > 0 ? bytes : 0;
    return 0;
}

int64_t scope_pids_peak(const struct scope *scope)
{
    return number_in(scope, "pids.peak");
}

int64_t scope_pids_current(const struct scope *scope)
{
    return number_in(scope, "pids.current");
}

/* The sum over all lines of a file: where there is no line yet, nothing was counted. */
static bool is_sum(const char *key)
{
    return key && key[strlen(key) - 1] == '=' && !strchr(key, ' ');
}

void scope_counters_read(const struct scope *scope, struct scope_counters *ret_counters)
{
    char text[CGROUP_TEXT_SIZE] = "";
    const char *in_text = NULL;
    ssize_t got = -1;
    for (size_t i = 0; i < countof(counters); i++) {
        if (!in_text || strcmp(in_text, counters[i].file) != 0) {
            in_text = counters[i].file;
            got = os_cgroup_read(fd_num(&scope->leaf), in_text, text, sizeof text);
            if (got < 0) {
                text[0] = '\0';
            }
        }
        int64_t value = value_of(text, counters[i].key);
        value = value < 0 && got >= 0 && is_sum(counters[i].key) ? 0 : value;
        memcpy((char *)ret_counters + counters[i].offset, &value, sizeof value);
    }
    os_boundary(BOUNDARY_COUNTERS_READ);
}
