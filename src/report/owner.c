#include "owner-priv.h"

#include <fcntl.h>
#include <string.h>

#include "file.h"
#include "proc.h"
#include "process.h"

static void read_line(const char *path, char *text, size_t size)
{
    ssize_t length = os_read_small(AT_FDCWD, path, text, size);
    text[length > 0 ? strcspn(text, "\n") : 0] = '\0';
}

static void read_boot_id(char boot_id[BOOT_ID_SIZE])
{
    read_line("/proc/sys/kernel/random/boot_id", boot_id, BOOT_ID_SIZE);
}

/* "uninitialized" is none either. */
static void read_machine_id(char machine_id[MACHINE_ID_SIZE])
{
    enum { LENGTH = 32 };
    read_line("/etc/machine-id", machine_id, MACHINE_ID_SIZE);
    machine_id[strlen(machine_id) == LENGTH ? LENGTH : 0] = '\0';
}

static int64_t read_start_ticks(pid_t pid)
{
    with_fd stat = fd_adopt(os_proc_stat_open(pid));
    struct proc_stat seen;
    if (!fd_is_open(&stat) || os_proc_stat_read(fd_num(&stat), &seen) < 0) {
        return -1;
    }
    return (int64_t)seen.start_ticks;
}

void owner_read_self(struct owner *ret_owner)
{
    ret_owner->pid = os_getpid();
    ret_owner->start_ticks = read_start_ticks(os_getpid());
    read_boot_id(ret_owner->boot_id);
    read_machine_id(ret_owner->machine_id);
}

/* Where every process of this boot has a number. */
static bool is_initial_pid_namespace(void)
{
    enum { PROC_PID_INIT_INO = 0xEFFFFFFC }; /* include/linux/proc_ns.h */
    struct stat facts;
    with_fd space = fd_adopt(os_openat(AT_FDCWD, "/proc/self/ns/pid", O_RDONLY, 0));
    return fd_is_open(&space) && os_fstat(fd_num(&space), &facts) == 0 &&
           facts.st_ino == PROC_PID_INIT_INO;
}

/* Containers of one host share its boot, and each has a machine id of its own, or none. Who knows no id of its own
 * knows that what has its boot is of this host; and sees it, where every process of the host is seen. Who knows its
 * own did not write a record without one. */
static bool is_elsewhere(const json_t *controller, bool same_boot)
{
    char here[MACHINE_ID_SIZE];
    const char *there = json_string_value(json_object_get(controller, "machine_id"));
    bool there_is_known = there && there[0] != '\0';
    read_machine_id(here);
    if (here[0] != '\0' && there_is_known) {
        return strcmp(there, here) != 0;
    }
    if (!same_boot) {
        return there_is_known;
    }
    return here[0] != '\0' || !is_initial_pid_namespace();
}

bool owner_may_live(const json_t *controller)
{
    const json_t *pid = json_object_get(controller, "pid");
    const json_t *start_ticks = json_object_get(controller, "start_ticks");
    const char *boot_id = json_string_value(json_object_get(controller, "boot_id"));
    char now[BOOT_ID_SIZE];
    read_boot_id(now);
    if (!json_is_integer(pid) || !json_is_integer(start_ticks) || !boot_id || now[0] == '\0') {
        return false;
    }
    bool same_boot = strcmp(boot_id, now) == 0;
    if (is_elsewhere(controller, same_boot)) {
        return true;
    }
    if (!same_boot) {
        return false;
    }
    json_int_t number = json_integer_value(pid);
    return number > 0 && number <= INT32_MAX &&
           read_start_ticks((pid_t)number) == json_integer_value(start_ticks);
}
