/* supervise-test.h
 *
 * Runs the broker in the test's own process: a request with everything set, the payload any file by
 * descriptor (in place of binding/), and what it left behind.
 *
 * Calling sequence
 *   struct trial trial = trial_of("/bin/sh", "-c", "exit 3");     NULL-terminated by the macro
 *   ... set trial.request ...
 *   trial_run(&trial);                 trial.ending, or trial.result < 0 and trial.err
 *   trial_done(&trial);                checks that no child and no descriptor is left
 */
#pragma once

#include "../unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper-image.h"
#include "no-sandbox.h"
#include "supervise.h"

/* The broker asks a binding for three things only. */
struct binding {
    int exec_fd;
    char *argv[32];
    bool changed; /* since it was bound */
};
int binding_exec_fd(const struct binding *binding)
{
    return binding->exec_fd;
}
char *const *binding_argv(const struct binding *binding)
{
    return binding->argv;
}
int binding_revalidate(const struct binding *binding, struct err *err)
{
    return binding->changed ? err_set(err, ERR_CHANGED, "the program was changed") : 0;
}

struct trial {
    struct binding binding;
    struct interrupts interrupts;
    struct supervise_request request;
    struct supervise_ending *ending;
    struct err err;
    int result;
    bool image_there;
    int files_before;
    int null; /* where output goes, so that it is seen to go */
    int cancel[2];
    bool ready;          /* the payload has finished a line */
    int64_t until_tasks; /* cancel when it is ready and a look has shown so many */
};

static unused int count_open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

static char test_path[] = "PATH=/usr/bin:/bin";
static char *test_environment[] = {test_path, NULL};

static unused struct trial trial_of_list(const char *const *argv)
{
    bool image_there = helper_image_file() >= 0; /* then it stays open; a fault may keep it away */
    struct trial trial = {.image_there = image_there, .files_before = count_open_files()};
    trial.binding.exec_fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    assert_true(trial.binding.exec_fd >= 0);
    for (size_t i = 0; argv[i]; i++) {
        assert_true(i + 1 < countof(trial.binding.argv));
        trial.binding.argv[i] = (char *)(uintptr_t)argv[i];
    }
    trial.request = (struct supervise_request){
        .environment = test_environment,
        .cwd_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
        .stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
        .pass_fd = {-1, -1},
        .keep_fd = {-1, -1},
        .limits = {.timeout_ns = 30 * NS_PER_S,
                   .setup_timeout_ns = 10 * NS_PER_S,
                   .grace_ns = 2 * NS_PER_S,
                   .kill_budget_ns = 5 * NS_PER_S,
                   .sample_ns = 50 * NS_PER_MS},
        .cancel_fd = -1,
        .clock = &os_clock_real,
    };
    return trial;
}
#define trial_of(...) trial_of_list((const char *const[]){__VA_ARGS__, NULL})

static unused void trial_cancel_when_ready(const struct trial *trial, int64_t tasks)
{
    if (trial->ready && tasks >= trial->until_tasks) {
        assert_int_equal(write(trial->cancel[1], "", 1), 1);
    }
}

static unused void trial_on_sample(void *context, const struct supervise_view *view)
{
    if (!view->stopping) {
        trial_cancel_when_ready(context, view->tasks);
    }
}

static unused void trial_after_output(void *context, int stream, char last)
{
    struct trial *trial = context;
    trial->ready = trial->ready || last == '\n';
    trial_cancel_when_ready(trial, 0);
}

/* Stop the payload as soon as it has said a line and so many tasks were seen: no time is guessed. */
static unused void trial_stop_when_ready(struct trial *trial, int64_t tasks)
{
    assert_int_equal(pipe2(trial->cancel, O_CLOEXEC | O_NONBLOCK), 0);
    trial->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    trial->until_tasks = tasks;
    trial->request.pass_fd[STREAM_STDOUT] = trial->null;
    trial->request.cancel_fd = trial->cancel[0];
    trial->request.observer = (struct supervise_observer){
        .context = trial,
        .on_sample = trial_on_sample,
        .after_output = trial_after_output,
    };
}

static unused void trial_run(struct trial *trial)
{
    trial->request.binding = &trial->binding;
    trial->request.interrupts = &trial->interrupts;
    assert_int_equal(interrupts_begin(&trial->interrupts, &trial->err), 0);
    trial->result = supervise_run(&trial->request, &trial->ending, &trial->err);
    interrupts_end(&trial->interrupts);
    if (trial->result < 0) {
        print_message("# %s\n", trial->err.msg);
    }
}

static unused struct supervise_ending *trial_ending(struct trial *trial)
{
    trial_run(trial);
    assert_int_equal(trial->result, 0);
    assert_non_null(trial->ending);
    return trial->ending;
}

static unused void trial_done(struct trial *trial)
{
    supervise_ending_free(trial->ending);
    close(trial->binding.exec_fd);
    close(trial->request.cwd_fd);
    close(trial->request.stdin_fd);
    if (trial->null > 0) {
        close(trial->null);
        close(trial->cancel[0]);
        close(trial->cancel[1]);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_open_files(), trial->files_before);
}

/* What the payload said on a stream, as a string. */
static unused const char *trial_said(struct trial *trial, int stream)
{
    static char text[STREAM_COUNT][TAIL_STRUCTURED_BYTES + TAIL_MARGIN_BYTES + 1];
    const struct supervise_stream *facts = &trial->ending->stream[stream];
    memcpy(text[stream], facts->tail, facts->tail_length);
    text[stream][facts->tail_length] = '\0';
    return text[stream];
}
