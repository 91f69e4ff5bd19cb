#include "run-v1-priv.h"

#include "validate.h"

#define COUNT(type, member, text) FIELD(type, member, FIELD_INT, SENSITIVITY_PUBLIC, .doc = (text))
/* Came after the first records were written, so it is not asked of old ones. */
#define LATER_COUNT(type, member, text)                                                            \
    FIELD(type, member, FIELD_INT, SENSITIVITY_PUBLIC, .later = true, .doc = (text))
#define MAYBE_COUNT(type, member, text)                                                            \
    FIELD(type, member, FIELD_MAYBE_INT, SENSITIVITY_PUBLIC, .doc = (text))

static const struct record_field controller_fields[] = {
    COUNT(struct run_controller, pid, "of the berm that owns the run"),
    MAYBE_COUNT(struct run_controller, start_ticks, "its start, in clock ticks since boot"),
    FIELD(struct run_controller, boot_id, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "of the boot that both numbers belong to"),
    FIELD(struct run_controller, machine_id, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, .later = true,
          .doc = "of the machine whose boot that is: machine-id(5)"),
};
static const struct record controller_record =
    RECORD(struct run_controller, "controller", controller_fields,
           .doc = "The three together name one process for good: a provisional record whose "
                  "controller is alive belongs to a run that is going on.");

static const struct record_field sandbox_timing_fields[] = {
    COUNT(struct run_sandbox_timing, plan_ns,
          "within `prepare_ns`: what is open and what is closed"),
    COUNT(struct run_sandbox_timing, seal_ns, "after it: plan, arguments and launcher sealed"),
    MAYBE_COUNT(struct run_sandbox_timing, tool_ns,
                "within `setup_ns`: creation of bubblewrap to the first step of the launcher"),
    MAYBE_COUNT(struct run_sandbox_timing, launcher_ns, "within it: until the launcher was ready"),
    MAYBE_COUNT(struct run_sandbox_timing, verify_ns, "within it: the kernel was asked, released"),
    MAYBE_COUNT(struct run_sandbox_timing, execute_ns,
                "within `payload_wall_ns`: release to the execution of the command"),
};
static const struct record sandbox_timing_record =
    RECORD(struct run_sandbox_timing, "timing_of_sandbox", sandbox_timing_fields);

static const struct record_field timing_fields[] = {
    COUNT(struct run_timing, duration_ns, "the whole run"),
    COUNT(struct run_timing, own_ns, "the whole run less the payload's own wall time"),
    LATER_COUNT(struct run_timing, places_ns, "of it: id, state folder, provisional records"),
    LATER_COUNT(struct run_timing, prepare_ns, "of it: host, limits, environment, executable"),
    MAYBE_COUNT(struct run_timing, setup_ns, "creation of the first process to its release"),
    MAYBE_COUNT(struct run_timing, payload_wall_ns, "release to the end of the first process"),
    MAYBE_COUNT(struct run_timing, stop_ns, "from there until nothing was left"),
    MAYBE_COUNT(struct run_timing, suspended_ns, "the machine slept; in none of the others"),
    FIELD(struct run_timing, sandbox, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .later = true,
          .record = &sandbox_timing_record, .doc = "its part of the others; null without one"),
};
static const struct record timing_record = RECORD(struct run_timing, "timing", timing_fields,
                                                  .doc = "Nanoseconds by the monotonic clock.");

static const struct record_field cpu_fields[] = {
    COUNT(struct run_cpu, user_ns, "of every process that was reaped"),
    COUNT(struct run_cpu, system_ns, "likewise"),
};
static const struct record cpu_record = RECORD(struct run_cpu, "cpu", cpu_fields);

static const struct record_field memory_fields[] = {
    COUNT(struct run_memory, largest_process_rss_bytes,
          "the largest process, by the kernel's own high-water mark"),
    COUNT(struct run_memory, peak_tree_rss_bytes, "the whole tree, as sampled"),
    MAYBE_COUNT(struct run_memory, host_available_low_bytes,
                "the least MemAvailable of the host that was seen"),
};
static const struct record memory_record = RECORD(struct run_memory, "memory", memory_fields);

