/* The order of a run. Each step leaves the facts richer; publication is the same for every ending:
 *
 *   places    archive and slots hold a complete provisional record
 *   prepare   what stands in the way is collected, nothing is started
 *   broker    only when nothing stands in the way and nobody interrupted
 *   publish   named report, then the state folder's record, then the fallback where one failed
 */
#include "run-priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "boundary.h"
#include "file.h"
#include "infrastructure.h"
#include "memory.h"
#include "process.h"

enum { KEEP_DEFAULT_BYTES = 64 << 20 };

static void run_done(struct run *run)
{
    for (int i = 0; i < STREAM_COUNT; i++) {
        fd_close(&run->kept[i]);
        memory_free(run->kept_path[i]);
    }
    supervise_ending_free(run->ending);
    run_tier_done(run);
    json_decref(run->envelope);
    preparation_done(&run->preparation);
    run_watch_done(run);
    slot_free(run->report_slot);
    slot_free(run->record_slot);
    archive_free(run->archive);
    interrupts_end(&run->interrupts);
}

void run_fail(struct run *run, const struct err *err)
{
    if (run->failure.code == ERR_NONE) {
        run->failure = *err;
        run->facts.failure = &run->failure;
    }
}

static void note(struct run *run, const char *what, const struct err *err)
{
    strvec_push_format(&run->preparation.notes, "%s: %s", what, err->msg);
}

/* A complete record that says "in progress" stands in every place before anything long begins. */
static int take_slot(struct run *run, const json_t *part, const char *path, struct slot **ret_slot,
                     struct err *err)
{
    with_buf text = buf_new(RUN_RECORD_MAX_BYTES);
    if (run_render(part, &text, err) < 0) {
        return -1;
    }
    *ret_slot = slot_take(path, run->id, buf_span(&text), REPORT_RESERVE_BYTES, err);
    if (!*ret_slot) {
        return -1;
    }
    os_boundary(BOUNDARY_SLOT_TAKEN);
    return 0;
}

static int open_archive(struct run *run, struct err *err)
{
    run->archive = archive_open(run->request->environment, err);
    return run->archive ? archive_new_id(run->archive, run->id, err) : -1;
}

static void invent_id(struct run *run)
{
    unsigned char bytes[RUN_ID_SIZE - 2];
    if (os_getrandom(bytes, sizeof bytes) < 0) {
        memset(bytes, 0, sizeof bytes);
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        run->id[i] = "0123456789abcdefghjkmnpqrstvwxyz"[bytes[i] & 31];
    }
}

static void take_report(struct run *run, const json_t *provisional)
{
    struct err err = {0};
    if (take_slot(run, provisional, run->request->report, &run->report_slot, &err) < 0) {
        run_fail(run, &err);
        return;
    }
    run->facts.report_file = slot_path(run->report_slot); /* wherever it is read from later */
    if (slot_kept(run->report_slot)) {
        strvec_push_format(&run->preparation.notes,
                           "'%s' was there and is no report of berm: kept beside it as '%s'",
                           run->request->report, slot_kept(run->report_slot));
    }
}

static void take_places(struct run *run)
{
    const struct run_request *request = run->request;
    struct err err = {0};
    bool archived = open_archive(run, &err) == 0;
    if (!archived) {
        invent_id(run);
        if (request->report) {
            note(run, "no record in the state folder", &err);
        } else {
            run_fail(run, &err);
        }
    }
    run->facts.run_id = run->id;
    run->facts.in_progress = true;
    with_json record = report_build(&run->facts, &err);
    run->facts.in_progress = false;
    if (!record) {
        run_fail(run, &err);
        return;
    }
    if (archived) {
        with_string path = archive_path(run->archive, run->id, ".json");
        if (take_slot(run, record, path, &run->record_slot, &err) < 0) {
            if (request->report) {
                note(run, "no record in the state folder", &err);
            } else {
                run_fail(run, &err);
            }
        }
    }
    if (request->report) {
        take_report(run, run_inner_report(record));
    }
}

