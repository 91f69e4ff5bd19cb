/* outcome.c
 *
 * From facts to the verdict. rows[] is the whole policy: the first row whose question is answered
 * with yes decides, and the last one always is. What is left alive beats whatever else happened,
 * and what was not proved is never claimed: the rows that need a proof stand below the row that
 * asks for it.
 */
#include "outcome-priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "report-v1-priv.h"
#include "words-priv.h"

const char *outcome_name(enum outcome outcome)
{
    return outcome_names[outcome];
}

/* Questions. */

const struct err *outcome_failure(const struct report_facts *facts)
{
    const struct supervise_ending *ending = facts->ending;
    if (facts->failure && facts->failure->code != ERR_NONE) {
        return facts->failure;
    }
    return ending && ending->how == ENDED_FAILED ? &ending->failure : NULL;
}

static bool is_of_family(const struct report_facts *facts, const char *family)
{
    const struct err *failure = outcome_failure(facts);
    return failure && strcmp(err_code_family(failure->code), family) == 0;
}

static bool was_launched(const struct report_facts *facts)
{
    return facts->ending && facts->ending->launched;
}

static bool is_running(const struct report_facts *facts)
{
    return facts->in_progress;
}

static bool crashed_and_left(const struct report_facts *facts)
{
    return facts->crash == CRASH_LEFT;
}

static bool lacks_ground(const struct report_facts *facts);

static bool crashed_in_payload(const struct report_facts *facts)
{
    return (facts->crash == CRASH_IN_PAYLOAD || facts->crash == CRASH_AFTER_PAYLOAD) &&
           !lacks_ground(facts);
}

static bool crashed(const struct report_facts *facts)
{
    return facts->crash != CRASH_NONE;
}

static bool left_a_path(const struct supervise_ending *ending)
{
    for (size_t i = 0; i < ending->daemon_count; i++) {
        if (ending->daemons[i].socket_left || ending->daemons[i].lock_left) {
            return true;
        }
    }
    return false;
}

static bool left_something(const struct report_facts *facts)
{
    const struct supervise_ending *ending = facts->ending;
    return ending && (!ending->tree_empty || ending->survivor_count > 0 ||
                      !report_removed_scope(ending) || left_a_path(ending));
}

void outcome_paths_left(const struct supervise_ending *ending, struct strvec *ret_paths)
{
    for (size_t i = 0; i < ending->daemon_count; i++) {
        const struct supervise_daemon *daemon = &ending->daemons[i];
        if (daemon->socket_left) {
            strvec_push_format(ret_paths, "%s/%s", daemon->folder, daemon->socket_name);
        }
        if (daemon->lock_left) {
            strvec_push_format(ret_paths, "%s/%s", daemon->folder, daemon->lock_name);
        }
    }
}

bool report_removed_scope(const struct supervise_ending *ending)
{
    const struct supervise_scope *scope = &ending->scope;
    bool empty = scope->leaf_empty || !scope->held;
    return scope->adapter == SCOPE_NONE || (empty && scope->removed.gone);
}

static bool was_not_written(const struct report_facts *facts)
{
    return facts->fallback;
}

bool outcome_was_stopped_early(const struct report_facts *facts)
{
    return !facts->ending && (facts->early_signal != 0 || is_of_family(facts, "cancelled"));
}

static bool was_misused(const struct report_facts *facts)
{
    return !was_launched(facts) && is_of_family(facts, "usage");
}

static bool was_refused(const struct report_facts *facts)
{
    return !was_launched(facts) && is_of_family(facts, "refused");
}

static bool failed_to_promote(const struct report_facts *facts)
{
    return facts->promotion_failed;
}

static bool failed_to_fence(const struct report_facts *facts)
{
    return facts->fence_failed;
}

static bool failed_to_spawn(const struct report_facts *facts)
{
    return facts->not_spawned ||
           (facts->ending && facts->ending->how == ENDED_FAILED && !facts->ending->launched);
}

static bool has_failed(const struct report_facts *facts)
{
    return outcome_failure(facts) || (facts->ending && facts->ending->how == ENDED_FAILED);
}

