/* context-priv.h
 *
 * The context broker (CX-1, CX-3, CX-4): a listening socket that the payload can reach, served from the
 * loop of the run. It has a set of events of its own, so that the loop waits for one descriptor.
 *
 * Calling sequence
 *   context_open(&context, &facts, &listener, err)   before the release; then the payload may connect
 *   context_events(&context)                         the descriptor to wait for (EPOLLIN)
 *   context_serve(&context, now)                     after each event and at each moment that is due
 *   context_moment_ns(&context)                      when that is; INT64_MAX: with the next event
 *   context_done(&context)
 *
 * Who asks     the process that connected, by the kernel's word, and it alone: identified when it is
 *              accepted, then told a number that nobody could know before, which its request must bring
 *              back. The kernel names the sender of that request; it must be the same process, which
 *              must be alive after its cgroup was read once more. So the number of a process that ended
 *              cannot stand for another one, also where the kernel gives no pidfd of a peer.
 * Caps         CONTEXT_PEERS connections at a time, each for CONTEXT_DEADLINE_NS in all, from the first
 *              moment, whether it speaks or not; one request each; CONTEXT_RATE connections a second.
 *              A step of a
 *              daemon, which may wait for the watchdog, is taken when all who read were answered, one at a turn;
 *              who waits for one is not closed meanwhile. Who is no member holds no place. What is too much waits in the kernel's own queue, and
 *              costs berm nothing. berm is who closes: no end of a peer is ever waited for.
 *              Nor is a descriptor's: who connects cannot pass any (Linux 6.16), or a last close that would
 *              wait, of a socket with SO_LINGER, is ended by a signal after CONTEXT_CLOSE_MS.
 * Memory       nothing is allocated after context_open().
 * Errors       of one connection end that connection. One of the service itself ends the service, and
 *              never the run: `failure` says it.
 * Limitations  outside of a sandbox any user of the machine can connect; who is no member is turned
 *              away before it is read from, but can use up the rate. A program then hears nothing in
 *              time and has no proof, which is the safe side. Before Linux 6.16 each connection can cost the
 *              loop CONTEXT_CLOSE_MS, and a close that no signal ends (a huge file without a name) its time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "context.h"
#include "daemon-message.h"
#include "err.h"
#include "fd.h"
#include "proc.h"

enum {
    CONTEXT_PEERS = 16,
    CONTEXT_BACKLOG = 16,
    CONTEXT_RATE = 128,
    CONTEXT_AT_ONCE = 16, /* connections that are taken in one turn */
    CONTEXT_CLOSE_MS = 20,
};
#define CONTEXT_DEADLINE_NS NS_PER_S
#define CONTEXT_WINDOW_NS   NS_PER_S

/* context-peer.c: who is at the other end. */
struct context_peer {
    struct fd socket;
    struct fd pidfd;
    struct proc_identity who;
    int64_t until_ns;
    uint8_t nonce[CONTEXT_NONCE_BYTES];
    bool has_step; /* it asked for a step of a daemon, and waits for its turn */
    struct daemon_request step;
};
/* proc_dir: /proc, held open. Fills pidfd and who; CONTEXT_OK, or why it cannot be known. */
enum context_status context_peer_identify(int proc_dir, struct context_peer *peer);
/* Is it still who it was, alive, and in the leaf? */
enum context_status context_peer_check(int proc_dir, const struct context_peer *peer,
                                       const char *leaf);
/* Its request, if this is one: from the process that connected, with the number that it was told. */
union context_frame {
    struct context_request head;
    struct daemon_request daemon;
};
enum context_status context_peer_hear(const struct context_peer *peer,
                                      union context_frame *ret_frame, bool *ret_heard);

struct daemons;

struct context {
    struct daemons *daemons; /* of the run; NULL: it declares none. Set after context_open() */
    struct fd epoll;
    struct fd listener;
    struct fd proc_dir;
    struct context_answer answer; /* but for the number that is asked with */
    struct context_peer peers[CONTEXT_PEERS];
    bool takes_descriptors;  /* an older kernel: whoever connects can pass some */
    bool watching;           /* the listener is waited for */
    int64_t window_until_ns; /* of the rate */
    int taken;               /* connections in it */
    struct err failure;      /* ERR_NONE: it serves, or was never opened */
};

/* listener: bound already, in a sandbox, and taken in any case; none: it is made. proc: "/proc". */
int context_open(struct context *context, const struct context_facts *facts, struct fd *listener,
                 const char *proc, struct err *err) must_check;
int context_events(const struct context *context);
void context_serve(struct context *context, int64_t now_ns);
int64_t context_moment_ns(const struct context *context);
void context_done(struct context *context);
