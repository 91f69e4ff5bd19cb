/* run-priv.h
 *
 * What the files of run/ share: a run on its way, and its steps.
 */
#pragma once

#include "archive.h"
#include "clock.h"
#include "contain.h"
#include "envelope.h"
#include "frozen.h"
#include "production-lock.h"
#include "project.h"
#include "run.h"
#include "scope.h"
#include "slot.h"
#include "toolchain.h"
#include "watchdog.h"

/* limits.c: what was asked for, what the host allows, and where each value comes from. */
struct run_limits {
    struct supervise_limits values;
    struct limit_fact facts[LIMIT_COUNT];
    int count;
};
/* Adds the checks that a limit above its ceiling fails. */
void run_limits_decide(const struct run_request *request, const struct envelope *envelope,
                       struct run_limits *ret_limits, struct checks *checks);

/* request.c */
bool run_wants_sandbox(const struct run_request *request);

enum { SEALED_COUNT = 16 }; /* as many as the form of berm.yaml allows */

/* daemon.c: one that the run declares. */
struct run_daemon {
    char *name;
    char *folder;
    char *socket;
    char *lock;
    struct binding *binding;
};
/* daemon-text.c: name and parts, allocated also when it fails; no parts: the project has them. */
enum { PART_EXEC, PART_SOCKET, PART_LOCK, RUN_DAEMON_PARTS };
int run_daemon_parse(const char *text, struct run_daemon *daemon, char *parts[RUN_DAEMON_PARTS],
                     struct err *err) must_check;

/* Where the frozen copy of the project lies; source.copy NULL: there is none. All of it is borrowed. */
struct frozen_place {
    struct sandbox_source source;
    int cwd_fd; /* the working folder in it */
    const char *cwd_path;
};

/* prepare.c: everything between the slots and the broker. All of it reads and none of it starts. */
struct preparation {
    struct run_request wanted; /* what was asked for, and what the project wants besides */
    struct fd cwd;
    struct fd standard_input;
    char cwd_path[4096];
    struct envelope envelope;
    bool envelope_known;
    struct project project;                      /* of the working folder */
    const struct project_entrypoint *entrypoint; /* of the project; NULL: not at a tier */
    struct toolchain *toolchain;                 /* that the entrypoint names; NULL: none */
    struct bfs_dir scratch;                      /* that it may write (SB-3); NULL path: none */
    struct frozen_place frozen;
    uint32_t require; /* of `wanted` */
    struct checks checks;
    struct run_limits limits;
    const struct scope_offer *offer; /* what can hold the run; borrowed */
    const char *state_dir;           /* berm's own, which stays closed; NULL: none; borrowed */
    struct sandbox *sandbox;
    int64_t plan_ns; /* that it took to plan it */
    struct contain contain;
    json_t *could; /* what could be enforced, for a refusal; owned */
    struct environment environment;
    struct binding *binding;
    struct err failure; /* code ERR_NONE: none; a refusal stands in checks */
    struct run_daemon daemons[DAEMON_COUNT];
    struct daemon_wish wishes[DAEMON_COUNT]; /* the same, for the broker */
    size_t daemon_count;
    struct strvec notes;
};
/* What stands in the way is left in checks and failure, never returned. */
void prepare(const struct run_request *request, struct preparation *preparation);
/* After it, with `frozen` set: the command and its sandbox once more, of the copy. */
void prepare_frozen(struct preparation *preparation);
/* Before prepare(): looks, and starts nothing. */
void prepare_offer(const struct run_request *request, struct scope_offer *ret_offer);
/* What the plan promises, before it was verified. */
void prepare_promise(const struct preparation *preparation, struct guarantees *guarantees);
void preparation_done(struct preparation *preparation);
#define with_preparation cleanup(preparation_done) struct preparation

/* project.c: adds to the request what the project wants, and to the checks what is wrong with it. The working
 * folder is open. */
/* A field that means nothing without a sandbox, which nobody wants; NULL: none. */
const char *run_needs_sandbox(const struct run_request *request);
void run_project_apply(struct run_request *request, struct preparation *preparation);
/* The entrypoint once more, by the files that were frozen: false: it is refused, as a failed check says. */
bool run_project_judge_copy(const struct run_request *request, struct preparation *preparation,
                            const struct bfs_dir *folder);
/* {file, require, workload}, or null where there is no project. */
json_t *run_project_to_json(const struct preparation *preparation, const char *workload) must_check;