static bool failed_a_check(const struct report_facts *facts)
{
    return !facts->ending && facts->checks && !checks_ok(facts->checks);
}

static bool never_started(const struct report_facts *facts)
{
    return !facts->ending;
}

/* A start that no preflight allowed, or whose adapter nobody knows, proves nothing about a run. */
static bool lacks_ground(const struct report_facts *facts)
{
    return !facts->checks || !checks_ok(facts->checks) || !facts->contain ||
           !facts->contain->adapter_id || facts->contain->adapter_id[0] == '\0';
}

static bool was_not_executed(const struct report_facts *facts)
{
    return facts->ending->how == ENDED_NOT_EXECUTED;
}

/* Output that was to be passed on and is lost. A reader that left (EPIPE), a stream that the caller had
 * closed (EBADF) and a person who would not wait for a stuck reader (EINTR) wanted none of it. */
static bool is_lost(const struct supervise_stream *stream)
{
    return stream->pass_error != 0 && stream->pass_error != EPIPE && stream->pass_error != EBADF &&
           stream->pass_error != EINTR;
}

static bool has_lost_output(const struct report_facts *facts)
{
    const struct supervise_ending *ending = facts->ending;
    return ending->how == ENDED_EXITED && ending->exit_code == 0 &&
           (is_lost(&ending->stream[STREAM_STDOUT]) || is_lost(&ending->stream[STREAM_STDERR]));
}

static bool has_succeeded(const struct report_facts *facts)
{
    return facts->ending->how == ENDED_EXITED && facts->ending->exit_code == 0;
}

static bool has_exited(const struct report_facts *facts)
{
    return facts->ending->how == ENDED_EXITED;
}

static bool was_signalled(const struct report_facts *facts)
{
    return facts->ending->how == ENDED_SIGNALLED;
}

static bool has_hit_a_limit(const struct report_facts *facts)
{
    return facts->ending->how == ENDED_LIMIT && facts->ending->limit > LIMIT_NONE &&
           facts->ending->limit < LIMIT_COUNT && supervise_limit(facts->ending->limit)->name;
}

static bool was_interrupted(const struct report_facts *facts)
{
    return facts->ending->how == ENDED_INTERRUPTED;
}

static bool always(const struct report_facts *facts)
{
    return true;
}

/* Words. A message that grows too long is cut. */

struct words {
    char *text;
    size_t size;
    size_t length;
};

static void say(struct words *words, const char *format, ...) printf_like(2, 3);
static void say(struct words *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(words->text + words->length, words->size - words->length, format, args);
    va_end(args);
    if (length > 0) {
        words->length += (size_t)length;
    }
    if (words->length >= words->size) {
        words->length = words->size - 1;
    }
}

static void say_running(const struct report_facts *facts, struct words *words)
{
    say(words, "the run has not ended; a record that still says so belongs to a run that is going "
               "on or whose berm was killed");
}

static void say_crash(const struct report_facts *facts, struct words *words)
{
    say(words, "berm died %s; its watchdog ended the run",
        facts->crash == CRASH_BEFORE_PAYLOAD ? "before it released the command"
                                             : "before the run was concluded");
}

static void say_crash_left(const struct report_facts *facts, struct words *words)
{
    say(words, "berm died, and its watchdog could not end or remove everything; "
               "`berm recover --runs` goes on with it");
}

static void say_failure(const struct report_facts *facts, struct words *words)
{
    const struct err *failure = outcome_failure(facts);
    say(words, "%s", failure && failure->msg[0] ? failure->msg : "it is not known what failed");
}