static const struct record_field tasks_fields[] = {
    COUNT(struct run_tasks, peak_tasks, "threads of the tree, as sampled"),
    COUNT(struct run_tasks, peak_processes, "likewise processes"),
    COUNT(struct run_tasks, stragglers,
          "descendants that were alive when the first process had exited by itself"),
};
static const struct record tasks_record = RECORD(struct run_tasks, "tasks", tasks_fields);

static const struct record_field stream_fields[] = {
    COUNT(struct run_stream, bytes, "written by the payload, exactly"),
    COUNT(struct run_stream, passed_bytes, "passed on as they came"),
    FIELD(struct run_stream, pass_error, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "why passing on ended early; `EPIPE`: the reader left"),
    COUNT(struct run_stream, kept_bytes, "of the beginning, in the kept file"),
    FIELD(struct run_stream, kept_file, FIELD_MAYBE_STRING, SENSITIVITY_OUTPUT,
          .doc = "where that is; its bytes are as the payload wrote them, not redacted"),
    FIELD(struct run_stream, held_open, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "somebody outside the tree still held the stream at the end"),
};
static const struct record stream_record = RECORD(struct run_stream, "stream", stream_fields);

static const struct record_field output_fields[] = {
    FIELD(struct run_output, stdout, FIELD_OBJECT, SENSITIVITY_OUTPUT, .record = &stream_record,
          .doc = "standard output"),
    FIELD(struct run_output, stderr, FIELD_OBJECT, SENSITIVITY_OUTPUT, .record = &stream_record,
          .doc = "standard error"),
};
static const struct record output_record = RECORD(struct run_output, "streams", output_fields);

static const struct record_field limit_fields[] = {
    FIELD(struct run_limit, name, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = 1,
          .doc = "what is limited"),
    FIELD(struct run_limit, unit, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "`bytes`, `ms` or `count`"),
    MAYBE_COUNT(struct run_limit, value, "null: no limit"),
    MAYBE_COUNT(struct run_limit, seen, "the most that was seen; null: not known"),
    FIELD(struct run_limit, source, FIELD_STRING, SENSITIVITY_TEXT,
          .doc = "where the value came from: a flag, the host, a default"),
};
static const struct record limit_record = RECORD(struct run_limit, "limit", limit_fields);

/* By enum held_reason. */
static const char *const held_reasons[] = {"not_listed", "refused", "credential", NULL};

static const struct record_field held_fields[] = {
    FIELD(struct run_held, name, FIELD_STRING, SENSITIVITY_TEXT, .doc = "of the variable"),
    FIELD(struct run_held, reason, FIELD_ENUM, SENSITIVITY_PUBLIC, .names = held_reasons,
          .doc = "why it was not passed"),
};
static const struct record held_record = RECORD(struct run_held, "held_back", held_fields);

static const struct record_field environment_fields[] = {
    LATER_COUNT(struct run_environment, passed_count, "variables that the payload got"),
    FIELD(struct run_environment, passed, FIELD_STRINGS, SENSITIVITY_TEXT,
          .doc = "their names; at most 512"),
    LATER_COUNT(struct run_environment, held_back_count, "variables that it did not get"),
    FIELD(struct run_environment, held_back, FIELD_OBJECTS, SENSITIVITY_PUBLIC,
          .record = &held_record, .doc = "their names; at most 512"),
    FIELD(struct run_environment, recorded, FIELD_OPEN, SENSITIVITY_TEXT,
          .doc = "values of the few that may be recorded"),
};
static const struct record environment_record =
    RECORD(struct run_environment, "environment", environment_fields);

