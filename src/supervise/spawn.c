#include "spawn-priv.h"

#include <errno.h>
#include <signal.h>

#include "file.h"
#include "launch-message.h"
#include "process.h"

enum { FILES_WANTED = 1024 };

/* Room for a stat file of every descendant; the payload gets the limit back as it was (D11). */
static int raise_files(struct spawn *spawn)
{
    int result = os_getrlimit(RLIMIT_NOFILE, &spawn->files);
    if (result < 0 || spawn->files.rlim_cur >= FILES_WANTED) {
        return result;
    }
    struct rlimit raised = spawn->files;
    raised.rlim_cur = raised.rlim_max < FILES_WANTED ? raised.rlim_max : FILES_WANTED;
    result = os_setrlimit(RLIMIT_NOFILE, &raised);
    spawn->raised_files = result == 0;
    return result;
}

uint64_t spawn_files(const struct spawn *spawn)
{
    uint64_t most = spawn->files.rlim_max < FILES_WANTED ? spawn->files.rlim_max : FILES_WANTED;
    return spawn->raised_files ? most : spawn->files.rlim_cur;
}

/* With a sandbox: the way to its launcher, and what bubblewrap has to say. */
static int prepare_sandbox(struct spawn *spawn)
{
    int result = os_socket_pair(&spawn->channel, &spawn->channel_far);
    result = result < 0 ? result : os_pipe(&spawn->diagnostics, &spawn->diagnostics_write);
    return result < 0 ? result : os_set_nonblocking(fd_num(&spawn->diagnostics), true);
}

int spawn_prepare(struct spawn *spawn, const struct supervise_request *request, struct err *err)
{
    int result = raise_files(spawn);
    for (int i = 0; i < STREAM_COUNT && result == 0; i++) {
        result = os_pipe(&spawn->output[i], &spawn->output_write[i]);
    }
    result = result < 0 ? result : os_pipe(&spawn->failure, &spawn->failure_write);
    result = result < 0 ? result : os_pipe(&spawn->release_read, &spawn->release);
    result = result < 0 ? result : os_set_nonblocking(fd_num(&spawn->failure), true);
    result = result == 0 && request->sandbox ? prepare_sandbox(spawn) : result;
    return result < 0 ? err_sys(err, result, "cannot prepare the pipes of the payload") : 0;
}

/* What the gate becomes: the payload, with the streams that it is to have. */
static void plan_payload(const struct spawn *spawn, const struct supervise_request *request,
                         struct gate *gate)
{
    gate->exec_fd = binding_exec_fd(request->binding);
    gate->argv = binding_argv(request->binding);
    gate->environment = request->environment;
    gate->handed[0] = request->stdin_fd;
    gate->handed[1] = fd_num(&spawn->output_write[STREAM_STDOUT]);
    gate->handed[2] = fd_num(&spawn->output_write[STREAM_STDERR]);
    gate->handed_count = 3;
}

/* Or bubblewrap, whose own streams go elsewhere; the payload's wait for the launcher. */
static void plan_sandbox(const struct spawn *spawn, const struct supervise_request *request,
                         struct gate *gate)
{
    const struct sandbox *sandbox = request->sandbox;
    gate->exec_fd = binding_exec_fd(sandbox_tool(sandbox));
    gate->argv = sandbox_tool_argv(sandbox);
    gate->environment = sandbox_tool_environment(sandbox);
    gate->cwd_fd = -1; /* the launcher enters it, and says what it is when it may not */
    gate->become = sandbox_becomes(sandbox, &gate->uid, &gate->gid);
    gate->handed[0] = fd_num(&spawn->diagnostics_write); /* nothing to read there */
    gate->handed[1] = fd_num(&spawn->diagnostics_write);
    gate->handed[2] = fd_num(&spawn->diagnostics_write);
    gate->handed[LAUNCH_STDIN_FD] = request->stdin_fd;
    gate->handed[LAUNCH_STDOUT_FD] = fd_num(&spawn->output_write[STREAM_STDOUT]);
    gate->handed[LAUNCH_STDERR_FD] = fd_num(&spawn->output_write[STREAM_STDERR]);
    gate->handed[LAUNCH_CHANNEL_FD] = fd_num(&spawn->channel_far);
    gate->handed[LAUNCH_PLAN_FD] = sandbox_plan_fd(sandbox);
    gate->handed[LAUNCH_IMAGE_FD] = sandbox_image_fd(sandbox);
    gate->handed[LAUNCH_ARGS_FD] = sandbox_args_fd(sandbox);
    gate->handed_count = LAUNCH_FIRST_FREE_FD;
}

