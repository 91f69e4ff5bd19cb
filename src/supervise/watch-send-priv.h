/* watch-send-priv.h
 *
 * Packets for a watchdog (watch-message.h), from a run's own controller and from whoever hands a run over.
 *
 * Calling sequence
 *   watch_seal(parts, count, &reports)                       once for each change of them
 *   watch_send_reports(channel, &packet, fd_num(&reports))
 *   watch_fill_fds(fds, first); fds[...] = ...;
 *   packet.head = ...; watch_send(channel, &packet, body_bytes, fds)
 *
 * Ownership    descriptors are borrowed; the kernel copies them.
 * Allocates    nothing
 * Errors       -errno; -EPIPE: the watchdog is gone, and may have said why.
 */
#pragma once

#include <stddef.h>

#include "attributes.h"
#include "fd.h"
#include "span.h"
#include "watch-message.h"

/* Places that are not used hold a copy of the first. */
void watch_fill_fds(int fds[WATCH_FDS], int first);
/* fds NULL: none. */
int watch_send(int channel, const struct watch_packet *packet, size_t body_bytes,
               const int *fds) must_check;
int watch_send_reports(int channel, struct watch_packet *packet, int reports_fd) must_check;
/* One file of memory with all parts behind each other, which nobody can change. */
int watch_seal(const struct span *parts, size_t count, struct fd *ret_fd) must_check;