static void open_kept(struct run *run)
{
    static const char *const suffixes[STREAM_COUNT] = {".stdout", ".stderr"};
    for (int i = 0; i < STREAM_COUNT && run->request->keep_output; i++) {
        struct err err = {0};
        int made = run->archive
                       ? archive_create(run->archive, run->id, suffixes[i], &run->kept[i], &err)
                       : err_set(&err, ERR_UNAVAILABLE, "--keep-output needs the state folder");
        if (made < 0) {
            run_fail(run, &err);
            return;
        }
        run->kept_path[i] = archive_path(run->archive, run->id, suffixes[i]);
    }
    run->facts.kept_stdout = run->kept_path[STREAM_STDOUT];
    run->facts.kept_stderr = run->kept_path[STREAM_STDERR];
}

/* Levels are what was verified. A sandbox that could not be made is a refusal with its remedy. */
static void conclude_sandbox(struct run *run)
{
    struct preparation *preparation = &run->preparation;
    const struct supervise_ending *ending = run->ending;
    sandbox_let_go(preparation->sandbox);
    sandbox_raise(preparation->sandbox, &preparation->contain.guarantees);
    if (sandbox_verified(preparation->sandbox)) {
        sandbox_look_back(preparation->sandbox, &preparation->notes);
        return;
    }
    bool begun =
        run->offer.adapter == SCOPE_NONE || (run->scope_stood && !ending->scope.unverified);
    if (begun && ending->how == ENDED_FAILED && ending->failure.code == ERR_UNAVAILABLE) {
        char *saw = NULL;
        char *remedy = NULL;
        uid_t uid;
        gid_t gid;
        if (!sandbox_becomes(preparation->sandbox, &uid, &gid)) {
            uid = os_geteuid();
            gid = os_getegid();
        }
        infrastructure_explain(ending->failure.msg, &saw, &remedy);
        checks_add_take(&preparation->checks, CHECK_SANDBOX, false,
                        memory_format("the sandbox cannot be made here for user %u:%u", uid, gid),
                        saw, remedy);
    }
}

static const char *scope_remedy(enum scope_adapter adapter)
{
    switch (adapter) {
    case SCOPE_DELEGATED:
        return "the named cgroup must be yours to write, without a process of its own, and leave "
               "room for three "
               "cgroups (cgroup.max.descendants); or name another with --cgroup-parent";
    case SCOPE_SYSTEMD_SYSTEM:
        return "look at `systemctl status`, or name a cgroup with --cgroup-parent";
    case SCOPE_SYSTEMD_USER:
    case SCOPE_NONE:
        break;
    }
    return "look at `systemctl --user status`, or name a cgroup with --cgroup-parent";
}

/* Likewise; and a cgroup that berm has not the right to, or that does not hold what was set, is named. */
static void conclude_scope(struct run *run)
{
    struct preparation *preparation = &run->preparation;
    struct guarantees *guarantees = &preparation->contain.guarantees;
    const struct supervise_ending *ending = run->ending;
    if (ending->scope.held && !ending->scope.unverified) {
        bool sandboxed = preparation->sandbox && sandbox_verified(preparation->sandbox);
        contain_hold(sandboxed, ending->scope.limits.swap_max_bytes == 0, guarantees);
        if (ending->scope.has_no_end) {
            strvec_push(&preparation->notes,
                        "this systemd ends no scope by itself (before 244): had berm, its watchdog "
                        "and the anchor all been killed, the time limit would not have held");
        }
        if (!ending->scope.leaf_empty) {
            guarantees->level[GUARANTEE_DESCENDANTS] = LEVEL_OBSERVED;
            guarantees->why[GUARANTEE_DESCENDANTS] = "the leaf was not seen empty";
        }
        return;
    }
    bool unmade = ending->how == ENDED_FAILED && !ending->launched &&
                  (!run->scope_stood || ending->scope.unverified) &&
                  (ending->failure.code == ERR_UNAVAILABLE || ending->failure.code == ERR_TIMEOUT);
    if (unmade) {
        checks_add_take(
            &preparation->checks, CHECK_SCOPE, false,
            memory_format("the scope of the run cannot be made: %s", ending->failure.msg),
            memory_copy_string(run->offer.place),
            memory_copy_string(scope_remedy(run->offer.adapter)));
    }
}

