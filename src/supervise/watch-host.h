/* watch-host.h
 *
 * Where this process runs, for manifests: what makes a pid of today mean something.
 *
 * Calling sequence   watch_host_read(&host, err), watch_host_compare(&host, &manifest.host)
 * Errors       ERR_SYS: /proc cannot tell; a machine id that cannot be read is "", which is nobody's
 * Limitations  machines that were cloned with /etc/machine-id are one machine after a reboot. A PID namespace has
 *              the number of one that ended, in time; then nobody of the old one lives.
 * Source       machine-id(5); random(4): boot_id; namespaces(7).
 */
#pragma once

#include "err.h"
#include "watch-message.h"

enum watch_where {
    WATCH_HERE,      /* its processes are found by their numbers */
    WATCH_BEFORE,    /* on this machine, in a boot that ended: none of them lives */
    WATCH_ELSEWHERE, /* on another machine, or in another PID namespace: nothing can be said of them */
};

int watch_host_read(struct watch_host *ret_host, struct err *err) must_check;
enum watch_where watch_host_compare(const struct watch_host *here, const struct watch_host *host);
