#include "../unit.h"

#include <errno.h>

#include "facts.h"

/* RP-2: one question for each way to end; the rows are tried in their order. */

static void decide_is(const struct report_facts *facts, enum outcome outcome, const char *reason,
                      const char *limit, const char *code)
{
    struct verdict verdict;
    report_decide(facts, &verdict);
    assert_string_equal(outcome_name(verdict.outcome), outcome_name(outcome));
    assert_string_equal(verdict.reason, reason);
    if (limit) {
        assert_string_equal(verdict.limit, limit);
    } else {
        assert_null(verdict.limit);
    }
    if (code) {
        assert_string_equal(verdict.error_code, code);
        assert_true(verdict.error_message[0] != '\0');
    } else {
        assert_null(verdict.error_code);
    }
}

static void message_has(const struct report_facts *facts, const char *words)
{
    struct verdict verdict;
    report_decide(facts, &verdict);
    if (!strstr(verdict.error_message, words)) {
        fail_msg("'%s' does not say '%s'", verdict.error_message, words);
    }
}

static void a_run_that_ended_by_itself(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    decide_is(&facts, OUTCOME_SUCCESS, "completed", NULL, NULL);
    assert_int_equal(report_exit_code(&facts), 0);

    ending->exit_code = 3;
    decide_is(&facts, OUTCOME_COMMAND_FAILED, "command_failed", NULL, "LAMINA_SAFE_COMMAND_FAILED");
    message_has(&facts, "exited with 3");
    assert_int_equal(report_exit_code(&facts), 3);

    ending->how = ENDED_SIGNALLED;
    ending->exit_code = 0;
    ending->exit_signal = 11;
    decide_is(&facts, OUTCOME_COMMAND_FAILED, "command_failed", NULL, "LAMINA_SAFE_COMMAND_FAILED");
    message_has(&facts, "SIGSEGV");
    assert_int_equal(report_exit_code(&facts), 139);
}

/* WD-5: what the watchdog will write was made while berm lived. */
static void a_run_whose_berm_died(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.crash = CRASH_BEFORE_PAYLOAD;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "supervisor_crash_before_payload", "supervisor_crash",
              "LAMINA_SAFE_SUPERVISOR_CRASH");
    assert_int_equal(report_exit_code(&facts), 125);
    facts.crash = CRASH_IN_PAYLOAD;
    decide_is(&facts, OUTCOME_INTERRUPTED, "interrupted", "signal", "LAMINA_SAFE_SUPERVISOR_CRASH");
    facts.crash = CRASH_AFTER_PAYLOAD;
    decide_is(&facts, OUTCOME_INTERRUPTED, "interrupted", "signal", "LAMINA_SAFE_SUPERVISOR_CRASH");
    facts.ending = ending; /* RS-5: also when it had seen a success */
    decide_is(&facts, OUTCOME_INTERRUPTED, "interrupted", "signal", "LAMINA_SAFE_SUPERVISOR_CRASH");
    facts.crash = CRASH_IN_PAYLOAD;
    decide_is(&facts, OUTCOME_INTERRUPTED, "interrupted", "signal", "LAMINA_SAFE_SUPERVISOR_CRASH");
    assert_int_equal(report_exit_code(&facts), 125);
    facts.crash = CRASH_LEFT;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", "supervisor_crash",
              "LAMINA_SAFE_CLEANUP_INCOMPLETE");
    facts.crash = CRASH_IN_PAYLOAD;
    facts.checks = NULL; /* no ground to speak of a payload */
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "supervisor_crash_before_payload", "supervisor_crash",
              "LAMINA_SAFE_SUPERVISOR_CRASH");
}

/* R9: a file that cannot be executed is the command's failure. */
/* Output that is gone for good is no success, unless nobody wanted it. */
static void lost_output_is_no_success(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    for (int i = 0; i < STREAM_COUNT; i++) {
        struct supervise_stream *stream = &ending->stream[i];
        stream->bytes = 30;
        stream->passed_bytes = 10;
        static const int unwanted[] = {0, EPIPE, EBADF};
        for (size_t j = 0; j < countof(unwanted); j++) {
            stream->pass_error = unwanted[j];
            decide_is(&facts, OUTCOME_SUCCESS, "completed", NULL, NULL);
        }
        stream->pass_error = ENOSPC;
        decide_is(&facts, OUTCOME_INTERNAL_ERROR, "internal_error", NULL, "LAMINA_SAFE_INTERNAL");
        message_has(&facts, i == 0 ? "standard output: 10 of 30 bytes, then ENOSPC"
                                   : "standard error: 10 of 30 bytes, then ENOSPC");
        assert_int_equal(report_exit_code(&facts), 125);
        ending->exit_code = 3; /* the command's own failure says more */
        decide_is(&facts, OUTCOME_COMMAND_FAILED, "command_failed", NULL,
                  "LAMINA_SAFE_COMMAND_FAILED");
        ending->exit_code = 0;
        stream->pass_error = 0;
    }
}

