/* What an attestation is, and what must be so within it. */
#include "attestation.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "text.h"

static const char *const case_names[] = {
#define X(enumerator, id) [enumerator] = id,
    ATTESTATION_CASES(X)
#undef X
        NULL,
};

const char *attestation_case_name(enum attestation_case_id id)
{
    return case_names[id];
}

/* --- the record ---------------------------------------------------------------------------------- */

enum { DIGEST_LENGTH = HASH_HEX_SIZE - 1, FACT_MAX = 4096 };

static const struct record_field host_fields[] = {
#define X(member, meaning)                                                                         \
    FIELD(struct attestation_host, member, FIELD_STRING, SENSITIVITY_PUBLIC, .maximum = FACT_MAX,  \
          .doc = meaning),
    ATTESTATION_FACTS(X)
#undef X
};
static const struct record host_record =
    RECORD(struct attestation_host, "attested_host", host_fields,
           .doc = "What the host was; \"\": it had none. The fingerprint is made of these.");

static const struct record_field error_fields[] = {
    FIELD(struct attestation_error, code, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = 1,
          .maximum = 128, .doc = "`LAMINA_SAFE_` and a name"),
    FIELD(struct attestation_error, message, FIELD_STRING, SENSITIVITY_TEXT, .maximum = 500,
          .doc = "for a person"),
};
static const struct record error_record =
    RECORD(struct attestation_error, "attestation_error", error_fields);

static const struct record_field report_fields[] = {
    FIELD(struct attestation_report, file, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = 1,
          .maximum = 100, .doc = "its name in `self-test/`"),
    FIELD(struct attestation_report, sha256, FIELD_STRING, SENSITIVITY_PUBLIC,
          .minimum = DIGEST_LENGTH, .maximum = DIGEST_LENGTH, .doc = "of its bytes"),
};
static const struct record report_record =
    RECORD(struct attestation_report, "attested_report", report_fields);

#define MAYBE_TEXT(member, max, text)                                                              \
    FIELD(struct attestation_case, member, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,                 \
          .maximum = (max), .doc = (text))
#define MAYBE_COUNT(member, text)                                                                  \
    FIELD(struct attestation_case, member, FIELD_MAYBE_INT, SENSITIVITY_PUBLIC, .doc = (text))
static const struct record_field case_fields[] = {
    FIELD(struct attestation_case, id, FIELD_ENUM, SENSITIVITY_PUBLIC, .names = case_names,
          .doc = "the case"),
    FIELD(struct attestation_case, passed, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "everything was as it must be"),
    FIELD(struct attestation_case, skipped, FIELD_BOOL, SENSITIVITY_PUBLIC, .later = true,
          .doc = "it was not run"),
    MAYBE_TEXT(outcome, 64, "of its report"),
    MAYBE_TEXT(termination_reason, 64, "likewise"),
    MAYBE_TEXT(limit, 64, "likewise; null: no limit was hit"),
    MAYBE_COUNT(peak_rss_bytes, "likewise"),
    MAYBE_COUNT(peak_pids, "likewise"),
    FIELD(struct attestation_case, requested_signals, FIELD_STRINGS, SENSITIVITY_PUBLIC,
          .maximum = 64, .doc = "likewise"),
    FIELD(struct attestation_case, cleanup_verified, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "nothing was left, by its report and by a look of its own"),
    FIELD(struct attestation_case, error, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC,
          .record = &error_record, .doc = "why it did not pass"),
    FIELD(struct attestation_case, report_digest, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .minimum = DIGEST_LENGTH, .maximum = DIGEST_LENGTH,
          .doc = "of its report; of several reports, of their digests in their order"),
    FIELD(struct attestation_case, reports, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .maximum = 4,
          .record = &report_record, .doc = "what it wrote"),
    FIELD(struct attestation_case, evidence, FIELD_OPEN, SENSITIVITY_PUBLIC,
          .doc = "what was looked at besides the common rules, and whether it was so"),
    FIELD(struct attestation_case, duration_ms, FIELD_INT, SENSITIVITY_PUBLIC,
          .doc = "how long it took"),
};
const struct record attestation_case_record =
    RECORD(struct attestation_case, "attested_case", case_fields);

