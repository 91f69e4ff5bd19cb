#include "envelope.h"

#include <string.h>

#include "clock.h"
#include "memory.h"
#include "number.h"
#include "process.h"

enum { TIER_TASKS = 64, PLAIN_TASKS = 1024, PLAIN_TASKS_PER_PROCESSOR = 128 };
static const int64_t gib = INT64_C(1) << 30;
static const int64_t mib = INT64_C(1) << 20;

static int64_t round_down(int64_t bytes, int64_t unit)
{
    return bytes < 0 ? bytes : bytes - bytes % unit;
}

/* What the host and the tightest cgroup leave to a run; the second is INT64_MAX where none limits it. */
static int64_t of_host(const struct envelope *envelope)
{
    return envelope->host_available_bytes - ENVELOPE_RESERVE_BYTES;
}
static int64_t of_cgroup(const struct envelope *envelope)
{
    int64_t available = envelope->cgroup.memory_available_bytes;
    return available < 0 ? INT64_MAX : available - ENVELOPE_OWN_BYTES;
}

int64_t envelope_high_bytes(int64_t memory_bytes)
{
    return round_down(memory_bytes / 5 * 4, os_page_bytes());
}

void envelope_derive(struct envelope *envelope)
{
    int64_t page = os_page_bytes();
    int64_t temporary = 2 * gib;
    int64_t memory = round_down(number_least(3 * gib, envelope->total_memory_bytes / 4), page);
    envelope->tier = (struct envelope_limits){
        .memory_max_bytes = memory,
        .memory_high_bytes = envelope_high_bytes(memory),
        .memory_page_bytes = page,
        .os_reserve_bytes = ENVELOPE_RESERVE_BYTES,
        .pids_max = TIER_TASKS,
        .timeout_ms = 1800000,
        .output_max_bytes = 32 * mib,
        .temporary_max_bytes = temporary,
        .temporary_max_inodes = number_most(256, number_least(8192, temporary / 4096)),
        .minimum_free_disk_bytes = number_most(5 * gib, 2 * temporary),
        .sample_interval_ms = 250,
        .sustained_high_samples = 4,
        .graceful_stop_ms = 2000,
        .concurrency = 1,
    };
    envelope->plain_memory_bytes =
        round_down(number_least(of_host(envelope), of_cgroup(envelope)), page);
    envelope->plain_tasks =
        number_most(PLAIN_TASKS, PLAIN_TASKS_PER_PROCESSOR * envelope->processors);
}

static void set_int(json_t *object, const char *name, int64_t value)
{
    json_object_set_new(object, name, value < 0 ? json_null() : json_integer(value));
}

static json_t *limits_to_json(const struct envelope_limits *limits)
{
    json_t *json = json_object();
    set_int(json, "memory_max_bytes", limits->memory_max_bytes);
    set_int(json, "memory_high_bytes", limits->memory_high_bytes);
    set_int(json, "memory_page_bytes", limits->memory_page_bytes);
    set_int(json, "os_reserve_bytes", limits->os_reserve_bytes);
    set_int(json, "pids_max", limits->pids_max);
    set_int(json, "timeout_ms", limits->timeout_ms);
    set_int(json, "output_max_bytes", limits->output_max_bytes);
    set_int(json, "temporary_max_bytes", limits->temporary_max_bytes);
    set_int(json, "temporary_max_inodes", limits->temporary_max_inodes);
    set_int(json, "minimum_free_disk_bytes", limits->minimum_free_disk_bytes);
    set_int(json, "sample_interval_ms", limits->sample_interval_ms);
    set_int(json, "sustained_high_samples", limits->sustained_high_samples);
    set_int(json, "graceful_stop_ms", limits->graceful_stop_ms);
    set_int(json, "concurrency", limits->concurrency);
    return json;
}

/* Node's words for the two names, as the envelope schema has them. */
static const char *architecture_word(const char *machine)
{
    return strcmp(machine, "x86_64") == 0    ? "x64"
           : strcmp(machine, "aarch64") == 0 ? "arm64"
                                             : machine;
}

