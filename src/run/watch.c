/* The watchdog of a run, and what it is to say when berm dies: rendered here beforehand, at each change of
 * what would be true. */
#include "recover.h"
#include "run-priv.h"

#include <stdio.h>

#include "memory.h"

enum { READY_S = 10 };

/* What one record says: for the state folder whole, for a named report its inner one. */
struct texts {
    struct buf of[WATCH_SLOTS];
};

static void texts_done(struct texts *texts)
{
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        buf_done(&texts->of[i]);
    }
}
#define with_texts cleanup(texts_done) struct texts

static int render(struct run *run, enum report_crash crash, struct buf texts[WATCH_SLOTS],
                  struct err *err)
{
    struct report_facts facts = run->facts;
    with_texts made = {0};
    facts.crash = crash;
    facts.duration_ns = run->request->clock->monotonic_ns() - run->started_ns;
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        made.of[i] = buf_new(RUN_RECORD_MAX_BYTES);
    }
    with_json record = report_build(&facts, err);
    if (!record || (run->record_slot && run_render(record, &made.of[WATCH_SLOT_RECORD], err) < 0) ||
        (run->report_slot &&
         run_render(run_inner_report(record), &made.of[WATCH_SLOT_REPORT], err) < 0)) {
        return err_wrap(err, "cannot make the report of a crash"); /* what was said before stays */
    }
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        struct buf before = texts[i];
        texts[i] = made.of[i];
        made.of[i] = before;
    }
    return 0;
}

/* Of a crash like that now, beside what was last rendered for one that leaves something. */
static int seal_reports(struct run *run, enum report_crash crash, struct fd *ret_fd,
                        struct err *err)
{
    with_texts nothing_left = {0};
    if (render(run, crash, nothing_left.of, err) < 0) {
        return -1;
    }
    struct span spans[WATCH_SLOTS][WATCH_ENDINGS];
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        spans[i][WATCH_NOTHING_LEFT] = buf_span(&nothing_left.of[i]);
        spans[i][WATCH_SOMETHING_LEFT] = buf_span(&run->watch.left[i]);
    }
    return watchdog_seal_reports((const struct span(*)[WATCH_ENDINGS])spans, ret_fd, err);
}

static struct watchdog_slot place_of(const struct slot *slot)
{
    return slot ? (struct watchdog_slot){slot_parent(slot), slot_name(slot)}
                : (struct watchdog_slot){NULL, NULL};
}

/* What a death of both left of earlier runs goes before this one begins, without waiting for anybody. What
 * cannot go does not keep it from running, and is told; that another berm is at it now is no news. */
static void heal_earlier_runs(struct run *run)
{
    with_recovery recovery = {0};
    struct err err = {0};
    struct strvec *notes = &run->preparation.notes;
    if (recover_runs(run->request->environment, run->request->clock, 0, &recovery, &err) < 0) {
        if (err.code != ERR_CONFLICT) {
            strvec_push_format(notes, "earlier runs were not healed: %s", err.msg);
        }
    } else if (recovery.counts[RECOVER_LEFT] > 0) {
        strvec_push_format(
            notes,
            "%lld earlier run(s) that died left something that could not be removed; "
            "`berm recover --runs` says what",
            (long long)recovery.counts[RECOVER_LEFT]);
    }
}

int run_watch_start(struct run *run, struct err *err)
{
    struct run_watch *watch = &run->watch;
    const struct production_lock *lock = &run->turn.lock;
    if (run->offer.adapter == SCOPE_DELEGATED) {
        (void)snprintf(watch->scope_path, sizeof watch->scope_path, "%s/%s", run->offer.place,
                       run->scope_name);
    } else if (run->offer.adapter != SCOPE_NONE) {
        scope_watchdog_name(run->scope_name, watch->unit);
    }
    if (run->request->tier == CONTEXT_TIER_NONE) { /* else it was seen to whose turn it is */
        heal_earlier_runs(run);
    }
    if (recover_open_folder(run->request->environment, &watch->folder, err) < 0) {
        return -1;
    }
    watch->request = (struct watchdog_request){
        .run_id = run->id,
        .folder = &watch->folder,
        .slots = {[WATCH_SLOT_REPORT] = place_of(run->report_slot),
                  [WATCH_SLOT_RECORD] = place_of(run->record_slot)},
        .lock_fd = production_lock_fd(lock),
        .lock_path = production_host.cgroups,
        .claim_folder = lock->claimed ? &lock->folder : NULL,
        .claim = lock->claimed,
        .unit = watch->unit[0] ? watch->unit : NULL,
        .scope_unit = watch->unit[0] ? run->scope_name : NULL,
        .scope_path = watch->scope_path[0] ? watch->scope_path : NULL,
        .ready_ns = READY_S * NS_PER_S,
        .clock = run->request->clock,
    };
    watch->watchdog = watchdog_start(&watch->request, err);
    if (!watch->watchdog) {
        return -1;
    }
    /* It gets ready meanwhile. */
    int result = render(run, CRASH_LEFT, watch->left, err) < 0 ||
                         seal_reports(run, CRASH_BEFORE_PAYLOAD, &watch->before, err) < 0
                     ? -1
                     : watchdog_watch(watch->watchdog, fd_num(&watch->before), err);
    if (result < 0) {
        watchdog_free(watch->watchdog);
        watch->watchdog = NULL;
    }
    return result;
}