/* What was required of the kernel and is not to be had is seen only here. */
static int judge_scope(const struct run *run, const struct scope *scope, struct err *err)
{
    struct scope_limits limits;
    scope_limits(scope, &limits);
    bool wanted = (run->preparation.require & (1U << GUARANTEE_SWAP)) != 0;
    return wanted && limits.swap_max_bytes != 0
               ? err_set(
                     err, ERR_UNAVAILABLE,
                     "the host swaps, and its kernel has no 'memory.swap.max' for '%s'; boot with "
                     "swapaccount=1, or `swapoff -a`",
                     scope_path(scope))
               : 0;
}

static int seal_sandbox(struct run *run, struct err *err)
{
    int64_t began_ns = run->request->clock->monotonic_ns();
    int result = sandbox_ready(run->preparation.sandbox, err);
    run->facts.seal_ns = run->request->clock->monotonic_ns() - began_ns;
    return result;
}

/* While the scope is made there is time for what does not depend on it. */
static int on_asked(void *context, struct err *err)
{
    struct run *run = context;
    if (run_watch_foresee(run, err) < 0) {
        err->code = ERR_SYS; /* of berm's own: neither the scope nor the sandbox refused */
        return -1;
    }
    return 0;
}

/* What has to do with the leaf waits for it: what programs are told, what a sandbox shows of it, and the
 * watchdog's word for it, which comes last. */
static int on_scope(void *context, const struct scope *scope, const struct watchdog_leaf *leaf,
                    struct err *err)
{
    struct run *run = context;
    struct sandbox *sandbox = run->preparation.sandbox;
    if (judge_scope(run, scope, err) < 0) {
        return -1;
    }
    run->scope_stood = true;
    run_context_fill(run, scope, &run->context);
    if (sandbox) {
        sandbox_show_cgroup(sandbox, run->context.folder);
    }
    if (sandbox && seal_sandbox(run, err) < 0) {
        return -1;
    }
    if (run_watch_arm(run, leaf, err) < 0) {
        err->code = ERR_SYS; /* of berm's own: neither the scope nor the sandbox refused */
        return -1;
    }
    return 0;
}

static int on_release(void *context, struct err *err)
{
    return run_tier_release(context, err);
}

/* A wish that was not met is told. */
static void note_measures(struct run *run)
{
    const struct supervise_scope *scope = &run->ending->scope;
    if (!run->request->measure_io || (scope->held && scope->counters.io_read_bytes >= 0)) {
        return;
    }
    if (!scope->held) {
        strvec_push(&run->preparation.notes,
                    "what was read and written is not known: only a scope could count it");
    } else {
        strvec_push_format(
            &run->preparation.notes,
            "what was read and written is not known: the io controller is not handed "
            "down to '%s'",
            scope->path);
    }
}