static void say_left(const struct report_facts *facts, struct words *words)
{
    const struct supervise_ending *ending = facts->ending;
    if (ending->tree_empty && ending->survivor_count == 0 && report_removed_scope(ending)) {
        with_strvec paths = {0};
        outcome_paths_left(ending, &paths);
        say(words, "'%s' is left, of a daemon that is no more: look what it is, and remove it",
            paths.count > 0 ? paths.strings[0] : "");
        return;
    }
    if (ending->tree_empty && ending->survivor_count == 0) {
        say(words, "the scope of the run could not be removed: %s", ending->scope.removed.left);
        if (ending->scope.path[0]) {
            say(words, " in '%s'", ending->scope.path);
        }
        return;
    }
    if (ending->survivor_count == 0) {
        say(words, "it could not be proved that nothing is left of the command");
        return;
    }
    say(words, "%d process%s left", ending->survivor_count,
        ending->survivor_count == 1 ? " is" : "es are");
    for (int i = 0; i < ending->survivor_count && i < SURVIVOR_COUNT; i++) {
        with_string name = words_survivor(&ending->survivors[i]);
        say(words, "%s %s", i == 0 ? ":" : ";", name);
    }
}

static void say_not_written(const struct report_facts *facts, struct words *words)
{
    say(words, "the report could not be written to its place");
    if (facts->failure && facts->failure->code != ERR_NONE) {
        say(words, ": %s", facts->failure->msg);
    }
    struct report_facts otherwise = *facts;
    otherwise.fallback = false;
    otherwise.failure = NULL;
    struct verdict verdict;
    report_decide(&otherwise, &verdict);
    say(words, " (otherwise: %s)", outcome_name(verdict.outcome));
}

static void say_early(const struct report_facts *facts, struct words *words)
{
    if (facts->early_signal) {
        char name[WORD_SIZE];
        say(words, "interrupted by %s before the command was started",
            words_signal(facts->early_signal, name));
    } else {
        say(words, "cancelled before the command was started");
    }
}

static void say_check(const struct report_facts *facts, struct words *words)
{
    const struct check *check = checks_first_failed(facts->checks);
    say(words, "%s", check->what ? check->what : "a check failed");
    if (check->saw && check->saw[0]) {
        say(words, " (%s)", check->saw);
    }
    say(words, " [%s]", check->code ? check->code : "preflight");
}

static void say_unknown(const struct report_facts *facts, struct words *words)
{
    say(words, "it is not known how the run ended");
}

static void say_never_started(const struct report_facts *facts, struct words *words)
{
    say(words, "the command was not started, and no reason was recorded");
}

static void say_groundless(const struct report_facts *facts, struct words *words)
{
    say(words, "the command was started without a preflight that allowed it");
}

static void say_not_executed(const struct report_facts *facts, struct words *words)
{
    const char *message = facts->ending->failure.msg;
    say(words, "%s", message[0] ? message : "the command could not be executed");
}

static void say_lost_output(const struct report_facts *facts, struct words *words)
{
    static const char *const names[STREAM_COUNT] = {"standard output", "standard error"};
    say(words, "the command exited with 0, but not all of its output could be passed on");
    for (int i = 0; i < STREAM_COUNT; i++) {
        const struct supervise_stream *stream = &facts->ending->stream[i];
        if (is_lost(stream)) {
            char name[WORD_SIZE];
            say(words, "; %s: %" PRId64 " of %" PRId64 " bytes, then %s", names[i],
                stream->passed_bytes, stream->bytes, words_errno(stream->pass_error, name));
        }
    }
}

static void say_exited(const struct report_facts *facts, struct words *words)
{
    say(words, "the command exited with %d", facts->ending->exit_code);
}

static void say_signalled(const struct report_facts *facts, struct words *words)
{
    char name[WORD_SIZE];
    bool filtered =
        facts->ending->exit_signal == SIGSYS && facts->contain && facts->contain->sandbox;
    say(words, "the command was ended by %s, %s", words_signal(facts->ending->exit_signal, name),
        filtered ? "as the sandbox's filter ends a program of 32 bits" : "which berm did not send");
}

