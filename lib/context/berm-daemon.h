/* berm-daemon.h - start a daemon that the run of this process declares
 *
 * A run of berm ends what its command leaves behind. With `berm run --daemon NAME=EXEC,SOCKET,LOCK` one daemon may
 * outlive the command for as long as it takes to end it in order, if it was started in these steps; who else is
 * left of such a run is a failure. berm looks for itself at each step, and believes nothing that is said here.
 *
 * Calling sequence
 *   the command (the fixture)
 *     struct berm_daemon daemon;
 *     if (berm_daemon_reserve("graphd", &daemon, sizeof daemon, 2000) < 0) {
 *         fprintf(stderr, "%s\n", daemon.text);
 *         return 3;
 *     }
 *     ... start the daemon, and give it daemon.reservation, daemon.socket and daemon.lock ...
 *     berm_daemon_bind("graphd", reservation, pid, &daemon, sizeof daemon, 2000)    waits for its execve
 *   the daemon
 *     berm_daemon_start("graphd", reservation, &daemon, sizeof daemon, 2000)   waits until it is bound
 *     ... write the lock: {"pid": 7, "safe_runner_reservation": "<the reservation>"} ...
 *     berm_daemon_lock_ready("graphd", reservation, &daemon, sizeof daemon, 2000)
 *     ... bind and listen ...
 *     berm_daemon_seal("graphd", reservation, &daemon, sizeof daemon, 2000)    or the fixture does
 *     ... and end on SIGTERM, removing both ...
 *
 * What is looked at   socket and lock are absent until the start; the process is a child of who binds it, or of an
 *              ancestor of that, younger than the reservation, and executes what was declared; in the private file
 *              system its working folder is the folder of both, or above it; the lock is a small file of its
 *              own with its pid and the reservation; the socket is one, and its own. What was sealed must still
 *              be the same at the end.
 * Link with    -lberm-context (pkg-config berm-context); manners and limits of berm-context.h hold.
 * Ownership    the struct is the caller's.
 * Units        milliseconds; a pid is one of the caller's own PID namespace.
 * Errors       -1, and `text` says it, for a person; `refusal` and `state` say it for a program
 *              (refusals: docs/errors.md). 0: done, durably.
 * Limitations  a step cannot be taken twice, nor back. A daemon whose request was refused 32 times can go on no
 *              more in its run. The reservation shows which daemon is meant; it is no secret among
 *              processes of one user.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BERM_DAEMON_RESERVATION_SIZE = 65 };

enum berm_daemon_step {
    BERM_DAEMON_RESERVE,
    BERM_DAEMON_BIND,
    BERM_DAEMON_START,
    BERM_DAEMON_LOCK_READY,
    BERM_DAEMON_SEAL,
};

enum berm_daemon_result {
    BERM_DAEMON_DONE,
    BERM_DAEMON_OUTSIDE,    /* no run holds this process, or it declares no such daemon */
    BERM_DAEMON_REFUSED,    /* by the run: `refusal` */
    BERM_DAEMON_NOT_PROVED, /* nobody answered, or it cannot be proved who did */
};

/* What is not known is empty or 0. Later versions add at the end only. */
struct berm_daemon {
    int result; /* enum berm_daemon_result */
    int error;  /* an errno, or 0 */
    int refusal;
    int state; /* 0 declared, 1 reserved, 2 bound, 3 started, 4 created, 5 sealed; -1: not known */
    char reservation[BERM_DAEMON_RESERVATION_SIZE]; /* lowercase hex */
    int64_t pid;                                    /* of the bound process, on the host */
    int64_t namespace_pid;                          /* and as it sees itself */
    uint64_t start_ticks;
    char socket[4096]; /* where it is to be made */
    char lock[4096];
    char text[256]; /* a sentence for a person; empty when it is done */
};

/* Each comes back after timeout_ms at the latest, with ret_daemon->result. */
int berm_daemon_reserve(const char *name, struct berm_daemon *ret_daemon, size_t size,
                        int timeout_ms);
int berm_daemon_bind(const char *name, const char *reservation, int64_t pid,
                     struct berm_daemon *ret_daemon, size_t size, int timeout_ms);
int berm_daemon_start(const char *name, const char *reservation, struct berm_daemon *ret_daemon,
                      size_t size, int timeout_ms);
int berm_daemon_lock_ready(const char *name, const char *reservation,
                           struct berm_daemon *ret_daemon, size_t size, int timeout_ms);
int berm_daemon_seal(const char *name, const char *reservation, struct berm_daemon *ret_daemon,
                     size_t size, int timeout_ms);

#ifdef __cplusplus
}
#endif