/* The blocks of the final record are set aside before anything runs. */
static int reserve_more(struct run *run, struct err *err)
{
    struct slot *slots[] = {run->record_slot, run->report_slot};
    for (size_t i = 0; i < countof(slots); i++) {
        if (slots[i] && slot_reserve(slots[i], REPORT_STRUCTURED_RESERVE_BYTES, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void supervise(struct run *run)
{
    const struct run_request *request = run->request;
    struct preparation *preparation = &run->preparation;
    open_kept(run);
    if (run->failure.code != ERR_NONE) {
        return;
    }
    struct err err = {0};
    if (preparation->wanted.workload_structured && reserve_more(run, &err) < 0) {
        run_fail(run, &err);
        return;
    }
    bool has_scope = run->offer.adapter != SCOPE_NONE;
    if (preparation->sandbox && (sandbox_open(preparation->sandbox, &err) < 0 ||
                                 (!has_scope && seal_sandbox(run, &err) < 0))) {
        run_fail(run, &err);
        return;
    }
    const struct supervise_request wanted = {
        .binding = preparation->binding,
        .sandbox = preparation->sandbox,
        .environment = environment_envp(&preparation->environment),
        .offer = &run->offer,
        .scope_name = run->scope_name,
        .with_io = request->measure_io,
        .on_asked = on_asked,
        .on_scope = on_scope,
        .on_scope_context = run,
        .on_release = on_release,
        .on_release_context = run,
        .watchdog = run->watch.watchdog,
        .crash_reports = &run->watch.in_payload,
        .ended_reports = &run->watch.after,
        .cwd_fd = fd_num(&preparation->cwd),
        .stdin_fd = fd_num(&preparation->standard_input),
        .pass_fd = {request->pass_fd[STREAM_STDOUT], request->pass_fd[STREAM_STDERR]},
        .keep_fd = {request->keep_output ? fd_num(&run->kept[STREAM_STDOUT]) : -1,
                    request->keep_output ? fd_num(&run->kept[STREAM_STDERR]) : -1},
        .keep_bytes = preparation->limits.values.output_bytes
                          ? preparation->limits.values.output_bytes
                          : KEEP_DEFAULT_BYTES,
        .tail_bytes = {run->facts.tail_bytes[STREAM_STDOUT], run->facts.tail_bytes[STREAM_STDERR]},
        .limits = preparation->limits.values,
        .detached_fails = request->authority == AUTHORITY_DECLARED,
        .interrupts = &run->interrupts,
        .cancel_fd = request->cancel_fd,
        .clock = request->clock,
        .observer = request->observer,
        .context = &run->context.facts,
        .daemons = preparation->wishes,
        .daemon_count = preparation->daemon_count,
    };
    if (supervise_run(&wanted, &run->ending, &err) < 0) {
        run->facts.not_spawned = true;
        run_fail(run, &err);
        return;
    }
    run->facts.ending = run->ending;
    run_watch_conclude(run);
    if (run->ending->context_failure.code != ERR_NONE) {
        note(run, "programs of the payload could not ask about the run",
             &run->ending->context_failure);
    }
    run_tier_ended(run);
    if (preparation->sandbox) {
        conclude_sandbox(run);
    }
    if (run->offer.adapter != SCOPE_NONE) {
        conclude_scope(run);
    }
    note_measures(run);
}

static void begin(struct run *run)
{
    const struct run_request *request = run->request;
    run->started_ns = request->clock->monotonic_ns();
    run->facts = (struct report_facts){
        .label = request->label,
        .scope = request->scope ? request->scope : request->workload,
        .tier = request->tier,
        .workload = request->workload,
        .report_file = request->report,
        .command = request->argv,
        .cwd = request->cwd ? request->cwd : ".",
        .started_realtime_ns = request->clock->realtime_ns(),
        .notes = &run->preparation.notes,
    };
    struct err err = {0};
    if (interrupts_begin(&run->interrupts, &err) < 0) {
        run_fail(run, &err);
    }
}

/* berm's own folder is the one above the runs. */
static char *state_folder(const char *runs)
{
    const char *slash = strrchr(runs, '/');
    return slash && slash != runs ? memory_format("%.*s", (int)(slash - runs), runs)
                                  : memory_copy_string(runs);
}

/* A watchdog without a durable manifest would be none. */
static void leave_scope_out(struct run *run)
{
    run->offer = (struct scope_offer){
        .obstacles =
            {{.code = SCOPE_OBSTACLE_NOT_WRITABLE,
              .saw = "the state folder cannot be written, which the watchdog of a scope needs",
              .remedy = "set XDG_STATE_HOME to a folder with room that you may write"}},
        .obstacle_count = 1};
    strvec_push(&run->preparation.notes,
                "no scope: its watchdog needs the state folder, which cannot be written");
}

/* The watchdog comes before anything that it would have to remove: its intent is durable first (WD-1). */
static int choose_scope(struct run *run, struct err *err)
{
    prepare_offer(run->request, &run->offer);
    if (!run->record_slot && run->offer.adapter != SCOPE_NONE) {
        leave_scope_out(run);
    }
    run->preparation.offer = &run->offer;
    if (run->offer.adapter == SCOPE_NONE) {
        return 0;
    }
    if (scope_name(run->id, run->scope_name, err) < 0) {
        return -1;
    }
    run_turn_take(run);
    return run_watch_start(run, err);
}

/* What is known after the preparation, whatever came of it. */
static void tell_prepared(struct run *run)
{
    struct preparation *preparation = &run->preparation;
    struct report_facts *facts = &run->facts;
    facts->plan_ns = preparation->plan_ns;
    facts->cwd = preparation->cwd_path[0] ? preparation->cwd_path : facts->cwd;
    facts->contain = &preparation->contain;
    facts->checks = &preparation->checks;
    facts->binding = preparation->binding;
    facts->environment = &preparation->environment;
    if (preparation->envelope_known) {
        run->envelope = envelope_to_json(&preparation->envelope, preparation->cwd_path);
        facts->envelope = run->envelope;
    }
    if (preparation->wanted.workload_structured) {
        facts->tail_bytes[STREAM_STDOUT] = TAIL_STRUCTURED_BYTES;
    }
    memcpy(facts->limits, preparation->limits.facts, sizeof facts->limits);
    facts->limit_count = preparation->limits.count;
}

static void prepare_all(struct run *run)
{
    struct preparation *preparation = &run->preparation;
    struct err err = {0};
    with_string state_dir = run->archive ? state_folder(archive_folder(run->archive)) : NULL;
    preparation->state_dir = state_dir;
    prepare(run->request, preparation);
    if (run_watch_ready(run, &err) < 0) {
        run->facts.not_spawned = true;
        run_fail(run, &err);
    } else if (checks_ok(&preparation->checks) && run_tier_prepare(run, &err) < 0) {
        run_fail(run, &err);
    }
    preparation->state_dir = NULL;
    tell_prepared(run);
}

static void prepare_and_run(struct run *run)
{
    struct preparation *preparation = &run->preparation;
    struct report_facts *facts = &run->facts;
    struct err err = {0};
    if (choose_scope(run, &err) < 0) {
        facts->not_spawned = true;
        run_fail(run, &err);
        return;
    }
    prepare_all(run);
    if (facts->not_spawned) {
        return;
    }
    if (!checks_ok(&preparation->checks)) {
        preparation->could = contain_with_sandbox(&run->offer, run->request->environment);
        preparation->contain.could = preparation->could;
        if (preparation->failure.code != ERR_NONE) {
            facts->failure = &preparation->failure;
        }
        return;
    }
    facts->prepare_ns = run->request->clock->monotonic_ns() - run->started_ns - facts->places_ns;
    facts->early_signal = interrupts_pending(&run->interrupts);
    if (facts->early_signal == 0 && run->failure.code == ERR_NONE) {
        supervise(run);
    }
}

/* Whatever became of the publication: berm lives, and says itself what failed. Its watchdog must not say that
 * it died. */
static int conclude(struct run *run, struct run_result *result, struct err *err)
{
    struct err unended = {0};
    run_evidence_note(run);
    int published = run_publish(run, result, err);
    int ended = run_watch_end(run, &unended);
    if (run_tier_conclude(run, published < 0 ? NULL : result->record, ended == 0) < 0) {
        published = run_publish_again(run, result, err);
    }
    if (published < 0) {
        return -1;
    }
    /* A scope that is left stands in the report; the watchdog goes on with it. */
    const struct supervise_scope *scope = run->ending ? &run->ending->scope : NULL;
    bool is_told = scope && scope->adapter != SCOPE_NONE && !scope->removed.gone;
    return ended == 0 || is_told ? 0 : err_set(err, unended.code, "%s", unended.msg);
}

int run_execute(const struct run_request *asked, struct run_result *ret_result, struct err *err)
{
    struct run_request wanted = run_tier_widen(asked);
    const struct run_request *request = &wanted;
    if (run_request_check(request, err) < 0) {
        return -1;
    }
    cleanup(run_done) struct run run = {.request = request};
    with_run_result result = {0};
    begin(&run);
    take_places(&run);
    run.facts.places_ns = request->clock->monotonic_ns() - run.started_ns;
    if (run.failure.code == ERR_NONE) {
        prepare_and_run(&run);
    }
    if (conclude(&run, &result, err) < 0) {
        return -1;
    }

    struct verdict verdict;
    report_decide(&run.facts, &verdict);
    result.outcome = verdict.outcome;
    result.promoted = run.evidence.promoted;
    result.exit_code = run_exit_code(request->exit_mode, &verdict, &run.facts);
    result.die_of = report_interrupt(&run.facts);
    *ret_result = result;
    result = (struct run_result){0};
    return 0;
}

void run_result_done(struct run_result *result)
{
    if (!result) {
        return;
    }
    json_decref(result->record);
    memory_free(result->record_path);
    memory_free(result->report_path);
    *result = (struct run_result){0};
}
