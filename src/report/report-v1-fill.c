/* report-v1-fill.c
 *
 * The facts of a run in the words of the published report. Nothing is claimed here that the verdict
 * or the ending does not say; what is not known is null, and what a plain run has not (a cgroup, a
 * private temporary directory, a lock) is 0, or null, or said to be gone, as
 * docs/formats/report-v1.md spells out.
 */
#include "report-v1-priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "number.h"
#include "outcome-priv.h"
#include "redact.h"
#include "words-priv.h"

static void set(json_t *object, const char *name, json_t *value)
{
    BUG_IF(json_object_set_new(object, name, value) < 0);
}

/* Whole arguments, as many as fit; one that was cut could show half of a secret. */
static void fill_command(struct strvec *command, char *const *argv)
{
    size_t left = REPORT_COMMAND_BYTES;
    size_t omitted = 0;
    size_t omitted_bytes = 0;
    for (; argv && *argv; argv++) {
        size_t n = strlen(*argv);
        if (omitted == 0 && n <= left) {
            strvec_push(command, *argv);
            left -= n;
        } else {
            omitted++;
            omitted_bytes += n;
        }
    }
    if (omitted > 0) {
        strvec_push_format(command, "[%zu more of %zu bytes]", omitted, omitted_bytes);
    }
}

static json_t *text_or_null(const char *text)
{
    return text ? json_text(span_of_string(text)) : json_null();
}

/* What the published format names; those without a row (limit.h) are unknown to every run so far. */
static const char *const limit_keys[] = {
    "memory_max_bytes",
    "memory_high_bytes",
    "memory_page_bytes",
    "os_reserve_bytes",
    "pids_max",
    "timeout_ms",
    "output_max_bytes",
    "temporary_max_bytes",
    "temporary_max_inodes",
    "minimum_free_disk_bytes",
    "sample_interval_ms",
    "sustained_high_samples",
    "graceful_stop_ms",
    "concurrency",
};

static uint32_t tail_bytes_of(const struct report_facts *facts, int stream)
{
    return facts->tail_bytes[stream] ? facts->tail_bytes[stream] : TAIL_BYTES;
}

static json_t *make_limits(const struct report_facts *facts)
{
    json_t *limits = json_object();
    for (size_t i = 0; i < countof(limit_keys); i++) {
        set(limits, limit_keys[i], json_null());
    }
    for (int i = 0; i < facts->limit_count; i++) {
        const struct limit_fact *fact = &facts->limits[i];
        const char *key = supervise_limit(fact->limit)->key;
        if (key && fact->value != 0) {
            set(limits, key, json_integer(fact->value));
        }
    }
    set(limits, "stdout_tail_max_bytes", json_integer(tail_bytes_of(facts, STREAM_STDOUT)));
    set(limits, "stderr_tail_max_bytes", json_integer(tail_bytes_of(facts, STREAM_STDERR)));
    return limits;
}

_Static_assert((int)CONTEXT_TIER_NONE - 1 == (int)TIER_NONE &&
                   (int)CONTEXT_TIER_LARGE - 1 == (int)TIER_LARGE,
               "the same tiers in the same order");

static const char *tier_name(enum context_tier tier)
{
    return tier == CONTEXT_TIER_NONE ? NULL : report_tier_names[tier - 1];
}

/* Every reason, not the first. */
static json_t *make_reasons(const struct report_facts *facts, const struct verdict *verdict)
{
    json_t *reasons = json_array();
    bool refused = false;
    for (size_t i = 0; facts->checks && i < facts->checks->count; i++) {
        const struct check *check = &facts->checks->list[i];
        if (!check->ok) {
            with_string reason = memory_format("%s [%s]", check->what ? check->what : "",
                                               check->code ? check->code : "");
            json_array_append_new(reasons, text_or_null(reason));
            refused = true;
        }
    }
    if (!refused && verdict->outcome == OUTCOME_PREFLIGHT_REFUSED) {
        json_array_append_new(reasons, text_or_null(verdict->error_message));
    }
    return reasons;
}

