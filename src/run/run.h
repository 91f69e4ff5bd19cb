/* run.h
 *
 * The application layer: one run from request to published record. The command line, the library
 * and the agent interface all come through here, and no rule lives in a front end (IF-1).
 *
 * Calling sequence
 *   struct run_request request = run_request_plain();      a person's plain run, with its defaults
 *   ... set fields; or run_request_decode(json, ...) for a berm.request/v1 object ...
 *   run_explain(&request, err)                             what would happen; runs nothing
 *   run_execute(&request, &result, err)                    the run
 *   run_result_done(&result)
 *
 * Order        id and slots first (a complete provisional record), then limits and preflight, then
 *              binding, then the broker, then publication; see ARCHITECTURE.md.
 * Project      where the working folder lies in a project with a berm.yaml (project.h), what that requires
 *              is required as if it had been asked for; it takes nothing away.
 * Tier         qualified work: an entrypoint that berm.yaml declares, on the authority AUTHORITY_DECLARED, in a sandbox
 *              with every guarantee enforced (but the network, where its declaration needs it), with a
 *              workload and a report. What it may do beyond that stands in berm.yaml: a field that would
 *              widen it is refused. For a plain run `workload` is declared under workload:; for a tier it is the
 *              name that its evidence is kept under, and need not be (TR-1, TR-2).
 * Authority    AUTHORITY_PERSON is a person at a command line: any command, and limits as far as the
 *              host's reserve allows. For AUTHORITY_DECLARED (tiers, agents) limits only go down from
 *              their ceilings and the command must be declared (IF-2, docs/adr/0006).
 * Library      one run at a time in a process: berm is a child subreaper for the run and reaps any
 *              child that ends meanwhile, the caller's too; SIGCHLD and SIGPIPE are taken over and
 *              handlers that were installed for the signals of interrupts.h are lost; no other thread
 *              may allocate through berm while the payload runs (memory_arm() is process-wide).
 * Ownership    a request borrows everything but `overrides`, which is the caller's to end with
 *              strvec_done(); a result owns what it holds.
 * Errors       -1 only when there is no record at all, not even in the fallback place: a request that
 *              is wrong in itself (ERR_USAGE, ERR_RANGE), or no place to write to. Every other way
 *              to end is a result with a record.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "json.h"
#include "report.h"
#include "strvec.h"
#include "supervise.h"

enum run_authority { AUTHORITY_PERSON, AUTHORITY_DECLARED };
enum run_stdin { RUN_STDIN_NULL, RUN_STDIN_INHERIT, RUN_STDIN_FILE };
enum run_exit_mode {
    EXIT_MODE_PLAIN, /* the payload's own; 120 limit, 124 time, 121 refused, 125, 126, 127, 128+n */
    EXIT_MODE_OUTCOME, /* 0 success, 4 failed or at a limit, 5 berm failed, 8 time or interrupted,
                        * 9 refused */
    EXIT_MODE_BISECT,  /* everything but the payload's own verdict is 125 */
};

/* X(limit, member, minimum, maximum, meaning): the limits that a request may set; limit.h has the rest
 * of each row. */
#define RUN_LIMITS(X)                                                                              \
    X(LIMIT_MEMORY, memory_bytes, INT64_C(1) << 20, INT64_C(1) << 50,                              \
      "memory of the whole process tree")                                                          \
    X(LIMIT_MEMORY_HIGH, memory_high_bytes, INT64_C(1) << 20, INT64_C(1) << 50,                    \
      "memory that the tree may hold only for a moment")                                           \
    X(LIMIT_PIDS, tasks, 1, 4194304, "tasks (threads count) of the whole process tree")            \
    X(LIMIT_TIMEOUT, timeout_ms, 1, INT64_C(86400000) * 366, "wall time of the payload")           \
    X(LIMIT_OUTPUT, output_bytes, 1, INT64_C(1) << 50, "both output streams together")             \
    X(LIMIT_GRACE, grace_ms, 0, 600000, "between SIGTERM and SIGKILL")                             \
    X(LIMIT_SAMPLE, sample_ms, 10, 60000, "between two looks at the process tree")                 \
    X(LIMIT_HIGH_SAMPLES, high_samples, 1, 1000,                                                   \
      "looks in a row above memory_high_bytes that end the run")                                   \
    X(LIMIT_TEMPORARY, temporary_bytes, INT64_C(1) << 20, INT64_C(1) << 40,                        \
      "bytes in the private file system of a sandbox")                                             \
    X(LIMIT_TEMPORARY_FILES, temporary_files, 256, INT64_C(1) << 24,                               \
      "files and folders in the private file system of a sandbox")

