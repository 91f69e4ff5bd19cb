/* The first line says how it ended; kinds[] says which lines follow, in their order. */
#include "summary.h"

#include "clock.h"
#include "lookup.h"
#include "summary-lines.h"
#include "units.h"

enum colour { GREEN = 32, YELLOW = 33, RED = 31 };

/* A head writes the word and the rest of the first line. */
static void begin(const struct summary *summary, enum colour colour, const char *word)
{
    const char *padding = &"      "[strlen(word) < 6 ? strlen(word) : 6];
    if (summary->view->colour) {
        buf_add_format(summary->out, "berm: \x1b[1;%dm%s\x1b[0m%s ", colour, word, padding);
    } else {
        buf_add_format(summary->out, "berm: %s%s ", word, padding);
    }
}

static int64_t wall_ns(const json_t *record)
{
    int64_t wall = lookup_number(record, "timing.payload_wall_ns");
    int64_t whole_ms = lookup_number(record, "report.duration_ms");
    bool known = whole_ms >= 0 && whole_ms <= INT64_MAX / NS_PER_MS;
    return wall >= 0 ? wall : known ? whole_ms * NS_PER_MS : -1;
}

static void add_after(const struct summary *summary, const char *before)
{
    int64_t wall = wall_ns(summary->record);
    if (wall >= 0) {
        buf_add_string(summary->out, before);
        units_add_ns(summary->out, wall);
    }
}

static void add_own(const struct summary *summary)
{
    int64_t own = lookup_number(summary->record, "timing.own_ns");
    if (own >= 0) {
        buf_add_string(summary->out, " (berm's own ");
        units_add_ns(summary->out, own);
        buf_add_string(summary->out, " apart)");
    }
}

static void add_exit(const struct summary *summary)
{
    int64_t code = summary->view->exit_code >= 0 ? summary->view->exit_code
                                                 : lookup_number(summary->record, "exit.code");
    if (code >= 0) {
        buf_add_format(summary->out, "; exit %lld", (long long)code);
    }
}

static void head_success(const struct summary *summary)
{
    begin(summary, GREEN, "ok");
    buf_add_string(summary->out, "exit 0");
    add_after(summary, ", wall ");
    add_own(summary);
}

static void head_exited(const struct summary *summary)
{
    with_buf word = buf_new(32);
    buf_add_format(&word, "exit %lld",
                   (long long)lookup_number(summary->record, "report.termination.child_exit_code"));
    begin(summary, YELLOW, buf_string(&word));
    buf_add_string(summary->out, "command failed");
    add_after(summary, ", wall ");
    add_own(summary);
    if (summary->view->exit_code >= 0 &&
        summary->view->exit_code != lookup_number(summary->record, "exit.code")) {
        add_exit(summary);
    }
}

static void head_killed(const struct summary *summary)
{
    begin(summary, YELLOW, "KILLED");
    buf_add_string(summary->out, "by ");
    summary_add_text(summary, lookup_text(summary->record, "report.termination.child_signal"));
    add_after(summary, " after ");
    add_exit(summary);
}

static void head_limit(const struct summary *summary)
{
    begin(summary, YELLOW, "LIMIT");
    summary_add_words(summary, lookup_text(summary->record, "report.termination.limit"));
    add_after(summary, ", stopped after ");
    add_exit(summary);
}

static void head_refused(const struct summary *summary)
{
    begin(summary, YELLOW, "REFUSED");
    buf_add_string(summary->out, "nothing was run");
    add_exit(summary);
}

static void head_interrupted(const struct summary *summary)
{
    begin(summary, YELLOW, "INTERRUPTED");
    const char *signal = lookup_text(summary->record, "exit.signal");
    if (signal) {
        buf_add_string(summary->out, "by ");
        summary_add_text(summary, signal);
    } else {
        buf_add_string(summary->out, "on request");
    }
    if (json_is_object(lookup(summary->record, "cpu"))) {
        add_after(summary, " after ");
    } else {
        buf_add_string(summary->out, " before the command was started");
    }
    add_exit(summary);
}

static void head_crashed(const struct summary *summary)
{
    begin(summary, RED, "CRASHED");
    buf_add_string(summary->out, "berm itself was killed; the run was ended by its watchdog");
}

