/* binding-test.h
 *
 * A fresh directory as the working directory of a request, and requests made of a few words.
 */
#pragma once

#include "../bfs/bfs-test.h"

#include <sys/wait.h>

#include "binding-priv.h"
#include "memory.h"

/* A vector of literals, for what takes `char *const *` and changes nothing of it. */
#define WORDS(...) ((char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})
#define WORD(word) ((char *)(uintptr_t)(word))

static unused struct binding_request request_for(const struct place *place, char *const *argv,
                                                 char *const *environment)
{
    return (struct binding_request){
        .name = argv[0],
        .argv = argv,
        .cwd_fd = place->fd,
        .cwd_path = place->path,
        .environment = environment,
        .policy = POLICY_TRUSTED_HOST_TOOL,
        .own_authority = true,
    };
}

static unused void put_program(const struct place *place, const char *name, const char *bytes)
{
    put(place, name, bytes);
    assert_int_equal(fchmodat(place->fd, name, 0755, 0), 0);
}

/* A copy of a real program of the host. */
static unused void copy_program(const struct place *place, const char *from, const char *name)
{
    char bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t got; (got = read(in, bytes, sizeof bytes)) > 0;) {
        assert_int_equal(write(out, bytes, (size_t)got), got);
    }
    close(in);
    close(out);
}

static unused void assert_argv(const struct binding *binding, char *const *expected)
{
    char *const *argv = binding_argv(binding);
    for (; *expected; expected++, argv++) {
        assert_non_null(*argv);
        assert_string_equal(*argv, *expected);
    }
    assert_null(*argv);
}

/* Run by the kernel's own look-up (binding NULL: execve of argv[0]) or by the binding's descriptor,
 * in the place; the exit status, 200 when nothing could be executed. */
static unused int run_it(const struct place *place, const struct binding *binding,
                         char *const *argv, char *const *environment, char *output, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(ends[1], 1);
        dup2(null, 2);
        close(ends[0]);
        close(ends[1]);
        if (fchdir(place->fd) == 0) {
            if (binding) {
                execveat(binding_exec_fd(binding), "", binding_argv(binding), environment,
                         AT_EMPTY_PATH);
            } else if (argv) {
                execve(argv[0], argv, environment);
            }
        }
        _exit(200);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], output + length, size - 1 - length)) > 0;) {
        length += (size_t)got;
    }
    output[length] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define assert_null_with(call, code_)                                                              \
    do {                                                                                           \
        err = (struct err){0};                                                                     \
        void *made_ = (call);                                                                      \
        assert_null(made_);                                                                        \
        if (err.code != (code_)) {                                                                 \
            fail_msg("code %d: %s", err.code, err.msg);                                            \
        }                                                                                          \
    } while (0)
#define assert_made(pointer)                                                                       \
    do {                                                                                           \
        if (!(pointer)) {                                                                          \
            fail_msg("%s", err.msg);                                                               \
        }                                                                                          \
    } while (0)