json_t *envelope_to_json(const struct envelope *envelope, const char *cwd)
{
    char time[CLOCK_TEXT_SIZE];
    clock_format_utc(envelope->inspected_realtime_ns, time);
    json_t *json = json_object();
    json_object_set_new(json, "schema", json_string("lamina.safe-runner-envelope/v1"));
    json_object_set_new(json, "inspected_at", json_string(time));
    json_object_set_new(json, "platform", json_string(os_platform()));
    json_object_set_new(json, "architecture",
                        json_string(architecture_word(envelope->architecture)));
    json_object_set_new(json, "hostname", json_text(span_of_string(envelope->host_name)));
    json_object_set_new(json, "kernel_release",
                        json_text(span_of_string(envelope->kernel_release)));
    set_int(json, "processors", envelope->processors);
    set_int(json, "total_memory_bytes", envelope->total_memory_bytes);
    set_int(json, "available_memory_bytes", envelope->available_memory_bytes);
    json_object_set_new(json, "memory_bound_by",
                        json_text(span_of_string(envelope->memory_bound_by)));
    set_int(json, "free_disk_bytes", envelope->free_disk_bytes);
    json_object_set_new(json, "disk_target", json_text(span_of_string(cwd)));
    set_int(json, "temporary_free_disk_bytes", envelope->temporary_free_disk_bytes);
    json_object_set_new(json, "temporary_disk_target", json_string("/tmp"));
    json_t *cgroup = json_object();
    json_object_set_new(cgroup, "layout", json_string(cgroup_layout_name(envelope->cgroup.layout)));
    json_object_set_new(cgroup, "path", json_text(span_of_string(envelope->cgroup.path)));
    json_object_set_new(cgroup, "controllers",
                        json_text(span_of_string(envelope->cgroup.controllers)));
    set_int(cgroup, "memory_max_bytes", envelope->cgroup.memory_max_bytes);
    json_object_set_new(json, "cgroup", cgroup);
    json_object_set_new(json, "limits", limits_to_json(&envelope->tier));
    json_t *plain = json_object();
    set_int(plain, "memory_bytes", number_most(0, envelope->plain_memory_bytes));
    set_int(plain, "tasks", envelope->plain_tasks);
    json_object_set_new(json, "plain", plain);
    return json;
}

void envelope_check_memory(const struct envelope *envelope, int64_t memory_bytes,
                           const char *source, struct checks *checks)
{
    int64_t ceiling = envelope->plain_memory_bytes;
    double to_gib = 1.0 / (double)gib;
    double wanted = (double)number_most(0, memory_bytes) * to_gib;
    bool ok = memory_bytes > 0 && memory_bytes <= ceiling;
    bool by_cgroup = of_cgroup(envelope) < of_host(envelope);
    char *what =
        ok          ? memory_format("the memory limit leaves the reserve")
        : by_cgroup ? memory_format(
                          "a memory limit of %.2f GiB (%s) does not leave %lld MiB of this cgroup "
                          "for berm itself",
                          wanted, source, (long long)(ENVELOPE_OWN_BYTES / mib))
                    : memory_format("a memory limit of %.2f GiB (%s) does not leave the reserve of "
                                    "%.0f GiB for the rest of this host",
                                    wanted, source, (double)ENVELOPE_RESERVE_BYTES * to_gib);
    char *saw = by_cgroup ? memory_format("%.2f GiB available by %s",
                                          (double)envelope->cgroup.memory_available_bytes * to_gib,
                                          envelope->cgroup.memory_bound_by)
                          : memory_format("%.2f GiB available by /proc/meminfo",
                                          (double)envelope->host_available_bytes * to_gib);
    char *remedy = ok            ? memory_copy_string("")
                   : ceiling > 0 ? memory_format("--memory may be at most %lldM here now",
                                                 (long long)(ceiling / mib))
                   : by_cgroup   ? memory_copy_string("raise the memory limit of that cgroup "
                                                        "(MemoryMax= of its unit), or start berm "
                                                        "outside of it")
                                 : memory_copy_string("free memory: end other programs, or use a "
                                                        "host with more");
    checks_add_take(checks, CHECK_MEMORY, ok, what, saw, remedy);
}
