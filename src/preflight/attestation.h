/* attestation.h
 *
 * The attestation: the record that this host, this build and these tools passed the self-test (ST-3, ST-4).
 * It is `self-test.json` in the state folder, mode 0600, and the reports of the cases lie beside it in
 * `self-test/` (docs/formats/attestation-v1.md). It says what the host was; whoever reads it compares
 * that with what the host is, so that nothing has to be told that something has changed.
 *
 * Calling sequence, reading
 *   attestation_read(&folder, &attestation, err)        of berm's state folder. 1; 0: there is none
 *   attestation_judge(&attestation, &folder, &host, &why, err)
 *                                                       1: valid; 0: `why` says what speaks against it first
 *   attestation_done(&attestation)
 *
 * Calling sequence, writing
 *   attestation_withdraw(&folder, realtime_ns, err)     before the first case: none is valid from here on
 *   attestation_write(&folder, &attestation, err)       when all is known
 *
 * What is compared   passed and qualified; each fact of the host with what it is now, and the fingerprint with
 *              the facts; that each of the eleven cases is there once, passed and proved its cleaning up;
 *              the bytes of each stored report with its digest.
 * Ownership    an attestation that was read, or filled with what memory.h made, ends with attestation_done();
 *              so does a host with attestation_host_done().
 * Errors       ERR_CORRUPT: the file is there and is no attestation, or contradicts itself; ERR_REFUSED: it
 *              is another user's, or others may write it; ERR_OVER_BUDGET. An error is never "none".
 * Limitations  it is not signed: whoever writes files as this user can write one.
 */
#pragma once

#include "bfs.h"
#include "err.h"
#include "hash.h"
#include "json.h"
#include "record.h"

/* X(enumerator, id): the eleven cases, in the order in which they run (ST-2). */
#define ATTESTATION_CASES(X)                                                                       \
    X(CASE_NORMAL, "normal_cleanup")                                                               \
    X(CASE_DIRECT_MEMORY, "direct_memory_limit")                                                   \
    X(CASE_CHILD_MEMORY, "aggregate_child_memory_limit")                                           \
    X(CASE_IGNORED_TERM, "ignored_graceful_termination")                                           \
    X(CASE_TIMEOUT, "timeout_hang")                                                                \
    X(CASE_SPAWNING, "rapid_process_spawning")                                                     \
    X(CASE_FLOOD, "stdout_stderr_flood")                                                           \
    X(CASE_TEMPORARY, "runner_temporary_disk_growth")                                              \
    X(CASE_PARENT_SIGNAL, "parent_signal")                                                         \
    X(CASE_STALE_RECORD, "stale_process_record")                                                   \
    X(CASE_DETACHED, "detached_descendant")

enum attestation_case_id {
#define X(enumerator, id) enumerator,
    ATTESTATION_CASES(X)
#undef X
        CASE_COUNT
};
const char *attestation_case_name(enum attestation_case_id id);

/* X(member, meaning): what the fingerprint binds, in its order; the words name it when it differs. */
#define ATTESTATION_FACTS(X)                                                                       \
    X(machine_id, "the machine")                                                                   \
    X(boot_id, "the boot")                                                                         \
    X(kernel_release, "the kernel")                                                                \
    X(architecture, "the architecture")                                                            \
    X(adapter, "the adapter")                                                                      \
    X(root_controllers, "the controllers of the root cgroup")                                      \
    X(root_subtree_control, "what the root cgroup hands on")                                       \
    X(controllers, "the controllers where scopes are made")                                        \
    X(systemd_version, "the version of systemd")                                                   \
    X(manager, "the systemd manager")                                                              \
    X(report_schema, "the format of reports")                                                      \
    X(run_schema, "the format of records")                                                         \
    X(build, "the berm program")                                                                   \
    X(helper, "berm's helper")                                                                     \
    X(fixture, "the fixtures of the self-test")                                                    \
    X(bubblewrap, "bubblewrap")                                                                    \
    X(libsystemd, "libsystemd")                                                                    \
    X(daemon_integration, "the integration of managed daemons")

/* Each a short text; NULL or "": there is none on this host. */
struct attestation_host {
#define X(member, meaning) char *member;
    ATTESTATION_FACTS(X)
#undef X
};
void attestation_host_done(struct attestation_host *host);
#define with_attestation_host cleanup(attestation_host_done) struct attestation_host
/* Nobody has replaced a program in between. */
bool attestation_same_programs(const struct attestation_host *a, const struct attestation_host *b);
/* SHA-256 over names and values, each behind its length. */
void attestation_fingerprint(const struct attestation_host *host, char hex[HASH_HEX_SIZE]);

struct attestation_error {
    char *code;
    char *message;
};
struct attestation_report {
    char *file; /* its name in self-test/ */
    char *sha256;
};
struct attestation_case {
    int id; /* enum attestation_case_id */
    bool passed;
    bool skipped;
    char *outcome; /* NULL: it did not come to one */
    char *termination_reason;
    char *limit;
    struct maybe_int peak_rss_bytes;
    struct maybe_int peak_pids;
    struct strvec requested_signals;
    bool cleanup_verified;
    struct attestation_error *error;
    char *
        report_digest; /* of its report, or of the digests of several, in their order; NULL: none */
    struct object_list reports; /* struct attestation_report */
    json_t *evidence;           /* what was looked at besides, each a bool; NULL: nothing */
    int64_t duration_ms;
};
struct attestation {
    bool passed;
    bool qualified_for_production_tiers;
    char *tested_at;
    char *host_fingerprint; /* NULL: not computed */
    char *adapter;
    struct attestation_host *host;     /* NULL: likewise */
    struct object_list cases;          /* struct attestation_case */
    struct attestation_error *refusal; /* why no case was run, or none yet */
};
extern const struct record attestation_record;
extern const struct record attestation_case_record;

/* Of one case; with its reports. */
void attestation_case_digest(struct attestation_case *one);
/* The words that came from a report, before those of another. */
void attestation_case_forget(struct attestation_case *one);
/* passed, as far as the cases decide it: each of the eleven once, and as it must be. `why` may be NULL. */
bool attestation_complete(const struct attestation *attestation, struct buf *why);

#define ATTESTATION_FILE    "self-test.json"
#define ATTESTATION_REPORTS "self-test" /* the folder beside it */
/* Of a stored report; ERR_NOT_FOUND. */
int attestation_report_digest(const struct bfs_dir *reports, const char *file,
                              char hex[HASH_HEX_SIZE], struct err *err) must_check;

int attestation_read(const struct bfs_dir *folder, struct attestation *ret_attestation,
                     struct err *err) must_check;
int attestation_judge(const struct attestation *attestation, const struct bfs_dir *folder,
                      const struct attestation_host *host, struct buf *why,
                      struct err *err) must_check;
int attestation_withdraw(const struct bfs_dir *folder, int64_t realtime_ns,
                         struct err *err) must_check;
int attestation_write(const struct bfs_dir *folder, const struct attestation *attestation,
                      struct err *err) must_check;
void attestation_done(struct attestation *attestation);
#define with_attestation cleanup(attestation_done) struct attestation
