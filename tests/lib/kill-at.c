/* kill-at - SIGKILL a process from outside, stopped right before one of its system calls
 *
 *   kill-at [OPTION...] OUT COMMAND [ARGUMENT...]
 *
 *     --duty WORD     not COMMAND itself, but the helper among its descendants whose duty that is
 *     --nth N         at its Nth system call (of the kind that --call names); 0: never, only count (0)
 *     --call NUMBER   only system calls of this number count
 *     --point N       at its boundary of that number (src/os/boundary.h); with --nth, the Nth time
 *     --points        write down which boundaries it came to
 *     --too           and COMMAND at the same moment, with --duty
 *
 * OUT gets one line: "calls N" when it ended by itself, or "killed NUMBER" with the number of the system
 * call that it was about to make. Processes that the target makes are not stopped, and live on.
 * Exit: as COMMAND; 128 + 9 when it was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attributes.h"
#include "boundary.h"

static const char *duty;
static long nth, call = -1, point, counted;
static bool too, points;
static pid_t command, target;
static FILE *out;

no_return static void die(const char *what)
{
    fprintf(stderr, "kill-at: %s: %s\n", what, strerror(errno));
    exit(125);
}

static bool has_duty(pid_t pid)
{
    char path[40];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    close(fd);
    const char *word = got > 0 ? memchr(text, '\0', (size_t)got) : NULL;
    return word && duty && strcmp(word + 1, duty) == 0;
}

static void detach(pid_t pid)
{
    if (ptrace(PTRACE_DETACH, pid, 0, 0) < 0 && errno != ESRCH) {
        die("detach");
    }
}

/* True: it is stopped right before the call that it must not make. */
static bool is_the_one(pid_t pid)
{
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY || (call >= 0 && (long)info.entry.nr != call)) {
        return false;
    }
    bool boundary = info.entry.nr == SYS_prctl && info.entry.args[0] == BOUNDARY_MAGIC;
    if (points && boundary) {
        fprintf(out, "point %llu\n", (unsigned long long)info.entry.args[1]);
    }
    if (points || (point > 0 && !(boundary && (long)info.entry.args[1] == point))) {
        return false;
    }
    counted++;
    if (counted != nth) {
        return false;
    }
    fprintf(out, "killed %llu\n", (unsigned long long)info.entry.nr);
    return true;
}

static void on_stop(pid_t pid, int status)
{
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    bool counts = pid == target;
    int pass = 0;
    if (event == PTRACE_EVENT_EXEC && duty && pid != command) {
        if (has_duty(pid)) {
            target = pid;
            counts = true;
        } else {
            detach(pid);
            return;
        }
    } else if (signal == (SIGTRAP | 0x80)) {
        if (counts && is_the_one(pid)) {
            kill(pid, SIGKILL);
            if (too) {
                kill(command, SIGKILL);
            }
            return;
        }
    } else if (event == 0 && signal != SIGTRAP) {
        pass = signal;
    } else if (event == PTRACE_EVENT_STOP &&
               (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
        (void)ptrace(PTRACE_LISTEN, pid, 0, 0); /* a stop of the group, as it should be */
        return;
    }
    (void)ptrace(counts ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, pass);
}

int main(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        const char *value = at + 1 < argc ? argv[at + 1] : "";
        if (strcmp(argv[at], "--duty") == 0) {
            duty = value;
        } else if (strcmp(argv[at], "--nth") == 0) {
            nth = strtol(value, NULL, 10);
        } else if (strcmp(argv[at], "--call") == 0) {
            call = strtol(value, NULL, 10);
        } else if (strcmp(argv[at], "--point") == 0) {
            point = strtol(value, NULL, 10);
            nth = nth > 0 ? nth : 1;
        } else if (strcmp(argv[at], "--points") == 0) {
            points = true;
            continue;
        } else if (strcmp(argv[at], "--too") == 0) {
            too = true;
            continue;
        } else {
            errno = EINVAL;
            die(argv[at]);
        }
        at++;
    }
    if (argc - at < 2) {
        errno = EINVAL;
        die("OUT COMMAND");
    }
    out = fopen(argv[at], "we");
    if (!out) {
        die(argv[at]);
    }
    int start[2];
    if (pipe2(start, O_CLOEXEC) < 0) {
        die("pipe");
    }
    command = fork();
    if (command == 0) {
        char byte;
        close(start[1]);
        (void)!read(start[0], &byte, 1);
        execvp(argv[at + 1], argv + at + 1);
        _exit(127);
    }
    close(start[0]);
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
    if (duty) {
        options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    } else {
        target = command;
    }
    if (ptrace(PTRACE_SEIZE, command, 0, options) < 0 ||
        ptrace(PTRACE_INTERRUPT, command, 0, 0) < 0) {
        die("ptrace");
    }
    close(start[1]);
    int result = 0;
    bool command_ended = false;
    bool target_ended = false;
    while (!command_ended || (target && !target_ended)) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) {
            break;
        }
        if (WIFSTOPPED(status)) {
            on_stop(pid, status);
            continue;
        }
        target_ended = target_ended || pid == target;
        if (pid == command) {
            command_ended = true;
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    if (nth == 0 || counted < nth) {
        fprintf(out, "calls %ld\n", counted);
    }
    fclose(out);
    return result;
}