static const struct record_field descendant_fields[] = {
    COUNT(struct run_descendant, pid, "process id"),
    COUNT(struct run_descendant, parent, "its parent, as last seen"),
    COUNT(struct run_descendant, start_ticks, "with the pid its identity within the boot"),
    COUNT(struct run_descendant, first_seen_ms, "since the command was created"),
    COUNT(struct run_descendant, last_seen_ms, "likewise"),
    FIELD(struct run_descendant, state, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "as last seen: a letter of proc(5)"),
    COUNT(struct run_descendant, peak_rss_bytes, "resident memory"),
    MAYBE_COUNT(struct run_descendant, peak_pss_bytes, "null: never read"),
    COUNT(struct run_descendant, peak_threads, "threads"),
    MAYBE_COUNT(struct run_descendant, peak_fds, "open descriptors; null: never read"),
    COUNT(struct run_descendant, cpu_user_ms, "as last seen"),
    COUNT(struct run_descendant, cpu_system_ms, "likewise"),
    MAYBE_COUNT(struct run_descendant, read_bytes, "from storage; null: never read"),
    MAYBE_COUNT(struct run_descendant, written_bytes, "to storage; null: never read"),
    FIELD(struct run_descendant, missed, FIELD_STRINGS, SENSITIVITY_PUBLIC,
          .doc = "what could not be read: `pss`, `fds`, `io`, `budget`"),
    FIELD(struct run_descendant, alive_at_stop, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "was there when the stop began"),
    FIELD(struct run_descendant, ended, FIELD_BOOL, SENSITIVITY_PUBLIC, .doc = "gone at the end"),
};
static const struct record descendant_record =
    RECORD(struct run_descendant, "descendant", descendant_fields,
           .doc = "No command line, environment, path or open file of a process is recorded.");

static const struct record_field survivor_fields[] = {
    COUNT(struct run_survivor, pid, "process id"),
    COUNT(struct run_survivor, start_ticks, "with the pid its identity within the boot"),
    FIELD(struct run_survivor, name, FIELD_STRING, SENSITIVITY_TEXT,
          .doc = "what the process calls itself, neutralised"),
    FIELD(struct run_survivor, error, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc =
              "why it was not signalled: an errno, or `unclaimed` when it cannot be told whether "
              "it is the command's; null: it was, and is still there"),
};
static const struct record survivor_record =
    RECORD(struct run_survivor, "survivor", survivor_fields);

static const struct record_field daemon_object_fields[] = {
    COUNT(struct run_daemon_object, device, "of its file system"),
    COUNT(struct run_daemon_object, inode, "in it"),
    COUNT(struct run_daemon_object, owner, "user id, as the host knows it"),
    COUNT(struct run_daemon_object, mode, "with its type, as in stat(2)"),
    COUNT(struct run_daemon_object, size_bytes, "of a lock: its length"),
};
static const struct record daemon_object_record =
    RECORD(struct run_daemon_object, "daemon_object", daemon_object_fields);

