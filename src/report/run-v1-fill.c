#include "run-v1-priv.h"

#include <string.h>

#include "memory.h"
#include "number.h"
#include "owner-priv.h"
#include "process.h"
#include "text.h"
#include "words-priv.h"

#ifndef BERM_VERSION
#error "the build names the version"
#endif

static char *copy(const char *text)
{
    return memory_copy_string(text ? text : "");
}

static struct maybe_int known_if(bool known, int64_t value)
{
    return (struct maybe_int){known && value >= 0, value};
}

/* The process that fills the record is the controller; a run says several times who that is. */
static void fill_controller(struct run_controller *controller)
{
    static struct owner owner;
    if (owner.pid != os_getpid() || owner.start_ticks < 0 || owner.boot_id[0] == '\0') {
        owner_read_self(&owner);
    }
    controller->pid = owner.pid;
    controller->start_ticks = known_if(true, owner.start_ticks);
    controller->boot_id = memory_copy_or_null(owner.boot_id[0] ? owner.boot_id : NULL);
    controller->machine_id = memory_copy_or_null(owner.machine_id[0] ? owner.machine_id : NULL);
}

static struct run_sandbox_timing *make_sandbox_timing(const struct report_facts *facts)
{
    struct run_sandbox_timing *timing = memory_new(sizeof *timing);
    const struct supervise_ending *ending = facts->ending;
    timing->plan_ns = number_not_below_zero(facts->plan_ns);
    timing->seal_ns = number_not_below_zero(facts->seal_ns);
    bool ready = ending && ending->sandbox_ready_ns > 0;
    if (!ready) {
        return timing;
    }
    timing->tool_ns =
        known_if(true, ending->sandbox_ready_ns - ending->launcher_ns - ending->created_ns);
    timing->launcher_ns = known_if(true, ending->launcher_ns);
    timing->verify_ns =
        known_if(ending->released_ns > 0, ending->released_ns - ending->sandbox_ready_ns);
    timing->execute_ns =
        known_if(ending->executed_ns > 0, ending->executed_ns - ending->released_ns);
    return timing;
}

static void fill_timing(struct run_timing *timing, const struct report_facts *facts)
{
    timing->duration_ns = number_not_below_zero(facts->duration_ns);
    timing->own_ns = number_not_below_zero(facts->own_ns);
    timing->places_ns = number_not_below_zero(facts->places_ns);
    timing->prepare_ns = number_not_below_zero(facts->prepare_ns);
    if (facts->contain && facts->contain->sandbox) {
        timing->sandbox = make_sandbox_timing(facts);
    }
    const struct supervise_ending *ending = facts->ending;
    if (!ending) {
        return;
    }
    bool released = ending->released_ns > 0;
    bool exited = ending->exited_ns > 0;
    timing->setup_ns = known_if(released, ending->released_ns - ending->created_ns);
    timing->payload_wall_ns = known_if(released && exited, ending->exited_ns - ending->released_ns);
    timing->stop_ns =
        known_if(exited && ending->finished_ns > 0, ending->finished_ns - ending->exited_ns);
    timing->suspended_ns = known_if(true, number_not_below_zero(ending->suspended_ns));
}

static struct run_cpu *make_cpu(const struct supervise_ending *ending)
{
    struct run_cpu *cpu = memory_new(sizeof *cpu);
    cpu->user_ns = number_not_below_zero(ending->cpu_user_ns);
    cpu->system_ns = number_not_below_zero(ending->cpu_system_ns);
    return cpu;
}

static struct run_memory *make_memory(const struct supervise_ending *ending)
{
    struct run_memory *memory = memory_new(sizeof *memory);
    memory->largest_process_rss_bytes = number_not_below_zero(ending->largest_rss_bytes);
    memory->peak_tree_rss_bytes = number_not_below_zero(ending->peak_tree_rss_bytes);
    memory->host_available_low_bytes = known_if(true, ending->seen[LIMIT_HOST_RESERVE]);
    return memory;
}