/* daemon-text.c: the texts are well formed; daemon.c: and, once there is a plan of the sandbox, what they mean. */
int run_daemons_check(char *const *texts, struct err *err) must_check;
void run_daemons_prepare(const struct run_request *request, struct preparation *preparation);
void run_daemons_done(struct preparation *preparation);

/* watch.c: the watchdog of a run in a scope; zero: none. */
struct run_watch {
    struct bfs_dir folder; /* of manifests */
    struct watchdog_request request;
    struct watchdog *watchdog;
    struct fd before;             /* sealed: what it is to say until the release */
    struct fd in_payload;         /* and from then on */
    struct fd after;              /* and when the payload has ended */
    struct buf left[WATCH_SLOTS]; /* the part of it for when something is left */
    char unit[SCOPE_NAME_SIZE];   /* of its own; "": it gets none */
    char scope_path[CGROUP_PATH_SIZE + SCOPE_NAME_SIZE]; /* "": systemd removes the scope */
};

/* context.c: what supervise_request.context says of a run in a scope; it borrows from both. `folder` is the
 * leaf's, for sandbox_show_cgroup(). Once the limits are read back, and what holds is known. */
struct run_context {
    struct context_facts facts;
    char folder[CONTEXT_LEAF_SIZE];
};

/* freeze.c: the source that a run at a tier runs from, and what it is called (FZ). */
struct run_freeze {
    struct bfs_dir state; /* berm's own folder */
    struct bfs_dir root;  /* of the repository */
    struct bfs_dir cwd;   /* in it */
    struct bfs_dir copy;
    struct bfs_dir copy_cwd;
    struct frozen_inputs *inputs;
    struct snapshot *snapshot;
    struct report_frozen facts;
};

/* turn.c: whether it is its turn on this host (TR-4, TR-5). */
struct run_turn {
    struct production_lock lock;
    const char *code; /* of the check that fails; NULL: it is its turn */
    struct err refusal;
};

/* evidence.c: what came before it, and what comes of it. */
struct run_evidence {
    json_t *told; /* for the report's preflight; NULL: not come to */
    bool fenced;  /* its fence is up */
    char since[CLOCK_TEXT_SIZE];
    bool promoted;
};

/* tier.c: what only a run at a tier has. */
struct run_tier {
    char frozen[HASH_HEX_SIZE]; /* its frozen identity (frozen.h); empty: not known yet */
    bool kept;                  /* after the exit, what ran still was what was frozen */
    struct run_freeze freeze;
};

/* run.c: a run on its way. */
struct run {
    const struct run_request *request;
    struct interrupts interrupts;
    struct archive *archive;
    struct slot *record_slot;
    struct slot *report_slot;
    char id[RUN_ID_SIZE];
    struct preparation preparation;
    struct scope_offer offer;
    char scope_name[SCOPE_NAME_SIZE];
    bool scope_stood; /* what failed later was not the scope */
    struct supervise_ending *ending;
    struct err failure;
    json_t *envelope;
    char *kept_path[STREAM_COUNT];
    struct fd kept[STREAM_COUNT];
    int64_t started_ns;
    struct report_facts facts;
    struct run_watch watch;
    struct run_context context;
    struct run_tier tier;
    struct run_turn turn;
    struct run_evidence evidence;
};

/* The first failure of berm's own is the one that is told. */
void run_fail(struct run *run, const struct err *err);

/* watch.c, in this order; each does nothing, and succeeds, where there is no watchdog.
 *   run_watch_start()     once the slots are taken and the scope is named, before anything is made
 *   run_watch_ready()     it is there, and what it is to end is durable: waited for before the broker begins
 *   run_watch_foresee()   all is known that a run is to be: what is to be said of its crash, in run->watch
 *   run_watch_arm()       the leaf stands
 *   run_watch_conclude()  the broker is done: the crash that could still come is told with its facts, of work at a
 *                         tier, where more follows than the publication
 *   run_watch_end()       everything is published: it is disarmed. Every way out comes through here */
int run_watch_start(struct run *run, struct err *err) must_check;
int run_watch_ready(struct run *run, struct err *err) must_check;
int run_watch_foresee(struct run *run, struct err *err) must_check;
int run_watch_arm(struct run *run, const struct watchdog_leaf *leaf, struct err *err) must_check;
void run_watch_conclude(struct run *run);
int run_watch_end(struct run *run, struct err *err) must_check;
void run_watch_done(struct run *run);

