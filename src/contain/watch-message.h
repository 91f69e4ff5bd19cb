/* watch-message.h
 *
 * What the controller and the watchdog of a run say to each other, and what the watchdog's manifest holds.
 * The watchdog is the duty of the helper that outlives the controller (programs/helper/watchdog.c): when
 * the controller dies it ends what was started, removes what was made and says so in the report.
 *
 *   controller                                    watchdog
 *        <------------------------ WATCH_STARTED  with its pidfd: from whom made it, before its first step
 *   ---- WATCH_REPORTS -------------------------> what to write when the controller dies from now on
 *   ---- WATCH_START ---------------------------> an intent is durable; then the directories and the lock
 *        <--------------------------- WATCH_MADE  one for each directory, with its descriptor, and for
 *                                                 each state of the manifest: what may be removed again
 *        <-------------------------- WATCH_READY  the manifest is durable (or WATCH_FAILED, and exit)
 *   ---- WATCH_ASKED, until when ----------------> systemd is told its number: it stays until it is in there
 *   ---- WATCH_ARM -----------------------------> the leaf, its scope, the anchor's socket
 *        <-------------------------- WATCH_ARMED  durable: now it may be released (or WATCH_FAILED)
 *   ---- WATCH_DAEMON --------------------------> how far a managed daemon is, and its folder
 *        <-------------------------- WATCH_NOTED  durable (or WATCH_FAILED)
 *   ---- WATCH_REPORTS, WATCH_DEADLINE ---------> no answer; reports without a text become durable too
 *   ---- WATCH_LET_GO --------------------------> the leaf is empty, or was never armed: the anchor may leave
 *   ---- WATCH_DISARM --------------------------> directories and manifest are removed
 *        <----------------------- WATCH_DISARMED  exit (or WATCH_FAILED: what is left stays recorded)
 *   ---- WATCH_FINISH --------------------------> of `berm recover`: as if the controller had died
 *        <----------------------- WATCH_FINISHED  sys 0: nothing is left; exit
 *   end-of-file, or the controller's pidfd -----> the controller is no more
 *
 * Words go over a SOCK_SEQPACKET pair, one packet each. A packet of the controller carries either no
 * descriptor or WATCH_FDS of them; a place that is not used holds a copy of the first. Which order may come
 * when, and how often, is a table (programs/helper/watchdog.c); anything else ends the watchdog, which the
 * controller notices.
 *
 * The manifest   one file in the folder of manifests, replaced atomically: struct watch_manifest, then
 *              `reports_bytes` of struct watch_reports and the texts that it points to. It is read again
 *              after the death of both, perhaps by a later build: `magic`, `version` and `bytes` come
 *              first and stay where they are, and docs/formats/watch-manifest.md is its page. A process is
 *              (pid, start ticks) on a host, a directory (device, inode, owner).
 *
 * Limitations  the words are between two ends of one build (the helper's image is part of berm): a packet
 *              of another size is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "span.h"

enum { WATCH_CHANNEL_FD = 3 }; /* the only descriptor beside the standard ones */

enum { WATCH_SLOT_REPORT, WATCH_SLOT_RECORD, WATCH_SLOTS };
enum {
    WATCH_DIRECTORIES = 4,
    WATCH_DAEMONS = 4,
    WATCH_MANIFEST_INDEX = WATCH_DIRECTORIES, /* in WATCH_MADE */
    WATCH_FDS = 8,
    WATCH_PATH_SIZE = 4096,
    WATCH_NAME_SIZE = 256,
    WATCH_ID_SIZE = 16,
    WATCH_BOOT_ID_SIZE = 40,
    WATCH_MACHINE_ID_SIZE = 40,
    WATCH_TEXT_SIZE = 160,
    WATCH_REPORTS_BYTES = 16 << 20, /* of all texts together */
    WATCH_SPARE_BYTES = 1 << 20,    /* set aside for the report of a crash, in each slot's folder */
    WATCH_RESERVATION_BYTES = 32,
    WATCH_LOCK_BYTES = 4096,
};

