#include "explain.h"

#include "lookup.h"
#include "text.h"
#include "units.h"

static void add_text(struct buf *out, const char *text)
{
    text_neutralise(out, span_of_string(text ? text : "?"));
}

/* Neutralised, filled up with blanks to the width, and one more. */
static void add_padded(struct buf *out, const char *text, size_t width)
{
    size_t start = buf_length(out);
    add_text(out, text);
    size_t length = buf_length(out) - start;
    buf_add_format(out, "%*s", length < width ? (int)(width - length) + 1 : 1, "");
}

static void add_command(struct buf *out, const json_t *explained)
{
    const json_t *command = lookup(explained, "command");
    buf_add_string(out, "command   ");
    for (size_t i = 0; i < json_array_size(command); i++) {
        buf_add_char(out, ' ');
        add_text(out, json_string_value(json_array_get(command, i)));
    }
    buf_add_string(out, "\nfolder     ");
    add_text(out, lookup_text(explained, "cwd"));
    buf_add_char(out, '\n');
}

/* "/usr/bin/make (path search), sha256 ..." */
static void add_bound(struct buf *out, const char *word, const json_t *bound)
{
    const char *hash = lookup_text(bound, "identity.sha256");
    buf_add_format(out, "%-10s ", word);
    add_text(out, lookup_text(bound, "canonical_target"));
    const char *origin = lookup_text(bound, "origin");
    if (origin) {
        buf_add_string(out, " (");
        add_text(out, origin);
        buf_add_char(out, ')');
    }
    if (hash) {
        buf_add_string(out, "\n  sha256   ");
        add_text(out, hash);
    }
    const char *reason = lookup_text(bound, "policy_decision.reason");
    if (reason) {
        buf_add_string(out, "\n  allowed  ");
        add_text(out, reason);
    }
    const json_t *weaknesses = lookup(bound, "policy_decision.weaknesses");
    for (size_t i = 0; i < json_array_size(weaknesses); i++) {
        buf_add_string(out, "\n  but      ");
        add_text(out, json_string_value(json_array_get(weaknesses, i)));
    }
    buf_add_char(out, '\n');
}

static void add_executable(struct buf *out, const json_t *explained)
{
    const json_t *executable = lookup(explained, "executable");
    if (!json_is_object(executable)) {
        return;
    }
    add_bound(out, "executable", executable);
    const json_t *interpreters = lookup(executable, "interpreters");
    for (size_t i = 0; i < json_array_size(interpreters); i++) {
        add_bound(out, "run by", json_array_get(interpreters, i));
    }
}

static void add_limit(struct buf *out, const json_t *limit)
{
    const char *name = lookup_text(limit, "name");
    const char *unit = lookup_text(limit, "unit");
    int64_t value = lookup_number(limit, "value");
    with_buf amount = buf_new(100);
    if (value < 0) {
        buf_add_string(&amount, "none");
    } else if (unit && strcmp(unit, "bytes") == 0) {
        units_add_bytes(&amount, value);
    } else if (unit && strcmp(unit, "ms") == 0) {
        units_add_exact_duration(&amount, value);
    } else {
        buf_add_format(&amount, "%lld", (long long)value);
    }
    buf_add_string(out, "  ");
    add_padded(out, name, 16);
    add_padded(out, buf_string(&amount), 12);
    add_text(out, lookup_text(limit, "source"));
    buf_add_char(out, '\n');
}

static void add_environment(struct buf *out, const json_t *explained)
{
    const json_t *passed = lookup(explained, "environment.passed");
    const json_t *held = lookup(explained, "environment.held_back");
    buf_add_format(out, "environment: %zu passed on", json_array_size(passed));
    for (size_t i = 0; i < json_array_size(passed); i++) {
        buf_add_string(out, i > 0 ? " " : "\n  ");
        add_text(out, json_string_value(json_array_get(passed, i)));
    }
    buf_add_format(out, "\nenvironment: %zu held back\n", json_array_size(held));
    for (size_t i = 0; i < json_array_size(held); i++) {
        const json_t *one = json_array_get(held, i);
        buf_add_string(out, "  ");
        add_text(out, lookup_text(one, "name"));
        buf_add_string(out, ": ");
        add_text(out, lookup_text(one, "reason"));
        buf_add_char(out, '\n');
    }
}

