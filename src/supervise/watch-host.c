#include "watch-host.h"

#include <errno.h>
#include <fcntl.h>

#include "fd.h"
#include "file.h"

enum { MACHINE_ID_LENGTH = 32 };

static int read_line(const char *path, char *text, size_t size)
{
    ssize_t length = os_read_small(AT_FDCWD, path, text, size);
    text[length > 0 ? strcspn(text, "\n") : 0] = '\0';
    return length < 0 ? (int)length : text[0] == '\0' ? -ENODATA : 0;
}

/* A kernel without such namespaces has no such file. */
static int read_namespace(uint64_t *ret_inode)
{
    struct stat facts = {0};
    with_fd file = fd_adopt(os_openat(AT_FDCWD, "/proc/self/ns/pid", O_RDONLY, 0));
    int result = fd_is_open(&file) ? os_fstat(fd_num(&file), &facts) : fd_error(&file);
    *ret_inode = result < 0 ? 0 : facts.st_ino;
    return result == -ENOENT ? 0 : result;
}

int watch_host_read(struct watch_host *ret_host, struct err *err)
{
    static const char boot_id[] = "/proc/sys/kernel/random/boot_id";
    struct watch_host host = {0};
    int result = read_line(boot_id, host.boot_id, sizeof host.boot_id);
    if (result < 0) {
        return err_sys(err, result, "cannot look at '%s'", boot_id);
    }
    result = read_namespace(&host.pid_namespace);
    if (result < 0) {
        return err_sys(err, result, "cannot look at '/proc/self/ns/pid'");
    }
    if (read_line("/etc/machine-id", host.machine_id, sizeof host.machine_id) < 0 ||
        strlen(host.machine_id) != MACHINE_ID_LENGTH) {
        memset(host.machine_id, 0, sizeof host.machine_id); /* "uninitialized" is none either */
    }
    *ret_host = host;
    return 0;
}

enum watch_where watch_host_compare(const struct watch_host *here, const struct watch_host *host)
{
    if (strcmp(here->boot_id, host->boot_id) == 0) {
        return here->pid_namespace == host->pid_namespace ? WATCH_HERE : WATCH_ELSEWHERE;
    }
    bool same = host->machine_id[0] != '\0' && strcmp(here->machine_id, host->machine_id) == 0;
    return same ? WATCH_BEFORE : WATCH_ELSEWHERE;
}