/* Descriptors of WATCH_REPORTS, WATCH_DAEMON, WATCH_START and WATCH_ARM, by place. */
enum { WATCH_FD_REPORTS };
enum { WATCH_FD_DAEMON }; /* its folder, on a file system of the host */
enum {
    WATCH_FD_FOLDER, /* of manifests */
    WATCH_FD_SLOT,   /* and the next: the folders of the slots */
    WATCH_FD_LOCK = WATCH_FD_SLOT + WATCH_SLOTS,
    WATCH_FD_PARENT, /* and the next: the folders in which directories are made */
};
enum {
    WATCH_FD_LEAF,
    WATCH_FD_SCOPE,
    WATCH_FD_SCOPE_PARENT, /* only of a scope that nobody else removes */
    WATCH_FD_ANCHOR,       /* a socket whose end lets the anchor leave */
    WATCH_FD_GATE,         /* pidfd of the payload's first process */
    WATCH_FD_KEPT, /* held as long as the watchdog lives, and nothing else is done with it */
};

/* Where its processes were: a home can be shared by machines, and by containers of one machine. */
struct watch_host {
    char boot_id[WATCH_BOOT_ID_SIZE];
    char machine_id[WATCH_MACHINE_ID_SIZE]; /* empty: not known */
    uint64_t pid_namespace;                 /* its inode; 0: this kernel has none */
};

struct watch_process {
    int64_t pid; /* 0: none */
    uint64_t start_ticks;
};

struct watch_identity {
    uint64_t device;
    uint64_t inode; /* 0: none, or not known */
    uint32_t owner;
    uint32_t spare;
};

/* A name in a directory, which is known by its identity; the path only leads there. */
struct watch_entry {
    struct watch_identity parent;
    struct watch_identity self; /* of a directory that was made; inode 0: not yet */
    char path[WATCH_PATH_SIZE]; /* of the parent; empty: there is no such entry */
    char name[WATCH_NAME_SIZE];
};

enum {
    WATCH_LEAF_SCOPE_IS_OURS =
        1, /* nobody else removes the scope's folder, nor the anchor's leaf */
    WATCH_LEAF_HAS_ANCHOR = 2,
    WATCH_LEAF_HAS_GATE = 4,
    WATCH_LEAF_IS_GONE = 8, /* only its scope is left, of a run that is adopted */
};

struct watch_leaf {
    struct watch_identity scope;
    struct watch_identity self;
    struct watch_process gate;
    uint64_t flags;
    char path[WATCH_PATH_SIZE];        /* of the scope's folder; empty: there is no leaf. Without an
                                          identity it is the name of a scope that is yet to be made */
    char name[WATCH_NAME_SIZE];        /* of the leaf in it */
    char anchor_name[WATCH_NAME_SIZE]; /* of the anchor's leaf in it */
    char unit[WATCH_NAME_SIZE];        /* empty: no unit of systemd's */
};

/* Managed daemons (src/supervise/daemon-message.h). What one made in a folder of the host goes with the run: what
 * was sealed, if it is exactly that; before, what stands with a lock that holds the reservation. */
enum watch_daemon_state {
    WATCH_DAEMON_NONE, /* declared at most */
    WATCH_DAEMON_RESERVED,
    WATCH_DAEMON_BOUND,
    WATCH_DAEMON_STARTED, /* it may make its objects */
    WATCH_DAEMON_CREATED,
    WATCH_DAEMON_SEALED,
    WATCH_DAEMON_STATE_COUNT
};

struct watch_object {
    struct watch_identity self; /* inode 0: not sealed */
    int64_t size_bytes;
    uint32_t mode;
    uint32_t spare;
};

struct watch_daemon {
    uint32_t state;   /* enum watch_daemon_state */
    uint32_t on_host; /* else in the private file system of a sandbox, which ends with it */
    struct watch_process process;
    int64_t namespace_pid;
    uint8_t reservation[WATCH_RESERVATION_BYTES];
    struct watch_object socket;
    struct watch_object lock;
    struct watch_entry place; /* its folder, and the name of the socket; empty: there is none */
    char lock_name[WATCH_NAME_SIZE];
};

#define WATCH_MAGIC "bermwd1"
#define WATCH_UNFINISHED                                                                           \
    ".new" /* behind a manifest's name: its next state, which is not in its place yet */
enum { WATCH_VERSION = 1 };
enum watch_state { WATCH_INTENT = 1, WATCH_PREPARED, WATCH_IS_ARMED };

