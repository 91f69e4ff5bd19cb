#include "summary-lines.h"

#include "clock.h"
#include "lookup.h"
#include "text.h"
#include "units.h"

void summary_begin(const struct summary *summary, const char *word)
{
    buf_add_format(summary->out, "berm: %-6s ", word);
}

void summary_end(const struct summary *summary)
{
    buf_add_char(summary->out, '\n');
}

void summary_add_text(const struct summary *summary, const char *text)
{
    text_neutralise(summary->out, span_of_string(text ? text : "?"));
}

void summary_add_words(const struct summary *summary, const char *name)
{
    with_buf words = buf_new(200);
    text_neutralise(&words, span_of_string(name ? name : "?"));
    for (size_t i = 0; i < buf_length(&words); i++) {
        buf_add_char(summary->out, buf_string(&words)[i] == '_' ? ' ' : buf_string(&words)[i]);
    }
}

/* A path with the home folder as ~. */
static void add_path(const struct summary *summary, const char *path)
{
    const char *home = summary->view->home;
    size_t length = home ? strlen(home) : 0;
    if (length > 1 && strncmp(path, home, length) == 0 && path[length] == '/') {
        buf_add_char(summary->out, '~');
        path += length;
    }
    summary_add_text(summary, path);
}

const json_t *summary_find_limit(const struct summary *summary, const char *name)
{
    const json_t *limits = lookup(summary->record, "limits");
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *limit = json_array_get(limits, i);
        const char *found = lookup_text(limit, "name");
        if (found && strcmp(found, name) == 0) {
            return limit;
        }
    }
    return NULL;
}

void summary_cpu(const struct summary *summary)
{
    int64_t user = lookup_number(summary->record, "cpu.user_ns");
    int64_t kernel = lookup_number(summary->record, "cpu.system_ns");
    if (user < 0 || kernel < 0) {
        return;
    }
    summary_begin(summary, "cpu");
    buf_add_string(summary->out, "user ");
    units_add_seconds(summary->out, user);
    buf_add_string(summary->out, ", system ");
    units_add_seconds(summary->out, kernel);
    summary_end(summary);
}

static int64_t first_known(int64_t a, int64_t b)
{
    return a >= 0 ? a : b;
}

static void add_time_used(const struct summary *summary)
{
    int64_t wall = lookup_number(summary->record, "timing.payload_wall_ns");
    int64_t limit_ms = lookup_number(summary_find_limit(summary, "timeout"), "value");
    if (wall < 0) {
        return;
    }
    buf_add_string(summary->out, ", time ");
    units_add_ns(summary->out, wall);
    buf_add_char(summary->out, '/');
    if (limit_ms > 0) {
        units_add_exact_duration(summary->out, limit_ms);
    } else {
        buf_add_string(summary->out, "none");
    }
}

void summary_used(const struct summary *summary)
{
    const json_t *record = summary->record;
    if (!json_is_object(lookup(record, "cpu")) && lookup(record, "schema")) {
        return; /* nothing was started */
    }
    int64_t memory = first_known(lookup_number(record, "memory.peak_tree_rss_bytes"),
                                 lookup_number(record, "report.peaks.aggregate_rss_bytes"));
    int64_t tasks = first_known(lookup_number(record, "tasks.peak_tasks"),
                                lookup_number(record, "report.peaks.pids"));
    int64_t output = lookup_number(record, "report.output.total_bytes");
    int64_t most_tasks = lookup_number(summary_find_limit(summary, "tasks"), "value");
    summary_begin(summary, "used");
    buf_add_string(summary->out, "memory ");
    units_add_bytes_of(summary->out, memory > 0 ? memory : 0,
                       lookup_number(summary_find_limit(summary, "memory"), "value"));
    buf_add_format(summary->out, ", tasks %lld", (long long)(tasks > 0 ? tasks : 0));
    if (most_tasks > 0) {
        buf_add_format(summary->out, "/%lld", (long long)most_tasks);
    }
    const char *stopped_at = lookup_text(record, "report.termination.limit");
    bool timed = lookup_number(summary_find_limit(summary, "timeout"), "value") > 0;
    if (timed || (stopped_at && strcmp(stopped_at, "signal") != 0)) {
        add_time_used(summary);
    }
    buf_add_string(summary->out, ", output ");
    units_add_bytes_of(summary->out, output > 0 ? output : 0,
                       lookup_number(summary_find_limit(summary, "output"), "value"));
    summary_end(summary);
}

