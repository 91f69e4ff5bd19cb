/* host.h
 *
 * What the portable program says of its host: that none of berm's mechanisms is there. It is the whole
 * of berm on a host without Linux's (docs/adr/0021): the command line and its tables, the validator, and a
 * refusal of everything else.
 *
 * Nothing is probed and no process is started; of the host only the names that uname(3) tells are asked
 * for. No attestation is read or written, and no fingerprint of the host is made.
 */
#pragma once

#include "checks.h"
#include "contain.h"
#include "envelope.h"
#include "err.h"
#include "span.h"

#define HOST_ADAPTER "portable-process-group-small-only"
#define HOST_LACKS                                                                                 \
    "this berm is built for hosts without Linux's cgroups, namespaces and pidfds; it holds no "    \
    "process"
#define HOST_REMEDY "use the berm of a Linux host with cgroup v2, systemd and bubblewrap"

/* What is not known is -1. */
void host_envelope(struct envelope *ret_envelope);
/* The portable adapter, which gives nothing where nothing is started. */
void host_contain(struct contain *ret_contain);
/* The one check that refuses every run. */
void host_refuse(struct checks *checks);

/* Put whole bytes in the place of what path names, mode 0600: a new file beside it, synced and renamed over
 * it. A link is replaced and not followed; what is neither a file nor a link, or lies in a folder that
 * everybody may write to, is refused. */
int host_replace(const char *path, struct span bytes, struct err *err) must_check;