struct watch_manifest {
    char magic[8];
    uint32_t version;
    uint32_t bytes; /* of this struct */
    uint64_t sum;   /* watch_sum() of all that follows it, reports included */
    uint32_t state; /* enum watch_state */
    uint32_t reports_bytes;
    int64_t written_ns; /* realtime */
    char run_id[WATCH_ID_SIZE];
    struct watch_host host;
    struct watch_process controller;
    struct watch_process watchdog;
    struct watch_entry file; /* the manifest itself; its parent is the folder of manifests */
    struct watch_entry slots[WATCH_SLOTS];
    struct watch_entry directories[WATCH_DIRECTORIES];
    struct watch_entry lock; /* what claims it; without an identity only what is locked */
    struct watch_leaf leaf;
    struct watch_daemon daemons[WATCH_DAEMONS];
    char unit[WATCH_NAME_SIZE]; /* the watchdog's own scope, which it waits for; empty: none */
};

/* What a report says when the controller is no more; for each slot, by what came of the cleaning up. */
enum watch_ending { WATCH_NOTHING_LEFT, WATCH_SOMETHING_LEFT, WATCH_ENDINGS };

struct watch_text {
    uint32_t offset; /* from the beginning of struct watch_reports */
    uint32_t bytes;  /* 0: leave the slot as it is */
};

struct watch_reports {
    struct watch_text texts[WATCH_SLOTS][WATCH_ENDINGS];
};

enum watch_order {
    WATCH_REPORTS,
    WATCH_START,
    WATCH_ASKED,
    WATCH_ARM,
    WATCH_DAEMON,
    WATCH_DEADLINE,
    WATCH_LET_GO,
    WATCH_DISARM,
    WATCH_FINISH,
    WATCH_ORDER_COUNT
};

/* The head of each packet of the controller. */
struct watch_request {
    uint32_t order;
    uint32_t adopt; /* START: of a manifest that is there; nothing is made and nothing written */
    int64_t
        value; /* REPORTS: bytes; DEADLINE: monotonic ns, 0: none; DAEMON: which; START to adopt:
                       ms that systemd may take to remove the scope, 0: as many as at any end */
};

/* A packet is cut behind what its order needs: a manifest (START), a leaf (ARM), a daemon, or nothing. */
struct watch_packet {
    struct watch_request head;
    union {
        struct watch_manifest manifest;
        struct watch_leaf leaf;
        struct watch_daemon daemon;
    } body;
};

enum watch_said {
    WATCH_STARTED,
    WATCH_MADE,
    WATCH_READY,
    WATCH_ARMED,
    WATCH_NOTED,
    WATCH_DISARMED,
    WATCH_FINISHED,
    WATCH_FAILED,
};

/* What could not be removed, by bit: WATCH_FINISHED, and WATCH_FAILED of a disarming. */
enum {
    WATCH_LEFT_PROCESSES = 1,
    WATCH_LEFT_CGROUP = 2,
    WATCH_LEFT_DIRECTORY = 4,
    WATCH_LEFT_REPORT = 8,
    WATCH_LEFT_MANIFEST = 16,
    WATCH_LEFT_DAEMON = 32, /* an object at the place of a daemon's */
};

struct watch_word {
    uint32_t said;
    int32_t sys;    /* a positive errno */
    uint32_t index; /* MADE: of the directory, or WATCH_MANIFEST_INDEX */
    uint32_t left;
    struct watch_identity made;
    struct watch_process watchdog;
    char text[WATCH_TEXT_SIZE]; /* FAILED: what it could not do */
};

/* FNV-1a: against a file that is not what was written, not against somebody who means it. Most of a manifest
 * is the end of paths that are shorter: eight bytes of zero are one step, by the eighth power. */
static inline uint64_t watch_sum(uint64_t sum, const void *bytes, size_t n)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const uint64_t eighth_power = UINT64_C(0x1efac7090aef4a21);
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n;) {
        uint64_t eight = 1;
        memcpy(&eight, p + i, n - i < sizeof eight ? 0 : sizeof eight);
        if (eight == 0) {
            sum *= eighth_power;
            i += sizeof eight;
        } else {
            sum = (sum ^ p[i++]) * prime;
        }
    }
    return sum;
}
static inline uint64_t watch_manifest_sum(const struct watch_manifest *manifest,
                                          const void *reports)
{
    const size_t first = offsetof(struct watch_manifest, state);
    uint64_t sum = watch_sum(UINT64_C(0xcbf29ce484222325), (const char *)manifest + first,
                             sizeof *manifest - first);
    return watch_sum(sum, reports, manifest->reports_bytes);
}