static const struct record_field managed_fields[] = {
    FIELD(struct run_managed, name, FIELD_STRING, SENSITIVITY_TEXT, .doc = "as it was declared"),
    FIELD(struct run_managed, state, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "how far its start came: `declared`, `reserved`, `bound`, `started`, `created`, "
                 "`sealed`"),
    FIELD(struct run_managed, fate, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc =
              "when the command had ended: `gone` before, `ended` when it was asked to, `refused` "
              "as what it was, `outlived` the grace; `none`: it was not bound, or the command did "
              "not end by itself"),
    FIELD(struct run_managed, why, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, .doc = "it was refused"),
    COUNT(struct run_managed, refused, "requests that were refused"),
    MAYBE_COUNT(struct run_managed, pid, "of the bound process; null: none was"),
    MAYBE_COUNT(struct run_managed, namespace_pid, "as it sees itself"),
    MAYBE_COUNT(struct run_managed, start_ticks, "with the pid its identity within the boot"),
    FIELD(struct run_managed, command, FIELD_STRINGS, SENSITIVITY_ARGV,
          .doc = "its arguments when it was bound, as the kernel showed them; at most 4 KiB"),
    FIELD(struct run_managed, command_cut, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "there were more"),
    FIELD(struct run_managed, cwd, FIELD_MAYBE_STRING, SENSITIVITY_PATH,
          .doc = "its working folder then"),
    FIELD(struct run_managed, socket, FIELD_STRING, SENSITIVITY_PATH,
          .doc = "path of its socket, as the command sees it"),
    FIELD(struct run_managed, lock, FIELD_STRING, SENSITIVITY_PATH, .doc = "likewise its lock"),
    FIELD(struct run_managed, socket_sealed, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC,
          .record = &daemon_object_record, .doc = "what it was; null: not sealed"),
    FIELD(struct run_managed, lock_sealed, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC,
          .record = &daemon_object_record, .doc = "likewise"),
    MAYBE_COUNT(struct run_managed, lock_pid, "that stood in the lock"),
    FIELD(struct run_managed, socket_left, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "something is still there by that name"),
    FIELD(struct run_managed, lock_left, FIELD_BOOL, SENSITIVITY_PUBLIC, .doc = "likewise"),
};
static const struct record managed_record =
    RECORD(struct run_managed, "daemon", managed_fields,
           .doc = "A daemon that the run declared: what the kernel showed of it.");

static const struct record_field cgroup_fields[] = {
    FIELD(struct run_cgroup, adapter, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "what made it: `linux-systemd-cgroup-v2` or `linux-delegated-cgroup-v2`"),
    FIELD(struct run_cgroup, unit, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "of systemd, or the folder's name in a delegated cgroup"),
    FIELD(struct run_cgroup, path, FIELD_STRING, SENSITIVITY_PATH, .doc = "of its folder"),
#define X(field, file, key) MAYBE_COUNT(struct run_cgroup, field, "of `" file "`"),
    SCOPE_COUNTERS(X)
#undef X
};
static const struct record cgroup_record =
    RECORD(struct run_cgroup, "cgroup", cgroup_fields,
           .doc = "The kernel's own account of all processes of the run together, read after the "
                  "last had ended; a null is a figure that this kernel does not give.");

static const struct record_field frozen_fields[] = {
    FIELD(struct run_frozen, identity, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "of the work: its words, files, source, environment, programs and berm itself"),
    FIELD(struct run_frozen, source, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "digest of the frozen source alone"),
    COUNT(struct run_frozen, entries, "files, links and folders of it"),
    COUNT(struct run_frozen, bytes, "of its files together"),
    COUNT(struct run_frozen, files_read, "whose bytes were read for this run"),
    COUNT(struct run_frozen, files_copied, "that were copied for it"),
    COUNT(struct run_frozen, took_ns, "until it was frozen"),
    COUNT(struct run_frozen, check_ns, "for the last look before the release; 0: not come to"),
    FIELD(struct run_frozen, copy_changed, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "what ran was no longer that when the command had ended"),
};
static const struct record frozen_record = RECORD(
    struct run_frozen, "frozen", frozen_fields,
    .doc = "What a run at a tier was frozen as. The command saw the frozen copy in the place "
           "of its repository.");

static const struct record_field exit_fields[] = {
    FIELD(struct run_exit, code, FIELD_INT, SENSITIVITY_PUBLIC, .maximum = 255,
          .doc = "what `berm run` answers in its plain mode"),
    FIELD(struct run_exit, signal, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "the signal that interrupted berm, of which it dies"),
};
static const struct record exit_record = RECORD(struct run_exit, "exit", exit_fields);

