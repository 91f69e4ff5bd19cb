/* scope-drive - a scope without berm: made, used and taken away by hand
 *
 *   scope-drive [OPTION...] -- PROGRAM [ARGUMENT...]
 *
 *     --parent DIR         a cgroup that is named (--cgroup-parent)
 *     --runtime-dir DIR    instead of XDG_RUNTIME_DIR; "" for none
 *     --memory N, --high N, --pids N, --runtime-ms N
 *     --io                 with io.stat
 *     --watchdog           one more process, with a scope of its own
 *     --name NAME          instead of a new one
 *     --deadline-ms N      for it to be made, and to be gone (60000)
 *     --probe              what could be had, and nothing else
 *     --ask                and ask the manager
 *
 * It prints lines: "offer ADAPTER PLACE", "obstacle CODE SAW | REMEDY", "begun MS", "scope PATH",
 * "unit NAME", "limits MAX HIGH PIDS", "pids ANCHOR GATE WATCHDOG", "admitted MS", or "error CODE MESSAGE"
 * and then "removed ..."; the program runs in the leaf and has its stdin from /dev/null. Then lines on
 * stdin are orders: events, watch N (until the Nth change of the events), counters, kill (until it is
 * empty), wait (for the program's end), remove, release (nothing is held any more), pressure MS.
 * At the end of stdin it exits and takes nothing away. Its role in the fault table is "controller" until the
 * scope is begun, "scope" until the gate is admitted, or was refused, and "after".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "anchor-message.h"
#include "attributes.h"
#include "fault.h"
#include "helper-image.h"
#include "process.h"
#include "scope.h"

static struct {
    struct scope_question question;
    struct scope_request request;
    const char *name;
    bool probe;
    bool watchdog;
    int64_t deadline_ms;
    char **argv;
} options = {.request = {.patience = {.fds = {-1, -1}}}, .deadline_ms = 60000};

static FILE *orders;
static pid_t payload;
static struct proc_identity gate;
static int payload_pidfd;
static int release_fd;

no_return static void die(const char *what)
{
    printf("died %s: %s\n", what, strerror(errno));
    exit(2);
}

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct proc_identity identity_of(pid_t pid)
{
    struct proc_stat stat;
    int fd = os_proc_stat_open(pid);
    if (fd < 0 || os_proc_stat_read(fd, &stat) < 0) {
        die("/proc/PID/stat");
    }
    close(fd);
    return (struct proc_identity){pid, stat.start_ticks};
}

/* The helper's anchor, with the far end of the channel. */
static void start_anchor(void)
{
    int pair[2];
    struct span image = helper_image();
    int file = memfd_create("helper", MFD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || file < 0 ||
        write(file, image.p, image.n) != (ssize_t)image.n) {
        die("the helper's image");
    }
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int spare = fcntl(file, F_DUPFD_CLOEXEC, 10);
        dup2(pair[1], ANCHOR_CHANNEL_FD);
        const char *const argv[] = {"berm-helper", "anchor", NULL};
        syscall(SYS_execveat, spare, "", argv, environ, AT_EMPTY_PATH);
        _exit(127);
    }
    close(file);
    close(pair[1]);
    options.request.anchor = identity_of(pid);
    options.request.anchor_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    options.request.anchor_channel = pair[0];
}

/* Blocked on a pipe, then the program. */
static void start_gate(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        die("pipe");
    }
    payload = fork();
    if (payload == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(open("/dev/null", O_RDONLY), 0);
        close(ends[1]);
        unsetenv("BERM_FAULT");
        if (read(ends[0], &byte, 1) != 1) {
            _exit(126);
        }
        prctl(PR_SET_PDEATHSIG, 0);
        execvp(options.argv[0], options.argv);
        _exit(127);
    }
    close(ends[0]);
    release_fd = ends[1];
    payload_pidfd = (int)syscall(SYS_pidfd_open, payload, 0);
    gate = identity_of(payload);
}

static void start_watchdog(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        pause();
        _exit(0);
    }
    options.request.watchdog = identity_of(pid);
}

static void show_events(const struct scope_events *events)
{
    printf("events oom=%lld oom_kill=%lld memory_max=%lld memory_high=%lld pids_max=%lld "
           "populated=%d\n",
           (long long)events->oom, (long long)events->oom_kill, (long long)events->memory_max,
           (long long)events->memory_high, (long long)events->pids_max, events->populated);
}

