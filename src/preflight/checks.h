/* checks.h
 *
 * What was checked before a run, each with a stable code, what was seen and what would help. All are
 * collected: a refusal names every reason, not the first.
 *
 * Codes        stable, listed in docs/errors.md: "preflight.memory", "preflight.userns", ...
 * Ownership    the list owns copies of its texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "attributes.h"
#include "json.h"

struct check {
    const char *code; /* static */
    bool ok;
    char *what;   /* "network cannot be enforced" */
    char *saw;    /* "bwrap: EPERM" */
    char *remedy; /* one sentence a line; "" when there is none */
};

struct checks {
    struct check *list;
    size_t count;
};

/* The three texts are taken over. */
void checks_add_take(struct checks *checks, const char *code, bool ok, char *what, char *saw,
                     char *remedy);
bool checks_ok(const struct checks *checks);
const struct check *checks_first_failed(const struct checks *checks); /* NULL: none */
json_t *checks_to_json(const struct checks *checks) must_check;
void checks_done(struct checks *checks);
#define with_checks cleanup(checks_done) struct checks
