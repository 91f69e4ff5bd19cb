/* One run at a tier at a time: the host's lock, and none of this user's runs on its way beside it. */
#include "recover.h"
#include "run-priv.h"

#include <poll.h>
#include <string.h>

#include "event.h"
#include "memory.h"

enum { LOOK_AGAIN_MS = 100, HEAL_MS = 2000 };

/* Of this user's runs, those whose berm or watchdog lives, and those of which something is left. */
static int look_at_runs(const struct run *run, struct err *err)
{
    with_recovery recovery = {0};
    if (recover_runs(run->request->environment, run->request->clock, HEAL_MS, &recovery, err) < 0) {
        return err_wrap(err, "it cannot be told whether an earlier run is on its way");
    }
    for (size_t i = 0; i < recovery.count; i++) {
        const struct recovered *one = &recovery.runs[i];
        if (one->state == RECOVER_ACTIVE) {
            return err_set(err, ERR_CONFLICT, "run %s is on its way%s%s", one->run_id,
                           one->what[0] ? ": " : "", one->what);
        }
        if (one->state == RECOVER_LEFT) {
            return err_set(err, ERR_REFUSED, "run %s died, and something of it is there: %s",
                           one->run_id[0] ? one->run_id : "?", one->what);
        }
    }
    return 0;
}

static void set_turn(struct run_turn *turn, const char *code, const struct err *why)
{
    turn->code = code;
    turn->refusal = *why;
}

/* The claim follows at once: who holds the lock has a name for all others. */
static void take_lock(struct run *run)
{
    struct run_turn *turn = &run->turn;
    struct err why = {0};
    if (production_lock_try(&production_host, &turn->lock, &why) < 0) {
        set_turn(turn, CHECK_LOCK, &why);
    } else if (production_lock_claim(&turn->lock, run->id, run->scope_name,
                                     run->request->clock->realtime_ns(), &why) < 0) {
        set_turn(turn, CHECK_LOCK, &why);
        production_lock_done(&turn->lock);
    }
}

/* The runs first, since that heals what died, and what died keeps the lock. Who is not alone takes no lock, which
 * others may have; but who has it says more than that there is a run. */
static void look(struct run *run)
{
    struct run_turn *turn = &run->turn;
    struct err beside = {0};
    struct err holder = {0};
    set_turn(turn, NULL, &beside);
    if (look_at_runs(run, &beside) == 0) {
        take_lock(run);
        return;
    }
    bool is_held =
        production_lock_look(&production_host, &holder) < 0 && holder.code == ERR_CONFLICT;
    set_turn(turn, is_held ? CHECK_LOCK : CHECK_ACTIVE, is_held ? &holder : &beside);
}

static bool is_cancelled(const struct run *run)
{
    int cancel_fd = run->request->cancel_fd;
    return cancel_fd >= 0 && os_poll(cancel_fd, POLLIN, 0) > 0;
}

/* Nobody tells when a lock is free; Ctrl-C is heard at once. */
static bool may_look_again(struct run *run, int64_t until_ns)
{
    (void)!os_poll(fd_num(&run->interrupts.signal_fd), POLLIN, LOOK_AGAIN_MS);
    return interrupts_pending(&run->interrupts) == 0 && !is_cancelled(run) &&
           run->request->clock->monotonic_ns() < until_ns;
}

void run_turn_take(struct run *run)
{
    const struct run_request *request = run->request;
    if (request->tier == CONTEXT_TIER_NONE) {
        return;
    }
    int64_t began_ns = request->clock->monotonic_ns();
    int64_t until_ns = request->wait_ms < 0 ? INT64_MAX : began_ns + request->wait_ms * NS_PER_MS;
    look(run);
    if (!run->turn.code || run->turn.refusal.code != ERR_CONFLICT || request->wait_ms == 0) {
        return;
    }
    if (request->on_wait) {
        request->on_wait(run->turn.refusal.msg);
    }
    while (run->turn.code && run->turn.refusal.code == ERR_CONFLICT &&
           may_look_again(run, until_ns)) {
        look(run);
    }
    strvec_push_format(&run->preparation.notes, "waited %lld ms for its turn",
                       (long long)((request->clock->monotonic_ns() - began_ns) / NS_PER_MS));
}

/* Who was asked to stop while it waited ends as interrupted. */
void run_turn_judge(struct run *run)
{
    const struct run_turn *turn = &run->turn;
    if (!turn->code || interrupts_pending(&run->interrupts) > 0) {
        return;
    }
    if (is_cancelled(run)) {
        struct err given_up = {0};
        (void)err_set(&given_up, ERR_CANCELLED, "cancelled while it waited for its turn");
        run_fail(run, &given_up);
        return;
    }
    bool locked = turn->code == CHECK_LOCK;
    checks_add_take(&run->preparation.checks, turn->code, false,
                    memory_copy_string(locked ? "the host's production lock is not to be had"
                                              : "a tier runs beside none of this user's runs"),
                    memory_copy_string(turn->refusal.msg),
                    memory_copy_string(turn->refusal.code == ERR_CONFLICT
                                           ? "wait for it with --wait, or end it"
                                       : locked ? "end what is in the way, as it says"
                                                : "`berm recover --runs` says more"));
}

/* Proved, whatever became of the watchdog. Without an ending only its word says that nothing was begun. */
static bool nothing_is_left(const struct supervise_ending *ending, bool disarmed)
{
    return !ending
               ? disarmed
               : ending->tree_empty && ending->survivor_count == 0 && report_removed_scope(ending);
}

void run_turn_end(struct run *run, bool disarmed)
{
    struct err ignored = {0};
    if (nothing_is_left(run->ending, disarmed)) {
        /* A claim that could not be removed counts no longer: its scope is gone. */
        (void)!production_lock_release(&run->turn.lock, &ignored);
    }
    production_lock_done(&run->turn.lock);
}