static json_t *make_snapshot(const struct report_frozen *frozen)
{
    json_t *snapshot = json_object();
    set(snapshot, "digest", text_or_null(frozen->source));
    set(snapshot, "entries", json_integer(frozen->entries));
    set(snapshot, "bytes", json_integer(frozen->bytes));
    return snapshot;
}

/* What was found in the temporary folders, or why it is not known. */
static json_t *make_links(const struct sandbox_links *links)
{
    char name[WORD_SIZE];
    json_t *paths = json_array();
    for (size_t i = 0; i < links->told; i++) {
        with_string path = words_path(links->paths[i]);
        json_array_append_new(paths, text_or_null(path));
    }
    char why[LINKS_WHY_SIZE];
    sandbox_links_say_why(links, why);
    with_string where = words_path(links->where);
    json_t *diagnostic = json_object();
    set(diagnostic, "symlinks", json_integer(links->count));
    set(diagnostic, "paths", paths);
    set(diagnostic, "obstacle", text_or_null(links->why ? why : NULL));
    set(diagnostic, "obstacle_path", text_or_null(links->why ? where : NULL));
    set(diagnostic, "obstacle_errno",
        text_or_null(links->sys > 0 ? words_errno(links->sys, name) : NULL));
    return diagnostic;
}

static json_t *make_preflight(const struct report_facts *facts, const struct verdict *verdict)
{
    bool refused = verdict->outcome == OUTCOME_PREFLIGHT_REFUSED;
    if (!facts->checks && !refused) {
        return NULL;
    }
    json_t *preflight = json_object();
    /* A refusal after the checks (a late one) takes their yes back. */
    set(preflight, "ok", json_boolean(!refused && checks_ok(facts->checks)));
    set(preflight, "tier", text_or_null(tier_name(facts->tier)));
    set(preflight, "workload_id", text_or_null(facts->workload));
    set(preflight, "cwd", text_or_null(facts->cwd));
    const json_t *inspected = json_object_get(facts->envelope, "inspected_at");
    set(preflight, "inspected_at",
        json_is_string(inspected) ? text_or_null(json_string_value(inspected)) : json_null());
    set(preflight, "mode", json_string(facts->tier == CONTEXT_TIER_NONE ? "plain" : "tier"));
    set(preflight, "adapter", text_or_null(facts->contain ? facts->contain->adapter_id : NULL));
    set(preflight, "envelope", facts->envelope ? json_deep_copy(facts->envelope) : json_null());
    if (facts->frozen) {
        set(preflight, "execution_snapshot", make_snapshot(facts->frozen));
        set(preflight, "execution_identity", text_or_null(facts->frozen->identity));
    }
    json_object_update((json_t *)preflight, (json_t *)(uintptr_t)facts->admission);
    const struct sandbox_links *links = facts->ending ? &facts->ending->links : NULL;
    if (links && (links->count > 0 || links->why)) {
        set(preflight, "temporary_limit_diagnostic", make_links(links));
    }
    set(preflight, "reasons", make_reasons(facts, verdict));
    set(preflight, "checks", facts->checks ? checks_to_json(facts->checks) : json_array());
    return preflight;
}

/* When no look fell into the life of the tree there is still one that is certain: nothing is left. */
static struct report_sample last_look(const struct supervise_ending *ending)
{
    return (struct report_sample){
        .elapsed_ms = number_not_below_zero((ending->finished_ns - ending->created_ns) / NS_PER_MS),
    };
}

/* Of a crash report: by the time that it is written, the watchdog has seen the leaf empty. */
static struct object_list make_crash_sample(const struct report_facts *facts)
{
    struct report_sample *sample = memory_new(sizeof *sample);
    *sample =
        (struct report_sample){.elapsed_ms = number_not_below_zero(facts->duration_ns / NS_PER_MS)};
    return (struct object_list){sample, 1};
}

static int bounded(int count, int maximum)
{
    return count < 0 ? 0 : count > maximum ? maximum : count;
}

