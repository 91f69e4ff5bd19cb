/* fake-proc.h
 *
 * A /proc of the test's own, whose processes are where the test says, and who connects to the broker of
 * its leaf. For the broker's tests and the library's.
 */
#pragma once

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context-message.h"
#include "event.h"
#include "file.h"
#include "process.h"
#include "socket.h"

static const int patience_ms = 10000; /* never reached when things work */
static char fake_proc[] = "/tmp/berm-test-XXXXXX";
static char fake_leaf[64];

static unused void fake_write(pid_t pid, const char *name, const char *text)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/%d", fake_proc, pid);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/%d/%s", fake_proc, pid, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static unused void fake_process(pid_t pid, const char *cgroup, int start_ticks)
{
    char text[512];
    (void)snprintf(text, sizeof text, "2:memory:/elsewhere\n0::%s\n", cgroup);
    fake_write(pid, "cgroup", text);
    (void)snprintf(text, sizeof text, "%d (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n",
                   pid, start_ticks);
    fake_write(pid, "stat", text);
}

static unused int fake_begin(void **state)
{
    (void)snprintf(fake_leaf, sizeof fake_leaf, "/user/berm-t%d.scope/payload", getpid());
    return mkdtemp(fake_proc) ? 0 : -1;
}

static unused int fake_end(void **state)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r %s", fake_proc);
    return system(command);
}

static unused struct fd ask_connect(void)
{
    char address[CONTEXT_ADDRESS_SIZE];
    assert_true(context_address(fake_leaf, address));
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path + 1, address + 1, strlen(address) - 1);
    struct fd fd = fd_adopt(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address));
    if (connect(fd_num(&fd), (struct sockaddr *)&name, size) < 0) {
        fd_close(&fd);
    }
    return fd;
}
