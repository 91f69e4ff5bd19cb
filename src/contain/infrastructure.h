/* infrastructure.h
 *
 * The programs of others that containment stands on (IB-1…IB-3): bubblewrap, found where the caller
 * has no say, held by what it is, and understood when it fails.
 *
 * Calling sequence
 *   infrastructure_pin(environment, &request, err)        which one the person pinned, if any
 *   infrastructure_bind_bwrap(&request, &bwrap, err)      found, judged, hashed, held
 *   binding_revalidate(bwrap, err)                        right before each launch
 *   infrastructure_explain(words, &saw, &remedy)          why it failed, and what would help
 *   infrastructure_probe(&saw, &remedy)                   the same before anything was tried
 *
 * Unpinned, bubblewrap is one of BWRAP_PATHS, of which the first that is there decides; PATH is never
 * looked at. It and every directory above it belong to root. Pinned (BERM_BWRAP_PATH together with
 * BERM_BWRAP_SHA256, or the same two with LAMINA_SAFE_ in front), it is any physical path with those
 * bytes, and may belong to the caller. Neither is set-id, has file capabilities, or can be written
 * by a group or everybody, itself or a directory above it.
 *
 * Ownership    the binding is the caller's; texts are allocated and the caller's.
 * Errors       ERR_UNAVAILABLE: none is there, or it is set-id; ERR_USAGE: half a pin, no digest;
 *              ERR_CHANGED: other bytes than pinned; else as binding.h. Every message ends in what
 *              would help.
 * Limitations  bubblewrap's words are matched as its versions up to 0.11 have them; of others the
 *              first line is shown, with general advice. Its shared libraries are not bound: they
 *              are root's, as it is.
 * Source       bwrap(1); CVE-2020-5291; Documentation/admin-guide/sysctl/user.rst and kernel.rst;
 *              Ubuntu's and Debian's own kernel.apparmor_restrict_unprivileged_userns and
 *              kernel.unprivileged_userns_clone.
 */
#pragma once

#include "binding.h"
#include "err.h"

#define BWRAP_PATHS "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"

struct infrastructure_request {
    const char *pinned_path; /* both or neither */
    const char *pinned_sha256;
};

/* The texts are lent by the environment. */
int infrastructure_pin(char *const *environment, struct infrastructure_request *ret_request,
                       struct err *err) must_check;
int infrastructure_bind_bwrap(const struct infrastructure_request *request,
                              struct binding **ret_binding, struct err *err) must_check;

/* What this host says about user namespaces; -1: it says nothing. */
struct infrastructure_host {
    bool is_root; /* by effective uid */
    long apparmor_restricts;
    long clone_allowed;
    long namespaces_max;
};
/* sys_fd: /proc/sys. */
void infrastructure_read_host(int sys_fd, struct infrastructure_host *ret_host);

void infrastructure_explain(const char *diagnostics, char **ret_saw, char **ret_remedy);
void infrastructure_explain_on(const struct infrastructure_host *host, const char *diagnostics,
                               char **ret_saw, char **ret_remedy);

enum infrastructure_outlook {
    OUTLOOK_OPEN,     /* nothing stands in the way that can be seen without trying; no texts */
    OUTLOOK_DOUBTFUL, /* a setting closes it to programs without a profile of their own: try */
    OUTLOOK_CLOSED,
};
enum infrastructure_outlook infrastructure_probe(char **ret_saw, char **ret_remedy) must_check;
enum infrastructure_outlook infrastructure_probe_on(const struct infrastructure_host *host,
                                                    char **ret_saw, char **ret_remedy) must_check;
