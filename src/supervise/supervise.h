/* supervise.h
 *
 * The process broker: the only place that creates processes (EX-6). It owns the child from its
 * creation to the proof that nothing of it is left: streams, deadlines, limits, observation,
 * termination, descendants and the final facts (EX-7).
 *
 * Calling sequence
 *   interrupts_begin()                         once, before anything durable
 *   supervise_run(&request, &ending, err)      0: the ending holds what happened, whatever it was;
 *                                              -1: nothing was ever started
 *   ... report/ turns the ending into an outcome ...
 *   with_ending frees it
 *
 * One event loop (epoll with a time-out: pidfd, both streams, signals), no threads, no polling where
 * the kernel notifies. The child ("gate") is blocked on a pipe until it is released, which is where
 * a stronger adapter will move it into its container; then it becomes the payload by execveat of the binding's
 * descriptor. berm is a child subreaper for the time of the run: a descendant that loses its parent
 * becomes berm's child, so "waitid finds no child" proves that the whole tree is gone.
 *
 * Stop         SIGTERM then SIGCONT to every process of the tree, through pidfds whose identity was
 *              checked; the grace, which counts from the request (the last to be told has 100 ms of it in any
 *              case), ended early when the tree is empty, or is used to take more than the
 *              limits allow; then SIGKILL to the leader's group in one call (Linux 6.9), to berm's own
 *              children as fast as they come and to whoever a look at /proc finds, repeated while a
 *              child is left, for at most kill_budget. What is left then is a survivor and named.
 * Deadlines    set-up from creation to exec, payload from the release; with one_deadline a single
 *              one from before creation (EX-8). Cleanup may end after the deadline.
 * Watchdog     is told of the release and of the last moment at which the run can still be on its way:
 *              the payload's deadline, the grace and five seconds. When it is lost, nobody would clean up
 *              after berm: the run is stopped.
 * Memory       everything is allocated before the release; nothing afterwards (memory_arm()).
 * Strangers    berm may have children that are not the payload's: when it is pid 1 of a container, or
 *              was executed by a process that had children. Those of before are left alone and do
 *              not count. One that came during the run and shows no sign of the payload (its session,
 *              the mark for the out-of-memory killer) is left alone as well, but nobody can say then
 *              that nothing is left: it is named as an unclaimed survivor.
 * Scope        with an offer the gate is moved into the leaf of a scope of its own before it becomes
 *              anything: memory and tasks are the kernel's to limit, its events end the run, and all of the
 *              leaf is killed in one call (hold-priv.h).
 * Daemons      of a run that declares some, nobody else may be there when the first process has ended by
 *              itself and a sample interval is over (docs/adr/0017); daemons are asked to end, and have the
 *              grace for it.
 * Links        of a sandbox that bars them, the temporary folders are looked through with every sample (as long as
 *              that takes no more than a sixteenth of a processor), and once more when nobody is left: that look
 *              holds for a run that has ended by itself, too.
 * Limitations  without a scope memory and tasks are observed by sampling: a burst between two looks can
 *              pass, and a death of berm itself by SIGKILL ends only the first process (PDEATHSIG). A
 *              set-uid descendant cannot be signalled by an ordinary user: it is a survivor then.
 * Source       prctl(2) PR_SET_CHILD_SUBREAPER, pidfd_send_signal(2), wait(2), epoll(7).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binding.h"
#include "clock.h"
#include "context.h"
#include "daemon.h"
#include "err.h"
#include "interrupts.h"
#include "limit.h"
#include "sandbox.h"
#include "scope.h"
#include "watchdog.h"

/* What a live display may show. Its functions are called while memory is armed: they may neither
 * allocate nor wait. */
struct supervise_view {
    int64_t elapsed_ns;
    int64_t memory_bytes;
    int64_t tasks;
    int64_t output_bytes;
    const char *stopping; /* NULL, or why the tree is being ended ("timeout", "SIGINT") */
    const struct supervise_limits *limits; /* in force; the request's own */
};
struct supervise_observer {
    void *context;
    void (*on_sample)(void *context, const struct supervise_view *view); /* may be NULL */
    /* Around the writing of payload bytes; stream is STREAM_STDOUT or STREAM_STDERR, last the last
     * byte that was written. */
    void (*before_output)(void *context, int stream);
    void (*after_output)(void *context, int stream, char last);
    void (*before_stop)(
        void *context); /* the stop key of the terminal: berm stops itself; may be NULL */
};

enum { STREAM_STDOUT = 0, STREAM_STDERR = 1, STREAM_COUNT = 2 };

