/* checks.h
 *
 * What was checked before a run, each with a stable code, what was seen and what would help. All are
 * collected: a refusal names every reason, not the first.
 *
 * Codes        CHECK_CODES below: stable, listed in docs/errors.md (a test compares them).
 * Ownership    the list owns copies of its texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "attributes.h"
#include "json.h"

/* X(enumerator, code, what it asks); the codes of guarantees go on with the guarantee's name. */
#define CHECK_CODES(X)                                                                             \
    X(CHECK_CWD, "preflight.cwd", "the working folder is there, and in one of the roots")          \
    X(CHECK_HOST, "preflight.host", "the host says what memory it has")                            \
    X(CHECK_MEMORY, "preflight.memory", "the memory limit leaves the reserve to the host")         \
    X(CHECK_CEILING, "preflight.ceiling", "a limit, and a mark below it, keeps to its ceiling")    \
    X(CHECK_GUARANTEE, "preflight.guarantee.", "a guarantee that was required can be enforced")    \
    X(CHECK_ENVIRONMENT, "preflight.environment", "no variable was asked for that is refused")     \
    X(CHECK_EXECUTABLE, "preflight.executable", "the command was found, allowed and hashed")       \
    X(CHECK_STDIN, "preflight.stdin", "the input can be read")                                     \
    X(CHECK_SANDBOX, "preflight.sandbox", "a sandbox can be made")                                 \
    X(CHECK_SCOPE, "preflight.scope", "a scope can be made and holds its limits")                  \
    X(CHECK_ROOTS, "preflight.roots", "folders that are opened are there and may be opened")       \
    X(CHECK_PROJECT, "preflight.project", "the project's berm.yaml can be read and believed")      \
    X(CHECK_ENTRYPOINT, "preflight.entrypoint",                                                    \
      "the command is the declared work that it is said to be")                                    \
    X(CHECK_TOOLCHAIN, "preflight.toolchain", "a staged runtime is there as it was staged")        \
    X(CHECK_FROZEN, "preflight.frozen",                                                            \
      "what runs at a tier, and from which source, can be frozen")                                 \
    X(CHECK_TIER, "preflight.tier", "what a run at a tier needs besides is there")                 \
    X(CHECK_ACTIVE, "preflight.active",                                                            \
      "neither an earlier run of this user nor a declared daemon is there")                        \
    X(CHECK_LOCK, "preflight.lock", "no other run at a tier is on its way on this host")           \
    X(CHECK_ATTESTATION, "preflight.attestation", "this host, as it is, passed the self-test")     \
    X(CHECK_PROMOTION, "preflight.promotion", "this very work succeeded at every smaller tier")    \
    X(CHECK_FENCE, "preflight.fence", "this very work is not fenced")                              \
    X(CHECK_USER, "preflight.user", "the user that it runs as is an ordinary one")                 \
    X(CHECK_DAEMON, "preflight.daemon", "a declared daemon can be managed, and runs nowhere yet")  \
    X(CHECK_SELF_TEST, "preflight.self_test", "it is no case of the self-test that runs nothing")

#define X(enumerator, code, what) extern const char enumerator[];
CHECK_CODES(X)
#undef X

struct check {
    const char *code; /* static */
    bool ok;
    char *what;   /* "network cannot be enforced" */
    char *saw;    /* "bwrap: EPERM" */
    char *remedy; /* one sentence a line; "" only of what is ok */
};

struct checks {
    struct check *list;
    size_t count;
};

/* The three texts are taken over. A refusal without a remedy is a bug of ours. */
void checks_add_take(struct checks *checks, const char *code, bool ok, char *what, char *saw,
                     char *remedy);
bool checks_ok(const struct checks *checks);
const struct check *checks_first_failed(const struct checks *checks); /* NULL: none */
json_t *checks_to_json(const struct checks *checks) must_check;
void checks_done(struct checks *checks);
#define with_checks cleanup(checks_done) struct checks