static void head_unfinished(const struct summary *summary)
{
    begin(summary, YELLOW, "UNFINISHED");
    buf_add_string(summary->out, "still running, or its berm was killed; started ");
    summary_add_text(summary, lookup_text(summary->record, "report.started_at"));
    int64_t pid = lookup_number(summary->record, "controller.pid");
    if (pid >= 0) {
        buf_add_format(summary->out, " by process %lld", (long long)pid);
    }
}

static void head_failed(const struct summary *summary)
{
    begin(summary, RED, "FAILED");
    summary_add_words(summary, lookup_text(summary->record, "report.termination.reason"));
    add_exit(summary);
}

typedef void line(const struct summary *summary);

static line *const full[] = {summary_cpu,     summary_used, summary_held, summary_env,
                             summary_daemons, summary_left, summary_lost, summary_kept,
                             summary_note,    NULL};
static line *const failed[] = {summary_reason, summary_cpu,     summary_used, summary_held,
                               summary_env,    summary_daemons, summary_left, summary_lost,
                               summary_kept,   summary_note,    NULL};
static line *const limited[] = {summary_limit, summary_used, summary_held, summary_daemons,
                                summary_left,  summary_lost, summary_kept, summary_note,
                                summary_next,  NULL};
static line *const refused[] = {summary_checks, summary_here, summary_note, NULL};
static line *const nothing[] = {NULL};

enum kind {
    SUCCESS,
    EXITED,
    NOT_EXECUTED,
    KILLED,
    LIMIT,
    REFUSED,
    INTERRUPTED,
    CRASHED,
    UNFINISHED,
    FAILED
};

static const struct {
    line *head;
    line *const *rest;
} kinds[] = {
    [SUCCESS] = {head_success, full},         [EXITED] = {head_exited, full},
    [NOT_EXECUTED] = {head_exited, failed},   [KILLED] = {head_killed, failed},
    [LIMIT] = {head_limit, limited},          [REFUSED] = {head_refused, refused},
    [INTERRUPTED] = {head_interrupted, full}, [UNFINISHED] = {head_unfinished, nothing},
    [FAILED] = {head_failed, failed},         [CRASHED] = {head_crashed, failed},
};

static bool is(const json_t *record, const char *path, const char *word)
{
    const char *text = lookup_text(record, path);
    return text && strcmp(text, word) == 0;
}

static enum kind kind_of(const json_t *record)
{
    const char *outcome = "report.outcome";
    if (is(record, "report.termination.reason", "run_in_progress")) {
        return UNFINISHED;
    }
    if (is(record, "report.error.code", "LAMINA_SAFE_SUPERVISOR_CRASH")) {
        return CRASHED;
    }
    if (is(record, outcome, "success")) {
        return SUCCESS;
    }
    if (is(record, outcome, "command_failed")) {
        int64_t code = lookup_number(record, "report.termination.child_exit_code");
        /* Who answered, the command or the attempt to execute it, stands in the message. */
        return lookup_text(record, "report.termination.child_signal") ? KILLED
               : code == 126 || code == 127                           ? NOT_EXECUTED
                                                                      : EXITED;
    }
    if (is(record, outcome, "safety_limit_exceeded")) {
        return LIMIT;
    }
    if (is(record, outcome, "preflight_refused")) {
        return REFUSED;
    }
    if (is(record, outcome, "interrupted") ||
        is(record, "report.termination.reason", "interrupted")) {
        return INTERRUPTED;
    }
    return FAILED;
}

/* A bare report is a record that has nothing else. */
static json_t *as_record(const json_t *record)
{
    if (json_is_object(lookup(record, "report"))) {
        return json_copy((json_t *)(uintptr_t)record);
    }
    json_t *made = json_object();
    json_object_set(made, "report", (json_t *)(uintptr_t)record);
    return made;
}

void summary_render(const json_t *record, const struct summary_view *view, struct buf *out)
{
    with_json whole = as_record(record);
    const struct summary summary = {.record = whole, .view = view, .out = out};
    enum kind kind = kind_of(whole);
    kinds[kind].head(&summary);
    buf_add_char(out, '\n');
    for (line *const *next = kinds[kind].rest; *next; next++) {
        (*next)(&summary);
    }
    summary_run(&summary);
}

bool summary_is_success(const json_t *record)
{
    return is(record, "report.outcome", "success") || is(record, "outcome", "success");
}