int spawn_gate(struct spawn *spawn, const struct supervise_request *request, struct err *err)
{
    struct gate gate = {
        .cwd_fd = request->cwd_fd,
        .failure_fd = fd_num(&spawn->failure_write),
        .release_fd = fd_num(&spawn->release_read),
        .controller = os_getpid(),
        .ignored = request->interrupts->caller_ignored | UINT64_C(1) << (SIGPIPE - 1),
        .restore_files = spawn->raised_files,
        .files = spawn->files,
    };
    if (request->sandbox) {
        plan_sandbox(spawn, request, &gate);
    } else {
        plan_payload(spawn, request, &gate);
    }
    pid_t pid = os_clone_child(&spawn->pidfd);
    if (pid == 0) {
        gate_main(&gate);
    }
    if (pid < 0) {
        return err_sys(err, (int)pid, "cannot create a process");
    }
    spawn->pid = pid;
    fd_close(&spawn->output_write[STREAM_STDOUT]);
    fd_close(&spawn->output_write[STREAM_STDERR]);
    fd_close(&spawn->failure_write);
    fd_close(&spawn->release_read);
    fd_close(&spawn->channel_far);
    fd_close(&spawn->diagnostics_write);
    return 0;
}

int spawn_release(struct spawn *spawn)
{
    ssize_t written = os_write(fd_num(&spawn->release), "", 1);
    fd_close(&spawn->release);
    return written < 0 ? (int)written : 0;
}

enum spawn_word spawn_heard(struct spawn *spawn, struct gate_failure *ret_failure)
{
    struct gate_failure failure;
    ssize_t got = os_read(fd_num(&spawn->failure), &failure, sizeof failure);
    if (got == -EAGAIN) {
        return SPAWN_NOTHING_YET;
    }
    if (got == (ssize_t)sizeof failure) {
        failure.err.msg[sizeof failure.err.msg - 1] = '\0';
        *ret_failure = failure;
        return SPAWN_FAILED;
    }
    if (got == 0) {
        return SPAWN_EXECUTED;
    }
    /* The pipe broke: not even the gate's word is to be had. */
    *ret_failure = (struct gate_failure){0};
    (void)err_sys(&ret_failure->err, got < 0 ? (int)got : EIO, "cannot hear the first process");
    return SPAWN_FAILED;
}

void spawn_done(struct spawn *spawn)
{
    if (!spawn) {
        return;
    }
    for (int i = 0; i < STREAM_COUNT; i++) {
        fd_close(&spawn->output[i]);
        fd_close(&spawn->output_write[i]);
    }
    fd_close(&spawn->failure);
    fd_close(&spawn->failure_write);
    fd_close(&spawn->release);
    fd_close(&spawn->release_read);
    fd_close(&spawn->channel);
    fd_close(&spawn->channel_far);
    fd_close(&spawn->diagnostics);
    fd_close(&spawn->diagnostics_write);
    fd_close(&spawn->pidfd);
    if (spawn->raised_files) {
        (void)!os_setrlimit(RLIMIT_NOFILE, &spawn->files); /* ours is a little high, no more */
    }
    *spawn = (struct spawn){0};
}