static struct run_tasks *make_tasks(const struct supervise_ending *ending)
{
    struct run_tasks *tasks = memory_new(sizeof *tasks);
    tasks->peak_tasks = number_not_below_zero(ending->seen[LIMIT_PIDS]);
    tasks->peak_processes = number_not_below_zero(ending->peak_processes);
    tasks->stragglers = number_not_below_zero(ending->stragglers);
    return tasks;
}

static struct run_stream make_stream(const struct supervise_stream *stream, const char *kept)
{
    char word[WORD_SIZE];
    return (struct run_stream){
        .bytes = number_not_below_zero(stream->bytes),
        .passed_bytes = number_not_below_zero(stream->passed_bytes),
        .pass_error =
            memory_copy_or_null(stream->pass_error ? words_errno(stream->pass_error, word) : NULL),
        .kept_bytes = number_not_below_zero(stream->kept_bytes),
        .kept_file = memory_copy_or_null(kept),
        .held_open = stream->held_open,
    };
}

static struct run_output *make_output(const struct report_facts *facts)
{
    struct run_output *output = memory_new(sizeof *output);
    const struct supervise_stream *streams = facts->ending->stream;
    output->stdout = make_stream(&streams[STREAM_STDOUT], facts->kept_stdout);
    output->stderr = make_stream(&streams[STREAM_STDERR], facts->kept_stderr);
    return output;
}

static struct object_list make_limits(const struct report_facts *facts)
{
    size_t count = facts->limit_count > 0 ? (size_t)facts->limit_count : 0;
    struct run_limit *limits = memory_new(count * sizeof *limits);
    for (size_t i = 0; i < count; i++) {
        const struct limit_fact *fact = &facts->limits[i];
        const struct limit *row = supervise_limit(fact->limit);
        limits[i] = (struct run_limit){
            .name = copy(row->told),
            .unit = copy(row->unit),
            .value = known_if(fact->value > 0, fact->value),
            .seen = known_if(facts->ending, facts->ending ? facts->ending->seen[fact->limit] : -1),
            .source = copy(fact->source),
        };
    }
    return (struct object_list){limits, count};
}

static size_t at_most(size_t count, size_t maximum)
{
    return count < maximum ? count : maximum;
}

static struct run_frozen *make_frozen(const struct report_frozen *facts)
{
    struct run_frozen *frozen = memory_new(sizeof *frozen);
    *frozen = (struct run_frozen){
        .identity = memory_copy_string(facts->identity),
        .source = memory_copy_string(facts->source),
        .entries = facts->entries,
        .bytes = facts->bytes,
        .files_read = facts->files_read,
        .files_copied = facts->files_copied,
        .took_ns = facts->took_ns,
        .check_ns = facts->check_ns,
        .copy_changed = facts->copy_changed,
    };
    return frozen;
}

static struct run_environment *make_environment(const struct environment *environment)
{
    struct run_environment *made = memory_new(sizeof *made);
    made->passed_count = (int64_t)environment->child.count;
    for (size_t i = 0; i < at_most(environment->child.count, REPORT_VARIABLES); i++) {
        const char *entry = environment->child.strings[i];
        strvec_push_format(&made->passed, "%.*s",
                           (int)at_most(strcspn(entry, "="), REPORT_NAME_BYTES), entry);
    }
    made->held_back_count = (int64_t)environment->held_names.count;
    size_t count = at_most(environment->held_names.count, REPORT_VARIABLES);
    struct run_held *held = memory_new(count * sizeof *held);
    for (size_t i = 0; i < count; i++) {
        held[i].name = memory_format("%.*s", REPORT_NAME_BYTES, environment->held_names.strings[i]);
        held[i].reason = (int)environment->held_reasons[i];
    }
    made->held_back = (struct object_list){held, count};
    made->recorded = environment_recorded(environment);
    return made;
}

static void add_missed(struct strvec *missed, uint8_t bits)
{
    static const struct {
        uint8_t bit;
        const char *name;
    } names[] = {
        {MISSED_PSS, "pss"}, {MISSED_FDS, "fds"}, {MISSED_IO, "io"}, {MISSED_BUDGET, "budget"}};
    for (size_t i = 0; i < countof(names); i++) {
        if (bits & names[i].bit) {
            strvec_push(missed, names[i].name);
        }
    }
}