static struct object_list make_samples(const struct supervise_ending *ending)
{
    int count = bounded(ending->sample_count, SAMPLE_COUNT);
    struct report_sample *samples = memory_new((size_t)(count + 1) * sizeof *samples);
    for (int i = 0; i < count; i++) {
        samples[i] = (struct report_sample){
            .elapsed_ms = number_not_below_zero(ending->samples[i].elapsed_ms),
            .aggregate_rss_bytes = number_not_below_zero(ending->samples[i].rss_bytes),
            .cgroup_memory_bytes = number_not_below_zero(ending->samples[i].cgroup_memory_bytes),
            .pids = number_not_below_zero(ending->samples[i].tasks),
            .temporary_bytes = number_not_below_zero(ending->samples[i].temporary_bytes),
            .temporary_inodes = number_not_below_zero(ending->samples[i].temporary_files),
        };
    }
    if (count == 0 && ending->tree_empty) {
        samples[count++] = last_look(ending);
    }
    return (struct object_list){samples, (size_t)count};
}

static struct report_peaks make_peaks(const struct supervise_ending *ending,
                                      const struct object_list *list)
{
    struct report_peaks peaks = {
        .aggregate_rss_bytes = number_not_below_zero(
            number_most(ending->peak_tree_rss_bytes, ending->largest_rss_bytes)),
        .cgroup_memory_bytes = number_not_below_zero(
            ending->scope.held ? ending->scope.counters.memory_peak_bytes : 0),
        .pids = number_not_below_zero(ending->seen[LIMIT_PIDS]),
        .temporary_bytes = number_not_below_zero(ending->seen[LIMIT_TEMPORARY]),
        .temporary_inodes = number_not_below_zero(ending->seen[LIMIT_TEMPORARY_FILES]),
    };
    const struct report_sample *samples = list->objects;
    for (size_t i = 0; i < list->count; i++) {
        peaks.aggregate_rss_bytes =
            number_most(peaks.aggregate_rss_bytes, samples[i].aggregate_rss_bytes);
        peaks.cgroup_memory_bytes =
            number_most(peaks.cgroup_memory_bytes, samples[i].cgroup_memory_bytes);
        peaks.pids = number_most(peaks.pids, samples[i].pids);
        peaks.temporary_bytes = number_most(peaks.temporary_bytes, samples[i].temporary_bytes);
        peaks.temporary_inodes = number_most(peaks.temporary_inodes, samples[i].temporary_inodes);
    }
    return peaks;
}

static int by_pid(const void *a, const void *b)
{
    const struct supervise_descendant *left = *(const struct supervise_descendant *const *)a;
    const struct supervise_descendant *right = *(const struct supervise_descendant *const *)b;
    if (left->pid != right->pid) {
        return left->pid < right->pid ? -1 : 1;
    }
    return left->start_ticks < right->start_ticks ? -1 : left->start_ticks > right->start_ticks;
}

int report_sort_descendants(const struct supervise_ending *ending,
                            const struct supervise_descendant *sorted[DESCENDANT_COUNT])
{
    int count = bounded(ending->descendant_count, DESCENDANT_COUNT);
    for (int i = 0; i < count; i++) {
        sorted[i] = &ending->descendants[i];
    }
    qsort(sorted, (size_t)count, sizeof sorted[0], by_pid);
    return count;
}

static json_t *make_descendants(const struct supervise_ending *ending)
{
    const struct supervise_descendant *sorted[DESCENDANT_COUNT];
    int count = report_sort_descendants(ending, sorted);
    json_t *descendants = json_array();
    for (int i = 0; i < count; i++) {
        const struct supervise_descendant *seen = sorted[i];
        with_string start_ticks = memory_format("%" PRIu64, seen->start_ticks);
        json_t *descendant = json_object();
        set(descendant, "pid", json_integer(seen->pid));
        set(descendant, "ppid", json_integer(seen->parent));
        set(descendant, "start_ticks", json_string(start_ticks));
        set(descendant, "first_seen_ms", json_integer(seen->first_seen_ms));
        set(descendant, "last_seen_ms", json_integer(seen->last_seen_ms));
        set(descendant, "peak_rss_bytes", json_integer(seen->peak_rss_bytes));
        set(descendant, "peak_threads", json_integer(seen->peak_threads));
        json_array_append_new(descendants, descendant);
    }
    return descendants;
}