static inline bool watch_ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}
/* One component of a path, and none that leads elsewhere. */
static inline bool watch_is_name(const char *name, size_t size)
{
    return watch_ends(name, size) && name[0] != '\0' && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
static inline bool watch_entry_check(const struct watch_entry *entry)
{
    bool none = entry->path[0] == '\0' && entry->name[0] == '\0';
    return none || (watch_ends(entry->path, sizeof entry->path) && entry->path[0] == '/' &&
                    watch_is_name(entry->name, sizeof entry->name));
}
static inline bool watch_leaf_check(const struct watch_leaf *leaf)
{
    bool none = leaf->path[0] == '\0' && leaf->name[0] == '\0';
    bool anchored = leaf->anchor_name[0] != '\0';
    return (none || (watch_ends(leaf->path, sizeof leaf->path) && leaf->path[0] == '/' &&
                     watch_is_name(leaf->name, sizeof leaf->name))) &&
           (!anchored || watch_is_name(leaf->anchor_name, sizeof leaf->anchor_name)) &&
           watch_ends(leaf->unit, sizeof leaf->unit);
}

static inline bool watch_daemon_check(const struct watch_daemon *daemon)
{
    bool none = daemon->place.path[0] == '\0';
    return daemon->state < WATCH_DAEMON_STATE_COUNT && watch_entry_check(&daemon->place) &&
           (none ? daemon->state == WATCH_DAEMON_NONE
                 : watch_is_name(daemon->lock_name, sizeof daemon->lock_name));
}

/* Every text ends, and every name is one. */
static inline bool watch_manifest_check(const struct watch_manifest *manifest)
{
    bool fine = memcmp(manifest->magic, WATCH_MAGIC, sizeof manifest->magic) == 0 &&
                manifest->version == WATCH_VERSION && manifest->bytes == sizeof *manifest &&
                manifest->reports_bytes <= WATCH_REPORTS_BYTES &&
                watch_ends(manifest->run_id, sizeof manifest->run_id) &&
                watch_ends(manifest->host.boot_id, sizeof manifest->host.boot_id) &&
                watch_ends(manifest->host.machine_id, sizeof manifest->host.machine_id) &&
                watch_ends(manifest->unit, sizeof manifest->unit) &&
                watch_entry_check(&manifest->file) && watch_entry_check(&manifest->lock) &&
                watch_leaf_check(&manifest->leaf);
    for (size_t i = 0; i < WATCH_SLOTS; i++) {
        fine = fine && watch_entry_check(&manifest->slots[i]);
    }
    for (size_t i = 0; i < WATCH_DIRECTORIES; i++) {
        fine = fine && watch_entry_check(&manifest->directories[i]);
    }
    for (size_t i = 0; i < WATCH_DAEMONS; i++) {
        fine = fine && watch_daemon_check(&manifest->daemons[i]);
    }
    return fine;
}

/* Every text lies in its bytes. */
static inline bool watch_reports_check(const struct watch_reports *reports, size_t bytes)
{
    if (bytes < sizeof *reports || bytes > WATCH_REPORTS_BYTES) {
        return false;
    }
    for (size_t slot = 0; slot < WATCH_SLOTS; slot++) {
        for (size_t ending = 0; ending < WATCH_ENDINGS; ending++) {
            const struct watch_text *text = &reports->texts[slot][ending];
            if (text->offset > bytes || text->bytes > bytes - text->offset) {
                return false;
            }
        }
    }
    return true;
}

/* Is a record of berm's that of this run? The first "run_id" in its bytes decides, and nothing has to be
 * parsed: in a record that member stands before every text that comes from elsewhere, such as an argument
 * "run_id". What berm did not write may say anything, and is then this run's or not by the same bytes. */
static inline bool watch_is_of_run(const char *bytes, size_t n, const char *run_id)
{
    const char *end = bytes + n;
    static const char member[] = "\"run_id\"";
    const char *at = span_find(span_of(bytes, n), span_of(member, sizeof member - 1));
    if (!at) {
        return false;
    }
    at += sizeof member - 1;
    while (at < end && (*at == ' ' || *at == ':' || *at == '\n')) {
        at++;
    }
    size_t length = strlen(run_id);
    return length > 0 && (size_t)(end - at) >= length + 2 && at[0] == '"' &&
           memcmp(at + 1, run_id, length) == 0 && at[length + 1] == '"';
}
