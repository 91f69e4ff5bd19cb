/* What the host says of itself. */
#include "envelope.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "file.h"
#include "number.h"
#include "proc.h"
#include "process.h"

static int read_memory(struct envelope *envelope, struct err *err)
{
    char text[8192];
    ssize_t got = os_read_small(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    if (got < 0) {
        return err_sys(err, (int)got, "read /proc/meminfo");
    }
    envelope->total_memory_bytes = proc_kib(text, "MemTotal");
    envelope->host_available_bytes = proc_kib(text, "MemAvailable");
    envelope->available_memory_bytes = envelope->host_available_bytes;
    if (envelope->total_memory_bytes <= 0 || envelope->available_memory_bytes < 0) {
        return err_set(err, ERR_UNAVAILABLE, "/proc/meminfo has no MemTotal and MemAvailable");
    }
    (void)snprintf(envelope->memory_bound_by, sizeof envelope->memory_bound_by, "/proc/meminfo");
    const struct cgroup_facts *cgroup = &envelope->cgroup;
    if (cgroup->memory_max_bytes >= 0) {
        envelope->total_memory_bytes =
            number_least(envelope->total_memory_bytes, cgroup->memory_max_bytes);
    }
    if (cgroup->memory_available_bytes >= 0 &&
        cgroup->memory_available_bytes < envelope->available_memory_bytes) {
        envelope->available_memory_bytes = cgroup->memory_available_bytes;
        (void)snprintf(envelope->memory_bound_by, sizeof envelope->memory_bound_by, "%s",
                       cgroup->memory_bound_by);
    }
    return 0;
}

static int64_t free_bytes(int dir_fd)
{
    struct statfs facts;
    return os_fstatfs(dir_fd, &facts) < 0 ? -1 : (int64_t)facts.f_bavail * facts.f_bsize;
}

static void copy_name(char ret_name[65], const char *name)
{
    (void)snprintf(ret_name, 65, "%s", name);
}

int envelope_read(int cwd_fd, int64_t realtime_ns, struct envelope *ret_envelope, struct err *err)
{
    *ret_envelope = (struct envelope){.inspected_realtime_ns = realtime_ns};
    cgroup_read(&ret_envelope->cgroup);
    if (read_memory(ret_envelope, err) < 0) {
        return -1;
    }
    ret_envelope->free_disk_bytes = free_bytes(cwd_fd);
    with_fd temporary = fd_adopt(os_openat(AT_FDCWD, "/tmp", O_PATH | O_DIRECTORY, 0));
    ret_envelope->temporary_free_disk_bytes =
        fd_is_open(&temporary) ? free_bytes(fd_num(&temporary)) : -1;
    ret_envelope->processors = os_processors();
    struct utsname names;
    if (os_uname(&names) == 0) {
        copy_name(ret_envelope->host_name, names.nodename);
        copy_name(ret_envelope->kernel_release, names.release);
        copy_name(ret_envelope->architecture, names.machine);
    }
    envelope_derive(ret_envelope);
    return 0;
}
