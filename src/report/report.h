/* report.h
 *
 * From the facts of a run to its two records: the report `lamina.safe-runner-report/v1`
 * (docs/formats/report-v1.md) and berm's own `berm.run/v1` around it (docs/formats/run-v1.md).
 *
 * Calling sequence
 *   fill a struct report_facts as the run goes on; every field may stay zero
 *   report_decide(&facts)                what the facts amount to: total, every way to end has one
 *   report_build(&facts, err)            the berm.run/v1 object with the valid v1 report inside;
 *                                        redacted (redact.h) and checked by the validator (validate.h)
 *   slot_publish(...)                    slot.h
 *
 * A success cannot be decided without the proofs: report_decide() takes them from the ending, where
 * only the code that looked can have put them.
 *
 * Ownership    facts borrow everything; the built object is the caller's.
 * Errors       ERR_INTERNAL when the built report does not satisfy its own validator (a bug).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "binding.h"
#include "checks.h"
#include "contain.h"
#include "environment.h"
#include "err.h"
#include "json.h"
#include "supervise.h"

/* A record that is made beforehand, for the watchdog to write if berm dies (WD-5): when it died, and
 * whether something of the run could not be removed. */
enum report_crash {
    CRASH_NONE,
    CRASH_BEFORE_PAYLOAD, /* the payload was not released */
    CRASH_IN_PAYLOAD,     /* it was, and the watchdog's kill ended it */
    CRASH_AFTER_PAYLOAD,  /* it was, or may have been, and nobody says how it ended but `ending` */
    CRASH_LEFT,           /* whenever it was: something is left */
};

enum outcome {
    OUTCOME_SUCCESS,
    OUTCOME_COMMAND_FAILED,
    OUTCOME_SAFETY_LIMIT_EXCEEDED,
    OUTCOME_PREFLIGHT_REFUSED,
    OUTCOME_INTERRUPTED,
    OUTCOME_INTERNAL_ERROR,
};
const char *outcome_name(enum outcome outcome);

/* One effective limit and where it came from (R42). */
struct limit_fact {
    enum supervise_limit limit; /* its row says name and unit */
    int64_t value;              /* 0: none */
    const char *source;         /* "--memory", "host: available less reserve", "default" */
};

/* What a run at a tier was frozen as (frozen.h), and what that took. */
struct report_frozen {
    char identity[HASH_HEX_SIZE];
    char source[HASH_HEX_SIZE]; /* digest of the copy */
    int64_t entries;
    int64_t bytes;
    int64_t files_read;
    int64_t files_copied;
    int64_t took_ns;
    int64_t check_ns;  /* the last look before the release; 0: it was not come to */
    bool copy_changed; /* what ran was no longer that when the payload had ended */
};

struct report_facts {
    const char *run_id;
    const char *label;    /* --label, or NULL */
    const char *scope;    /* of the request, or NULL */
    const char *workload; /* likewise */
    enum context_tier tier;
    const char *report_file; /* absolute path of the named slot, NULL: none was asked for */
    char *const *command;    /* as given */
    const char *cwd;
    int64_t started_realtime_ns;
    int64_t duration_ns; /* monotonic, of the whole run so far */
    int64_t own_ns;      /* duration less the payload's own wall time */
    int64_t places_ns;   /* of it: id, state folder, provisional records; 0: not there yet */
    int64_t prepare_ns;  /* of it: host, limits, environment, binding; likewise */
    int64_t plan_ns;     /* and of that: the plan of a sandbox */
    int64_t seal_ns;     /* after that: what it is started with was sealed */
    const struct contain *contain; /* adapter and guarantees; NULL: not chosen yet */
    const struct checks *checks;   /* preflight; NULL: not done yet */
    const json_t *envelope;        /* for preflight.envelope; NULL: not done yet */
    struct limit_fact limits[LIMIT_COUNT];
    int limit_count;
    uint32_t tail_bytes[STREAM_COUNT];  /* how much of a stream's end it keeps; 0: TAIL_BYTES */
    const struct report_frozen *frozen; /* NULL: not at a tier, or not come to */
    const json_t
        *admission; /* members of preflight: attestation, promotion, retry; NULL: likewise */
    const struct binding *binding;
    const struct environment *environment;
    const struct supervise_ending *ending; /* NULL: nothing was started */
    int early_signal;          /* berm was interrupted before anything was started; 0: no */
    int late_signal;           /* or while it ended a run whose outcome stood already; 0: no */
    const struct err *failure; /* berm's own failure outside the ending; NULL: none */
    bool not_spawned;          /* that failure: not even the first process could be created */
    bool promotion_failed;     /* that failure: the success could not be recorded */
    bool fence_failed;         /* that failure: the fence could not be changed */
    bool in_progress;          /* the provisional record */
    enum report_crash crash;   /* CRASH_NONE, but in a record for the watchdog */
    bool fallback;             /* written to the fallback place: report_write_failed */
    const char *kept_stdout;   /* paths of kept output, NULL: none */
    const char *kept_stderr;
    const struct strvec
        *notes; /* sentences for the person that belong into the record; may be NULL */
};

struct verdict {
    enum outcome outcome;
    const char *reason;     /* termination.reason */
    const char *limit;      /* termination.limit or NULL */
    const char *error_code; /* LAMINA_SAFE_*, or NULL */
    char error_message[600];
};
void report_decide(const struct report_facts *facts, struct verdict *ret_verdict);

/* What `berm run` answers: the command's own; 120 limit, 124 time, 121 refused, 125 berm's own
 * failure, 126 not executable, 127 not found (as long as there is no binding), 128+n signal. */
int report_exit_code(const struct report_facts *facts) must_check;
/* There was no scope, or it is proved to be empty and gone. */
bool report_removed_scope(const struct supervise_ending *ending) must_check;
/* The signal that interrupted berm, of which it should die after all is said; 0: none. */
int report_interrupt(const struct report_facts *facts) must_check;
/* Of the first process; 128+n when signal n ended it. */
int report_child_exit_code(const struct supervise_ending *ending) must_check;

/* How much of a command line, and how many variables by name, a record holds; the rest is counted. */
enum { REPORT_COMMAND_BYTES = 64 << 10, REPORT_VARIABLES = 512, REPORT_NAME_BYTES = 256 };
/* Room for a record with everything in it that there can be, written readably; what slot_take() should
 * set aside; with a tail of TAIL_STRUCTURED_BYTES, slot_reserve(). */
enum { REPORT_RESERVE_BYTES = 1 << 20, REPORT_STRUCTURED_RESERVE_BYTES = 8 << 20 };

/* The berm.run/v1 object; its member "report" is the v1 report. Called by the process that owns the
 * run: the record names it by pid, start time and boot. */
json_t *report_build(const struct report_facts *facts, struct err *err) must_check;