static void a_payload_that_could_not_be_executed(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_NOT_EXECUTED;
    ending->launched = false;
    ending->exit_code = 126;
    err_set(&ending->failure, ERR_NOT_EXECUTABLE, "Exec format error");
    decide_is(&facts, OUTCOME_COMMAND_FAILED, "command_failed", NULL, "LAMINA_SAFE_COMMAND_FAILED");
    message_has(&facts, "Exec format error");
    assert_int_equal(report_exit_code(&facts), 126);
    ending->exit_code = 0;
    assert_int_equal(report_exit_code(&facts), 126);
    ending->exit_code = 127;
    assert_int_equal(report_exit_code(&facts), 127);
}

static void a_limit_names_its_value_and_where_it_came_from(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_LIMIT;
    ending->limit = LIMIT_MEMORY;
    decide_is(&facts, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded", "memory",
              "LAMINA_SAFE_LIMIT_EXCEEDED");
    message_has(&facts, "1073741824 bytes (from --memory), 6000 bytes seen");
    assert_int_equal(report_exit_code(&facts), 120);
    ending->limit = LIMIT_TIMEOUT;
    assert_int_equal(report_exit_code(&facts), 124);
    ending->limit = LIMIT_OUTPUT_IO;
    decide_is(&facts, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded", "output_io",
              "LAMINA_SAFE_LIMIT_EXCEEDED");
    ending->limit = LIMIT_DETACHED; /* MD-1 */
    ending->limit_seen = 2;
    decide_is(&facts, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded", "detached_descendant",
              "LAMINA_SAFE_LIMIT_EXCEEDED");
    message_has(&facts, "2 processes outlived the command");
    assert_int_equal(report_exit_code(&facts), 120);
    ending->limit = LIMIT_NONE;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "internal_error", NULL, "LAMINA_SAFE_INTERNAL");
}

/* MD-1 MD-6: whoever was left of a run with daemons is a limit that was passed; a path that is left is more. */
static void a_daemon_that_went_wrong(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_LIMIT;
    ending->limit = LIMIT_DETACHED;
    ending->detached_why = "somebody is left";
    decide_is(&facts, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded", "detached_descendant",
              "LAMINA_SAFE_LIMIT_EXCEEDED");
    message_has(&facts, "the command had ended, and somebody is left [detached_descendant]");
    assert_int_equal(report_exit_code(&facts), 120);
    ending->limit = LIMIT_DAEMON;
    decide_is(&facts, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded",
              "managed_descendant_cleanup", "LAMINA_SAFE_LIMIT_EXCEEDED");
    ending->how = ENDED_EXITED;
    ending->daemon_count = 1;
    ending->daemons[0] =
        (struct supervise_daemon){.folder = "/srv", .lock_name = "l", .lock_left = true};
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", NULL,
              "LAMINA_SAFE_CLEANUP_INCOMPLETE");
    message_has(&facts, "'/srv/l' is left");
}

/* SB-8: a name of the payload's is neutralised. */
static void a_link_in_a_temporary_folder(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_LIMIT;
    ending->limit = LIMIT_LINKS;
    ending->links =
        (struct sandbox_links){.count = 3, .told = 1, .paths = {"tmp/a\x1b[1m"}, .why = "x"};
    ending->detached_why = "somebody is left"; /* and was asked to end after that */
    decide_is(&facts, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded", "temporary_symlink",
              "LAMINA_SAFE_LIMIT_EXCEEDED");
    message_has(
        &facts,
        "no symbolic link in its temporary folders: 'tmp/a\\x1b[1m' and 2 more; use copies");
    assert_int_equal(report_exit_code(&facts), 120);
    ending->links = (struct sandbox_links){
        .why = "a folder cannot be opened", .sys = EACCES, .where = "tmp/s\n"};
    message_has(&facts, "cannot be ruled out: a folder cannot be opened: 'tmp/s\\n' (EACCES)");
    ending->links = (struct sandbox_links){.why = "it is too deep",
                                           .limit = 128,
                                           .unit = "folders",
                                           .remedy = "make it flatter",
                                           .where = "tmp/a"};
    message_has(&facts, "it is too deep, at most 128 folders: 'tmp/a'; make it flatter");
    ending->links = (struct sandbox_links){.why = "they are not held", .remedy = "run it again"};
    message_has(&facts, "cannot be ruled out: they are not held; run it again");
}

