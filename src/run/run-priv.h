/* run-priv.h
 *
 * What the files of run/ share: a run on its way, and its steps.
 */
#pragma once

#include "archive.h"
#include "contain.h"
#include "envelope.h"
#include "run.h"
#include "slot.h"

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
int run_request_check(const struct run_request *request, struct err *err) must_check;

/* prepare.c: everything between the slots and the broker. All of it reads and none of it starts. */
struct preparation {
    struct fd cwd;
    struct fd standard_input;
    char cwd_path[4096];
    struct envelope envelope;
    bool envelope_known;
    struct checks checks;
    struct run_limits limits;
    struct contain contain;
    struct environment environment;
    struct binding *binding;
    struct err failure; /* code ERR_NONE: none; a refusal stands in checks */
    struct strvec notes;
};
/* What stands in the way is left in checks and failure, never returned. */
void prepare(const struct run_request *request, struct preparation *preparation);
void preparation_done(struct preparation *preparation);
#define with_preparation cleanup(preparation_done) struct preparation

/* exit-code.c */
int run_exit_code(enum run_exit_mode mode, const struct verdict *verdict,
                  const struct report_facts *facts);
