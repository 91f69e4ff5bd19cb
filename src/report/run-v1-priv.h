/* run-v1-priv.h
 *
 * berm's own record `berm.run/v1` as C structs; run-v1.c has its table. Owned like report-v1-priv.h.
 * What was ever written stays readable: a new field is `.later`, and a field is never taken away
 * (tests/contract/frozen/ holds records that have to be read for ever).
 */
#pragma once

#include "report-v1-priv.h"

struct run_controller {
    int64_t pid;
    struct maybe_int start_ticks;
    char *boot_id;
    char *machine_id;
};

struct run_sandbox_timing {
    int64_t plan_ns;
    int64_t seal_ns;
    struct maybe_int tool_ns;
    struct maybe_int launcher_ns;
    struct maybe_int verify_ns;
    struct maybe_int execute_ns;
};

struct run_timing {
    int64_t duration_ns;
    int64_t own_ns;
    int64_t places_ns;
    int64_t prepare_ns;
    struct maybe_int setup_ns;
    struct maybe_int payload_wall_ns;
    struct maybe_int stop_ns;
    struct maybe_int suspended_ns;
    struct run_sandbox_timing *sandbox;
};

struct run_cpu {
    int64_t user_ns;
    int64_t system_ns;
};

struct run_memory {
    int64_t largest_process_rss_bytes;
    int64_t peak_tree_rss_bytes;
    struct maybe_int host_available_low_bytes;
};

struct run_tasks {
    int64_t peak_tasks;
    int64_t peak_processes;
    int64_t stragglers;
};

struct run_stream {
    int64_t bytes;
    int64_t passed_bytes;
    char *pass_error;
    int64_t kept_bytes;
    char *kept_file;
    bool held_open;
};

struct run_output {
    struct run_stream stdout;
    struct run_stream stderr;
};

struct run_limit {
    char *name;
    char *unit;
    struct maybe_int value;
    struct maybe_int seen;
    char *source;
};

struct run_held {
    char *name;
    int reason;
};

struct run_environment {
    int64_t passed_count;
    struct strvec passed;
    int64_t held_back_count;
    struct object_list held_back; /* struct run_held */
    json_t *recorded;
};

struct run_descendant {
    int64_t pid;
    int64_t parent;
    int64_t start_ticks;
    int64_t first_seen_ms;
    int64_t last_seen_ms;
    char *state;
    int64_t peak_rss_bytes;
    struct maybe_int peak_pss_bytes;
    int64_t peak_threads;
    struct maybe_int peak_fds;
    int64_t cpu_user_ms;
    int64_t cpu_system_ms;
    struct maybe_int read_bytes;
    struct maybe_int written_bytes;
    struct strvec missed;
    bool alive_at_stop;
    bool ended;
};

struct run_survivor {
    int64_t pid;
    int64_t start_ticks;
    char *name;
    char *error;
};

struct run_cgroup {
    char *adapter;
    char *unit;
    char *path;
#define X(field, file, key) struct maybe_int field;
    SCOPE_COUNTERS(X)
#undef X
};

struct run_daemon_object {
    int64_t device;
    int64_t inode;
    int64_t owner;
    int64_t mode;
    int64_t size_bytes;
};

struct run_managed {
    char *name;
    char *state;
    char *fate;
    char *why;
    int64_t refused;
    struct maybe_int pid;
    struct maybe_int namespace_pid;
    struct maybe_int start_ticks;
    struct strvec command;
    bool command_cut;
    char *cwd;
    char *socket;
    char *lock;
    struct run_daemon_object *socket_sealed;
    struct run_daemon_object *lock_sealed;
    struct maybe_int lock_pid;
    bool socket_left;
    bool lock_left;
};

struct run_frozen {
    char *identity;
    char *source;
    int64_t entries;
    int64_t bytes;
    int64_t files_read;
    int64_t files_copied;
    int64_t took_ns;
    int64_t check_ns;
    bool copy_changed;
};

struct run_exit {
    int64_t code;
    char *signal;
};

struct run_record {
    char *run_id;
    char *label;
    char *scope;
    char *version;
    struct run_controller controller;
    bool in_progress;
    char *started_at;
    char *finished_at;
    struct run_timing timing;
    struct run_cpu *cpu;
    struct run_memory *memory;
    struct run_tasks *tasks;
    struct run_output *output;
    struct run_cgroup *cgroup;
    struct object_list limits; /* struct run_limit */
    char *containment;
    json_t *guarantees;
    struct run_frozen *frozen;
    struct run_environment *environment;
    json_t *executable;
    int64_t sample_total;
    int64_t descendant_total;
    struct object_list descendants; /* struct run_descendant */
    struct object_list survivors;   /* struct run_survivor */
    struct object_list daemons;     /* struct run_managed */
    struct strvec notes;
    struct run_exit exit;
    struct report_v1 report;
};

/* Fill a zeroed record but for .report; record_done() ends it. */
void run_record_fill(struct run_record *record, const struct report_facts *facts);