/* A link that was found says more than what could not be looked at. */
static void say_links(const struct sandbox_links *links, struct words *words)
{
    char name[WORD_SIZE];
    if (links->count > 0) {
        with_string path = words_path(links->paths[0]);
        say(words, "declared work may have no symbolic link in its temporary folders: '%s'", path);
        if (links->count > 1) {
            say(words, " and %" PRId64 " more", links->count - 1);
        }
        say(words, "; use copies");
        return;
    }
    char why[LINKS_WHY_SIZE];
    with_string path = words_path(links->where);
    sandbox_links_say_why(links, why);
    say(words, "symbolic links in the temporary folders cannot be ruled out: %s", why);
    if (path[0]) {
        say(words, ": '%s'", path);
    }
    if (links->sys > 0) {
        say(words, " (%s)", words_errno(links->sys, name));
    }
    if (links->remedy) {
        say(words, "; %s", links->remedy);
    }
}

static void say_limit(const struct report_facts *facts, struct words *words)
{
    const struct supervise_ending *ending = facts->ending;
    const struct limit *row = supervise_limit(ending->limit);
    int64_t seen = ending->seen[ending->limit];
    if (ending->limit == LIMIT_LINKS) {
        say_links(&ending->links, words);
        return;
    }
    if (ending->detached_why) {
        say(words, "the command had ended, and %s [%s]", ending->detached_why, row->name);
        return;
    }
    if (ending->limit == LIMIT_DETACHED) {
        say(words,
            "%" PRId64
            " process%s outlived the command, exit %d; declared work leaves nobody behind",
            ending->limit_seen, ending->limit_seen == 1 ? "" : "es", ending->exit_code);
        return;
    }
    say(words, "the %s limit ended the run", row->name);
    for (int i = 0; i < facts->limit_count; i++) {
        const struct limit_fact *fact = &facts->limits[i];
        if (fact->limit == ending->limit) {
            say(words, ": %" PRId64 " %s (from %s)", fact->value, row->unit, fact->source);
            if (seen >= 0) {
                say(words, ", %" PRId64 " %s seen", seen, row->unit);
            }
            return;
        }
    }
}

static void say_interrupted(const struct report_facts *facts, struct words *words)
{
    if (facts->ending->interrupt_signal) {
        char name[WORD_SIZE];
        say(words, "interrupted by %s", words_signal(facts->ending->interrupt_signal, name));
    } else {
        say(words, "cancelled");
    }
}

#define CODE(name) "LAMINA_SAFE_" name

