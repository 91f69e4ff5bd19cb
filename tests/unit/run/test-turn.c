/* The lock itself: unit/preflight/test-production-lock.c; in real runs: tests/host/t/72-story.py. */
#include "../unit.h"

#include <signal.h>
#include <unistd.h>

#include "memory.h"
#include "recover.h"
#include "run-priv.h"

static struct {
    int held;       /* looks at which somebody holds the lock */
    int looks;      /* so far */
    int active;     /* looks at which a run of this user is on its way */
    int recoveries; /* so far */
    bool left;      /* something of an earlier one is there */
    bool ctrl_c;    /* with the second look */
    int cancel_fd;  /* is closed with it; 0: none */
    bool unclaimed; /* the lock is to be had, and the claim is not */
    bool looked;    /* without taking it */
    int locked;     /* of the lock, now */
    int claimed, released;
    enum err_code refusal;
} scene;

int __wrap_production_lock_try(const struct production_place *place,
                               struct production_lock *ret_lock, struct err *err);
int __wrap_production_lock_try(const struct production_place *place,
                               struct production_lock *ret_lock, struct err *err)
{
    assert_ptr_equal(place, &production_host);
    assert_int_equal(scene.locked, 0);
    scene.looks++;
    if (scene.ctrl_c && scene.looks == 2) {
        raise(SIGINT);
    }
    if (scene.cancel_fd && scene.looks == 2) {
        close(scene.cancel_fd);
    }
    if (scene.looks <= scene.held) {
        return err_set(err, scene.refusal, "run k7f3aa of user 7 holds it");
    }
    *ret_lock = (struct production_lock){.fd = fd_adopt(dup(1))};
    scene.locked = 1;
    return 0;
}

int __wrap_production_lock_claim(struct production_lock *lock, const char *run_id,
                                 const char *scope, int64_t realtime_ns, struct err *err);
int __wrap_production_lock_claim(struct production_lock *lock, const char *run_id,
                                 const char *scope, int64_t realtime_ns, struct err *err)
{
    assert_string_equal(scope, "berm-k7f4aa.scope");
    assert_int_equal(scene.locked, 1);
    if (scene.unclaimed) {
        return err_set(err, ERR_REFUSED, "somebody has the name");
    }
    scene.claimed++;
    return 0;
}

int __wrap_production_lock_look(const struct production_place *place, struct err *err);
int __wrap_production_lock_look(const struct production_place *place, struct err *err)
{
    scene.looked = true;
    return scene.looks < scene.held ? err_set(err, ERR_CONFLICT, "run k7f3aa of user 7 holds it")
                                    : 0;
}

int __wrap_production_lock_release(struct production_lock *lock, struct err *err);
int __wrap_production_lock_release(struct production_lock *lock, struct err *err)
{
    scene.released++;
    return 0;
}

void __wrap_production_lock_done(struct production_lock *lock);
void __wrap_production_lock_done(struct production_lock *lock)
{
    fd_close(&lock->fd);
    scene.locked = 0;
}

int __wrap_recover_runs(char *const *environment, const struct os_clock *clock, int wait_ms,
                        struct recovery *ret_recovery, struct err *err);
int __wrap_recover_runs(char *const *environment, const struct os_clock *clock, int wait_ms,
                        struct recovery *ret_recovery, struct err *err)
{
    struct recovered *runs = memory_new(2 * sizeof *runs);
    runs[0] = (struct recovered){.run_id = "k7f2aa", .state = RECOVER_ELSEWHERE};
    runs[1] = (struct recovered){.run_id = "k7f3aa",
                                 .state = ++scene.recoveries <= scene.active ? RECOVER_ACTIVE
                                          : scene.left                       ? RECOVER_LEFT
                                                                             : RECOVER_HEALED};
    *ret_recovery = (struct recovery){.runs = runs, .count = 2};
    return 0;
}

static struct run_request request;

static void begin(struct run *run, int64_t wait_ms)
{
    struct err err = {0};
    scene.refusal = ERR_CONFLICT;
    request = run_request_plain();
    request.tier = CONTEXT_TIER_SMALL;
    request.wait_ms = wait_ms;
    *run = (struct run){.request = &request, .id = "k7f4aa", .scope_name = "berm-k7f4aa.scope"};
    assert_int_equal(interrupts_begin(&run->interrupts, &err), 0);
}