enum { NAMED_AT_MOST = 5 };

static size_t count_level(const struct summary *summary, const char *level)
{
    size_t count = 0;
    const char *name;
    json_t *guarantee;
    json_t *guarantees = (json_t *)(uintptr_t)lookup(summary->record, "guarantees");
    json_object_foreach(guarantees, name, guarantee) {
        const char *found = lookup_text(guarantee, "level");
        count += found && strcmp(found, level) == 0;
    }
    return count;
}

/* "limited: memory swap"; nothing when no guarantee has the level. */
static size_t add_level(const struct summary *summary, const char *level, bool by_name,
                        const char *before)
{
    size_t count = 0;
    const char *name;
    json_t *guarantee;
    json_t *guarantees = (json_t *)(uintptr_t)lookup(summary->record, "guarantees");
    json_object_foreach(guarantees, name, guarantee) {
        const char *found = lookup_text(guarantee, "level");
        if (!found || strcmp(found, level) != 0) {
            continue;
        }
        if (by_name) {
            buf_add_format(summary->out, "%s", count == 0 ? before : " ");
            summary_add_text(summary, name);
        }
        count++;
    }
    if (!by_name && count > 0) {
        buf_add_format(summary->out, "%s%zu", before, count);
    }
    return count;
}

void summary_held(const struct summary *summary)
{
    const char *label = lookup_text(summary->record, "containment");
    if (!label) {
        return;
    }
    summary_begin(summary, "held");
    summary_add_text(summary, label);
    /* Whichever are fewer are named: the line is one line. */
    bool most = count_level(summary, "enforced") > NAMED_AT_MOST;
    (void)add_level(summary, "enforced", !most, "; enforced: ");
    (void)add_level(summary, "limited", true, "; limited: ");
    (void)add_level(summary, "observed", true, "; observed: ");
    (void)add_level(summary, "none", count_level(summary, "none") <= NAMED_AT_MOST && most,
                    "; none: ");
    summary_end(summary);
}

/* And what it could hold besides. */
static void with_sandbox_here(const struct summary *summary)
{
    const json_t *could = lookup(summary->record, "report.adapter.with_sandbox");
    const json_t *enforced = lookup(could, "enforced");
    if (json_array_size(enforced) == 0) {
        return; /* why not stands in the envelope, and in the reasons where it was asked for */
    }
    summary_begin(summary, "");
    buf_add_string(summary->out, "with ");
    summary_add_text(summary, lookup_text(could, "option"));
    buf_add_char(summary->out, ':');
    size_t i;
    json_t *name;
    json_array_foreach((json_t *)(uintptr_t)enforced, i, name) {
        buf_add_char(summary->out, ' ');
        summary_add_text(summary, json_string_value(name));
    }
    summary_end(summary);
}

/* What this host could hold, when nothing was run. */
void summary_here(const struct summary *summary)
{
    if (!json_is_object(lookup(summary->record, "guarantees"))) {
        return;
    }
    summary_begin(summary, "here");
    if (add_level(summary, "enforced", true, "enforceable: ") == 0) {
        buf_add_string(summary->out, "enforceable: none");
    }
    (void)add_level(summary, "limited", true, "; limited: ");
    (void)add_level(summary, "observed", true, "; observed: ");
    summary_end(summary);
    with_sandbox_here(summary);
}

