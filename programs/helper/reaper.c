#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "clock.h"
#include "confine.h"
#include "event.h"
#include "file.h"
#include "launcher.h"
#include "proc.h"
#include "process.h"

/* What the payload's process sends up its pipe when it does not become the payload. */
struct start_failure {
    int32_t sys;
    int32_t execution; /* the payload itself could not be executed */
};

enum { NOT_STARTED = 127 };

struct reaper {
    struct launcher *launcher;
    struct fd events;
    struct fd signals;
    siginfo_t ended;          /* the payload's first process */
    bool untold;              /* and the controller does not know yet */
    struct launch_word usage; /* of all that was reaped */
};

/* --- the payload's process, until it is the payload -------------------------------------------- */

static void wait_for_release(int release_fd)
{
    char byte;
    if (os_read(release_fd, &byte, 1) != 1) {
        os_exit(NOT_STARTED); /* the first process is no more */
    }
}

/* Until here all are blocked. What was asked for is not what is: ask the kernel. */
static int unblock_signals(void)
{
    sigset_t none;
    sigset_t holds;
    sigemptyset(&none);
    sigfillset(&holds);
    int result = os_signal_mask(SIG_SETMASK, &none, NULL);
    result = result < 0 ? result : os_signal_mask(SIG_BLOCK, NULL, &holds);
    for (int signal = 1; signal < NSIG && result == 0; signal++) {
        result = sigismember(&holds, signal) == 1 ? -EPERM : 0;
    }
    return result;
}

static int become(struct launcher *launcher, char *const *argv, char *const *environment,
                  bool *ret_execution)
{
    int result = os_setsid();
    result = result < 0 ? result : unblock_signals();
    if (result < 0) {
        return result;
    }
    *ret_execution = true;
    return os_execveat(launcher->file_fd, argv, environment);
}

/* Pointers to strings in a row. */
static char *const *list_of(const struct launch_plan *plan, uint32_t offset, uint32_t count,
                            char **list)
{
    const char *text = launch_plan_string(plan, offset);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = (char *)(uintptr_t)text;
        text += strlen(text) + 1;
    }
    list[count] = NULL;
    return list;
}

no_return static void payload_main(struct launcher *launcher, int failure_fd, int release_fd)
{
    static char *arguments[LAUNCH_ARGUMENTS_MAX + 1];
    static char *variables[LAUNCH_ARGUMENTS_MAX + 1];
    const struct launch_plan *plan = launcher->plan;
    bool execution = false;
    wait_for_release(release_fd);
    int result =
        become(launcher, list_of(plan, plan->arguments, plan->argument_count, arguments),
               list_of(plan, plan->variables, plan->variable_count, variables), &execution);
    struct start_failure failure = {.sys = result, .execution = execution};
    (void)!os_write(failure_fd, &failure, sizeof failure); /* the exit speaks, if this does not */
    os_exit(NOT_STARTED);
}

/* --- the first process -------------------------------------------------------------------------- */

static int watch(struct reaper *reaper)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    reaper->signals = fd_adopt(os_signalfd(&ended));
    reaper->events = fd_adopt(os_epoll_new());
    const int watched[] = {reaper->launcher->channel,
                           fd_is_open(&reaper->signals) ? fd_num(&reaper->signals) : -1,
                           fd_num(&reaper->launcher->start)};
    int result =
        fd_is_open(&reaper->signals) ? fd_error(&reaper->events) : fd_error(&reaper->signals);
    for (size_t i = 0; i < countof(watched) && result >= 0; i++) {
        result = os_epoll_add(fd_num(&reaper->events), watched[i], EPOLLIN, (uint64_t)watched[i]);
    }
    return result;
}

int reaper_fork(struct launcher *launcher)
{
    with_fd failure = {0};
    with_fd release = {0};
    with_fd pidfd = {0};
    int result = os_pipe(&launcher->start, &failure);
    result = result < 0 ? result : os_pipe(&release, &launcher->release);
    if (result < 0) {
        return result;
    }
    pid_t pid = os_clone_child(&pidfd);
    if (pid == 0) {
        fd_close(&launcher->release); /* or the end of the first process would not be seen */
        payload_main(launcher, fd_num(&failure), fd_num(&release));
    }
    if (pid < 0) {
        return pid;
    }
    launcher->payload = pid;
    /* The payload's streams end with the payload, so nobody else may hold them. */
    for (int stream = 0; stream < 3; stream++) {
        struct fd ours = fd_adopt(stream);
        fd_close(&ours);
    }
    return 0;
}

static int start(struct reaper *reaper)
{
    int result = watch(reaper);
    ssize_t written = result < 0 ? result : os_write(fd_num(&reaper->launcher->release), "", 1);
    fd_close(&reaper->launcher->release);
    return written < 0 && written != -EPIPE ? (int)written : 0;
}

/* Who was killed before it executed has closed its pipe as well. Nobody has reaped it yet. */
static int must_have_executed(const struct launcher *launcher)
{
    char path[40];
    struct proc_stat stat;
    const char *end = path + sizeof path - 1;
    char *at = launcher_add_text(path, end, "/proc/");
    at = launcher_add_number(at, end, (uint64_t)launcher->payload);
    (void)launcher_add_text(at, end, "/stat");
    with_fd file = fd_adopt(os_openat(AT_FDCWD, path, O_RDONLY, 0));
    int result = fd_is_open(&file) ? os_proc_stat_read(fd_num(&file), &stat) : fd_error(&file);
    return result < 0 ? result : stat.forked_only ? -ESRCH : 0;
}

