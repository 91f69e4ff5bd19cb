/* attestation-test.h
 *
 * A complete attestation, as a self-test that passed leaves it.
 */
#pragma once

#include "attestation.h"
#include "memory.h"

static unused struct attestation_host make_host(void)
{
    return (struct attestation_host){
#define X(member, meaning) .member = memory_copy_string(#member),
        ATTESTATION_FACTS(X)
#undef X
    };
}

static unused struct object_list one_report(const char *file, const char *sha256)
{
    struct attestation_report *report = memory_new(sizeof *report);
    *report = (struct attestation_report){memory_copy_string(file), memory_copy_string(sha256)};
    return (struct object_list){report, 1};
}

/* Every case has the one report `file` with that digest. */
static unused struct attestation make_attestation(const char *file, const char *sha256)
{
    char hex[HASH_HEX_SIZE];
    struct attestation_case *cases = memory_new(CASE_COUNT * sizeof *cases);
    for (int id = 0; id < CASE_COUNT; id++) {
        cases[id] = (struct attestation_case){.id = id,
                                              .passed = true,
                                              .outcome = memory_copy_string("success"),
                                              .cleanup_verified = true,
                                              .reports = one_report(file, sha256)};
        attestation_case_digest(&cases[id]);
    }
    struct attestation_host *host = memory_new(sizeof *host);
    *host = make_host();
    attestation_fingerprint(host, hex);
    return (struct attestation){.passed = true,
                                .qualified_for_production_tiers = true,
                                .tested_at = memory_copy_string("2026-11-30T03:00:00.000Z"),
                                .host_fingerprint = memory_copy_string(hex),
                                .adapter = memory_copy_string(host->adapter),
                                .host = host,
                                .cases = {cases, CASE_COUNT}};
}

static unused struct attestation_case *case_of(struct attestation *attestation, int id)
{
    return (struct attestation_case *)attestation->cases.objects + id;
}
