/* qualify.h
 *
 * The self-test: eleven small programs that misbehave, each in a real managed run with low limits, and the
 * attestation that follows from how they ended (ST-1…ST-5; attestation.h).
 *
 * Calling sequence
 *   qualify_run(&request, &result, err)
 *   qualify_to_json(&result)                 lamina.safe-runner-self-test/v1
 *   qualify_result_done(&result)
 *
 * Order        the attestation that is there is withdrawn first: whatever happens from then on, a death of berm
 *              too, none is valid until all is known. Then the host is asked what it enforces; where that is
 *              not everything, no case is run and the attestation says so (ST-5). Then the cases, one by one,
 *              each a run of run.h like any other, with its record in the state folder and its report in
 *              self-test/. At last the host is read, and the attestation written.
 * Limits       no case has more than 32 tasks at one time, bubblewrap and the launcher included, and the storm
 *              24; 192 MiB, and 10 s (cases.c).
 * Ownership    a request is borrowed; a result owns what it holds.
 * Errors       -1: the attestation could not be withdrawn or written, or another self-test is on its way
 *              (ERR_CONFLICT). A case that fails is a result.
 * Limitations  one at a time in a process, as run.h says. It does not try what only a hostile kernel or root
 *              could do. SIGINT and SIGTERM end it between two cases and within one.
 */
#pragma once

#include <stdbool.h>

#include "attestation.h"
#include "clock.h"
#include "err.h"

struct qualify_request {
    char *const *environment;
    const char *user;          /* as in run.h; NULL: the caller */
    const char *cgroup_parent; /* likewise */
    const struct os_clock *clock;
    void *context;
    /* After each; may be NULL. */
    void (*on_case)(void *context, int number, const struct attestation_case *one);
};

struct qualify_result {
    struct attestation attestation; /* as it was written */
    char *path;                     /* of its file; NULL: none was written */
    bool refused;                   /* nothing was run: attestation.refusal says why */
    int die_of; /* a signal ended it; the attestation is withdrawn, and its cases are those before */
};

int qualify_run(const struct qualify_request *request, struct qualify_result *ret_result,
                struct err *err) must_check;
json_t *qualify_to_json(const struct qualify_result *result) must_check;
/* What stands in an attestation when no case was run: each of the eleven skipped, and why. */
void qualify_skip_cases(struct attestation *attestation);
struct attestation_error *qualify_error(const char *code, const struct buf *message) must_check;
void qualify_result_done(struct qualify_result *result);
#define with_qualify_result cleanup(qualify_result_done) struct qualify_result