static const struct record_field attestation_fields[] = {
    FIELD_FIXED("schema", "lamina.safe-runner-attestation/v1", .doc = "names this format"),
    FIELD(struct attestation, passed, FIELD_BOOL, SENSITIVITY_PUBLIC, .doc = "every case passed"),
    FIELD(struct attestation, qualified_for_production_tiers, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "and the adapter enforces what the tiers need"),
    FIELD(struct attestation, tested_at, FIELD_STRING, SENSITIVITY_PUBLIC, .maximum = 64,
          .doc = "date and time, RFC 3339"),
    FIELD(struct attestation, host_fingerprint, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .minimum = DIGEST_LENGTH, .maximum = DIGEST_LENGTH,
          .doc = "of the host; null when nothing was enforced, or nothing is known yet"),
    FIELD(struct attestation, adapter, FIELD_STRING, SENSITIVITY_PUBLIC, .maximum = 100,
          .doc = "what held the cases"),
    FIELD(struct attestation, host, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .later = true,
          .record = &host_record, .doc = "what the fingerprint is made of"),
    FIELD(struct attestation, cases, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .maximum = CASE_COUNT,
          .record = &attestation_case_record, .doc = "one for each case, in their order"),
    FIELD(struct attestation, refusal, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .later = true,
          .record = &error_record, .doc = "why there are no cases; null: there are"),
};
const struct record attestation_record =
    RECORD(struct attestation, "lamina.safe-runner-attestation/v1", attestation_fields,
           .doc = "Whether this host passed the self-test, and what it was then.");

void attestation_host_done(struct attestation_host *host)
{
    record_done(&host_record, host);
}

void attestation_done(struct attestation *attestation)
{
    record_done(&attestation_record, attestation);
}

/* --- digests ------------------------------------------------------------------------------------- */

static void add_text(struct hash *hash, const char *text)
{
    char length[32];
    size_t n = text ? strlen(text) : 0;
    int digits = snprintf(length, sizeof length, "%zu:", n);
    hash_add(hash, length, (size_t)digits);
    hash_add(hash, text ? text : "", n);
}

void attestation_fingerprint(const struct attestation_host *host, char hex[HASH_HEX_SIZE])
{
    struct hash hash;
    hash_init(&hash);
#define X(member, meaning)                                                                         \
    add_text(&hash, #member);                                                                      \
    add_text(&hash, host->member);
    ATTESTATION_FACTS(X)
#undef X
    hash_hex(&hash, hex);
}

bool attestation_same_programs(const struct attestation_host *a, const struct attestation_host *b)
{
    return strcmp(a->build, b->build) == 0 && strcmp(a->fixture, b->fixture) == 0 &&
           strcmp(a->bubblewrap, b->bubblewrap) == 0 && strcmp(a->libsystemd, b->libsystemd) == 0;
}

static void digest_of_reports(const struct attestation_case *one, char hex[HASH_HEX_SIZE])
{
    const struct attestation_report *reports = one->reports.objects;
    if (one->reports.count == 1) {
        (void)snprintf(hex, HASH_HEX_SIZE, "%s", reports[0].sha256);
        return;
    }
    struct hash hash;
    hash_init(&hash);
    for (size_t i = 0; i < one->reports.count; i++) {
        add_text(&hash, reports[i].sha256);
    }
    hash_hex(&hash, hex);
}

void attestation_case_digest(struct attestation_case *one)
{
    char hex[HASH_HEX_SIZE];
    memory_free(one->report_digest);
    one->report_digest = NULL;
    if (one->reports.count > 0) {
        digest_of_reports(one, hex);
        one->report_digest = memory_copy_string(hex);
    }
}

void attestation_case_forget(struct attestation_case *one)
{
    memory_free(one->outcome);
    memory_free(one->termination_reason);
    memory_free(one->limit);
    strvec_done(&one->requested_signals);
    one->outcome = NULL;
    one->termination_reason = NULL;
    one->limit = NULL;
}

/* --- the cases ----------------------------------------------------------------------------------- */

static bool say(struct buf *why, int id, const char *fault)
{
    if (why) {
        buf_add_format(why, "the case %s %s", case_names[id], fault);
    }
    return false;
}

static const char *fault_of(const struct attestation_case *one)
{
    char hex[HASH_HEX_SIZE];
    if (!one->passed || one->skipped || !one->outcome) {
        return "did not pass";
    }
    if (!one->cleanup_verified) {
        return "did not prove that nothing was left";
    }
    if (one->reports.count == 0 || !one->report_digest) {
        return "has no report";
    }
    digest_of_reports(one, hex);
    return strcmp(hex, one->report_digest) != 0 ? "has another digest than its reports" : NULL;
}

bool attestation_complete(const struct attestation *attestation, struct buf *why)
{
    const struct attestation_case *cases = attestation->cases.objects;
    for (int id = 0; id < CASE_COUNT; id++) {
        const struct attestation_case *found = NULL;
        for (size_t i = 0; i < attestation->cases.count; i++) {
            if (cases[i].id == id && found) {
                return say(why, id, "is there twice");
            }
            found = cases[i].id == id ? &cases[i] : found;
        }
        const char *fault = found ? fault_of(found) : "is missing";
        if (fault) {
            return say(why, id, fault);
        }
    }
    return true;
}
