/* Why a run ended as it did, and what would help. */
#include "clock.h"
#include "limit.h"
#include "lookup.h"
#include "summary-lines.h"
#include "text.h"
#include "units.h"

void summary_reason(const struct summary *summary)
{
    const char *message = lookup_text(summary->record, "report.error.message");
    if (message) {
        summary_begin(summary, "why");
        summary_add_text(summary, message);
        summary_end(summary);
    }
}

/* The limit that ended the run; LIMIT_NONE: none, or one that this berm does not know. */
static enum supervise_limit limit_of(const struct summary *summary)
{
    const char *name = lookup_text(summary->record, "report.termination.limit");
    for (enum supervise_limit limit = 0; name && limit < LIMIT_COUNT; limit++) {
        const struct limit *row = supervise_limit(limit);
        if (row->told && row->name && strcmp(row->name, name) == 0) {
            return limit;
        }
    }
    return LIMIT_NONE;
}

/* What was seen is rounded for a person; a time that was set is shown as it can be given again. */
enum amount { SEEN, SET };

static void add_amount(const struct summary *summary, const json_t *limit, enum amount which)
{
    int64_t amount = lookup_number(limit, which == SET ? "value" : "seen");
    const char *unit = lookup_text(limit, "unit");
    if (unit && strcmp(unit, "bytes") == 0) {
        units_add_bytes(summary->out, amount);
    } else if (unit && strcmp(unit, "ms") == 0 && which == SET) {
        units_add_exact_duration(summary->out, amount);
    } else if (unit && strcmp(unit, "ms") == 0 && amount <= INT64_MAX / NS_PER_MS) {
        units_add_ns(summary->out, amount * NS_PER_MS);
    } else {
        buf_add_format(summary->out, "%lld", (long long)amount);
    }
}

/* How long it was above its mark. */
static void add_samples(const struct summary *summary)
{
    int64_t count = lookup_number(summary_find_limit(summary, "high samples"), "value");
    if (count > 0) {
        buf_add_format(summary->out, ", at %lld look%s in a row", (long long)count,
                       count == 1 ? "" : "s");
    }
}

/* R42: the value that was hit and where it came from. */
void summary_limit(const struct summary *summary)
{
    const struct limit *row = supervise_limit(limit_of(summary));
    const json_t *limit = row->told ? summary_find_limit(summary, row->told) : NULL;
    if (lookup_number(limit, "value") < 0) {
        summary_reason(summary);
        return;
    }
    summary_begin(summary, "why");
    if (lookup_number(limit, "seen") >= 0) {
        add_amount(summary, limit, SEEN);
        buf_add_string(summary->out, row->least ? " left on the host, " : " seen, ");
    }
    buf_add_string(summary->out, row->least ? "reserve " : "limit ");
    add_amount(summary, limit, SET);
    const char *source = lookup_text(limit, "source");
    bool option = source && strncmp(source, "--", 2) == 0;
    buf_add_string(summary->out, option ? " (from " : " (");
    summary_add_text(summary, source);
    buf_add_char(summary->out, ')');
    if (row == supervise_limit(LIMIT_MEMORY_HIGH)) {
        add_samples(summary);
    }
    summary_end(summary);
}

void summary_next(const struct summary *summary)
{
    enum supervise_limit limit_hit = limit_of(summary);
    if (supervise_limit(limit_hit)->remedy) {
        summary_begin(summary, "next");
        buf_add_string(summary->out, supervise_limit(limit_hit)->remedy);
        summary_end(summary);
        return;
    }
    int64_t most = lookup_number(summary->record, "report.preflight.envelope.plain.memory_bytes");
    int64_t limit = lookup_number(summary_find_limit(summary, "memory"), "value");
    const int64_t mib = 1 << 20;
    if (limit_hit == LIMIT_MEMORY && most / mib > limit / mib) {
        summary_begin(summary, "next");
        buf_add_string(summary->out, "this host allowed --memory up to ");
        bool large = most >= 4096 * mib;
        units_add_exact_size(summary->out, large ? most >> 30 << 30 : most >> 20 << 20);
        summary_end(summary);
    }
}

/* The lines of a text, the first behind the word, numbered when there are several. */
static void add_lines(const struct summary *summary, const char *word, const char *text)
{
    bool several = strchr(text, '\n') != NULL;
    for (int number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        summary_begin(summary, number == 1 ? word : "");
        if (several) {
            buf_add_format(summary->out, "%d. ", number);
        }
        text_neutralise(summary->out, span_of(text, length));
        summary_end(summary);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

static bool same_text(const json_t *a, const json_t *b, const char *path)
{
    const char *left = lookup_text(a, path);
    const char *right = lookup_text(b, path);
    return left && right && strcmp(left, right) == 0;
}

static bool failed(const json_t *check)
{
    return json_is_false(lookup(check, "ok"));
}

static bool same_finding(const json_t *a, const json_t *b)
{
    return failed(a) && failed(b) && same_text(a, b, "saw") && same_text(a, b, "remedy");
}

/* Every check that failed, those with one finding together: it is shown once. */
void summary_checks(const struct summary *summary)
{
    const json_t *checks = lookup(summary->record, "report.preflight.checks");
    size_t shown = 0;
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        bool before = !failed(check);
        for (size_t j = 0; j < i && !before; j++) {
            before = same_finding(json_array_get(checks, j), check);
        }
        if (before) {
            continue;
        }
        for (size_t j = i; j < json_array_size(checks); j++) {
            const json_t *other = json_array_get(checks, j);
            if (j == i || same_finding(check, other)) {
                summary_begin(summary, j == i ? "why" : "");
                summary_add_text(summary, lookup_text(other, "what"));
                buf_add_string(summary->out, " [");
                summary_add_text(summary, lookup_text(other, "code"));
                buf_add_string(summary->out, "]");
                summary_end(summary);
            }
        }
        const char *saw = lookup_text(check, "saw");
        const char *remedy = lookup_text(check, "remedy");
        add_lines(summary, "saw", saw ? saw : "");
        add_lines(summary, "fix", remedy ? remedy : "");
        shown++;
    }
    if (shown == 0) {
        summary_reason(summary);
    }
}