static void an_interrupt(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_INTERRUPTED;
    ending->interrupt_signal = 2;
    decide_is(&facts, OUTCOME_INTERRUPTED, "interrupted", "signal", "LAMINA_SAFE_INTERRUPTED");
    assert_int_equal(report_exit_code(&facts), 130);
    assert_int_equal(report_interrupt(&facts), 2);
    ending->interrupt_signal = 0; /* by the caller's descriptor */
    assert_int_equal(report_exit_code(&facts), 130);
    assert_int_equal(report_interrupt(&facts), 0);

    /* Before anything was started the published rules leave only internal_error. */
    facts.ending = NULL;
    facts.early_signal = 15;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "interrupted", "signal", "LAMINA_SAFE_INTERRUPTED");
    message_has(&facts, "SIGTERM");
    assert_int_equal(report_exit_code(&facts), 143);
    assert_int_equal(report_interrupt(&facts), 15);
}

/* T1-T4: what is left, or not proved gone, beats whatever else happened; the limit stays on record. */
static void what_is_left_beats_everything(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->tree_empty = NULL;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", NULL,
              "LAMINA_SAFE_CLEANUP_INCOMPLETE");
    assert_int_equal(report_exit_code(&facts), 125);
    add_survivor(ending, 4242, EPERM, "su\x1b[2J");
    ending->how = ENDED_LIMIT;
    ending->limit = LIMIT_TIMEOUT;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", "timeout",
              "LAMINA_SAFE_CLEANUP_INCOMPLETE");
    message_has(&facts, "pid 4242 (su\\x1b[2J): EPERM");
    ending->tree_empty = claim_tree_empty(); /* a survivor belies the proof */
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", "timeout",
              "LAMINA_SAFE_CLEANUP_INCOMPLETE");
    struct err failure = {0};
    err_set(&failure, ERR_REFUSED, "late");
    facts.failure = &failure;
    facts.fallback = true;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", "timeout",
              "LAMINA_SAFE_CLEANUP_INCOMPLETE");
}

static void refusals(void **state)
{
    with_checks checks = {0};
    add_check(&checks, false);
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    decide_is(&facts, OUTCOME_PREFLIGHT_REFUSED, "preflight_refused", NULL,
              "LAMINA_SAFE_PREFLIGHT");
    message_has(&facts, "memory is short (1 GiB available) [preflight.memory]");
    assert_int_equal(report_exit_code(&facts), 121);

    struct err failure = {0};
    facts.checks = NULL;
    facts.failure = &failure;
    static const struct {
        enum err_code code;
        enum outcome outcome;
        const char *error;
        int exit;
    } rows[] = {
        {ERR_NOT_FOUND, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_PREFLIGHT", 127},
        {ERR_NOT_EXECUTABLE, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_PREFLIGHT", 126},
        {ERR_REFUSED, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_PREFLIGHT", 121},
        {ERR_CHANGED, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_PREFLIGHT", 121},
        {ERR_UNAVAILABLE, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_PREFLIGHT", 121},
        {ERR_USAGE, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_USAGE", 121},
        {ERR_RANGE, OUTCOME_PREFLIGHT_REFUSED, "LAMINA_SAFE_USAGE", 121},
        {ERR_SYS, OUTCOME_INTERNAL_ERROR, "LAMINA_SAFE_INTERNAL", 125},
        {ERR_CONFLICT, OUTCOME_INTERNAL_ERROR, "LAMINA_SAFE_INTERNAL", 125},
        {ERR_CANCELLED, OUTCOME_INTERNAL_ERROR, "LAMINA_SAFE_INTERRUPTED", 130},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        failure = (struct err){0};
        err_set(&failure, rows[i].code, "why");
        struct verdict verdict;
        report_decide(&facts, &verdict);
        assert_string_equal(outcome_name(verdict.outcome), outcome_name(rows[i].outcome));
        assert_string_equal(verdict.error_code, rows[i].error);
        assert_int_equal(report_exit_code(&facts), rows[i].exit);
    }
}

/* A refusal after the start of the set-up, when the checks had said yes. */
static void a_late_refusal(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.checks = &checks;
    facts.ending = ending;
    ending->how = ENDED_FAILED;
    ending->launched = false;
    err_set(&ending->failure, ERR_CHANGED, "'/bin/x' is not the file that was bound");
    decide_is(&facts, OUTCOME_PREFLIGHT_REFUSED, "preflight_refused", NULL,
              "LAMINA_SAFE_PREFLIGHT");
    ending->launched = true; /* too late to call it a refusal */
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "internal_error", NULL, "LAMINA_SAFE_INTERNAL");
    ending->launched = false;
    ending->failure = (struct err){0};
    err_sys(&ending->failure, EAGAIN, "clone");
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "spawn_failed", NULL, "LAMINA_SAFE_SPAWN");
    facts.failure = &ending->failure; /* nothing was created: there is no ending */
    facts.ending = NULL;
    facts.not_spawned = true;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "spawn_failed", NULL, "LAMINA_SAFE_SPAWN");
}

static void nothing_is_claimed_without_its_ground(void **state)
{
    with_checks checks = {0};
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.ending = ending;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "internal_error", NULL, "LAMINA_SAFE_INTERNAL");
    add_check(&checks, false);
    facts.checks = &checks;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "internal_error", NULL, "LAMINA_SAFE_INTERNAL");
    struct report_facts nothing = {0};
    decide_is(&nothing, OUTCOME_INTERNAL_ERROR, "internal_error", NULL, "LAMINA_SAFE_INTERNAL");
}

static void provisional_and_fallback(void **state)
{
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct report_facts facts = make_facts();
    facts.in_progress = true;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "run_in_progress", NULL,
              "LAMINA_SAFE_RUN_IN_PROGRESS");
    assert_int_equal(report_exit_code(&facts), 125);
    facts.in_progress = false;
    facts.checks = &checks;
    facts.ending = ending;
    struct err failure = {0};
    err_sys(&failure, ENOSPC, "write");
    facts.failure = &failure;
    facts.fallback = true;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "report_write_failed", NULL,
              "LAMINA_SAFE_REPORT_WRITE_FAILED");
    message_has(&facts, "No space left on device");
    message_has(&facts, "(otherwise: success)");
    assert_int_equal(report_exit_code(&facts), 125);
}