static void read_events(struct scope *scope)
{
    struct scope_events events;
    int changed = scope_events_read(scope, &events);
    if (changed < 0) {
        printf("events error %d\n", -changed);
        return;
    }
    printf("changed %d\n", changed);
    show_events(&events);
}

/* Until the kernel told of so many changes, by epoll alone. */
static void watch_events(struct scope *scope, int changes)
{
    int fds[SCOPE_EVENT_FDS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    scope_event_fds(scope, fds);
    for (int i = 0; i < SCOPE_EVENT_FDS; i++) {
        struct epoll_event event = {.events = EPOLLPRI, .data.fd = i};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) < 0) {
            die("epoll_ctl");
        }
    }
    struct scope_events seen = {0};
    while (changes > 0) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, 60000) != 1) {
            die("epoll_wait");
        }
        changes -= scope_events_read(scope, &seen) == 1;
    }
    close(epoll);
    show_events(&seen);
}

static void show_counters(struct scope *scope)
{
    struct scope_counters counters;
    scope_counters_read(scope, &counters);
    printf("counters");
#define X(field, file, key) printf(" " #field "=%lld", (long long)counters.field);
    SCOPE_COUNTERS(X)
#undef X
    printf("\n");
}

static void kill_all(struct scope *scope)
{
    int64_t began = now_ns();
    int result = 0;
    int rounds = 0;
    while (!scope_leaf_empty(scope, &result)) {
        if (result < 0) {
            printf("kill error %d\n", -result);
            return;
        }
        result = scope_kill(scope);
        rounds++;
        poll(NULL, 0, 10);
    }
    printf("empty after %d kills %lld ms\n", rounds, (long long)(now_ns() - began) / 1000000);
}

static void remove_scope(struct scope *scope)
{
    struct scope_removed removed;
    int64_t began = now_ns();
    scope_remove(scope, began + options.deadline_ms * 1000000, &removed);
    printf("removed gone=%d leaf=%d anchor=%d folder=%d unit=%d left=%s; %lld ms\n",
           removed.gone != NULL, removed.leaf, removed.anchor, removed.folder, removed.unit,
           removed.left, (long long)(now_ns() - began) / 1000000);
}

static void end_gate(void)
{
    siginfo_t info = {0};
    close(release_fd);
    syscall(SYS_pidfd_send_signal, payload_pidfd, SIGKILL, NULL, 0);
    waitid(P_PIDFD, (id_t)payload_pidfd, &info, WEXITED);
}