static char *make_tail(const struct report_facts *facts, int which, bool *truncated)
{
    const struct supervise_stream *stream = &facts->ending->stream[which];
    bool whole;
    with_json tail = redact_tail(span_of(stream->tail, stream->tail_length), stream->tail_start > 0,
                                 tail_bytes_of(facts, which), &whole);
    *truncated |= !whole;
    return memory_copy_string(json_string_value(tail));
}

static void fill_output(struct report_output *output, const struct report_facts *facts)
{
    const struct supervise_stream *streams = facts->ending->stream;
    output->stdout_bytes = number_not_below_zero(streams[STREAM_STDOUT].bytes);
    output->stderr_bytes = number_not_below_zero(streams[STREAM_STDERR].bytes);
    output->total_bytes = output->stdout_bytes + output->stderr_bytes;
    output->stdout_tail = make_tail(facts, STREAM_STDOUT, &output->truncated);
    output->stderr_tail = make_tail(facts, STREAM_STDERR, &output->truncated);
}

static json_t *make_events(const struct supervise_ending *ending)
{
    json_t *events = json_object();
    const struct scope_events *seen = &ending->scope.events;
    const struct {
        const char *name;
        int64_t count;
    } rows[] = {{"memory_oom", seen->oom},
                {"memory_oom_kill", seen->oom_kill},
                {"memory_max", seen->memory_max},
                {"memory_high", seen->memory_high},
                {"pids_max", seen->pids_max}};
    for (size_t i = 0; i < countof(rows) && ending->scope.held; i++) {
        set(events, rows[i].name, rows[i].count < 0 ? json_null() : json_integer(rows[i].count));
    }
    return events;
}

static void fill_termination(struct report_termination *termination,
                             const struct report_facts *facts, const struct verdict *verdict)
{
    termination->reason = memory_copy_or_null(verdict->reason);
    termination->limit = memory_copy_or_null(verdict->limit);
    const struct supervise_ending *ending = facts->ending;
    if (!ending && facts->crash != CRASH_NONE && facts->crash != CRASH_AFTER_PAYLOAD) {
        strvec_push(&termination->requested_signals, "SIGKILL");
    }
    if (!ending && facts->crash == CRASH_IN_PAYLOAD) {
        termination->child_signal = memory_copy_string("SIGKILL");
    }
    if (!ending) {
        return;
    }
    char word[WORD_SIZE];
    for (int i = 0; i < bounded(ending->stop_signal_count, STOP_SIGNAL_COUNT); i++) {
        strvec_push(&termination->requested_signals, words_signal(ending->stop_signals[i], word));
    }
    /* A leader that berm ended has ended only if its end was seen. */
    if (ending->how == ENDED_EXITED || ending->how == ENDED_SIGNALLED ||
        ending->how == ENDED_NOT_EXECUTED || ending->exited_ns > 0) {
        termination->child_exit_code = (struct maybe_int){true, report_child_exit_code(ending)};
    }
    if (ending->exit_signal > 0) {
        termination->child_signal = memory_copy_string(words_signal(ending->exit_signal, word));
    }
    termination->cgroup_events = make_events(ending);
}

/* What the watchdog will have done, or not: the record is for the one case or for the other. */
static void fill_crash_cleanup(struct report_cleanup *cleanup, const struct report_facts *facts)
{
    bool removed = facts->crash != CRASH_LEFT;
    cleanup->attempted = true;
    cleanup->scope_removed = (struct maybe_bool){true, removed};
    cleanup->temporary_directory_removed = (struct maybe_bool){true, removed};
    if (!removed) {
        strvec_push(
            &cleanup->errors,
            "the watchdog could not end or remove everything; its manifest says what there was");
    }
}