/* TR-4 TR-5 FZ-5: what a tier is refused for, and what it cannot record, has codes of its own. */
static void what_tiers_are_refused_for(void **state)
{
    const struct {
        const char *check;
        const char *code;
    } rows[] = {{CHECK_ACTIVE, "LAMINA_SAFE_EXISTING_PROCESS"},
                {CHECK_LOCK, "LAMINA_SAFE_CONCURRENCY"},
                {CHECK_ATTESTATION, "LAMINA_SAFE_PRODUCTION_ENFORCEMENT_REQUIRED"},
                {CHECK_PROMOTION, "LAMINA_SAFE_PROMOTION"},
                {CHECK_FENCE, "LAMINA_SAFE_RETRY_FENCE"},
                {CHECK_TIER, "LAMINA_SAFE_PREFLIGHT"}};
    struct report_facts facts = make_facts();
    for (size_t i = 0; i < countof(rows); i++) {
        with_checks checks = {0};
        add_check(&checks, true);
        checks_add_take(&checks, rows[i].check, false, memory_copy_string("no"),
                        memory_copy_string(""), memory_copy_string("do this"));
        facts.checks = &checks;
        decide_is(&facts, OUTCOME_PREFLIGHT_REFUSED, "preflight_refused", NULL, rows[i].code);
    }
    with_checks checks = {0};
    add_check(&checks, true);
    with_made_ending ending = make_ending();
    struct err failure = {0};
    err_set(&failure, ERR_SYS, "no place");
    facts.checks = &checks;
    facts.ending = ending;
    facts.failure = &failure;
    facts.promotion_failed = true;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "promotion_failed", NULL, "LAMINA_SAFE_PROMOTION");
    facts.promotion_failed = false;
    facts.fence_failed = true;
    decide_is(&facts, OUTCOME_INTERNAL_ERROR, "retry_ledger_failed", NULL,
              "LAMINA_SAFE_RETRY_LEDGER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_ended_by_itself),
        cmocka_unit_test(a_run_whose_berm_died),
        cmocka_unit_test(lost_output_is_no_success),
        cmocka_unit_test(a_payload_that_could_not_be_executed),
        cmocka_unit_test(a_limit_names_its_value_and_where_it_came_from),
        cmocka_unit_test(a_daemon_that_went_wrong),
        cmocka_unit_test(a_link_in_a_temporary_folder),
        cmocka_unit_test(an_interrupt),
        cmocka_unit_test(what_is_left_beats_everything),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_late_refusal),
        cmocka_unit_test(what_tiers_are_refused_for),
        cmocka_unit_test(nothing_is_claimed_without_its_ground),
        cmocka_unit_test(provisional_and_fallback),
    };
    return cmocka_run_group_tests_name("report/outcome", tests, NULL, NULL);
}