static void end(struct run *run)
{
    production_lock_done(&run->turn.lock);
    preparation_done(&run->preparation);
    interrupts_end(&run->interrupts);
}

static int forget(void **state)
{
    memset(&scene, 0, sizeof scene);
    return 0;
}

static void a_plain_run_takes_no_turn(void **state)
{
    struct run run;
    begin(&run, 0);
    request.tier = CONTEXT_TIER_NONE;
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_int_equal(scene.looks + scene.claimed, 0);
    assert_true(checks_ok(&run.preparation.checks));
    end(&run);
}

/* TR-4 EN-3 */
static void whose_turn_it_is_not_is_refused_and_told_who_has_it(void **state)
{
    struct run run;
    scene.held = 1;
    begin(&run, 0);
    run_turn_take(&run);
    run_turn_judge(&run);
    const struct check *check = checks_first_failed(&run.preparation.checks);
    assert_non_null(check);
    assert_string_equal(check->code, CHECK_LOCK);
    assert_string_equal(check->saw, "run k7f3aa of user 7 holds it");
    assert_non_null(strstr(check->remedy, "--wait"));
    assert_int_equal(scene.looks, 1);
    assert_int_equal(scene.claimed, 0);
    end(&run);
}

static void who_waits_gets_it_and_the_record_says_how_long(void **state)
{
    struct run run;
    scene.held = 2;
    begin(&run, -1);
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_true(checks_ok(&run.preparation.checks));
    assert_int_equal(scene.looks, 3);
    assert_int_equal(scene.claimed, 1);
    assert_non_null(strstr(run.preparation.notes.strings[0], "for its turn"));
    end(&run);
}

static void a_wait_has_its_end(void **state)
{
    struct run run;
    scene.held = INT32_MAX;
    begin(&run, 1);
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_false(checks_ok(&run.preparation.checks));
    end(&run);
}

static void what_no_waiting_mends_is_not_waited_for(void **state)
{
    struct run run;
    scene.held = INT32_MAX;
    begin(&run, -1);
    scene.refusal = ERR_REFUSED;
    run_turn_take(&run);
    assert_int_equal(scene.looks, 1);
    end(&run);
}

/* TR-5: and the lock is not taken for a moment, so that nobody waits for who waits. */
static void beside_a_run_of_this_user_no_tier_begins(void **state)
{
    struct run run;
    scene.active = 1;
    begin(&run, 0);
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_int_equal(scene.looks, 0);
    assert_true(scene.looked);
    const struct check *check = checks_first_failed(&run.preparation.checks);
    assert_non_null(check);
    assert_string_equal(check->code, CHECK_ACTIVE);
    assert_non_null(strstr(check->saw, "run k7f3aa is on its way"));
    assert_int_equal(scene.locked, 0);
    end(&run);
    begin(&run, -1);
    run_turn_take(&run); /* and it has ended by the next look */
    run_turn_judge(&run);
    assert_true(checks_ok(&run.preparation.checks));
    end(&run);
}

/* TR-4: who has it says more than that there is a run. */
static void beside_who_has_the_lock_that_is_told(void **state)
{
    struct run run;
    scene.active = 1;
    scene.held = 1;
    begin(&run, 0);
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_string_equal(checks_first_failed(&run.preparation.checks)->code, CHECK_LOCK);
    assert_int_equal(scene.looks, 0);
    end(&run);
}

/* TR-4: a lock without a name is given back. */
static void what_cannot_be_claimed_is_not_held(void **state)
{
    struct run run;
    scene.unclaimed = true;
    begin(&run, -1);
    run_turn_take(&run);
    run_turn_judge(&run);
    const struct check *check = checks_first_failed(&run.preparation.checks);
    assert_non_null(check);
    assert_string_equal(check->code, CHECK_LOCK);
    assert_string_equal(check->saw, "somebody has the name");
    assert_int_equal(scene.locked, 0);
    end(&run);
}

/* TR-5 */
static void where_something_is_left_no_tier_begins(void **state)
{
    struct run run;
    scene.left = true;
    begin(&run, -1);
    run_turn_take(&run);
    run_turn_judge(&run);
    const struct check *check = checks_first_failed(&run.preparation.checks);
    assert_non_null(check);
    assert_string_equal(check->code, CHECK_ACTIVE);
    assert_non_null(strstr(check->saw, "run k7f3aa died"));
    assert_int_equal(scene.locked, 0);
    end(&run);
}