/* The payload's process became the payload, or says why it did not. */
static void look_at_start(struct reaper *reaper)
{
    struct start_failure failure;
    ssize_t got = os_read(fd_num(&reaper->launcher->start), &failure, sizeof failure);
    if (got == (ssize_t)sizeof failure) {
        launcher_give_up(reaper->launcher, failure.execution ? LAUNCH_NOT_EXECUTED : LAUNCH_FAILED,
                         failure.sys, failure.execution ? NULL : "prepare the payload's process");
    }
    int result = got == 0 ? must_have_executed(reaper->launcher) : got < 0 ? (int)got : -EPROTO;
    if (result < 0) {
        launcher_give_up(reaper->launcher, LAUNCH_FAILED, result, "start the payload");
    }
    fd_close(&reaper->launcher->start);
    launcher_say(reaper->launcher, LAUNCH_EXECUTED, 0, 0);
}

static void add_usage(struct reaper *reaper, const struct rusage *usage)
{
    struct launch_word *sum = &reaper->usage;
    int64_t largest = (int64_t)usage->ru_maxrss * 1024;
    sum->user_ns += clock_timeval_ns(usage->ru_utime);
    sum->system_ns += clock_timeval_ns(usage->ru_stime);
    sum->largest_rss_bytes = largest > sum->largest_rss_bytes ? largest : sum->largest_rss_bytes;
}

/* left: what ended first is not all; it is told at once, so that the rest is asked to end. */
static void tell_end(struct reaper *reaper, bool left)
{
    bool exited = reaper->ended.si_code == CLD_EXITED;
    struct launch_word word = {.said = LAUNCH_ENDED,
                               .value = exited ? reaper->ended.si_status : 0,
                               .extra = exited ? 0 : reaper->ended.si_status,
                               .left = left};
    (void)!os_send(reaper->launcher->channel, &word, sizeof word);
    reaper->untold = false;
}

/* Whoever lost its parent is our child: nothing is left. */
no_return static void leave(struct reaper *reaper)
{
    if (reaper->untold) {
        tell_end(reaper, false);
    }
    reaper->usage.said = LAUNCH_EMPTY;
    (void)!os_send(reaper->launcher->channel, &reaper->usage, sizeof reaper->usage);
    os_exit(0);
}

/* As long as it is not known whether the payload runs, its process must not be gone without a look. Once
 * anybody has ended, the pipe has closed: only the payload makes others. */
static void look_before_reaping(struct reaper *reaper)
{
    siginfo_t ended;
    if (fd_is_open(&reaper->launcher->start) &&
        os_waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT, NULL) == 0 && ended.si_pid != 0) {
        look_at_start(reaper);
    }
}

/* Reap what has ended, but at most so many at a time that orders are heard in between. True: there
 * may be more. The payload's own end waits for the rest of the round: most often it is the last. */
static bool reap(struct reaper *reaper)
{
    enum { AT_A_TIME = 64 };
    for (int i = 0; i < AT_A_TIME; i++) {
        siginfo_t ended;
        struct rusage usage;
        look_before_reaping(reaper);
        int result = os_waitid(P_ALL, 0, &ended, WEXITED | WNOHANG, &usage);
        if (result == -ECHILD) {
            leave(reaper);
        }
        if (result < 0) {
            launcher_give_up(reaper->launcher, LAUNCH_FAILED, result, "wait for what ended");
        }
        if (ended.si_pid == 0) {
            if (reaper->untold) {
                tell_end(reaper, true);
            }
            return false;
        }
        add_usage(reaper, &usage);
        if (ended.si_pid == reaper->launcher->payload) {
            reaper->launcher->payload = 0;
            reaper->ended = ended;
            reaper->untold = true;
        }
    }
    return true;
}

static void obey(struct reaper *reaper)
{
    char order = 0;
    ssize_t got = os_recv(reaper->launcher->channel, &order, sizeof order);
    if (got == -EAGAIN) {
        return;
    }
    if (got <= 0) {
        os_exit(0); /* the controller is no more, and all in here goes with us */
    }
    /* Nobody to signal is no failure: what was left has just ended. */
    if (order == LAUNCH_KILL) {
        (void)!os_signal_namespace(SIGKILL);
    }
}

void reaper_main(struct launcher *launcher)
{
    struct reaper reaper = {.launcher = launcher};
    int result = start(&reaper);
    if (result < 0) {
        launcher_give_up(launcher, LAUNCH_FAILED, result, "release the payload's process");
    }
    bool more = true; /* an end before the first look has no signal left to wait for */
    for (;;) {
        struct epoll_event events[4];
        int ready = os_epoll_wait(fd_num(&reaper.events), events, countof(events), more ? 0 : -1);
        if (ready < 0 && ready != -EINTR) {
            launcher_give_up(launcher, LAUNCH_FAILED, ready, "wait for the next event");
        }
        for (int i = 0; i < ready; i++) {
            int fd = (int)events[i].data.u64;
            struct signalfd_siginfo signal;
            if (fd == launcher->channel) {
                obey(&reaper);
            } else if (fd == fd_num(&reaper.signals)) {
                (void)!os_signalfd_read(fd, &signal); /* only a reason to look */
                more = true;
            } else if (fd_is_open(&reaper.launcher->start)) {
                look_at_start(&reaper);
            }
        }
        more = more && reap(&reaper);
    }
}
