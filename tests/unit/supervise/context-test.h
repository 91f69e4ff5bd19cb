/* context-test.h
 *
 * A /proc of the test's own, whose processes are where the test says, and programs that ask.
 */
#pragma once

#include "../unit.h"

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

#include "context-priv.h"
#include "event.h"
#include "file.h"
#include "process.h"
#include "socket.h"

static const int patience_ms = 10000; /* never reached when things work */
static char fake_proc[] = "/tmp/berm-test-XXXXXX";
static char fake_leaf[64];
static bool old_kernel; /* without SO_PEERPIDFD */
static int stand_in;    /* > 0: what pidfd_open answers, once: the number is another's by now */

int __real_os_socket_peer_pidfd(int fd);
int __wrap_os_socket_peer_pidfd(int fd);
int __wrap_os_socket_peer_pidfd(int fd)
{
    return old_kernel ? -ENOPROTOOPT : __real_os_socket_peer_pidfd(fd);
}

int __real_os_pidfd_open(pid_t pid);
int __wrap_os_pidfd_open(pid_t pid);
int __wrap_os_pidfd_open(pid_t pid)
{
    int answer = stand_in > 0 ? stand_in : __real_os_pidfd_open(pid);
    stand_in = 0;
    return answer;
}

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

static unused struct context_facts fake_facts(void)
{
    return (struct context_facts){
        .leaf = fake_leaf,
        .run = "k7f3",
        .unit = "berm-k7f3.scope",
        .adapter = "linux-systemd-cgroup-v2",
        .tier = CONTEXT_TIER_NONE,
        .containment = CONTAINMENT_PARTIAL,
        .guarantees = {.level = {[GUARANTEE_MEMORY] = LEVEL_LIMITED}},
        .memory_max_bytes = 64 << 20,
        .memory_high_bytes = CONTEXT_UNLIMITED,
        .swap_max_bytes = 0,
        .pids_max = 32,
        .timeout_ms = 30000,
        .output_bytes = CONTEXT_UNLIMITED,
        .temporary_bytes = CONTEXT_UNLIMITED,
        .temporary_inodes = CONTEXT_UNLIMITED,
    };
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

static unused struct context_request ask_frame(const struct context_hello *hello)
{
    struct context_request request = {
        .magic = CONTEXT_MAGIC, .version = CONTEXT_VERSION, .operation = CONTEXT_READ};
    memcpy(request.nonce, hello->nonce, sizeof request.nonce);
    return request;
}

/* The status of the frame that is there; -1: none, and -2: the connection is closed. */
static unused int ask_hello(const struct fd *fd, struct context_hello *ret_hello)
{
    ssize_t got = os_recv(fd_num(fd), ret_hello, sizeof *ret_hello);
    if (got == -EAGAIN) {
        return -1;
    }
    if (got == 0 || got == -ECONNRESET) {
        return -2;
    }
    assert_int_equal(got, sizeof *ret_hello);
    assert_int_equal(ret_hello->magic, CONTEXT_MAGIC);
    return ret_hello->status;
}
static unused int ask_answer(const struct fd *fd, struct context_answer *ret_answer)
{
    ssize_t got = os_recv(fd_num(fd), ret_answer, sizeof *ret_answer);
    if (got ==
        -ECONNRESET) { /* of what was sent and never read; what was answered is there still */
        got = os_recv(fd_num(fd), ret_answer, sizeof *ret_answer);
    }
    if (got == -EAGAIN) {
        return -1;
    }
    if (got == 0) {
        return -2;
    }
    assert_int_equal(got, sizeof *ret_answer);
    return ret_answer->status;
}
