/* qualification.h
 *
 * Whether this host is qualified for production tiers now: the attestation of the last self-test
 * (attestation.h), held against the host as it is.
 *
 * Calling sequence
 *   qualification_read(environment, &offer, &qualification, err)    reads, and starts nothing
 *   qualification_to_json(&qualification)                           an envelope's "attestation"
 *   qualification_done(&qualification)
 *   qualification_read_host(environment, &offer, &host, err)        what a new attestation binds
 *
 * Errors       of an attestation that is there and cannot be believed (ERR_CORRUPT, ERR_REFUSED): the
 *              qualification says the same, and is to be used all the same.
 *              qualification_read_host(): what cannot be read of the host.
 * Limitations  the programs are hashed as they are on the disk now; bubblewrap is bound again at each launch.
 * Source       machine-id(5); /proc/sys/kernel/random/boot_id of random(4).
 */
#pragma once

#include <stdbool.h>

#include "attestation.h"
#include "scope.h"

struct qualification {
    bool available; /* an adapter is there that can be qualified */
    bool valid;
    const char *adapter;
    char *reason;      /* why not; NULL: valid */
    char *fingerprint; /* of the host now; NULL: nothing to hold it against */
    json_t *value;     /* the attestation; NULL: none */
};

int qualification_read(char *const *environment, const struct scope_offer *offer,
                       struct qualification *ret_qualification, struct err *err) must_check;
json_t *qualification_to_json(const struct qualification *qualification) must_check;
void qualification_done(struct qualification *qualification);
#define with_qualification cleanup(qualification_done) struct qualification

int qualification_read_host(char *const *environment, const struct scope_offer *offer,
                            struct attestation_host *ret_host, struct err *err) must_check;
/* The digest of this program, the helper in it. */
char *qualification_build(struct err *err) must_check;
/* The program of the cases: beside the libraries of an installed berm, or in its build folder. */
char *qualification_fixture(struct err *err) must_check;
