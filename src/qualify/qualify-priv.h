/* qualify-priv.h
 *
 * What the files of qualify/ share: a self-test on its way, and one case of it.
 */
#pragma once

#include "qualify.h"
#include "run.h"
#include "strvec.h"

/* bubblewrap and the launcher stand in the leaf beside the payload and are counted there: a sandboxed run
 * of N tasks has a leaf of N + 2 (supervise/). */
enum { QUALIFY_TASKS_MOST = 32, QUALIFY_STORM_MOST = 24, QUALIFY_SANDBOX_TASKS = 2 };

struct qualifying {
    const struct qualify_request *request;
    char *fixture;
    char *fixture_folder;
    struct bfs_dir folder;  /* berm's state */
    struct bfs_dir reports; /* self-test/ in it */
    int die_of;
};

struct qualify_case;
/* Runs it and fills the case; what went wrong is a fault of the case. */
typedef void qualify_function(struct qualifying *qualifying, const struct qualify_case *wanted,
                              struct attestation_case *one);

/* cases.c: the whole test as a table. */
struct qualify_case {
    const char *mode; /* of the fixture */
    qualify_function *run;
    int64_t memory_bytes;
    int64_t memory_high_bytes;
    int64_t tasks; /* of the payload itself */
    int64_t timeout_ms;
    int64_t output_bytes;
    int64_t temporary_bytes;
    int64_t grace_ms;
    const char *outcome;
    const char *limit;    /* NULL: none */
    const char *or_limit; /* that is as good; NULL: no other */
    const char *signal;   /* that must have been sent; NULL: any or none */
    int64_t least_pids;   /* that were seen at one time */
    bool spares_pids;     /* the limit of tasks was not reached */
    /* What else must be so; NULL: nothing. Answers and adds to the evidence. */
    bool (*look)(const json_t *report, json_t *evidence);
};
extern const struct qualify_case qualify_cases[CASE_COUNT];

/* single.c: one run of the fixture in the sandbox. */
qualify_function qualify_single;
/* A request with what all cases share. */
struct run_request qualify_request_of(const struct qualifying *qualifying,
                                      const struct qualify_case *wanted);

/* parent-signal.c, stale-record.c */
qualify_function qualify_parent_signal;
qualify_function qualify_stale_record;

/* outer.c: exit status 0, and nobody left; else the error, and the end of its stderr in `said`. */
int qualify_run_outer(struct qualifying *qualifying, char *const *argv,
                      const struct strvec *overrides, const struct supervise_limits *limits,
                      char *said, size_t size, struct err *err) must_check;

/* judge.c */
/* The first fault stands, with the code LAMINA_SAFE_SELF_TEST_name. */
void qualify_fault(struct attestation_case *one, const char *name, const char *format, ...)
    printf_like(3, 4);
/* The words of the report into the case; what was left is looked for. */
void qualify_take_report(struct attestation_case *one, const json_t *report);
/* Against the row: outcome, limit, signals, tasks, and the look. */
void qualify_judge(const struct qualify_case *wanted, const json_t *report,
                   struct attestation_case *one);
/* Valid by its format, and nothing left by its own words; faults as above. */
bool qualify_check_report(const json_t *report, struct attestation_case *one);
/* The stored report of a run: read, and added with its digest. NULL: a fault. */
json_t *qualify_stored_report(const struct qualifying *qualifying, const char *file,
                              struct attestation_case *one) must_check;
bool qualify_is_told(json_t *evidence, const char *name, bool is_so); /* is_so */

/* leftovers.c: looked for by a run's id, whatever its record says. */
bool qualify_no_process(const char *run_id);
bool qualify_no_manifest(const struct qualifying *qualifying, const char *run_id);
/* No folder of it beside `scope`, which is the path of some run's scope. */
bool qualify_no_scope(const char *scope, const char *run_id);