int run_watch_ready(struct run *run, struct err *err)
{
    struct watchdog *watchdog = run->watch.watchdog;
    return watchdog ? watchdog_ready(watchdog, err) : 0;
}

int run_watch_foresee(struct run *run, struct err *err)
{
    struct run_watch *watch = &run->watch;
    if (!watch->watchdog) {
        return 0;
    }
    return render(run, CRASH_LEFT, watch->left, err) < 0 ||
                   seal_reports(run, CRASH_IN_PAYLOAD, &watch->in_payload, err) < 0 ||
                   seal_reports(run, CRASH_AFTER_PAYLOAD, &watch->after, err) < 0
               ? -1
               : 0;
}

static int tell(const struct run_watch *watch, const struct fd *reports, struct err *err)
{
    int sent = watchdog_report(watch->watchdog, fd_num(reports));
    return sent < 0 ? err_sys(err, sent, "cannot tell the watchdog what it is to say") : 0;
}

/* The manifest keeps what the watchdog was told last before it is armed. Whoever heals a death of both cannot
 * know whether the release came, nor how a payload ended, so that is the text of one that may have run; the watchdog
 * itself is told at the release, and until then says that there was none. */
int run_watch_arm(struct run *run, const struct watchdog_leaf *leaf, struct err *err)
{
    struct run_watch *watch = &run->watch;
    if (!watch->watchdog) {
        return 0;
    }
    struct watchdog_leaf held = *leaf;
    const struct snapshot *snapshot = run->tier.freeze.snapshot;
    held.kept_fd =
        snapshot ? snapshot_lease_fd(snapshot) : -1; /* nobody else gets that copy meanwhile */
    return tell(watch, &watch->after, err) < 0 || watchdog_arm(watch->watchdog, &held, err) < 0 ||
                   tell(watch, &watch->before, err) < 0
               ? -1
               : 0;
}

/* Without it the watchdog says what it knew before: less, and still true. Where nothing follows but the publication,
 * that is done before these would be rendered. */
void run_watch_conclude(struct run *run)
{
    struct run_watch *watch = &run->watch;
    if (run->request->tier == CONTEXT_TIER_NONE) {
        return;
    }
    struct err ignored = {0};
    with_fd reports = {0};
    enum report_crash crash =
        run->ending && run->ending->released_ns > 0 ? CRASH_AFTER_PAYLOAD : CRASH_BEFORE_PAYLOAD;
    if (watch->watchdog && render(run, CRASH_LEFT, watch->left, &ignored) == 0 &&
        seal_reports(run, crash, &reports, &ignored) == 0) {
        (void)!watchdog_report(watch->watchdog, fd_num(&reports));
    }
}

/* What was published stands: a watchdog that goes on ends and removes what there is, and writes nothing. */
static int silence(const struct run_watch *watch, struct err *err)
{
    const struct span nothing[WATCH_SLOTS][WATCH_ENDINGS] = {0};
    with_fd reports = {0};
    return watchdog_seal_reports(nothing, &reports, err) < 0 ? -1 : tell(watch, &reports, err);
}

int run_watch_end(struct run *run, struct err *err)
{
    const struct run_watch *watch = &run->watch;
    struct err ignored = {0};
    if (!watch->watchdog || watchdog_disarm(watch->watchdog, err) == 0) {
        return 0;
    }
    if (silence(watch, &ignored) < 0) {
        /* Nobody is there to be told, or it has no memory: then it says what it was told last. */
    }
    return -1;
}

void run_watch_done(struct run *run)
{
    struct run_watch *watch = &run->watch;
    watchdog_free(watch->watchdog);
    fd_close(&watch->before);
    fd_close(&watch->in_payload);
    fd_close(&watch->after);
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        buf_done(&watch->left[i]);
    }
    bfs_dir_done(&watch->folder);
    *watch = (struct run_watch){0};
}
