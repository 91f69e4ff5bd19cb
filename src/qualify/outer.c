/* A program outside of every scope and sandbox, held by the broker alone: what it starts may make scopes of its
 * own, and has all the memory of this host to ask for. Nobody is left of it afterwards. */
#include <fcntl.h>
#include <string.h>

#include "environment.h"
#include "file.h"
#include "interrupts.h"
#include "qualify-priv.h"

static struct binding *bind_program(const struct qualifying *qualifying, char *const *argv,
                                    int cwd_fd, const struct environment *environment,
                                    struct err *err)
{
    const struct binding_request wanted = {
        .name = argv[0],
        .argv = argv,
        .cwd_fd = cwd_fd,
        .cwd_path = qualifying->fixture_folder,
        .environment = environment_envp(environment),
        .policy = POLICY_TRUSTED_HOST_TOOL,
        .own_authority = true,
    };
    return binding_resolve(&wanted, err);
}

static void take_tail(const struct supervise_stream *stream, char *text, size_t size)
{
    size_t n = stream->tail_length < size - 1 ? stream->tail_length : size - 1;
    memcpy(text, stream->tail, n);
    text[n] = '\0';
}

static int judge(const struct supervise_ending *ending, struct qualifying *qualifying, char *said,
                 size_t size, struct err *err)
{
    take_tail(&ending->stream[STREAM_STDERR], said, size);
    if (ending->how == ENDED_INTERRUPTED) {
        qualifying->die_of = ending->interrupt_signal;
        return err_set(err, ERR_CANCELLED, "it was interrupted");
    }
    if (ending->how == ENDED_FAILED || ending->how == ENDED_NOT_EXECUTED) {
        *err = ending->failure;
        return -1;
    }
    if (ending->how != ENDED_EXITED || ending->exit_code != 0) {
        return err_set(err, ERR_INTERNAL, "it ended with status %d%s",
                       ending->how == ENDED_EXITED ? ending->exit_code : 128 + ending->exit_signal,
                       ending->how == ENDED_LIMIT ? ", at a limit" : "");
    }
    return ending->tree_empty && ending->survivor_count == 0
               ? 0
               : err_set(err, ERR_INTERNAL, "not all that it started has ended");
}

int qualify_run_outer(struct qualifying *qualifying, char *const *argv,
                      const struct strvec *overrides, const struct supervise_limits *limits,
                      char *said, size_t size, struct err *err)
{
    const struct environment_request variables = {.inherited = qualifying->request->environment,
                                                  .overrides = overrides};
    with_environment environment = {0};
    with_binding binding = NULL;
    with_interrupts interrupts = {0};
    struct supervise_ending *ending = NULL;
    with_fd null = fd_adopt(os_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0));
    with_fd cwd =
        fd_adopt(os_openat(AT_FDCWD, qualifying->fixture_folder, O_PATH | O_DIRECTORY, 0));
    if (!fd_is_open(&null) || !fd_is_open(&cwd)) {
        return err_sys(err, fd_error(fd_is_open(&null) ? &cwd : &null), "cannot open '%s'",
                       fd_is_open(&null) ? qualifying->fixture_folder : "/dev/null");
    }
    if (environment_build(&variables, &environment, err) < 0 ||
        !(binding = bind_program(qualifying, argv, fd_num(&cwd), &environment, err)) ||
        interrupts_begin(&interrupts, err) < 0) {
        return -1;
    }
    const struct supervise_request request = {
        .binding = binding,
        .environment = environment_envp(&environment),
        .cwd_fd = fd_num(&cwd),
        .stdin_fd = fd_num(&null),
        .pass_fd = {-1, -1},
        .keep_fd = {-1, -1},
        .limits = *limits,
        .interrupts = &interrupts,
        .cancel_fd = -1,
        .clock = qualifying->request->clock,
    };
    said[0] = '\0';
    int result =
        supervise_run(&request, &ending, err) < 0 ? -1 : judge(ending, qualifying, said, size, err);
    supervise_ending_free(ending);
    return result;
}