static const struct record_field run_fields[] = {
    FIELD_FIXED("schema", "berm.run/v1", .doc = "names this format"),
    FIELD(struct run_record, run_id, FIELD_STRING, SENSITIVITY_PUBLIC, .minimum = 1,
          .doc = "the run"),
    FIELD(struct run_record, label, FIELD_MAYBE_STRING, SENSITIVITY_TEXT,
          .doc = "what a person called it"),
    FIELD(struct run_record, scope, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC, .later = true,
          .maximum = 128, .doc = "what the run belongs to, in the caller's own words"),
    FIELD(struct run_record, version, FIELD_STRING, SENSITIVITY_PUBLIC, .doc = "of berm"),
    FIELD(struct run_record, controller, FIELD_OBJECT, SENSITIVITY_PUBLIC,
          .record = &controller_record, .doc = "the process that owns the run"),
    FIELD(struct run_record, in_progress, FIELD_BOOL, SENSITIVITY_PUBLIC,
          .doc = "provisional: the run had not ended when this was written"),
    FIELD(struct run_record, started_at, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "date and time, RFC 3339"),
    FIELD(struct run_record, finished_at, FIELD_STRING, SENSITIVITY_PUBLIC,
          .doc = "likewise; when this was written, for a provisional record"),
    FIELD(struct run_record, timing, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &timing_record,
          .doc = "where the time went"),
    FIELD(struct run_record, cpu, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .record = &cpu_record,
          .doc = "processor time; null when nothing was started, like the next three"),
    FIELD(struct run_record, memory, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC,
          .record = &memory_record, .doc = "memory"),
    FIELD(struct run_record, tasks, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .record = &tasks_record,
          .doc = "tasks and processes"),
    FIELD(struct run_record, output, FIELD_MAYBE_OBJECT, SENSITIVITY_OUTPUT,
          .record = &output_record, .doc = "what the payload wrote"),
    FIELD(struct run_record, cgroup, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .later = true,
          .record = &cgroup_record, .doc = "the leaf of its scope; null without one"),
    FIELD(struct run_record, limits, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .record = &limit_record,
          .doc = "every effective limit and where it came from"),
    FIELD(struct run_record, containment, FIELD_MAYBE_STRING, SENSITIVITY_PUBLIC,
          .doc = "`managed`, `partial` or `uncontained`; null: not known yet"),
    FIELD(struct run_record, guarantees, FIELD_MAYBE_OPEN, SENSITIVITY_PUBLIC,
          .doc = "level of each guarantee, and why it is not stronger"),
    FIELD(struct run_record, frozen, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC, .later = true,
          .record = &frozen_record, .doc = "of a run at a tier; null without one"),
    FIELD(struct run_record, environment, FIELD_MAYBE_OBJECT, SENSITIVITY_PUBLIC,
          .record = &environment_record, .doc = "variables of the payload, by name"),
    FIELD(struct run_record, executable, FIELD_MAYBE_OPEN, SENSITIVITY_PATH,
          .doc = "what was executed, how it was found, why it was allowed, its identity"),
    COUNT(struct run_record, sample_total, "looks at the tree; the report holds the newest"),
    COUNT(struct run_record, descendant_total, "processes seen; more than are listed: not kept"),
    FIELD(struct run_record, descendants, FIELD_OBJECTS, SENSITIVITY_PUBLIC,
          .record = &descendant_record,
          .doc = "256 at most, by pid; when more were seen, the smallest that had ended gave way"),
    FIELD(struct run_record, survivors, FIELD_OBJECTS, SENSITIVITY_PUBLIC,
          .record = &survivor_record, .doc = "processes that could not be ended"),
    FIELD(struct run_record, daemons, FIELD_OBJECTS, SENSITIVITY_PUBLIC, .later = true,
          .record = &managed_record, .doc = "that the run declared, and what became of each"),
    FIELD(struct run_record, notes, FIELD_STRINGS, SENSITIVITY_TEXT,
          .doc = "what else a person should know"),
    FIELD(struct run_record, exit, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &exit_record,
          .doc = "what berm itself answers"),
    FIELD(struct run_record, report, FIELD_OBJECT, SENSITIVITY_PUBLIC, .record = &report_v1_record,
          .doc = "the published report of the same run"),
};
const struct record run_v1_record = RECORD(struct run_record, "berm.run/v1", run_fields,
                                           .doc = "One run with everything that berm knows of it.");