struct supervise_request {
    const struct binding *binding;
    struct sandbox *sandbox;  /* rendered (sandbox_ready()); NULL: none */
    char *const *environment; /* without a sandbox: that has its own */
    int cwd_fd;               /* borrowed, like every descriptor here */
    int stdin_fd;
    int pass_fd[STREAM_COUNT];         /* where payload bytes go as they come; -1: nowhere */
    int keep_fd[STREAM_COUNT];         /* files that keep the prefix; -1: none */
    int64_t keep_bytes;                /* how much each file may keep */
    uint32_t tail_bytes[STREAM_COUNT]; /* of its end in the ending; 0: TAIL_BYTES */
    struct supervise_limits limits;
    /* A descendant that outlives the first process ends the run at LIMIT_DETACHED; who is gone within a sample
     * interval was about to end. Else it is ended all the same, and only counted. */
    bool detached_fails;
    struct interrupts *interrupts;
    int cancel_fd; /* becomes readable: stop as interrupted; -1: none */
    /* What a scope can be made of, and its name (scope.h); NULL, or SCOPE_NONE: there is none. */
    const struct scope_offer *offer;
    const char *scope_name;
    bool
        with_io; /* a wish: the scope counts what is read and written, which takes it longer to be made */
    /* Others work at the scope: systemd, or the kernel at its first move. What does not depend on it is best done now.
     * Called once. May be NULL. */
    int (*on_asked)(void *context, struct err *err);
    /* The scope stands, and the gate is to be moved into its leaf: whoever shall outlive berm is told of it
     * now. May be NULL. */
    int (*on_scope)(void *context, const struct scope *scope, const struct watchdog_leaf *leaf,
                    struct err *err);
    void *on_scope_context; /* of both */
    /* All is verified, and the payload is released next: the last that is asked and done before it runs. A
     * failure is the run's, and nothing was launched. May be NULL. */
    int (*on_release)(void *context, struct err *err);
    void *on_release_context;
    /* Started; armed with the scope. Lost is a failure of berm's that ends the run; NULL: none. It is told of
     * the release. */
    struct watchdog *watchdog;
    const struct fd *crash_reports; /* for it, at the release: sealed, what to say from then on */
    const struct fd *ended_reports; /* likewise, once the payload's tree is empty; NULL: the same */
    const struct os_clock *clock;
    struct supervise_observer observer;
    /* What programs of the payload are told about the run when they ask; NULL, or without a leaf: nobody
     * answers them. Read at the release. */
    const struct context_facts *context;
    /* Descendants that may outlive the first process, if they go by the rules (daemon.h); in a sandbox and a
     * scope only. */
    const struct daemon_wish *daemons;
    size_t daemon_count; /* at most DAEMON_COUNT */
};

enum supervise_how {
    ENDED_EXITED,       /* the first process exited by itself: exit_code */
    ENDED_SIGNALLED,    /* it died of a signal that berm did not send: exit_signal */
    ENDED_LIMIT,        /* stopped at `limit` */
    ENDED_INTERRUPTED,  /* stopped because berm was asked to: interrupt_signal, 0 for cancel_fd */
    ENDED_NOT_EXECUTED, /* the payload could not be executed: failure, exit_code 126 or 127 */
    ENDED_FAILED,       /* berm could not do its work: failure */
};

enum { SAMPLE_COUNT = 64, DESCENDANT_COUNT = 256, SURVIVOR_COUNT = 32, STOP_SIGNAL_COUNT = 16 };
/* What a report may keep of the end of a stream; redaction sees the margin besides. */
enum { TAIL_BYTES = 8192, TAIL_STRUCTURED_BYTES = 1 << 20, TAIL_MARGIN_BYTES = 8192 };

struct supervise_sample {
    int64_t elapsed_ms; /* since creation */
    int64_t rss_bytes;  /* sum over the tree; pages shared between processes count for each */
    int64_t tasks;
    int64_t processes;
    int64_t temporary_bytes; /* in the private file system of a sandbox; -1: none, or not known */
    int64_t temporary_files;
    int64_t cgroup_memory_bytes; /* of the leaf, page cache too; -1: likewise */
};

/* Fields of a descendant that could not be read, by bit. */
enum { MISSED_PSS = 1, MISSED_FDS = 2, MISSED_IO = 4, MISSED_BUDGET = 8 };

struct supervise_descendant { /* EV-4; no command line, paths or environment: EV-5 */
    pid_t pid;
    pid_t parent;
    uint64_t start_ticks;
    int64_t first_seen_ms;
    int64_t last_seen_ms;
    int64_t peak_rss_bytes;
    int64_t peak_pss_bytes; /* -1: never read */
    int64_t peak_threads;
    int64_t peak_fds; /* -1: never read */
    int64_t cpu_user_ms;
    int64_t cpu_system_ms;
    int64_t read_bytes; /* storage I/O; -1: never read */
    int64_t written_bytes;
    char state;       /* as last seen */
    uint8_t missed;   /* MISSED_* */
    bool before_stop; /* was alive when the stop began */
    bool ended;       /* gone at the end */
};