static void fill_cleanup(struct report_cleanup *cleanup, const struct report_facts *facts)
{
    const struct supervise_ending *ending = facts->ending;
    if (facts->crash != CRASH_NONE) {
        fill_crash_cleanup(cleanup, facts);
        return;
    }
    if (facts->fallback && facts->failure) {
        strvec_push_format(&cleanup->errors, "the report could not be written to its place: %s",
                           facts->failure->msg);
    }
    if (!ending) {
        return;
    }
    int count = bounded(ending->survivor_count, SURVIVOR_COUNT);
    cleanup->attempted = true;
    bool removed = report_removed_scope(ending);
    cleanup->scope_removed = (struct maybe_bool){true, ending->tree_empty && count == 0 && removed};
    if (!removed) {
        strvec_push_format(&cleanup->errors, "the scope '%s' is still there: %s",
                           ending->scope.path[0] ? ending->scope.path : ending->scope.unit,
                           ending->scope.held && !ending->scope.leaf_empty
                               ? "its leaf is not empty"
                               : ending->scope.removed.left);
    }
    /* None was made, or it was a file system of the sandbox, which is gone with its last process. */
    bool sandboxed = facts->contain && facts->contain->sandbox;
    cleanup->temporary_directory_removed =
        (struct maybe_bool){true, !sandboxed || ending->tree_empty};
    cleanup->descendants_remaining.values = memory_new((size_t)count * sizeof(int64_t));
    for (int i = 0; i < count; i++) {
        cleanup->descendants_remaining.values[i] = ending->survivors[i].pid;
        strvec_push_take(&cleanup->errors, words_survivor(&ending->survivors[i]));
    }
    cleanup->descendants_remaining.count = (size_t)count;
    outcome_paths_left(ending, &cleanup->managed_paths_remaining);
    if (cleanup->managed_paths_remaining.count > 0) {
        strvec_push(&cleanup->errors,
                    "what stands at the place of a daemon's socket or lock is not "
                    "what it made, or cannot be removed");
    }
    if (!ending->tree_empty && count == 0) {
        strvec_push(&cleanup->errors, "it was not proved that the process tree is empty");
    }
}

static struct report_error *make_error(const struct verdict *verdict)
{
    if (!verdict->error_code) {
        return NULL;
    }
    struct report_error *error = memory_new(sizeof *error);
    error->code = memory_copy_string(verdict->error_code);
    error->message = memory_copy_string(verdict->error_message);
    return error;
}

char *report_date(int64_t realtime_ns)
{
    char text[CLOCK_TEXT_SIZE];
    clock_format_utc(number_not_below_zero(realtime_ns), text);
    return memory_copy_string(text);
}

void report_v1_fill(struct report_v1 *report, const struct report_facts *facts,
                    const struct verdict *verdict)
{
    const struct supervise_ending *ending = facts->ending;
    report->schema_version = 1;
    report->run_id = memory_copy_string(facts->run_id && facts->run_id[0] ? facts->run_id : "none");
    report->report_file = memory_copy_or_null(facts->report_file);
    report->outcome = (int)verdict->outcome;
    report->tier = (int)facts->tier - 1;
    fill_command(&report->command, facts->command);
    report->cwd = memory_copy_string(facts->cwd ? facts->cwd : "");
    report->started_at = report_date(facts->started_realtime_ns);
    report->finished_at = report_date(facts->started_realtime_ns + facts->duration_ns);
    report->duration_ms = number_not_below_zero(facts->duration_ns / NS_PER_MS);
    report->adapter = facts->contain ? contain_to_json(facts->contain) : NULL;
    report->limits = make_limits(facts);
    report->preflight = make_preflight(facts, verdict);
    report->descendants = ending ? make_descendants(ending) : json_array();
    if (ending) {
        report->samples = make_samples(ending);
        report->peaks = make_peaks(ending, &report->samples);
        fill_output(&report->output, facts);
    }
    if (facts->crash != CRASH_NONE && report->samples.count == 0) {
        memory_free(report->samples.objects);
        report->samples = make_crash_sample(facts);
    }
    fill_termination(&report->termination, facts, verdict);
    fill_cleanup(&report->cleanup, facts);
    report->error = make_error(verdict);
}