/* LC-3: Ctrl-C while it waits is no refusal. */
static void who_gives_up_waiting_was_interrupted(void **state)
{
    struct run run;
    scene.held = INT32_MAX;
    scene.ctrl_c = true;
    begin(&run, -1);
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_int_equal(scene.looks, 2);
    assert_true(checks_ok(&run.preparation.checks));
    assert_int_equal(interrupts_pending(&run.interrupts), SIGINT);
    end(&run);
}

/* LC-3: and so does a caller that cancels, with the outcome and the exit status of that. */
static void who_is_cancelled_while_it_waits_is_not_refused(void **state)
{
    struct run run;
    int ends[2];
    struct verdict verdict;
    scene.held = INT32_MAX;
    assert_int_equal(pipe(ends), 0);
    begin(&run, -1);
    request.cancel_fd = ends[0];
    scene.cancel_fd = ends[1];
    run_turn_take(&run);
    run_turn_judge(&run);
    assert_int_equal(scene.looks, 2);
    assert_true(checks_ok(&run.preparation.checks));
    run.facts.checks = &run.preparation.checks;
    report_decide(&run.facts, &verdict);
    assert_string_equal(verdict.error_code, "LAMINA_SAFE_INTERRUPTED");
    assert_string_equal(verdict.error_message, "cancelled before the command was started");
    assert_int_equal(report_exit_code(&run.facts), 130);
    end(&run);
    close(ends[0]);
}

/* TR-4: only who proves that nothing is left takes the claim back. */
static void the_claim_goes_with_the_proof_alone(void **state)
{
    static const char claim;
    const void *proof = &claim;
    struct supervise_ending ending = {.tree_empty = proof,
                                      .scope = {.adapter = SCOPE_SYSTEMD_USER,
                                                .held = true,
                                                .leaf_empty = proof,
                                                .removed = {.gone = proof}}};
    struct run run;
    begin(&run, 0);
    run.ending = &ending;
    run_turn_end(&run, true);
    assert_int_equal(scene.released, 1);
    ending.survivor_count = 1;
    run_turn_end(&run, true);
    ending.survivor_count = 0;
    ending.scope.removed.gone = NULL;
    run_turn_end(&run, true);
    ending.scope.removed.gone = proof;
    ending.scope.leaf_empty = NULL;
    run_turn_end(&run, true);
    ending.scope.leaf_empty = proof;
    ending.tree_empty = NULL;
    run_turn_end(&run, true);
    assert_int_equal(scene.released, 1);
    run.ending = NULL;
    run_turn_end(&run, false); /* who knows what was begun? */
    assert_int_equal(scene.released, 1);
    run_turn_end(&run, true); /* nothing was */
    assert_int_equal(scene.released, 2);
    ending.tree_empty = proof;
    run.ending = &ending;
    run_turn_end(&run, false); /* of a watchdog that was killed */
    assert_int_equal(scene.released, 3);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_plain_run_takes_no_turn, forget),
        cmocka_unit_test_setup(whose_turn_it_is_not_is_refused_and_told_who_has_it, forget),
        cmocka_unit_test_setup(who_waits_gets_it_and_the_record_says_how_long, forget),
        cmocka_unit_test_setup(a_wait_has_its_end, forget),
        cmocka_unit_test_setup(what_no_waiting_mends_is_not_waited_for, forget),
        cmocka_unit_test_setup(beside_a_run_of_this_user_no_tier_begins, forget),
        cmocka_unit_test_setup(beside_who_has_the_lock_that_is_told, forget),
        cmocka_unit_test_setup(what_cannot_be_claimed_is_not_held, forget),
        cmocka_unit_test_setup(where_something_is_left_no_tier_begins, forget),
        cmocka_unit_test_setup(who_gives_up_waiting_was_interrupted, forget),
        cmocka_unit_test_setup(who_is_cancelled_while_it_waits_is_not_refused, forget),
        cmocka_unit_test_setup(the_claim_goes_with_the_proof_alone, forget),
    };
    return cmocka_run_group_tests_name("run/turn", tests, NULL, NULL);
}
