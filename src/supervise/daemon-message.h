/* daemon-message.h
 *
 * What a fixture and its daemon say to the broker of their run about the daemon's start, over the socket and
 * with the manners of context-message.h (docs/adr/0017). A request is one packet, a struct daemon_request;
 * the answer another, a struct daemon_answer, and the connection is closed.
 *
 *   fixture                                      broker, which looks for itself
 *   ---- DAEMON_RESERVE --------------------->   socket and lock are absent, in a place that may be used
 *        <------------------ the reservation
 *   starts the daemon, blocked, and hands the reservation to it
 *   ---- DAEMON_BIND, its pid --------------->   who that is, by /proc
 *   daemon
 *   ---- DAEMON_START ----------------------->   still absent: it may make them now
 *   writes the lock, with its pid and the reservation
 *   ---- DAEMON_LOCK_READY ------------------>   the lock is as it says
 *   listens at the socket
 *   ---- DAEMON_SEAL (or the fixture) ------->   both objects, as they are from now on
 *
 * Units          a pid is that of the caller's own PID namespace, where it is asked for.
 * Limitations    nothing of a request is believed: it says which daemon is meant, and shows that the sender
 *              knows the reservation.
 */
#pragma once

#include <stdint.h>

#include "context-message.h"

enum {
    DAEMON_NAME_SIZE = 32,
    DAEMON_PATH_SIZE = 4096,
    DAEMON_RESERVATION_BYTES = 32,
    DAEMON_TEXT_SIZE = 256,
};

enum daemon_event {
    DAEMON_RESERVE,
    DAEMON_BIND,
    DAEMON_START,
    DAEMON_LOCK_READY,
    DAEMON_SEAL,
    DAEMON_EVENT_COUNT
};

enum daemon_state {
    DAEMON_DECLARED,
    DAEMON_RESERVED,
    DAEMON_BOUND,
    DAEMON_STARTED, /* it may make its objects */
    DAEMON_CREATED, /* the lock stands, with the reservation in it */
    DAEMON_SEALED,
    DAEMON_STATE_COUNT
};

/* X(name, text): why a request is refused; the text goes on behind "daemon 'NAME': ". */
#define DAEMON_REFUSALS(X)                                                                         \
    X(NONE, "")                                                                                    \
    X(NOT_DECLARED, "the run declares no daemon of that name (berm run --daemon)")                 \
    X(NOT_YET, "it is too early: it is not bound, or has not executed anything, yet")              \
    X(ORDER, "that is not the next step")                                                          \
    X(RESERVATION, "that is not its reservation")                                                  \
    X(TOO_MANY, "too many of its requests were refused; it cannot go on in this run")              \
    X(FOLDER, "the folder of its socket and lock is not there, is another's, or was replaced")     \
    X(PRESENT, "its socket or its lock is there already; end what made it, and remove both")       \
    X(NO_PROCESS, "no process of the run has that pid")                                            \
    X(PARENT, "that process is no child of who asks, nor of an ancestor of it")                    \
    X(TOO_OLD, "that process was there before the reservation; start it afterwards")               \
    X(EXECUTABLE, "that process does not execute what was declared")                               \
    X(CWD, "its folder in the private file system must be its working folder, or lie below it")    \
    X(TAKEN, "that process is another daemon's already")                                           \
    X(NOT_BOUND, "who asks is neither the bound process nor a descendant of it")                   \
    X(GONE, "the bound process has ended, or executes something else by now")                      \
    X(LOCK, "its lock is no small file of its own with its pid and the reservation")               \
    X(SOCKET, "there is no socket of its own")                                                     \
    X(UNRECORDED, "it could not be made durable")                                                  \
    X(UNKNOWN, "berm could not find out")

enum daemon_refusal {
#define X(name, text) DAEMON_REFUSED_##name,
    DAEMON_REFUSALS(X)
#undef X
        DAEMON_REFUSAL_COUNT
};

struct daemon_request {
    struct context_request head; /* operation: CONTEXT_DAEMON + enum daemon_event */
    char name[DAEMON_NAME_SIZE];
    uint8_t reservation[DAEMON_RESERVATION_BYTES]; /* all but RESERVE */
    int64_t pid;                                   /* BIND; else 0 */
};

struct daemon_answer {
    uint32_t magic;
    uint16_t version;
    uint16_t status; /* enum context_status */
    uint8_t nonce[CONTEXT_NONCE_BYTES];
    uint32_t refusal; /* enum daemon_refusal */
    uint32_t state;   /* enum daemon_state, after the request */
    uint8_t reservation[DAEMON_RESERVATION_BYTES];
    int64_t pid; /* 0: not bound */
    int64_t namespace_pid;
    uint64_t start_ticks;
    char socket[DAEMON_PATH_SIZE]; /* where they are to be */
    char lock[DAEMON_PATH_SIZE];
    char text[DAEMON_TEXT_SIZE]; /* of a refusal, for a person */
};
