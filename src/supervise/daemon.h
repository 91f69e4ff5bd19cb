/* daemon.h
 *
 * Managed daemons: what a run declares, and what became of each. A daemon is the one kind of descendant that may
 * outlive the first process of a run that declares it, and it is ended right after that (MD-1, MD-6).
 *
 * Ownership    a wish borrows everything, until supervise_run() returns.
 * Limitations  a daemon is one process that is bound, and its descendants. What it executes is an ELF program: of
 *              a script the kernel shows the interpreter only. Which process listens at the sealed socket is
 *              not asked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binding.h"
#include "daemon-message.h"

enum { DAEMON_COUNT = 4, DAEMON_COMMAND_BYTES = 4096, DAEMON_FILE_NAME_SIZE = 256 };

struct daemon_wish {
    const char *name;
    const struct file_identity *executable; /* of what its process executes */
    const char *folder;                     /* absolute and physical, as the payload sees it */
    const char *socket;                     /* names in it */
    const char *lock;
};

/* What the end of the first process meant for it. */
enum daemon_fate {
    DAEMON_FATE_NONE,     /* it was not bound, or the run did not end by itself */
    DAEMON_FATE_GONE,     /* it had ended before */
    DAEMON_FATE_ENDED,    /* it was accepted, and ended when it was asked to */
    DAEMON_FATE_REFUSED,  /* it was there and not accepted: `why` */
    DAEMON_FATE_OUTLIVED, /* it was accepted, and did not end within the grace */
    DAEMON_FATE_COUNT
};

/* An entry as lstat(2) shows it. */
struct daemon_object {
    uint64_t device;
    uint64_t inode; /* 0: not sealed */
    uint32_t mode;  /* with its type */
    uint32_t owner;
    int64_t size_bytes;
};

const char *daemon_state_name(enum daemon_state state);
const char *daemon_fate_name(enum daemon_fate fate);

/* Before anything is started: 0, or the name and -EEXIST, when it is there already, or why that cannot be seen. A folder of the private file
 * system is empty then, and one that cannot be opened is judged when it is reserved. */
struct sandbox;
int daemon_look_absent(const struct sandbox *sandbox, const struct daemon_wish *wish,
                       const char **ret_name) must_check;

struct supervise_daemon {
    char name[DAEMON_NAME_SIZE];
    char folder[DAEMON_PATH_SIZE];
    char socket_name[DAEMON_FILE_NAME_SIZE];
    char lock_name[DAEMON_FILE_NAME_SIZE];
    enum daemon_state state;
    enum daemon_fate fate;
    const char *why; /* static; NULL: nothing to say */
    int64_t refused; /* requests */
    /* Of the bound process, as the kernel shows it; pid 0: none. */
    pid_t pid;
    pid_t namespace_pid;
    uint64_t start_ticks;
    char command[DAEMON_COMMAND_BYTES]; /* arguments, each with its NUL; untrusted */
    size_t command_bytes;
    bool command_cut;
    char cwd[DAEMON_PATH_SIZE];
    struct daemon_object socket; /* as sealed */
    struct daemon_object lock;
    int64_t lock_pid;
    bool socket_left; /* it is there after everything was ended, and could not be taken away */
    bool lock_left;
};