/* Builds miss these first, so they are named first. */
static bool is_build_variable(const char *name)
{
    static const char *const names[] = {
        "ANDROID_HOME",
        "CMAKE_PREFIX_PATH",
        "CONDA_PREFIX",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "C_INCLUDE_PATH",
        "DOTNET_ROOT",
        "GOBIN",
        "GOPROXY",
        "GOROOT",
        "LD_LIBRARY_PATH",
        "LIBRARY_PATH",
        "LUA_PATH",
        "MAKEFLAGS",
        "MANPATH",
        "NODE_PATH",
        "NVM_DIR",
        "PERL5LIB",
        "PKG_CONFIG_PATH",
        "PYENV_ROOT",
        "PYTHONPATH",
        "RUBYLIB",
        "SDKROOT",
    };
    for (size_t i = 0; i < countof(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Which of the held-back names a person should see, most important first. */
enum { RANK_BUILD, RANK_REFUSED, RANK_CREDENTIAL, RANK_OTHER, RANK_COUNT, NAMED = 3 };

static int rank_of(const json_t *held)
{
    const char *name = lookup_text(held, "name");
    const char *reason = lookup_text(held, "reason");
    if (name && is_build_variable(name)) {
        return RANK_BUILD;
    }
    if (reason && strcmp(reason, "refused") == 0) {
        return RANK_REFUSED;
    }
    return reason && strcmp(reason, "credential") == 0 ? RANK_CREDENTIAL : RANK_OTHER;
}

void summary_env(const struct summary *summary)
{
    const json_t *held = lookup(summary->record, "environment.held_back");
    size_t count = json_array_size(held);
    if (count == 0) {
        return;
    }
    summary_begin(summary, "env");
    int64_t total = lookup_number(summary->record, "environment.held_back_count");
    buf_add_format(summary->out, "%lld held back",
                   (long long)(total < (int64_t)count ? (int64_t)count : total));
    size_t named = 0;
    for (int rank = 0; rank < RANK_COUNT; rank++) {
        for (size_t i = 0; i < count && named < NAMED; i++) {
            const json_t *one = json_array_get(held, i);
            if (rank_of(one) == rank) {
                buf_add_string(summary->out, named > 0 ? ", " : count <= NAMED ? ": " : ", e.g. ");
                summary_add_text(summary, lookup_text(one, "name"));
                named++;
            }
        }
    }
    buf_add_string(summary->out, " (--explain)");
    summary_end(summary);
}

/* Processes that were alive when the stop began. */
static size_t count_ended(const json_t *record)
{
    const json_t *descendants = lookup(record, "descendants");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(descendants); i++) {
        count += json_is_true(lookup(json_array_get(descendants, i), "alive_at_stop"));
    }
    return count;
}

static void add_survivors(const struct summary *summary, const json_t *survivors)
{
    size_t count = json_array_size(survivors);
    buf_add_format(summary->out, "%zu process%s", count, count == 1 ? "" : "es");
    for (size_t i = 0; i < count; i++) {
        const json_t *survivor = json_array_get(survivors, i);
        const char *error = lookup_text(survivor, "error");
        buf_add_string(summary->out, i == 0 ? ": " : ", ");
        summary_add_text(summary, lookup_text(survivor, "name"));
        buf_add_format(summary->out, " (pid %lld%s", (long long)lookup_number(survivor, "pid"),
                       error ? ", " : "");
        if (error) {
            summary_add_text(summary, error);
        }
        buf_add_char(summary->out, ')');
    }
}

void summary_left(const struct summary *summary)
{
    const json_t *record = summary->record;
    if (!json_is_true(lookup(record, "report.cleanup.attempted"))) {
        return;
    }
    const json_t *survivors = lookup(record, "survivors");
    size_t remaining = json_array_size(lookup(record, "report.cleanup.descendants_remaining"));
    summary_begin(summary, "left");
    if (json_array_size(survivors) > 0) {
        add_survivors(summary, survivors);
    } else if (remaining > 0) {
        buf_add_format(summary->out, "%zu process%s", remaining, remaining == 1 ? "" : "es");
    } else if (!json_is_true(lookup(record, "report.cleanup.scope_removed"))) {
        buf_add_string(summary->out, "unknown: it was not proved that nothing is");
    } else {
        size_t ended = count_ended(record);
        buf_add_string(summary->out, "nothing (");
        if (ended > 0) {
            buf_add_format(summary->out, "%zu process%s ended, ", ended, ended == 1 ? "" : "es");
        }
        bool had_scope = json_is_object(lookup(record, "cgroup"));
        buf_add_string(summary->out, had_scope ? "proved: cgroup empty and removed)"
                                               : "proved: no child is left)");
    }
    summary_end(summary);
}

void summary_daemons(const struct summary *summary)
{
    const json_t *daemons = lookup(summary->record, "daemons");
    for (size_t i = 0; i < json_array_size(daemons); i++) {
        const json_t *daemon = json_array_get(daemons, i);
        int64_t pid = lookup_number(daemon, "pid");
        const char *fate = lookup_text(daemon, "fate");
        const char *why = lookup_text(daemon, "why");
        summary_begin(summary, "daemon");
        summary_add_text(summary, lookup_text(daemon, "name"));
        buf_add_string(summary->out, ": ");
        summary_add_text(summary, lookup_text(daemon, "state"));
        if (pid > 0) {
            buf_add_format(summary->out, ", pid %lld", (long long)pid);
        }
        if (fate && strcmp(fate, "none") != 0) {
            buf_add_string(summary->out, ", ");
            summary_add_text(summary, fate);
        }
        if (why) {
            buf_add_string(summary->out, ": ");
            summary_add_text(summary, why);
        }
        summary_end(summary);
    }
}

static const char *const streams[] = {"output.stdout", "output.stderr"};

/* A reader that left and a stream that the caller had closed wanted none of it. */
void summary_lost(const struct summary *summary)
{
    for (size_t i = 0; i < countof(streams); i++) {
        const json_t *stream = lookup(summary->record, streams[i]);
        const char *why = lookup_text(stream, "pass_error");
        int64_t bytes = lookup_number(stream, "bytes");
        int64_t passed = lookup_number(stream, "passed_bytes");
        if (!why || strcmp(why, "EPIPE") == 0 || strcmp(why, "EBADF") == 0 || passed > bytes) {
            continue;
        }
        summary_begin(summary, "lost");
        buf_add_format(summary->out, "%s: ", streams[i] + strlen("output."));
        units_add_bytes(summary->out, bytes - passed);
        buf_add_string(summary->out, " of ");
        units_add_bytes(summary->out, bytes);
        buf_add_string(summary->out, " could not be passed on (");
        summary_add_text(summary, why);
        buf_add_char(summary->out, ')');
        summary_end(summary);
    }
}

void summary_kept(const struct summary *summary)
{
    for (size_t i = 0; i < countof(streams); i++) {
        const json_t *stream = lookup(summary->record, streams[i]);
        const char *file = lookup_text(stream, "kept_file");
        int64_t bytes = lookup_number(stream, "kept_bytes");
        if (!file) {
            continue;
        }
        summary_begin(summary, "kept");
        add_path(summary, file);
        buf_add_string(summary->out, " (");
        units_add_bytes(summary->out, bytes > 0 ? bytes : 0);
        bool whole = bytes == lookup_number(stream, "bytes");
        buf_add_string(summary->out, whole ? ")" : ", the beginning)");
        summary_end(summary);
    }
}

void summary_note(const struct summary *summary)
{
    const json_t *notes = lookup(summary->record, "notes");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        summary_begin(summary, "note");
        summary_add_text(summary, json_string_value(json_array_get(notes, i)));
        summary_end(summary);
    }
    int64_t slept = lookup_number(summary->record, "timing.suspended_ns");
    if (slept >= NS_PER_S) {
        summary_begin(summary, "note");
        buf_add_string(summary->out, "the machine slept ");
        units_add_ns(summary->out, slept);
        buf_add_string(summary->out, " meanwhile, which is not counted");
        summary_end(summary);
    }
}

void summary_run(const struct summary *summary)
{
    const char *report = summary->view->report;
    if (!report) {
        report = lookup_text(summary->record, "report.report_file");
    }
    const char *id = lookup_text(summary->record, "run_id");
    const char *label = lookup_text(summary->record, "label");
    if (report) {
        summary_begin(summary, "report");
        add_path(summary, report);
        summary_end(summary);
    }
    summary_begin(summary, "run");
    summary_add_text(summary, id ? id : lookup_text(summary->record, "report.run_id"));
    if (label) {
        buf_add_string(summary->out, "  ");
        summary_add_text(summary, label);
    }
    if (summary->view->place) {
        buf_add_string(summary->out, "  ");
        add_path(summary, summary->view->place);
    }
    summary_end(summary);
}