static void end_watchdog(void)
{
    pid_t pid = options.request.watchdog.pid;
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void obey(struct scope *scope, const char *line)
{
    siginfo_t info = {0};
    int number = 0;
    if (strcmp(line, "events") == 0) {
        read_events(scope);
    } else if (sscanf(line, "watch %d", &number) == 1) {
        watch_events(scope, number);
    } else if (strcmp(line, "counters") == 0) {
        show_counters(scope);
    } else if (strcmp(line, "kill") == 0) {
        kill_all(scope);
    } else if (strcmp(line, "wait") == 0) {
        waitid(P_PIDFD, (id_t)payload_pidfd, &info, WEXITED | WNOWAIT);
        printf("ended %d %d\n", info.si_code, info.si_status);
    } else if (strcmp(line, "remove") == 0) {
        end_watchdog();
        remove_scope(scope);
    } else if (sscanf(line, "pressure %d", &number) == 1) {
        struct pollfd polled = {.fd = scope_pressure_fd(scope, number), .events = POLLPRI};
        int ready = polled.fd < 0 ? polled.fd : poll(&polled, 1, 60000);
        printf("pressure %d %d\n", ready, polled.revents & (POLLPRI | POLLERR));
    } else if (strcmp(line, "release") == 0) {
        close(options.request.anchor_channel);
        printf("released\n");
    }
    fflush(stdout);
}

static void show_offer(const struct scope_offer *offer)
{
    const char *id = scope_adapter_id(offer->adapter);
    printf("offer %s %s\n", id ? id : "none", offer->place);
    for (int i = 0; i < offer->obstacle_count; i++) {
        const struct scope_obstacle *one = &offer->obstacles[i];
        printf("obstacle %s %s | %s\n", scope_obstacle_name(one->code), one->saw, one->remedy);
    }
}

/* What failed, and that nothing is left of it. */
static int give_up(struct scope *scope, const struct err *err)
{
    printf("error %d %s\n", (int)err->code, err->msg);
    fault_role("after");
    end_gate();
    if (scope) {
        end_watchdog();
        remove_scope(scope);
    }
    return 1;
}

static int drive(void)
{
    struct scope_offer offer;
    struct err err = {0};
    char name[SCOPE_NAME_SIZE];
    scope_probe(&options.question, &offer);
    show_offer(&offer);
    if (options.probe || offer.adapter == SCOPE_NONE) {
        return offer.adapter == SCOPE_NONE;
    }
    if (options.name) {
        snprintf(name, sizeof name, "%s", options.name);
    } else if (scope_name("drive", name, &err) < 0) {
        printf("error %d %s\n", (int)err.code, err.msg);
        return 1;
    }
    start_anchor();
    start_gate();
    if (options.watchdog) {
        start_watchdog();
    }
    int64_t began = now_ns();
    options.request.offer = &offer;
    options.request.name = name;
    options.request.deadline_ns = began + options.deadline_ms * 1000000;
    printf("pids %d %d %d\n", options.request.anchor.pid, payload, options.request.watchdog.pid);
    fflush(stdout);
    struct scope *scope = NULL;
    fault_role("scope");
    if (scope_begin(&options.request, &scope, &err) < 0) {
        return give_up(NULL, &err);
    }
    printf("begun %lld us\n", (long long)(now_ns() - began) / 1000);
    if (scope_finish(scope, &err) < 0 || scope_verify(scope, &err) < 0) {
        return give_up(scope, &err);
    }
    struct scope_limits limits;
    scope_limits(scope, &limits);
    printf("finished %lld us\n", (long long)(now_ns() - began) / 1000);
    printf("scope %s\nunit %s\nlimits %lld %lld %lld\n", scope_path(scope), scope_unit(scope),
           (long long)limits.memory_max_bytes, (long long)limits.memory_high_bytes,
           (long long)limits.pids_max);
    int64_t before = now_ns();
    if (scope_admit(scope, gate, &err) < 0) {
        return give_up(scope, &err);
    }
    fault_role("after");
    printf("admitted %lld us\n", (long long)(now_ns() - before) / 1000);
    fflush(stdout);
    if (write(release_fd, "", 1) != 1) {
        die("release");
    }
    char line[128];
    while (fgets(line, sizeof line, orders)) {
        line[strcspn(line, "\n")] = '\0';
        obey(scope, line);
    }
    scope_free(scope);
    return 0;
}

static const char *value(char **argv, int *at)
{
    if (!argv[*at + 1]) {
        die(argv[*at]);
    }
    return argv[++*at];
}

int main(int argc, char **argv)
{
    static char program[] = "true";
    static char *nothing[] = {program, NULL};
    struct scope_request *request = &options.request;
    /* An open that does nothing answers 0: what is read there must end. */
    orders = fdopen(fcntl(0, F_DUPFD_CLOEXEC, 20), "r");
    (void)dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
    options.question.runtime_dir = getenv("XDG_RUNTIME_DIR");
    options.argv = nothing;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--") == 0) {
            options.argv = argv + i + 1;
            break;
        } else if (strcmp(word, "--parent") == 0) {
            options.question.parent = value(argv, &i);
        } else if (strcmp(word, "--runtime-dir") == 0) {
            options.question.runtime_dir = value(argv, &i);
        } else if (strcmp(word, "--memory") == 0) {
            request->memory_max_bytes = strtoll(value(argv, &i), NULL, 10);
        } else if (strcmp(word, "--high") == 0) {
            request->memory_high_bytes = strtoll(value(argv, &i), NULL, 10);
        } else if (strcmp(word, "--pids") == 0) {
            request->pids_max = strtoll(value(argv, &i), NULL, 10);
        } else if (strcmp(word, "--runtime-ms") == 0) {
            request->runtime_max_ns = strtoll(value(argv, &i), NULL, 10) * 1000000;
        } else if (strcmp(word, "--deadline-ms") == 0) {
            options.deadline_ms = strtoll(value(argv, &i), NULL, 10);
        } else if (strcmp(word, "--name") == 0) {
            options.name = value(argv, &i);
        } else if (strcmp(word, "--io") == 0) {
            request->with_io = true;
        } else if (strcmp(word, "--watchdog") == 0) {
            options.watchdog = true;
        } else if (strcmp(word, "--probe") == 0) {
            options.probe = true;
        } else if (strcmp(word, "--ask") == 0) {
            options.question.ask = true;
        } else {
            die(word);
        }
    }
    int result = drive();
    fflush(stdout);
    return result;
}