static const struct row {
    bool (*applies)(const struct report_facts *facts);
    enum outcome outcome;
    const char *reason;
    const char *code;
    void (*say)(const struct report_facts *facts, struct words *words);
} rows[] = {
    {is_running, OUTCOME_INTERNAL_ERROR, "run_in_progress", CODE("RUN_IN_PROGRESS"), say_running},
    {crashed_and_left, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", CODE("CLEANUP_INCOMPLETE"),
     say_crash_left},
    {crashed_in_payload, OUTCOME_INTERRUPTED, "interrupted", CODE("SUPERVISOR_CRASH"), say_crash},
    {crashed, OUTCOME_INTERNAL_ERROR, "supervisor_crash_before_payload", CODE("SUPERVISOR_CRASH"),
     say_crash},
    {left_something, OUTCOME_INTERNAL_ERROR, "cleanup_incomplete", CODE("CLEANUP_INCOMPLETE"),
     say_left},
    {was_not_written, OUTCOME_INTERNAL_ERROR, "report_write_failed", CODE("REPORT_WRITE_FAILED"),
     say_not_written},
    {failed_to_promote, OUTCOME_INTERNAL_ERROR, "promotion_failed", CODE("PROMOTION"), say_failure},
    {failed_to_fence, OUTCOME_INTERNAL_ERROR, "retry_ledger_failed", CODE("RETRY_LEDGER"),
     say_failure},
    /* The published rules know `interrupted` only for a command that ran: it demands samples. */
    {outcome_was_stopped_early, OUTCOME_INTERNAL_ERROR, "interrupted", CODE("INTERRUPTED"),
     say_early},
    {was_misused, OUTCOME_PREFLIGHT_REFUSED, "preflight_refused", CODE("USAGE"), say_failure},
    {was_refused, OUTCOME_PREFLIGHT_REFUSED, "preflight_refused", CODE("PREFLIGHT"), say_failure},
    {failed_to_spawn, OUTCOME_INTERNAL_ERROR, "spawn_failed", CODE("SPAWN"), say_failure},
    {has_failed, OUTCOME_INTERNAL_ERROR, "internal_error", CODE("INTERNAL"), say_failure},
    {failed_a_check, OUTCOME_PREFLIGHT_REFUSED, "preflight_refused", CODE("PREFLIGHT"), say_check},
    {never_started, OUTCOME_INTERNAL_ERROR, "internal_error", CODE("INTERNAL"), say_never_started},
    /* From here on there is an ending, and the tree is proved empty. */
    {lacks_ground, OUTCOME_INTERNAL_ERROR, "internal_error", CODE("INTERNAL"), say_groundless},
    {was_not_executed, OUTCOME_COMMAND_FAILED, "command_failed", CODE("COMMAND_FAILED"),
     say_not_executed},
    {has_lost_output, OUTCOME_INTERNAL_ERROR, "internal_error", CODE("INTERNAL"), say_lost_output},
    {has_succeeded, OUTCOME_SUCCESS, "completed", NULL, NULL},
    {has_exited, OUTCOME_COMMAND_FAILED, "command_failed", CODE("COMMAND_FAILED"), say_exited},
    {was_signalled, OUTCOME_COMMAND_FAILED, "command_failed", CODE("COMMAND_FAILED"),
     say_signalled},
    {has_hit_a_limit, OUTCOME_SAFETY_LIMIT_EXCEEDED, "safety_limit_exceeded",
     CODE("LIMIT_EXCEEDED"), say_limit},
    {was_interrupted, OUTCOME_INTERRUPTED, "interrupted", CODE("INTERRUPTED"), say_interrupted},
    {always, OUTCOME_INTERNAL_ERROR, "internal_error", CODE("INTERNAL"), say_unknown},
};

/* What a tier is refused for has codes of its own; the first reason decides. */
static const char *refusal_code(const struct report_facts *facts, const char *otherwise)
{
    static const struct {
        const char *check;
        const char *code;
    } codes[] = {{CHECK_ACTIVE, CODE("EXISTING_PROCESS")},
                 {CHECK_LOCK, CODE("CONCURRENCY")},
                 {CHECK_ATTESTATION, CODE("PRODUCTION_ENFORCEMENT_REQUIRED")},
                 {CHECK_PROMOTION, CODE("PROMOTION")},
                 {CHECK_FENCE, CODE("RETRY_FENCE")}};
    const struct check *check = facts->checks ? checks_first_failed(facts->checks) : NULL;
    for (size_t i = 0; check && i < countof(codes); i++) {
        if (strcmp(check->code, codes[i].check) == 0) {
            return codes[i].code;
        }
    }
    return otherwise;
}

/* The limit stays on record whatever the outcome is. */
static const char *limit_of(const struct report_facts *facts)
{
    const struct supervise_ending *ending = facts->ending;
    if (crashed(facts)) {
        return crashed_in_payload(facts) ? "signal" : "supervisor_crash";
    }
    if (!ending) {
        return outcome_was_stopped_early(facts) ? "signal" : NULL;
    }
    if (ending->how == ENDED_INTERRUPTED) {
        return "signal";
    }
    return has_hit_a_limit(facts) ? supervise_limit(ending->limit)->name : NULL;
}

void report_decide(const struct report_facts *facts, struct verdict *ret_verdict)
{
    const struct row *row = rows;
    while (!row->applies(facts)) {
        row++;
    }
    *ret_verdict = (struct verdict){
        .outcome = row->outcome,
        .reason = row->reason,
        .limit = limit_of(facts),
        .error_code =
            row->outcome == OUTCOME_PREFLIGHT_REFUSED ? refusal_code(facts, row->code) : row->code,
    };
    if (row->say) {
        struct words words = {ret_verdict->error_message, sizeof ret_verdict->error_message, 0};
        row->say(facts, &words);
    }
}
