/* context-test.h
 *
 * The broker's side of it: kernels without SO_PEERPIDFD and SO_PASSRIGHTS, and programs that ask.
 */
#pragma once

#include "../fake-proc.h"

#include "context-priv.h"

static bool old_kernel; /* without SO_PEERPIDFD and SO_PASSRIGHTS */
static int stand_in;    /* > 0: what pidfd_open answers, once: the number is another's by now */

int __real_os_socket_peer_pidfd(int fd);
int __wrap_os_socket_peer_pidfd(int fd);
int __wrap_os_socket_peer_pidfd(int fd)
{
    return old_kernel ? -ENOPROTOOPT : __real_os_socket_peer_pidfd(fd);
}

int __real_os_socket_refuse_descriptors(int fd);
int __wrap_os_socket_refuse_descriptors(int fd);
int __wrap_os_socket_refuse_descriptors(int fd)
{
    return old_kernel ? -ENOPROTOOPT : __real_os_socket_refuse_descriptors(fd);
}

int __real_os_pidfd_open(pid_t pid);
int __wrap_os_pidfd_open(pid_t pid);
int __wrap_os_pidfd_open(pid_t pid)
{
    int answer = stand_in > 0 ? stand_in : __real_os_pidfd_open(pid);
    stand_in = 0;
    return answer;
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