#define RUN_WAIT_MAX_MS (INT64_C(86400000) * 366)

struct run_request {
    char *const *argv;        /* NULL-terminated; EX-4 */
    const char *cwd;          /* NULL: where the caller stands */
    char *const *roots;       /* working roots that cwd must lie in; NULL: any (a person's run) */
    char *const *environment; /* the caller's */
    struct strvec overrides;  /* --env NAME or NAME=VALUE */
    bool env_all;
#define X(limit, member, minimum, maximum, meaning) int64_t member;
    RUN_LIMITS(X) /* 0: the default (grace: -1); timeout -1: none, said explicitly */
#undef X
    enum run_stdin stdin_mode;
    const char *stdin_path;
    const char *report; /* path, or NULL */
    const char *label;
    /* What the run belongs to, for the record: [A-Za-z0-9._:-]{1,128}; NULL: nothing. */
    const char *scope;
    /* The declared work of the project that argv is; refused when it is not. NULL: none. */
    const char *workload;
    int64_t workload_timeout_ms; /* what its declaration says; the run finds it out itself */
    bool workload_structured;    /* likewise: a report keeps more of its standard output */
    enum context_tier tier;      /* CONTEXT_TIER_NONE: a plain run */
    bool promote;                /* a success of it opens the next tier */
    int64_t wait_ms; /* at a tier, for its turn; 0: not at all, -1: for as long as it takes */
    void (*on_wait)(const char *why); /* before it waits; NULL: nobody is told */
    bool keep_output;
    bool measure_io;           /* a wish: what was read and written, by its cgroup */
    uint32_t require;          /* guarantees that must be enforced, by bit; asks for a sandbox */
    const char *cgroup_parent; /* a folder of cgroup v2 that its scope is made in; NULL: found */
    bool sandbox;
    char *const *writable; /* folders that are open in it; NULL: none */
    char *const *readable;
    bool host_network; /* else it has none */
    char *const *
        daemons; /* NAME=EXEC,SOCKET,LOCK each (docs/adr/0017), or a NAME of berm.yaml; NULL: none */
    bool gpu;    /* it sees the devices of graphics cards */
    const char *user; /* name or number; NULL: the caller, or for root the one that sudo names */
    enum run_authority authority;
    enum run_exit_mode exit_mode;
    int pass_fd[STREAM_COUNT]; /* -1: payload output is not passed on */
    /* A pipe, eventfd or socket, borrowed and never read: readable or hung up asks to stop, from right
     * before the release on. The run then ends as interrupted, exit 130, die_of 0. -1: none. */
    int cancel_fd;
    const struct os_clock *clock;
    struct supervise_observer observer;
};

struct run_result {
    json_t *record;    /* berm.run/v1, as it was published */
    char *record_path; /* in the state folder, or the fallback place */
    char *report_path; /* the named slot, NULL: none */
    int exit_code;     /* by exit_mode */
    int die_of;        /* the signal that interrupted berm: die of it after all is said; 0: none */
    enum outcome outcome;
    bool promoted; /* the success is recorded, and the next tier open */
};

struct run_request run_request_plain(void);
/* A berm.request/v1 object, on whose authority the caller says; unknown and out-of-range fields are refused by name (EX-5). The request
 * borrows from *ret_holder, which the caller frees with run_request_release(). */
struct run_request_holder;
int run_request_decode(const json_t *json, enum run_authority authority,
                       struct run_request *ret_request, struct run_request_holder **ret_holder,
                       struct err *err) must_check;
/* What is wrong in itself: ERR_USAGE, ERR_RANGE. */
int run_request_check(const struct run_request *request, struct err *err) must_check;
void run_request_release(struct run_request_holder *holder);

int run_execute(const struct run_request *request, struct run_result *ret_result,
                struct err *err) must_check;
/* {command, executable, cwd, limits[], environment, guarantees, checks[], ...} or NULL. */
json_t *run_explain(const struct run_request *request, struct err *err) must_check;
/* What `berm run` answers. */
int run_exit_code(enum run_exit_mode mode, const struct verdict *verdict,
                  const struct report_facts *facts) must_check;
void run_result_done(struct run_result *result);
#define with_run_result cleanup(run_result_done) struct run_result