/* tier.c: each does nothing, and succeeds, for a plain run.
 *   run_tier_widen()      before all: a tier's request says what a tier is
 *   run_tier_prepare()    the slots are taken, the watchdog is there, every check was passed: what the run
 *                         still needs. A refusal is left in the checks; -1: berm could not tell
 *   run_tier_release()    all is verified and nothing has run: the last look, and what has to be durable
 *                         before the payload is released. ERR_CHANGED and its family: a late refusal
 *   run_tier_ended()      the payload has ended: whether what ran is still what was frozen (FZ-3)
 *   run_tier_conclude()   behind the publication, with what was published (NULL: nothing), and whether the watchdog was
 *                         disarmed. -1: evidence could not be written, which is to be published
 *   run_tier_done()       every way out comes through here */
struct run_request run_tier_widen(const struct run_request *request);
int run_tier_prepare(struct run *run, struct err *err) must_check;
int run_tier_release(struct run *run, struct err *err) must_check;
void run_tier_ended(struct run *run);
int run_tier_conclude(struct run *run, const json_t *record, bool disarmed) must_check;
void run_tier_done(struct run *run);

/* freeze.c, in this order; what stands in the way is left in the checks, -1 is for what berm could not do.
 *   run_freeze()         identity, copy, and the plan of the sandbox around it
 *   run_freeze_check()   right before the release: ERR_CHANGED when anything of it is another one (FZ-1)
 *   run_freeze_ended()   after the exit: the same of the copy alone (FZ-3)
 *   run_freeze_prune()   when all is done: the longest unused copies go
 *   run_freeze_done() */
int run_freeze(struct run *run, struct err *err) must_check;
int run_freeze_check(struct run *run, struct err *err) must_check;
int run_freeze_ended(struct run *run, struct err *err) must_check;
void run_freeze_prune(const struct run *run);
void run_freeze_done(struct run_freeze *freeze);

/* sealed.c: what an entrypoint declares as sealed, and which words of the command those are (SI-1..SI-3).
 * Manifests are read beneath the working folder. */
struct sealed_inputs {
    struct frozen_sealed list[SEALED_COUNT];
    char digests[SEALED_COUNT][HASH_HEX_SIZE];
    size_t count;
    struct strvec manifests; /* the path, and the digest of what was read, in turn */
};
int run_sealed_read(const struct project_entrypoint *entrypoint, char *const *argv,
                    const struct bfs_dir *cwd, struct sealed_inputs *ret_inputs,
                    struct err *err) must_check;
void run_sealed_done(struct sealed_inputs *inputs);
#define with_sealed_inputs cleanup(run_sealed_done) struct sealed_inputs

/* turn.c, in this order; each does nothing for a plain run.
 *   run_turn_take()    the scope has its name, and there is no watchdog, which gets the lock: takes and claims it,
 *                      and waits for that as long as the request says
 *   run_turn_judge()   whose turn it is, if it is another's, is a failed check
 *   run_turn_end()     the claim goes when it is proved that nothing of the run is left */
void run_turn_take(struct run *run);
void run_turn_judge(struct run *run);
void run_turn_end(struct run *run, bool disarmed);

/* outside.c: a daemon that the project declares and that runs already is a failed check. */
void run_outside_judge(struct run *run);

/* evidence.c, likewise; the frozen identity is known.
 *   run_evidence_judge()     attestation, promotions and fences: what is missing is a failed check
 *   run_evidence_begin()     the fence is up, and durable. ERR_REFUSED: another attempt was first
 *   run_evidence_note()      before the publication: that the fence will stay
 *   run_evidence_conclude()  behind it, with what was published: the promotion, then the fence. -1: one of them could
 *                            not be written, which is the run's failure and to be published */
void run_evidence_judge(struct run *run);
int run_evidence_begin(struct run *run, struct err *err) must_check;
void run_evidence_note(struct run *run);
int run_evidence_conclude(struct run *run, const json_t *record, bool disarmed) must_check;
void run_evidence_done(struct run *run);

/* context.c */
void run_context_fill(const struct run *run, const struct scope *scope,
                      struct run_context *ret_context);

/* publish.c */
enum { RUN_RECORD_MAX_BYTES = REPORT_STRUCTURED_RESERVE_BYTES };
int run_render(const json_t *value, struct buf *out, struct err *err) must_check;
const json_t *run_inner_report(const json_t *record);
/* What the facts amount to, into every place that was taken; then old records give way. */
int run_publish(struct run *run, struct run_result *result, struct err *err) must_check;
/* Once more, with what is known only now. */
int run_publish_again(struct run *run, struct run_result *result, struct err *err) must_check;