static void add_guarantees(struct buf *out, const json_t *explained)
{
    buf_add_string(out, "containment: ");
    add_text(out, lookup_text(explained, "containment"));
    buf_add_string(out, ", ");
    add_text(out, lookup_text(explained, "adapter"));
    buf_add_char(out, '\n');
    const json_t *guarantees = lookup(explained, "guarantees");
    const char *name;
    json_t *guarantee;
    json_object_foreach((json_t *)(uintptr_t)guarantees, name, guarantee) {
        const char *level = lookup_text(guarantee, "level");
        const char *why = lookup_text(guarantee, "why");
        buf_add_string(out, "  ");
        add_padded(out, name, 16);
        add_text(out, level);
        if (why) {
            buf_add_string(out, ": ");
            add_text(out, why);
        }
        buf_add_char(out, '\n');
    }
    const char *mounts = lookup_text(explained, "mounts");
    if (mounts) {
        buf_add_string(out, "mounts: ");
        add_text(out, mounts);
        buf_add_char(out, '\n');
    }
}

/* "  /tmp    private: because ..." for a list of {path, is, because}. */
static void add_places(struct buf *out, const char *title, const json_t *places)
{
    buf_add_format(out, "  %s\n", title);
    for (size_t i = 0; i < json_array_size(places); i++) {
        const json_t *place = json_array_get(places, i);
        buf_add_string(out, "    ");
        add_padded(out, lookup_text(place, "is"), 18);
        add_text(out, lookup_text(place, "path"));
        buf_add_string(out, "  (");
        add_text(out, lookup_text(place, "because"));
        buf_add_string(out, ")\n");
    }
}

static void add_names(struct buf *out, const char *title, const json_t *names)
{
    buf_add_format(out, "  %-12s", title);
    for (size_t i = 0; i < json_array_size(names); i++) {
        buf_add_char(out, ' ');
        add_text(out, json_string_value(json_array_get(names, i)));
    }
    buf_add_char(out, '\n');
}

static void add_sandbox(struct buf *out, const json_t *explained)
{
    const json_t *sandbox = lookup(explained, "sandbox");
    if (!json_is_object(sandbox)) {
        return;
    }
    buf_add_string(out, "sandbox: ");
    add_text(out, lookup_text(sandbox, "tool"));
    buf_add_string(out, "\n");
    add_names(out, "namespaces", lookup(sandbox, "namespaces"));
    buf_add_format(out, "  %-13s", "network");
    add_text(out, lookup_text(sandbox, "network"));
    buf_add_char(out, '\n');
    add_names(out, "environment", lookup(sandbox, "environment"));
    add_places(out, "what it sees", lookup(sandbox, "mounts"));
    add_places(out, "what is done about it", lookup(sandbox, "closures"));
    const json_t *calls = lookup(sandbox, "closed_calls");
    buf_add_format(out, "  closed system calls: %zu\n", json_array_size(calls));
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        buf_add_string(out, "    ");
        add_padded(out, lookup_text(call, "call"), 18);
        add_text(out, lookup_text(call, "because"));
        const char *when = lookup_text(call, "when");
        if (when) {
            buf_add_string(out, " (when ");
            add_text(out, when);
            buf_add_char(out, ')');
        }
        buf_add_char(out, '\n');
    }
}

static void add_project(struct buf *out, const json_t *explained)
{
    const json_t *project = lookup(explained, "project");
    if (!json_is_object(project)) {
        return;
    }
    buf_add_string(out, "project    ");
    add_text(out, lookup_text(project, "file"));
    const json_t *require = lookup(project, "require");
    buf_add_string(out, "\n  requires ");
    buf_add_string(out, json_array_size(require) == 0 ? " nothing" : "");
    for (size_t i = 0; i < json_array_size(require); i++) {
        buf_add_char(out, ' ');
        add_text(out, json_string_value(json_array_get(require, i)));
    }
    const char *workload = lookup_text(project, "workload");
    if (workload) {
        buf_add_string(out, "\n  workload  ");
        add_text(out, workload);
    }
    buf_add_char(out, '\n');
}

static void add_checks(struct buf *out, const json_t *explained)
{
    const json_t *checks = lookup(explained, "checks");
    buf_add_string(out, "checks\n");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        buf_add_string(out, json_is_true(lookup(check, "ok")) ? "  ok      " : "  REFUSED ");
        add_text(out, lookup_text(check, "what"));
        buf_add_string(out, " [");
        add_text(out, lookup_text(check, "code"));
        buf_add_string(out, "]\n");
    }
}

void explain_render(const json_t *explained, struct buf *out)
{
    add_command(out, explained);
    add_project(out, explained);
    add_executable(out, explained);
    buf_add_string(out, "limits\n");
    const json_t *limits = lookup(explained, "limits");
    for (size_t i = 0; i < json_array_size(limits); i++) {
        add_limit(out, json_array_get(limits, i));
    }
    add_guarantees(out, explained);
    add_sandbox(out, explained);
    add_environment(out, explained);
    add_checks(out, explained);
    buf_add_string(out, json_is_true(lookup(explained, "would_run")) ? "it would run\n"
                                                                     : "it would be refused\n");
}
