/* environment.h
 *
 * The child's environment and the recorded environment, from separate allowlists (EV-1…EV-3).
 *
 * Calling sequence
 *   environment_build(&request, &ret_environment, err)
 *   environment_envp(&environment)           for the child, sorted
 *   environment.held_back                    names that were not passed, with the reason by name
 *   environment_recorded(&environment)       what a record may hold: names and values of the
 *                                            recorded allowlist, never a credential
 *
 * A name that loads code into, or steers, a program that did not ask for it (EV-2: LD_*,
 * GLIBC_TUNABLES, GCONV_PATH, BASH_ENV, PYTHON* hooks, NODE_OPTIONS, GIT_* controls, debugger init
 * files, ...) is refused by name or family even with pass_all; giving one explicitly is an error.
 *
 * The caller's environment may hold anything that execve(2) lets through: what has no '=' or no name
 * is no variable and is dropped, and of two with one name the first counts, as getenv(3) finds it.
 * Of two overrides with one name the last counts; "NAME" that the caller does not have adds nothing.
 * Names are compared as they are, but for the EV-2 names that an earlier runner refused in any case.
 * Two names keep an exception by value: GIT_CONFIG_GLOBAL=/dev/null and GIT_CONFIG_NOSYSTEM=1. The
 * MAKEFLAGS of a make above berm are not passed by default when they name its job server, whose
 * descriptors no payload has.
 *
 * Errors       ERR_USAGE: an override with an ill-formed name; ERR_REFUSED: one that EV-2 refuses
 * Limitations  it cannot know what a program that berm has never heard of reads.
 */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "json.h"
#include "strvec.h"

enum held_reason {
    HELD_NOT_LISTED, /* outside the allowlist */
    HELD_REFUSED,    /* EV-2 */
    HELD_CREDENTIAL, /* looks like one and was not asked for by name */
};

struct environment_request {
    char *const *inherited;         /* the caller's environment, "NAME=VALUE" */
    const struct strvec *overrides; /* "NAME" (pass the caller's) or "NAME=VALUE"; may be NULL */
    bool pass_all;                  /* everything that EV-2 does not refuse */
};

struct environment {
    struct strvec child;      /* "NAME=VALUE", sorted by name */
    struct strvec held_names; /* sorted */
    enum held_reason *held_reasons;
};

int environment_build(const struct environment_request *request,
                      struct environment *ret_environment, struct err *err) must_check;
/* In place of the caller's, for declared work, which has the same variables whoever starts it (SI-5): programs of the
 * system, after those of that folder's bin when there is one. */
void environment_declare(const char *runtime, struct strvec *ret_environment);
char *const *environment_envp(const struct environment *environment);
json_t *environment_recorded(const struct environment *environment) must_check;
void environment_done(struct environment *environment);
#define with_environment cleanup(environment_done) struct environment
