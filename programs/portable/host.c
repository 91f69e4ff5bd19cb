#include "host.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "clock.h"
#include "memory.h"
#include "process.h"

void host_envelope(struct envelope *ret_envelope)
{
    *ret_envelope = (struct envelope){
        .inspected_realtime_ns = os_clock_real.realtime_ns(),
        .memory_bound_by = "nothing: it was not asked",
        .free_disk_bytes = -1,
        .temporary_free_disk_bytes = -1,
        .cgroup = {.memory_max_bytes = -1, .memory_available_bytes = -1},
    };
    struct utsname names;
    if (os_uname(&names) == 0) {
        (void)snprintf(ret_envelope->host_name, sizeof ret_envelope->host_name, "%.64s",
                       names.nodename);
        (void)snprintf(ret_envelope->kernel_release, sizeof ret_envelope->kernel_release, "%.64s",
                       names.release);
        (void)snprintf(ret_envelope->architecture, sizeof ret_envelope->architecture, "%.64s",
                       names.machine);
    }
    envelope_derive(ret_envelope);
    ret_envelope->processors = -1;
    ret_envelope->plain_tasks = -1;
    ret_envelope->total_memory_bytes = -1;
    ret_envelope->available_memory_bytes = -1;
    ret_envelope->host_available_bytes = -1;
    ret_envelope->tier.memory_max_bytes = -1;
    ret_envelope->tier.memory_high_bytes = -1;
}

void host_contain(struct contain *ret_contain)
{
    contain_choose(NULL, ret_contain);
    for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
        ret_contain->guarantees.level[i] = LEVEL_NONE;
        ret_contain->guarantees.why[i] = HOST_LACKS;
    }
}

void host_refuse(struct checks *checks)
{
    checks_add_take(checks, CHECK_SCOPE, false, memory_copy_string("nothing can be held here"),
                    memory_copy_string(HOST_LACKS), memory_copy_string(HOST_REMEDY));
}