static struct run_descendant make_descendant(const struct supervise_descendant *seen)
{
    struct run_descendant made = {
        .pid = seen->pid,
        .parent = seen->parent,
        .start_ticks = (int64_t)seen->start_ticks,
        .first_seen_ms = number_not_below_zero(seen->first_seen_ms),
        .last_seen_ms = number_not_below_zero(seen->last_seen_ms),
        .state = memory_format("%c", seen->state >= '!' && seen->state <= '~' ? seen->state : '?'),
        .peak_rss_bytes = number_not_below_zero(seen->peak_rss_bytes),
        .peak_pss_bytes = known_if(true, seen->peak_pss_bytes),
        .peak_threads = number_not_below_zero(seen->peak_threads),
        .peak_fds = known_if(true, seen->peak_fds),
        .cpu_user_ms = number_not_below_zero(seen->cpu_user_ms),
        .cpu_system_ms = number_not_below_zero(seen->cpu_system_ms),
        .read_bytes = known_if(true, seen->read_bytes),
        .written_bytes = known_if(true, seen->written_bytes),
        .alive_at_stop = seen->before_stop,
        .ended = seen->ended,
    };
    add_missed(&made.missed, seen->missed);
    return made;
}

static struct object_list make_descendants(const struct supervise_ending *ending)
{
    const struct supervise_descendant *sorted[DESCENDANT_COUNT];
    int count = report_sort_descendants(ending, sorted);
    struct run_descendant *descendants = memory_new((size_t)count * sizeof *descendants);
    for (int i = 0; i < count; i++) {
        descendants[i] = make_descendant(sorted[i]);
    }
    return (struct object_list){descendants, (size_t)count};
}

static struct object_list make_survivors(const struct supervise_ending *ending)
{
    int count = ending->survivor_count;
    struct run_survivor *survivors = memory_new((size_t)count * sizeof *survivors);
    for (int i = 0; i < count; i++) {
        const struct supervise_survivor *seen = &ending->survivors[i];
        with_buf name = buf_new(4 * sizeof seen->name);
        text_neutralise(&name, span_of(seen->name, strnlen(seen->name, sizeof seen->name)));
        char word[WORD_SIZE];
        survivors[i] = (struct run_survivor){
            .pid = seen->pid,
            .start_ticks = (int64_t)seen->start_ticks,
            .name = copy(buf_string(&name)),
            .error = memory_copy_or_null(seen->unclaimed ? "unclaimed"
                                         : seen->sys     ? words_errno(seen->sys, word)
                                                         : NULL),
        };
    }
    return (struct object_list){survivors, (size_t)count};
}

static struct run_daemon_object *make_object(const struct daemon_object *seen)
{
    if (seen->inode == 0) {
        return NULL;
    }
    struct run_daemon_object *object = memory_new(sizeof *object);
    *object = (struct run_daemon_object){.device = (int64_t)seen->device,
                                         .inode = (int64_t)seen->inode,
                                         .owner = seen->owner,
                                         .mode = seen->mode,
                                         .size_bytes = number_not_below_zero(seen->size_bytes)};
    return object;
}

static void add_arguments(struct strvec *command, const struct supervise_daemon *daemon)
{
    for (size_t at = 0; at < daemon->command_bytes;) {
        size_t n = strnlen(daemon->command + at, daemon->command_bytes - at);
        with_buf text = buf_new(4 * DAEMON_COMMAND_BYTES + 1);
        text_neutralise(&text, span_of(daemon->command + at, n));
        strvec_push(command, buf_string(&text));
        at += n + 1;
    }
}