struct supervise_survivor {
    pid_t pid;
    uint64_t start_ticks;
    int sys;        /* errno of the last signal to it, 0: signalled and still there */
    bool unclaimed; /* not signalled: it could not be told whether it is the payload's */
    char name[16];  /* untrusted text */
};

struct supervise_stream {
    int64_t bytes;        /* read from the payload, exact */
    int64_t passed_bytes; /* written onward; less than bytes when the reader went away */
    int64_t kept_bytes;
    int64_t tail_start; /* offset of the window's first byte in the whole stream */
    uint32_t tail_length;
    int pass_error;      /* errno that ended passing on (EPIPE: the reader left), 0: none */
    bool held_open;      /* somebody outside the tree still held it at the end */
    uint32_t tail_bytes; /* that a report may keep of it */
    char *tail;          /* the window; owned by the ending */
};

struct supervise_scope {
    enum scope_adapter adapter; /* SCOPE_NONE: none was begun */
    bool held;                  /* the payload was in its leaf, behind limits that were read back */
    bool unverified;            /* it stood, and was not what it had to be: nothing was released */
    bool has_no_end;            /* as scope_has_no_end() says */
    struct scope_limits limits;
    struct scope_events events;
    struct scope_counters counters; /* meaningful when held */
    const struct proof_leaf_empty *leaf_empty;
    struct scope_removed removed;
    char unit[SCOPE_NAME_SIZE];
    char path[CGROUP_PATH_SIZE];
};

struct proof_tree_empty; /* waitid said: no child left, after the last was reaped */

struct supervise_ending {
    enum supervise_how how;
    enum supervise_limit limit;
    int64_t limit_value; /* what the limit was */
    int64_t limit_seen;  /* what was seen against it when it ended the run */
    /* The most that was seen against each limit, or the least where it is one; in the unit of its
     * row; -1: not known. With a leaf memory and tasks are the kernel's own peaks. */
    int64_t seen[LIMIT_COUNT];
    int exit_code;
    int exit_signal;
    int interrupt_signal;
    struct err failure;
    bool launched;              /* the payload was executed */
    bool oom_first;             /* the host's out-of-memory killer was told to take it first */
    struct err context_failure; /* why programs could not ask about the run; ERR_NONE: they could */
    pid_t leader_pid;
    uint64_t leader_start_ticks;

    int stop_signals
        [STOP_SIGNAL_COUNT]; /* signals that were sent to the tree, in order, once each */
    int stop_signal_count;
    int64_t stragglers; /* descendants still alive when the leader had exited by itself */

    int64_t created_ns; /* monotonic: before creation, release, leader's end, tree empty */
    int64_t
        sandbox_ready_ns; /* in between: its launcher said so; 0: there is none, or it did not */
    int64_t launcher_ns;  /* and what it took of the set-up, by its own word */
    int64_t released_ns;
    int64_t executed_ns; /* by a launcher's word; 0: likewise */
    int64_t exited_ns;
    int64_t finished_ns;
    int64_t suspended_ns; /* the machine slept, within the run */

    int64_t cpu_user_ns; /* of all that was reaped */
    int64_t cpu_system_ns;
    int64_t largest_rss_bytes;   /* of one process, by the kernel's own high-water mark */
    int64_t peak_tree_rss_bytes; /* as sampled; never below largest_rss_bytes */
    int64_t peak_processes;
    int64_t sample_total;
    struct supervise_sample samples[SAMPLE_COUNT]; /* oldest first, the newest SAMPLE_COUNT */
    int sample_count;
    struct supervise_descendant descendants[DESCENDANT_COUNT];
    int descendant_count;
    int64_t descendant_total; /* seen in all; more than count: the rest was not kept */

    struct supervise_stream stream[STREAM_COUNT];

    struct supervise_survivor survivors[SURVIVOR_COUNT];
    int survivor_count;
    const struct proof_tree_empty *tree_empty; /* NULL: not proved */
    struct supervise_scope scope;
    struct supervise_daemon daemons[DAEMON_COUNT];
    size_t daemon_count;
    const char *detached_why;   /* static, of LIMIT_DETACHED and LIMIT_DAEMON */
    struct sandbox_links links; /* the first that a look found, whatever ended the run */
};

int supervise_run(const struct supervise_request *request, struct supervise_ending **ret_ending,
                  struct err *err) must_check;
void supervise_ending_free(struct supervise_ending *ending);

static inline void supervise_ending_freep(struct supervise_ending **ending)
{
    supervise_ending_free(*ending);
    *ending = NULL;
}
#define with_ending cleanup(supervise_ending_freep) struct supervise_ending *