static struct run_managed make_daemon(const struct supervise_daemon *daemon)
{
    bool bound = daemon->pid > 0;
    with_buf cwd = buf_new(4 * DAEMON_PATH_SIZE + 1);
    text_neutralise(&cwd, span_of_string(daemon->cwd));
    struct run_managed made = {
        .name = copy(daemon->name),
        .state = copy(daemon_state_name(daemon->state)),
        .fate = copy(daemon_fate_name(daemon->fate)),
        .why = memory_copy_or_null(daemon->why),
        .refused = number_not_below_zero(daemon->refused),
        .pid = known_if(bound, daemon->pid),
        .namespace_pid = known_if(bound, daemon->namespace_pid),
        .start_ticks = known_if(bound, (int64_t)daemon->start_ticks),
        .command_cut = daemon->command_cut,
        .cwd = memory_copy_or_null(bound ? buf_string(&cwd) : NULL),
        .socket = memory_format("%s/%s", daemon->folder, daemon->socket_name),
        .lock = memory_format("%s/%s", daemon->folder, daemon->lock_name),
        .socket_sealed = make_object(&daemon->socket),
        .lock_sealed = make_object(&daemon->lock),
        .lock_pid = known_if(daemon->lock_pid > 0, daemon->lock_pid),
        .socket_left = daemon->socket_left,
        .lock_left = daemon->lock_left,
    };
    add_arguments(&made.command, daemon);
    return made;
}

static struct object_list make_daemons(const struct supervise_ending *ending)
{
    size_t count = ending->daemon_count < DAEMON_COUNT ? ending->daemon_count : DAEMON_COUNT;
    struct run_managed *daemons = memory_new(count * sizeof *daemons);
    for (size_t i = 0; i < count; i++) {
        daemons[i] = make_daemon(&ending->daemons[i]);
    }
    return (struct object_list){daemons, count};
}

static struct run_cgroup *make_cgroup(const struct supervise_ending *ending)
{
    const struct supervise_scope *scope = &ending->scope;
    if (!scope->held) {
        return NULL;
    }
    struct run_cgroup *cgroup = memory_new(sizeof *cgroup);
    cgroup->adapter = copy(scope_adapter_id(scope->adapter));
    cgroup->unit = copy(scope->unit);
    cgroup->path = copy(scope->path);
#define X(field, file, key) cgroup->field = known_if(true, scope->counters.field);
    SCOPE_COUNTERS(X)
#undef X
    return cgroup;
}

static void fill_ending(struct run_record *record, const struct report_facts *facts)
{
    const struct supervise_ending *ending = facts->ending;
    record->cpu = make_cpu(ending);
    record->memory = make_memory(ending);
    record->tasks = make_tasks(ending);
    record->output = make_output(facts);
    record->cgroup = make_cgroup(ending);
    record->sample_total = number_not_below_zero(ending->sample_total);
    record->descendant_total = number_not_below_zero(ending->descendant_total);
    record->descendants = make_descendants(ending);
    record->daemons = make_daemons(ending);
    if (facts->crash ==
        CRASH_NONE) { /* else the watchdog ended them, or does not know their names */
        record->survivors = make_survivors(ending);
    }
}

static void fill_exit(struct run_exit *made, const struct report_facts *facts)
{
    made->code = report_exit_code(facts) & 0xFF;
    int signal = report_interrupt(facts);
    char word[WORD_SIZE];
    made->signal = memory_copy_or_null(signal ? words_signal(signal, word) : NULL);
}

void run_record_fill(struct run_record *record, const struct report_facts *facts)
{
    record->run_id = copy(facts->run_id && facts->run_id[0] ? facts->run_id : "none");
    record->label = memory_copy_or_null(facts->label);
    record->scope = memory_copy_or_null(facts->scope);
    record->version = copy(BERM_VERSION);
    fill_controller(&record->controller);
    record->in_progress = facts->in_progress;
    record->started_at = report_date(facts->started_realtime_ns);
    record->finished_at = report_date(facts->started_realtime_ns + facts->duration_ns);
    fill_timing(&record->timing, facts);
    record->limits = make_limits(facts);
    if (facts->contain) {
        const struct guarantees *guarantees = &facts->contain->guarantees;
        record->containment = copy(containment_name(guarantees_label(guarantees)));
        record->guarantees = guarantees_to_json(guarantees);
    }
    record->frozen = facts->frozen ? make_frozen(facts->frozen) : NULL;
    if (facts->environment) {
        record->environment = make_environment(facts->environment);
    }
    if (facts->binding) {
        record->executable = binding_to_json(facts->binding);
    }
    if (facts->ending) {
        fill_ending(record, facts);
    }
    if (facts->notes) {
        strvec_push_all(&record->notes, strvec_argv(facts->notes));
    }
    fill_exit(&record->exit, facts);
}
